//! The program as its guard knows it, and what is left of its tree: who they are, and when they are gone.

use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::{Body, How, Outcome, Started, Survivor};
use abide_core::guard::Input;
use abide_core::identity::Identity;
use abide_core::verdict::program_of;
use abide_sys::cgroup::{Cgroup, Changes};
use abide_sys::{clock, poll, signal};

use super::Keeper;
use crate::place::stray::Strays;
use crate::place::tree::{self, Marks};

pub(super) struct Program {
    pub(super) identity: Identity,
    pub(super) pidfd: OwnedFd,
    pub(super) started_boot: u64,
    /// We are its parent, so the kernel tells us how it ended; else we ask.
    pub(super) ours: bool,
    /// The session that it was born in, where that is on record.
    pub(super) session: Option<String>,
    /// When it is to be identified again, because another process could still be taken for it.
    pub(super) identify_at: Option<u64>,
    /// The cgroup that was made for it.
    pub(super) cgroup: Option<Cgroup>,
    /// Tells when that becomes empty.
    pub(super) changes: Option<Changes>,
    /// Of a program that is not ours: who was below it when it was asked to end, and who of its tree has yet to.
    pub(super) below: Vec<Identity>,
    pub(super) leaving: Vec<OwnedFd>,
}

/// The longest that a tick of the clock which births are told by takes, twice.
const TWO_TICKS_MS: u64 = 20;

impl Program {
    pub(super) fn new(identity: Identity, pidfd: OwnedFd, ours: bool, cgroup: Option<Cgroup>) -> Self {
        let started_boot = clock::now().boot;
        let mistakable = !identity.is_unmistakable();
        let identify_at = mistakable.then(|| started_boot.saturating_add(TWO_TICKS_MS));
        Self {
            identity,
            pidfd,
            started_boot,
            ours,
            session: None,
            identify_at,
            cgroup,
            changes: None,
            below: Vec::new(),
            leaving: Vec::new(),
        }
    }
}

impl Keeper {
    /// Without inodes, a process is told from all others only once the tick of its birth is over.
    pub(super) fn identify_again(&mut self) {
        if self.program.identify_at.take_if(|at| *at <= clock::now().boot).is_none() {
            return;
        }
        let identity = self.truth.identify(self.program.identity.pid);
        let ended = poll::readable(&[self.program.pidfd.as_fd()], Some(0)).contains(&true);
        let started = self.dir.read().evidence().beginning.started;
        // As long as it has not ended, its number is nobody else's.
        if let (Ok(program), false, Some(told)) = (identity, ended, started) {
            self.program.identity = program;
            self.note(Body::Started(Started { program, ..told.body }));
        }
    }

    /// The program that is not ours to wait for has ended: whoever still knows how is asked.
    pub(super) fn see_the_end(&mut self) {
        let seen = self.truth.end_of(&self.program.pidfd, &self.program.identity);
        let how = seen.map_or(How::Lost, |(how, _)| how);
        if self.moves_on(how) {
            return;
        }
        self.observer = seen.map(|(_, observer)| observer);
        self.tell(Input::ProgramEnded { how, resources: None });
    }

    /// The agent on record that our program only wraps, held, if it lives.
    fn wrapped(&mut self) -> Option<(Identity, OwnedFd)> {
        let evidence = self.told.up_to_now(self.evidence.file());
        let agent = *program_of(&evidence).filter(|agent| agent.pid != self.program.identity.pid)?;
        Some((agent, self.truth.hold(&agent).ok()?))
    }

    /// Where the program only was the wrapper of an agent that lives, that one is the program from now on: a wrapper's end
    /// says nothing about it. Its scribe said who that is. True if so.
    pub(super) fn moves_on(&mut self, how: How) -> bool {
        let Some((agent, pidfd)) = self.wrapped().filter(|_| !self.mind.is_ending()) else { return false };
        let parent = self.truth.process(agent.pid).map(|process| process.parent);
        let ended = Outcome { how, observed_by: None, cause: None }.says();
        let text =
            format!("its wrapper {} {ended}; the agent {} goes on", self.program.identity.pid, agent.pid);
        self.program.identity = agent;
        self.program.pidfd = pidfd;
        self.program.ours = parent == Some(std::process::id());
        self.note(Body::Noted(text.into()));
        // The host must hold it too, in case this guard dies.
        self.replace_host();
        true
    }

    /// Signals the program, and the agent on record that it wraps: whoever of the two ends first, the other one is asked too.
    pub(super) fn signal_program(&mut self, number: i32) {
        let agent = self.wrapped();
        let asked = agent.iter().map(|(agent, _)| agent.pid).chain([self.program.identity.pid]).collect();
        self.note_signal(number, asked);
        if self.is_blind() {
            // Its death leaves them to others.
            let below = self.left_of(self.program.identity.pid, &[], None);
            self.program.below.extend(below.iter().map(|one| one.process));
        }
        // One that is gone needs no signal; its end is reported by the kernel.
        if let Some((_, agent)) = &agent {
            let _ = signal::send(agent, number);
        }
        let _ = signal::send(&self.program.pidfd, number);
    }

    /// Of those that are not ours to wait for, only the cgroup tells when the last is gone.
    pub(super) fn watch_cgroup(&mut self) {
        self.program.changes.take_if(|changes| changes.is_populated().is_err());
        if self.nobody_left() {
            self.tell(Input::TreeEmpty);
        }
    }

    /// Those of the tree that are neither ours to wait for nor in a cgroup tell themselves when they are gone.
    pub(super) fn see_them_leave(&mut self) {
        let fds: Vec<_> = self.program.leaving.iter().map(AsFd::as_fd).collect();
        let gone = poll::readable(&fds, Some(0));
        let mut gone = gone.into_iter();
        self.program.leaving.retain(|_| gone.next() != Some(true));
        if self.mind.is_sweeping() && self.nobody_left() {
            self.tell(Input::TreeEmpty);
        }
    }

    /// Neither descent nor a cgroup tells this guard who belongs to the session: it followed one that was killed.
    fn is_blind(&self) -> bool {
        !self.program.ours && self.program.cgroup.is_none()
    }

    /// Who is provably of the session although nothing connects it with this guard.
    fn kin(&self) -> Vec<Identity> {
        if !self.is_blind() {
            return Vec::new();
        }
        let alive = |one: &&Identity| self.truth.is_alive(one).is_alive();
        let mut kin: Vec<Identity> = self.program.below.iter().filter(alive).copied().collect();
        let strays = Strays::like(&self.truth, &self.dir.read().evidence(), std::process::id());
        let strays = strays.map(|strays| strays.find(&self.truth)).unwrap_or_default();
        kin.extend(strays.into_iter().filter(|one| self.program.below.iter().all(|known| !known.is(one))));
        kin
    }

    /// Nobody can be listed, and nobody escapes being listed.
    pub(super) fn nobody_left(&self) -> bool {
        self.left().is_empty() && !tree::holds_some(&self.truth, self.program.cgroup.as_ref())
    }

    /// What is left of the session.
    pub(super) fn left(&self) -> Vec<Survivor> {
        self.left_of(std::process::id(), &self.kin(), self.program.cgroup.as_ref())
    }

    fn left_of(&self, top: u32, kin: &[Identity], cgroup: Option<&Cgroup>) -> Vec<Survivor> {
        let marks = Marks { session: self.program.session.as_deref(), cgroup };
        tree::left(&self.truth, marks, Some(top), kin, self.link.hosts())
    }
}
