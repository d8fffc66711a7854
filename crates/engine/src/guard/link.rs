//! The guard's side of its host: starts it, starts the next one when it is gone, takes input from it once,
//! and never waits for it.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::guard::Respawn;
use abide_core::wire::{LONGEST, Message, ToGuard, ToHost};
use abide_sys::poll::Interest;
use abide_sys::spawn::{self, Image};
use abide_sys::{clock, signal, sock};

use super::handover::Handover;
use super::recorder::Recorder;
use crate::host;
use crate::store::SessionDir;

/// How much input may wait for the terminal before no more is taken from the host.
const PENDING: usize = 256 * 1024;
/// How many clients' numbers are remembered.
const CLIENTS: usize = 64;

pub(super) struct Link {
    listener: OwnedFd,
    bell: OwnedFd,
    host: Option<Served>,
    respawn: Respawn,
    generation: u32,
    pending: VecDeque<Piece>,
    pending_bytes: usize,
    /// The last number that was taken of each client.
    taken: Vec<(u64, u64)>,
    answered: u64,
    /// Every host that we started and have not reaped, alive or not.
    hosts: Vec<u32>,
}

/// A host, known by the line to it: when that breaks, it is gone.
struct Served {
    line: OwnedFd,
    /// The process itself, if we started it.
    process: Option<OwnedFd>,
}

/// Input that waits for the terminal.
struct Piece {
    /// Whose it is, and its number; none for an answer to the program's own query.
    client: Option<(u64, u64)>,
    bytes: Vec<u8>,
    written: usize,
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
}

impl Link {
    pub(super) fn new(dir: &SessionDir) -> io::Result<Self> {
        Ok(Self {
            listener: dir.listen()?,
            bell: sock::bell()?,
            host: None,
            respawn: Respawn::default(),
            generation: 0,
            pending: VecDeque::new(),
            pending_bytes: 0,
            taken: Vec::new(),
            answered: 0,
            hosts: Vec::new(),
        })
    }

    /// The link of a guard that follows another one; its host lives if there is a line to it.
    pub(super) fn resume(
        listener: OwnedFd,
        bell: OwnedFd,
        line: Option<OwnedFd>,
        handover: &Handover,
    ) -> Self {
        Self {
            listener,
            bell,
            host: line.map(|line| Served { line, process: None }),
            respawn: Respawn::default(),
            generation: handover.generation,
            pending: VecDeque::new(),
            pending_bytes: 0,
            taken: handover.taken.clone(),
            answered: handover.answered,
            hosts: handover.hosts.clone(),
        }
    }

