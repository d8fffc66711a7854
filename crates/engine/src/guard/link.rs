//! The guard's side of its host: starts it, starts the next one when it is gone, takes input from it once,
//! and never waits for it.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::{Body, How};
use abide_core::guard::Respawn;
use abide_core::wire::{ANSWERS, CLIENTS, FINISHING, LONGEST, Message, Tagged, ToGuard, ToHost};
use abide_sys::poll::{self, Interest};
use abide_sys::spawn::{self, Image};
use abide_sys::{clock, signal, sock};

use super::handover::{self, Given, Handover, Named};
use super::keyboard::Keyboard;
use super::piece::{Lines, PASTE, Pause, Piece};
use super::program::Program;
use super::recorder::Recorder;
use super::served::Served;
use crate::host;
use crate::spill::Spill;
use crate::store::SessionDir;

pub(super) struct Link {
    listener: OwnedFd,
    bell: OwnedFd,
    host: Option<Served>,
    /// The one that takes its place when it goes.
    next: Option<Served>,
    respawn: Respawn,
    generation: u32,
    /// No more than a host says before something of it is confirmed.
    pending: VecDeque<Piece>,
    pause: Pause,
    /// The last number that was taken of each client.
    taken: Vec<(u64, u64)>,
    /// Clients of a guard that died: what came after this number was taken, and may not have been written.
    owed: Vec<(u64, u64)>,
    /// What a guard that died wrote last, and how much of it.
    begun: ((u64, u64), usize),
    answered: u64,
    lines: Lines,
    keyboard: Keyboard,
    /// Every host that we started and have not reaped, alive or not.
    hosts: Vec<u32>,
}

/// What the host asked for that the keeper must do.
pub(super) enum Ask {
    /// This was taken: put it on record.
    Typed {
        client: u64,
        seq: u64,
        bytes: Vec<u8>,
    },
    Answered(Vec<u8>),
    Resize(abide_core::evidence::Size),
    Mark(String),
    /// This was taken: if its tag is on record, it is to be typed.
    Exec(Tagged),
    /// So many bytes that were taken are not typed.
    Withdrawn(usize),
    Nothing,
}

impl Link {
    pub(super) fn new(dir: &SessionDir) -> io::Result<Self> {
        Ok(Self {
            listener: dir.listen()?,
            bell: sock::bell()?,
            host: None,
            next: None,
            respawn: Respawn::default(),
            generation: 0,
            pending: VecDeque::new(),
            pause: Pause::default(),
            taken: Vec::new(),
            owed: Vec::new(),
            begun: ((0, 0), 0),
            answered: 0,
            lines: Lines::default(),
            keyboard: Keyboard::default(),
            hosts: Vec::new(),
        })
    }

    /// The link of a guard that follows another one; its host lives if there is a line to it.
    pub(super) fn resume(given: &mut Given, handover: &Handover, spill: &Spill) -> io::Result<Self> {
        // What became another image knows what it has yet to write; of one that died only this is known.
        let died = handover.facts.is_none();
        let owed = spill.owed().into_iter().map(|(client, first)| (client, first.saturating_sub(1)));
        let pending = handover.pending.iter().map(Piece::handed);
        let process = given.take(handover::HOST);
        Ok(Self {
            listener: given.must(handover::LISTENER)?,
            bell: given.must(handover::BELL)?,
            host: given.take(handover::LINE).map(|line| Served::new(line, process)),
            next: None,
            respawn: Respawn::default(),
            generation: handover.generation,
            pause: Pause::default(),
            pending: if died { Piece::last_words(spill).into_iter().collect() } else { pending.collect() },
            taken: handover.taken.clone(),
            owed: if died { owed.collect() } else { handover.owed.clone() },
            begun: spill.last_typed(),
            answered: handover.answered,
            lines: Lines::default(),
            keyboard: Keyboard::resume(spill),
            hosts: handover.hosts.clone(),
        })
    }

