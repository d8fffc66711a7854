//! The program's end as its host sees it. How it ended is the guard's to record; should that not come to it, because somebody
//! stopped it, whoever asks from where the program cannot be seen learns from here that it is gone.

use std::os::fd::BorrowedFd;

use abide_core::evidence::{Body, Noted};
use abide_core::verdict::program_of;
use abide_sys::clock;

use crate::guard::handover::{self, Given};
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;

/// How long a guard may take before it is told in its stead that the program is dead, in ms.
const PATIENCE_MS: u64 = 500;

/// What a host knows of the program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    Lives,
    /// It is gone, and that is told at this time unless its guard was heard.
    Gone(u64),
    Told,
}

impl Passing {
    /// The program, as long as it is not known to be gone.
    pub(super) fn awaits(self, held: &Given) -> Option<BorrowedFd<'_>> {
        let program = held.rest().find(|(name, _)| *name == handover::PROGRAM);
        program.filter(|_| self == Self::Lives).map(|(_, pidfd)| pidfd)
    }

    /// The program is gone.
    pub(super) fn see(&mut self) {
        *self = Self::Gone(clock::now().boot.saturating_add(PATIENCE_MS));
    }

    pub(super) const fn wake_at(self) -> Option<u64> {
        match self {
            Self::Gone(at) => Some(at),
            Self::Lives | Self::Told => None,
        }
    }

    /// Says who was found dead, if it is time to and nobody has said how it ended.
    pub(super) fn tell_if_due(&mut self, dir: &SessionDir, evidence: &mut Writer) {
        let now = clock::now();
        if self.wake_at().is_none_or(|at| at > now.boot) {
            return;
        }
        *self = Self::Told;
        let known = dir.read().evidence();
        let program = program_of(&known).filter(|_| !known.is_closed()).copied();
        // What was waited for may have been the wrapper of an agent that lives.
        if let Some(program) = program.filter(|program| Truth::new().is_alive(program).is_dead()) {
            let text =
                format!("host found program {} dead; its guard has yet to say how it ended", program.pid);
            let gone = Some(Box::new(program));
            let _ = evidence.add(now, Body::Noted(Noted { text, gone, heard: None }));
        }
    }
}