    /// Starts a host if there is none and it is time for one.
    pub(super) fn ensure(&mut self, dir: &SessionDir, held: [BorrowedFd<'_>; 5]) {
        if self.host.is_some() || !self.respawn.is_due(clock::now().boot) {
            return;
        }
        self.respawn.started(clock::now().boot);
        self.generation += 1;
        // Without a host the session goes on; the next one is tried later.
        self.host = self.start(dir, held).ok();
        if self.host.is_none() {
            self.respawn.gone(clock::now().boot);
        }
    }

    fn start(&mut self, dir: &SessionDir, held: [BorrowedFd<'_>; 5]) -> io::Result<Served> {
        let (ours, theirs) = sock::line()?;
        let image = Image {
            paths: vec![c"/proc/self/exe".to_owned()],
            argv: vec![
                c"abide".to_owned(),
                host::ARGUMENT.to_owned(),
                CString::new(self.generation.to_string())?,
            ],
            env: Vec::new(),
            cwd: c"/".to_owned(),
        };
        let mut fds = vec![theirs.as_fd(), self.listener.as_fd(), self.bell.as_fd(), dir.dir().as_fd()];
        fds.extend(held);
        let (pid, process) = spawn::helper(&image, &fds)?;
        self.hosts.push(pid);
        let served = Served { line: ours, process: Some(process) };
        served.tell(ToHost::Answered { position: self.answered });
        Ok(served)
    }

    /// The pids of our hosts, each from its first instant until it is reaped.
    pub(super) fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// A process of ours is gone, and its number may be another's from now on.
    pub(super) fn reaped(&mut self, pid: u32) {
        self.hosts.retain(|host| *host != pid);
    }

    /// When to come back for the next host.
    pub(super) fn wake_at(&self) -> Option<u64> {
        self.host.is_none().then(|| self.respawn.due_at())
    }

    /// Asks the host to go.
    pub(super) fn retire_host(&self) {
        if let Some(host) = &self.host {
            host.tell(ToHost::Retire);
        }
    }

    pub(super) const fn has_host(&self) -> bool {
        self.host.is_some()
    }

    /// What the next image of this guard must know and hold.
    pub(super) fn hand_over(&self, recorder: &Recorder, facts: u64) -> (Handover, [BorrowedFd<'_>; 2]) {
        let handover = Handover {
            position: recorder.position(),
            recorded: recorder.recorded(),
            torn: recorder.torn().to_vec(),
            answered: self.answered,
            generation: self.generation,
            taken: self.taken.clone(),
            facts: Some(facts),
            hosts: self.hosts.clone(),
        };
        (handover, [self.listener.as_fd(), self.bell.as_fd()])
    }

    /// Something new is on record.
    pub(super) fn nudge(&self) {
        sock::ring(&self.bell);
    }

    pub(super) fn tell_ended(&self) {
        if let Some(host) = &self.host {
            host.tell(ToHost::Ended);
            // One that somebody stopped would be left behind.
            if let Some(process) = &host.process {
                let _ = signal::send(process, signal::CONT);
            }
        }
    }

    /// What to wait for on the host's line.
    pub(super) fn interest(&self) -> Option<Interest<'_>> {
        let host = self.host.as_ref()?;
        (self.pending_bytes < PENDING).then(|| Interest::reading(host.line.as_fd()))
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// What the host asks for next, if anything.
    pub(super) fn next(&mut self) -> Option<Ask> {
        if self.pending_bytes >= PENDING {
            return None;
        }
        let mut packet = vec![0; LONGEST + 64];
        let line = &self.host.as_ref()?.line;
        let length = match sock::take(line, &mut packet) {
            Ok(Some(length)) if length > 0 => length,
            Ok(None) => return None,
            Ok(Some(_)) | Err(_) => {
                self.host = None;
                self.respawn.gone(clock::now().boot);
                return None;
            }
        };
        match ToGuard::from_packet(&packet[..length])? {
            ToGuard::Input { client, seq, bytes } => self.take_input(client, seq, bytes),
            ToGuard::Answer { position, bytes } => (position > self.answered).then(|| {
                self.answered = position;
                self.queue(Piece { client: None, bytes: bytes.clone(), written: 0 });
                Ask::Answered(bytes)
            }),
            ToGuard::Resize(size) => Some(Ask::Resize(size)),
            ToGuard::Mark(text) => Some(Ask::Mark(text)),
        }
    }

    /// A number that was taken before is not taken again; it may have been resent after a host's death.
    fn take_input(&mut self, client: u64, seq: u64, bytes: Vec<u8>) -> Option<Ask> {
        let known = self.taken.iter().position(|(known, _)| *known == client);
        if known.is_some_and(|at| self.taken[at].1 >= seq) {
            let waits = self.pending.iter().any(|piece| piece.client == Some((client, seq)));
            if let (false, Some(host)) = (waits, &self.host) {
                host.tell(ToHost::Applied { client, seq });
            }
            return None;
        }
        if let Some(at) = known {
            self.taken.remove(at);
        } else if self.taken.len() == CLIENTS {
            self.taken.remove(0);
        }
        self.taken.push((client, seq));
        self.queue(Piece { client: Some((client, seq)), bytes: bytes.clone(), written: 0 });
        Some(Ask::Typed { client, seq, bytes })
    }

    fn queue(&mut self, piece: Piece) {
        self.pending_bytes += piece.bytes.len();
        self.pending.push_back(piece);
    }

    /// Writes what the terminal takes now.
    pub(super) fn write(&mut self, mut terminal: &File) {
        while let Some(piece) = self.pending.front_mut() {
            match terminal.write(&piece.bytes[piece.written..]) {
                Ok(written) => piece.written += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A terminal that takes nothing any more swallows the rest, as a real one would.
                Err(_) => piece.written = piece.bytes.len(),
            }
            if piece.written < piece.bytes.len() {
                continue;
            }
            self.pending_bytes -= piece.bytes.len();
            let done = self.pending.pop_front().and_then(|piece| piece.client);
            if let (Some((client, seq)), Some(host)) = (done, &self.host) {
                host.tell(ToHost::Applied { client, seq });
            }
        }
    }
}

impl Served {
    /// A word that a hung host does not take is missed; it asks again when it comes back.
    fn tell(&self, word: ToHost) {
        let _ = sock::put(&self.line, &word.to_packet());
    }
}