    /// Starts a host if there is none and it is time for one. Without one the session goes on, and the next one is tried
    /// later; gives why there is none where that was not given yet.
    pub(super) fn ensure(&mut self, dir: &SessionDir, held: &[Named<'_>]) -> Option<Body> {
        let now = clock::now().boot;
        if self.host.is_some() || !self.respawn.is_due(now) {
            return None;
        }
        self.respawn.started(now);
        self.generation += 1;
        let started = self.start(dir, held);
        let is_news = self.respawn.came_to(started.is_ok(), clock::now().boot);
        let failure = started.map(|host| self.host = Some(host)).err().filter(|_| is_news)?;
        Some(Body::Noted(format!("no host could be started, and it is tried again: {failure}").into()))
    }

    fn start(&mut self, dir: &SessionDir, held: &[Named<'_>]) -> io::Result<Served> {
        // The first host comes right after the name.
        let nameless = self.generation > 1 && !dir.has_socket();
        if nameless && let Ok(listener) = dir.listen() {
            // Somebody removed the name; whoever waits behind it is served by the host that lives.
            self.listener = listener;
        }
        let (ours, theirs) = sock::line()?;
        let mut named = vec![
            (handover::LINE, theirs.as_fd()),
            (handover::LISTENER, self.listener.as_fd()),
            (handover::BELL, self.bell.as_fd()),
            (handover::DIR, dir.dir().as_fd()),
        ];
        named.extend(dir.kept_evidence().map(|facts| (handover::FACTS, facts)));
        named.extend_from_slice(held);
        let image = Image {
            paths: vec![c"/proc/self/exe".to_owned()],
            argv: vec![
                c"abide".to_owned(),
                host::ARGUMENT.to_owned(),
                CString::new(self.generation.to_string())?,
                handover::names(named.iter().map(|(name, _)| *name))?,
            ],
            env: Vec::new(),
            cwd: c"/".to_owned(),
        };
        let fds: Vec<BorrowedFd<'_>> = named.iter().map(|(_, fd)| *fd).collect();
        let (pid, process) = spawn::helper(&image, &fds)?;
        self.hosts.push(pid);
        let mut served = Served::new(ours, Some(process));
        served.tell(ToHost::Answered { position: self.answered });
        Ok(served)
    }

    /// The pids of our hosts, each from its first instant until it is reaped.
    pub(super) fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// A process of ours is gone, and its number may be another's from now on.
    pub(super) fn reaped(&mut self, pid: u32, how: How) {
        let before = self.hosts.len();
        self.hosts.retain(|host| *host != pid);
        let failed = matches!(how, How::Exited { code } if code != 0);
        if failed && self.hosts.len() < before {
            self.respawn.failed(clock::now().boot);
        }
    }

    /// When to come back: for the next host, if one is to be started, and for what is not to be typed yet.
    pub(super) fn wake_at(&self, hosts: bool) -> Option<u64> {
        let host = (hosts && self.host.is_none()).then(|| self.respawn.due_at());
        host.into_iter().chain(self.paused_until()).min()
    }

    fn paused_until(&self) -> Option<u64> {
        self.pending.front().and_then(|piece| self.pause.lasts_until(piece, clock::now().boot))
    }

    /// Starts the next host beside the one that lives: it asks that one to go once it can take its place itself, so
    /// that at every instant there is one who can go on without us.
    pub(super) fn replace_host(&mut self, dir: &SessionDir, held: &[Named<'_>]) {
        let Some(before) = self.host.as_ref().and_then(|host| host.process.as_ref()?.try_clone().ok()) else {
            return;
        };
        self.generation += 1;
        self.respawn.started(clock::now().boot);
        // Without it the one that lives goes on.
        self.next = self.start(dir, &[held, &[(handover::HOST, before.as_fd())]].concat()).ok();
    }

    /// Whether the next host has yet to take the place of the one that lives: it knows this guard by a line that no
    /// other image would have.
    pub(super) fn changes_host(&mut self) -> bool {
        let is_gone = |next: &Served| poll::wait(&[Interest::news(next.line.as_fd())], Some(0))[0].read;
        self.next.take_if(|next| is_gone(next));
        self.next.is_some()
    }

    /// What the next image of this guard must know and hold.
    pub(super) fn hand_over(
        &self,
        recorder: &Recorder,
        program: &Program,
        facts: u64,
    ) -> (Handover, Vec<Named<'_>>) {
        let handover = Handover {
            position: recorder.position(),
            recorded: recorder.recorded(),
            torn: recorder.torn().to_vec(),
            entries: recorder.entries(),
            answered: self.answered,
            generation: self.generation,
            taken: self.taken.clone(),
            pending: self
                .pending
                .iter()
                .map(|piece| (piece.whose, piece.bytes.clone(), piece.written))
                .collect(),
            owed: self.owed.clone(),
            program: Some(program.identity),
            parent: program.ours,
            facts: Some(facts),
            hosts: self.hosts.clone(),
        };
        let mut named =
            vec![(handover::LISTENER, self.listener.as_fd()), (handover::BELL, self.bell.as_fd())];
        if let Some(host) = &self.host {
            named.push((handover::LINE, host.line.as_fd()));
            named.extend(host.process.as_ref().map(|process| (handover::HOST, process.as_fd())));
        }
        (handover, named)
    }

    /// Something new is on record.
    pub(super) fn nudge(&self) {
        sock::ring(&self.bell);
    }

    pub(super) fn tell_ended(&mut self) {
        for host in self.host.iter_mut().chain(&mut self.next) {
            host.tell(ToHost::Ended);
            // One that somebody stopped would be left behind.
            if let Some(process) = &host.process {
                let _ = signal::send(process, signal::CONT);
            }
        }
    }

    pub(super) fn interest(&self) -> Option<Interest<'_>> {
        self.host.as_ref().map(Served::interest)
    }

    /// The line broke. What the host said last and was not taken, its clients say again to the next one.
    fn lose_host(&mut self) {
        self.host = self.next.take();
        match &mut self.host {
            Some(next) => next.tell(ToHost::Answered { position: self.answered }),
            None => self.respawn.gone(clock::now().boot),
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty() && self.paused_until().is_none()
    }

    /// What the host asks for next, if anything. It is told what it did not take before.
    pub(super) fn next(&mut self, spill: &Spill) -> Option<Ask> {
        let mut packet = Vec::with_capacity(LONGEST + 64);
        let host = self.host.as_mut()?;
        host.tell_on();
        match sock::take(&host.line, &mut packet) {
            Ok(Some(length)) if length > 0 => {}
            Ok(None) => return None,
            Ok(Some(_)) | Err(_) => {
                self.lose_host();
                return None;
            }
        }
        match ToGuard::from_packet(&packet)? {
            ToGuard::Input { client, seq, bytes } => self.take_input(client, seq, bytes, spill),
            ToGuard::Answer { position, bytes } if position > self.answered => {
                self.answered = position;
                self.queue((ANSWERS, position), bytes.clone());
                Some(Ask::Answered(bytes))
            }
            ToGuard::Answer { .. } => {
                self.tell(ToHost::Answered { position: self.answered });
                None
            }
            ToGuard::Resize(size) => Some(Ask::Resize(size)),
            ToGuard::Mark(text) => Some(Ask::Mark(text)),
            ToGuard::Exec(tagged) => {
                let is_new = self.is_new(tagged.client, tagged.seq, &tagged.bytes, spill);
                is_new.then_some(Ask::Exec(tagged))
            }
            ToGuard::Withdraw { client } => Some(Ask::Withdrawn(self.withdraw(client, spill))),
            ToGuard::Hold { client } => {
                self.keyboard.hold(client, spill);
                Some(Ask::Nothing)
            }
        }
    }

    /// Takes back what a client typed and is not in the terminal yet, so many bytes; but what is begun there is finished.
    fn withdraw(&mut self, client: u64, spill: &Spill) -> usize {
        let theirs = |piece: &Piece| piece.whose.0 == client;
        let parts = self.pending.iter().filter(|piece| theirs(piece));
        let (written, all) =
            parts.fold((0, 0), |sum, piece| (sum.0 + piece.written, sum.1 + piece.bytes.len()));
        let first = self.pending.iter().position(theirs);
        let rest = first.map_or(&[][..], |at| &self.pending[at].bytes[self.pending[at].written..]);
        let (more, ends) = self.keyboard.leave(client, rest, spill);
        let (written, more) = (written + more, rest[..more].to_vec());
        self.lines.withdraw(client, first.map(|at| &self.pending[at]));
        self.pending.retain(|piece| !theirs(piece));
        // Where theirs was, and in the middle of nobody's.
        let at =
            first.unwrap_or_else(|| usize::from(self.pending.front().is_some_and(|one| one.written > 0)));
        for piece in Piece::finishing(more, ends) {
            self.pending.insert(at, piece);
        }
        self.owed.retain(|(owed, _)| *owed != client);
        spill.settle(client);
        self.tell(ToHost::Withdrawn { client, written: written as u64 });
        all - written
    }

    fn take_input(&mut self, client: u64, seq: u64, bytes: Vec<u8>, spill: &Spill) -> Option<Ask> {
        if !self.is_new(client, seq, &bytes, spill) {
            return None;
        }
        self.queue((client, seq), bytes.clone());
        Some(Ask::Typed { client, seq, bytes })
    }

    /// A number that was taken before is not taken again; it may have been resent after a host's death.
    fn is_new(&mut self, client: u64, seq: u64, bytes: &[u8], spill: &Spill) -> bool {
        let known = self.taken.iter().position(|(known, _)| *known == client);
        if known.is_some_and(|at| self.taken[at].1 >= seq) {
            let owed = self.owed.iter_mut().find(|(owed, after)| *owed == client && *after < seq);
            if let Some((_, after)) = owed {
                // On record already, but its guard died before all of it was in the terminal.
                *after = seq;
                self.queue((client, seq), bytes.to_vec());
            } else if !self.pending.iter().any(|piece| piece.whose == (client, seq)) {
                self.tell(ToHost::Applied { client, seq });
            }
            return false;
        }
        // What was said again came before this, so nothing is owed any more.
        self.owed.retain(|(owed, _)| *owed != client);
        if let Some(at) = known {
            self.taken.remove(at);
        } else if self.taken.len() == CLIENTS {
            self.taken.remove(0);
        }
        self.taken.push((client, seq));
        // Before it is on record: what is there and not in the terminal is known to whoever follows us.
        if !spill.owed().iter().any(|(owed, _)| *owed == client) {
            spill.owe(client, seq);
        }
        true
    }

    /// Has this written to the terminal.
    pub(super) fn queue(&mut self, whose: (u64, u64), bytes: Vec<u8>) {
        self.pending.push_back(Piece::new(whose, bytes, self.begun));
    }

    /// Likewise what runs a line in a shell, or has it forget one: of a line that was taken back there is nothing to forget.
    pub(super) fn queue_line(&mut self, whose: (u64, u64), bytes: Vec<u8>) {
        let piece = Piece::of_line(whose, bytes, self.begun);
        self.pending.push_back(self.lines.without_needless(piece));
    }

    /// All of a client up to this number is in the terminal.
    fn written(&self, client: u64, seq: u64, spill: &Spill) {
        match self.taken.iter().find(|(known, _)| *known == client) {
            Some((_, last)) if *last > seq => spill.owe(client, seq + 1),
            Some(_) | None => spill.settle(client),
        }
    }

    pub(super) fn tell(&mut self, word: ToHost) {
        if let Some(host) = &mut self.host {
            host.tell(word);
        }
    }

    /// Writes what the terminal takes now, and says whether the host is told of anything.
    pub(super) fn write(&mut self, mut terminal: &File, spill: &Spill) -> bool {
        let mut told = false;
        while self.paused_until().is_none()
            && let Some(piece) = self.pending.front_mut()
        {
            if piece.written < piece.bytes.len() {
                // Said before it is done: should we be killed over it, nothing is typed twice.
                spill.typed(piece.whose, piece.bytes.len());
                let taken = terminal.write(&piece.bytes[piece.written..]);
                match &taken {
                    Ok(written) => piece.written += written,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // A terminal that takes nothing any more swallows the rest, as a real one would.
                    Err(_) => piece.written = piece.bytes.len(),
                }
                spill.typed(piece.whose, piece.written);
                if let Ok(written) = &taken {
                    let typed = &piece.bytes[piece.written - written..piece.written];
                    self.lines.typed(piece);
                    self.keyboard.typed(piece.whose.0, typed, spill);
                }
                match taken {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return told,
                    Ok(_) | Err(_) => continue,
                }
            }
            let Some(piece) = self.pending.pop_front() else { return told };
            self.pause.follow(&piece, clock::now().boot);
            self.tell(match piece.whose {
                (ANSWERS, position) => ToHost::Answered { position },
                (FINISHING, what) => {
                    if what == PASTE {
                        spill.end_paste(false);
                    }
                    continue;
                }
                (client, seq) => {
                    self.written(client, seq, spill);
                    ToHost::Applied { client, seq }
                }
            });
            told = true;
        }
        told
    }
}
