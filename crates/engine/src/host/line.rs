//! The host's side of its guard: says everything in its order, keeps what was not confirmed, and says that again to
//! the next guard when one dies.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::guard::Respawn;
use abide_core::wire::{ANSWERS, LONGEST, Message, ToGuard, ToHost};
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, sock};

/// While so much is not confirmed, nothing more is taken from clients.
const UNCONFIRMED: usize = 1 << 20;

pub(super) struct Line {
    /// None while there is no guard.
    guard: Option<OwnedFd>,
    respawn: Respawn,
    /// What the guard has not been told yet.
    unsent: VecDeque<Said>,
    /// What it was told, or will be, and has not confirmed.
    kept: VecDeque<Said>,
    kept_bytes: usize,
    /// How much of what was not told yet needs no confirming.
    loose_bytes: usize,
    /// Answers up to this position are known to be in the terminal.
    answered: u64,
    /// How often a guard was to be started while another was alive.
    overtaken: u32,
    /// A guard was started although no one is likely to live.
    tried_the_last: bool,
    /// Room for what the guard says.
    packet: Vec<u8>,
}

#[derive(Clone)]
struct Said {
    /// Whose it is, and its number; none for what needs no confirming.
    whose: Option<(u64, u64)>,
    /// Who alone types: known before anything of theirs is.
    holds: bool,
    packet: Vec<u8>,
}

impl Line {
    pub(super) fn new(guard: OwnedFd) -> Self {
        let mut respawn = Respawn::default();
        respawn.started(clock::now().boot);
        Self {
            guard: Some(guard),
            respawn,
            unsent: VecDeque::new(),
            kept: VecDeque::new(),
            kept_bytes: 0,
            loose_bytes: 0,
            answered: 0,
            overtaken: 0,
            tried_the_last: false,
            packet: Vec::with_capacity(LONGEST + 64),
        }
    }

