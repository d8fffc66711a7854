//! The program as its guard knows it, and what is left of its tree: who they are, and when they are gone.

use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::{Body, How, Noted, Outcome, Started, Survivor};
use abide_core::guard::Input;
use abide_core::identity::Identity;
use abide_core::verdict::program_of;
use abide_sys::cgroup::{Cgroup, Changes};
use abide_sys::{clock, poll};

use super::Keeper;
use crate::place::tree;

pub(super) struct Program {
    pub(super) identity: Identity,
    pub(super) pidfd: OwnedFd,
    pub(super) started_boot: u64,
    /// We are its parent, so the kernel tells us how it ended; else we ask.
    pub(super) ours: bool,
    /// When it is to be identified again, because another process could still be taken for it.
    pub(super) identify_at: Option<u64>,
    /// The cgroup that was made for it.
    pub(super) cgroup: Option<Cgroup>,
    /// Tells when that becomes empty.
    pub(super) changes: Option<Changes>,
}

/// The longest that a tick of the clock which births are told by takes, twice.
const TWO_TICKS_MS: u64 = 20;

impl Program {
    pub(super) fn new(identity: Identity, pidfd: OwnedFd, ours: bool, cgroup: Option<Cgroup>) -> Self {
        let started_boot = clock::now().boot;
        let mistakable = !identity.is_unmistakable();
        let identify_at = mistakable.then(|| started_boot.saturating_add(TWO_TICKS_MS));
        Self { identity, pidfd, started_boot, ours, identify_at, cgroup, changes: None }
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
        let seen = self.truth.end_of(&self.program.pidfd, self.program.identity.pid);
        let how = seen.map_or(How::Lost, |(how, _)| how);
        if self.moves_on(how) {
            return;
        }
        self.observer = seen.map(|(_, observer)| observer);
        self.tell(Input::ProgramEnded { how, resources: None });
    }

    /// Where the program only was the wrapper of an agent that lives, that one is the program from now on: a wrapper's end
    /// says nothing about it. Its scribe said who that is. True if so.
    pub(super) fn moves_on(&mut self, how: How) -> bool {
        let evidence = self.dir.read().evidence();
        let agent = program_of(&evidence).filter(|agent| agent.pid != self.program.identity.pid).copied();
        let Some((agent, Ok(pidfd))) =
            agent.filter(|_| self.mind.is_running()).map(|agent| (agent, self.truth.hold(&agent)))
        else {
            return false;
        };
        let parent = self.truth.process(agent.pid).map(|process| process.parent);
        let ended = Outcome { how, observed_by: None, cause: None }.says();
        let text =
            format!("its wrapper {} {ended}; the agent {} goes on", self.program.identity.pid, agent.pid);
        self.program.identity = agent;
        self.program.pidfd = pidfd;
        self.program.ours = parent == Some(std::process::id());
        self.note(Body::Noted(Noted { text }));
        // The host must hold it too, in case this guard dies.
        self.replace_host();
        true
    }

    /// Of those that are not ours to wait for, only the cgroup tells when the last is gone.
    pub(super) fn watch_cgroup(&mut self) {
        self.program.changes.take_if(|changes| changes.is_populated().is_err());
        if self.nobody_left() {
            self.tell(Input::TreeEmpty);
        }
    }

    /// Nobody can be listed, and nobody escapes being listed.
    pub(super) fn nobody_left(&self) -> bool {
        self.left().is_empty() && !tree::holds_some(&self.truth, self.program.cgroup.as_ref())
    }

    /// What is left of the session.
    pub(super) fn left(&self) -> Vec<Survivor> {
        tree::left(&self.truth, Some(std::process::id()), self.program.cgroup.as_ref(), self.link.hosts())
    }
}