    /// What to wait for; nothing while there is no guard.
    pub(super) fn interest(&self) -> Option<Interest<'_>> {
        let guard = self.guard.as_ref()?;
        Some(Interest { fd: guard.as_fd(), read: true, write: !self.unsent.is_empty() })
    }

    /// When to come back for the next guard.
    pub(super) fn wake_at(&self) -> Option<u64> {
        self.guard.is_none().then(|| self.respawn.due_at())
    }

    pub(super) const fn has_guard(&self) -> bool {
        self.guard.is_some()
    }

    /// Whether the guard is gone, heard or not.
    pub(super) fn is_broken(&self) -> bool {
        let is_gone = |guard: &OwnedFd| poll::wait(&[Interest::news(guard.as_fd())], Some(0))[0].read;
        self.guard.as_ref().is_none_or(is_gone)
    }

    /// No guard can be had.
    pub(super) const fn is_hopeless(&self) -> bool {
        self.respawn.is_hopeless()
    }

    /// Guards may have been killed one after the other, and the next one could tell how the program ended: true once.
    pub(super) const fn tries_the_last(&mut self) -> bool {
        !std::mem::replace(&mut self.tried_the_last, true)
    }

    /// There is no guard, and it is time for the next one.
    pub(super) fn wants_guard(&self, now: u64) -> bool {
        self.guard.is_none() && self.respawn.is_due(now)
    }

    /// So much is not confirmed, or not even told, that clients must wait.
    pub(super) const fn is_congested(&self) -> bool {
        self.kept_bytes + self.loose_bytes > UNCONFIRMED
    }

    /// The next guard, or none if it could not be started: it is told again what nobody confirmed.
    pub(super) fn renew(&mut self, guard: Option<OwnedFd>) {
        let now = clock::now().boot;
        self.overtaken = if guard.is_some() { 0 } else { self.overtaken };
        self.respawn.started(now);
        if guard.is_none() {
            self.respawn.gone(now);
        }
        self.guard = guard;
        let others = std::mem::take(&mut self.unsent).into_iter().filter(|said| said.whose.is_none());
        let (held, others): (Vec<Said>, Vec<Said>) = others.partition(|said| said.holds);
        self.unsent = held.into_iter().chain(self.kept.iter().cloned()).chain(others).collect();
    }

    /// A guard is alive that has no line to us. True once it was found so often, with pauses in between, that it is not
    /// just dying.
    pub(super) fn is_overtaken(&mut self) -> bool {
        const DYING: u32 = 5;
        self.renew(None);
        self.overtaken = (self.overtaken + 1) % (DYING + 1);
        self.overtaken == 0
    }

    /// Answers up to this position are known to be in the terminal.
    pub(super) const fn answered(&self) -> u64 {
        self.answered
    }

    /// Whether something of a client, or an answer, is not confirmed.
    pub(super) fn owes_any(&self) -> bool {
        !self.kept.is_empty()
    }

    pub(super) fn tell(&mut self, word: &ToGuard) {
        let whose = match word {
            ToGuard::Input { client, seq, .. } => Some((*client, *seq)),
            ToGuard::Exec(tagged) => Some((tagged.client, tagged.seq)),
            ToGuard::Answer { position, .. } => Some((ANSWERS, *position)),
            ToGuard::Resize(_) | ToGuard::Mark(_) | ToGuard::Withdraw { .. } | ToGuard::Hold { .. } => None,
        };
        let holds = matches!(word, ToGuard::Hold { .. });
        let said = Said { whose, holds, packet: word.to_packet() };
        let known = match whose {
            // A client that came back says again what is kept here already.
            Some((client, _)) if client != ANSWERS => self.kept.iter().any(|kept| kept.whose == whose),
            // A program that asks and never reads gets no more answers than a terminal has room for.
            Some(_) => self.is_congested(),
            None => false,
        };
        if known {
            return;
        }
        if whose.is_some() {
            self.kept_bytes += said.packet.len();
            self.kept.push_back(said.clone());
        } else {
            self.loose_bytes += said.packet.len();
        }
        self.unsent.push_back(said);
        self.send_on();
    }

    /// What this client said and no guard confirmed is not said to the next one.
    pub(super) fn forget(&mut self, client: u64) {
        let theirs = |said: &Said| said.whose.is_some_and(|whose| whose.0 == client);
        self.unsent.retain(|said| !theirs(said));
        self.kept.retain(|said| !theirs(said));
        self.kept_bytes = self.kept.iter().map(|said| said.packet.len()).sum();
    }

    /// Whether something that this client said is not confirmed.
    pub(super) fn owes(&self, client: u64) -> bool {
        self.kept.iter().any(|said| said.whose.is_some_and(|whose| whose.0 == client))
    }

    /// What this client said and is not in the terminal yet is to be typed by nobody.
    pub(super) fn withdraw(&mut self, client: u64) {
        self.forget(client);
        self.tell(&ToGuard::Withdraw { client });
    }

    /// Sends what the guard takes now.
    pub(super) fn send_on(&mut self) {
        while let (Some(guard), Some(said)) = (&self.guard, self.unsent.front()) {
            let loose = if said.whose.is_none() { said.packet.len() } else { 0 };
            match sock::put(guard, &said.packet) {
                Ok(Some(_)) => {
                    self.loose_bytes -= loose;
                    self.unsent.pop_front();
                }
                // A guard that is gone is noticed where it is heard; its successor gets what is left.
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// What the guard says next, if anything. One that is gone is missed from then on.
    pub(super) fn hear(&mut self) -> Option<ToHost> {
        loop {
            match sock::take(self.guard.as_ref()?, &mut self.packet) {
                Ok(None) => return None,
                Ok(Some(length)) if length > 0 => {}
                Ok(Some(_)) | Err(_) => {
                    self.guard = None;
                    self.respawn.gone(clock::now().boot);
                    return None;
                }
            }
            let word = ToHost::from_packet(&self.packet);
            match word {
                Some(ToHost::Applied { client, seq }) => self.confirmed(client, seq),
                Some(ToHost::Answered { position }) => {
                    self.answered = self.answered.max(position);
                    self.confirmed(ANSWERS, position);
                }
                Some(ToHost::Withdrawn { .. } | ToHost::Unmarked | ToHost::Ended) | None => {}
            }
            if word.is_some() {
                return word;
            }
        }
    }

    fn confirmed(&mut self, client: u64, seq: u64) {
        let done = |said: &Said| said.whose.is_some_and(|whose| whose.0 == client && whose.1 <= seq);
        let before = self.kept.len();
        // In their order, as a rule: then nothing else need be looked at.
        while let Some(said) = self.kept.pop_front_if(|said| done(said)) {
            self.kept_bytes -= said.packet.len();
        }
        if self.kept.len() == before && self.kept.iter().any(done) {
            self.kept.retain(|said| !done(said));
            self.kept_bytes = self.kept.iter().map(|said| said.packet.len()).sum();
        }
    }
}
