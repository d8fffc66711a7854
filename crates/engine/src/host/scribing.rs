//! The host's side of the scribe: starts one where an agent runs in the session, and the next one when it is gone.

use abide_core::id::SessionId;
use abide_core::identity::Lock;
use abide_core::verdict::program_of;
use abide_sys::lock::{self, Holder};

use crate::agents::{self, scribe};
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;

/// Nobody looks for an agent, or for its scribe, more often than this, in ms.
const APART_MS: u64 = 2_000;

/// What a host knows of the agent in its session.
pub(super) struct Scribing {
    truth: Truth,
    id: Option<SessionId>,
    /// The pid of the program, below which an agent may be.
    program: Option<u32>,
    /// An agent was seen.
    agent: bool,
    next_at: u64,
    /// Something was shown since.
    due: bool,
}

impl Scribing {
    pub(super) fn new(truth: Truth, dir: &SessionDir) -> Self {
        let evidence = dir.read().evidence();
        let launched = evidence.beginning.launched.as_ref().map(|told| &told.body);
        Self {
            id: launched.and_then(|launched| SessionId::parse(&launched.id)),
            agent: launched.is_some_and(|launched| launched.agent.is_some()),
            program: program_of(&evidence).map(|program| program.pid),
            truth,
            next_at: 0,
            due: false,
        }
    }

    /// When to come back because something was shown too soon after the last time.
    pub(super) fn wake_at(&self) -> Option<u64> {
        self.due.then_some(self.next_at)
    }

    /// Something was shown: there may be an agent by now, or no scribe any more.
    pub(super) const fn hint(&mut self) {
        self.due = true;
    }

    /// Starts a scribe where there is an agent and no scribe.
    pub(super) fn ensure(&mut self, now: u64, dir: &SessionDir, evidence: &Writer) {
        let Some(id) = self.id.as_ref().filter(|_| self.due && now >= self.next_at) else { return };
        self.due = false;
        self.next_at = now.saturating_add(APART_MS);
        if lock::ask(evidence.file(), Holder::Scribe) == Lock::Held {
            return;
        }
        self.agent = self.agent || self.program.is_some_and(|program| is_in_front(&self.truth, program));
        if self.agent {
            // Without one nothing is written down; the next time tries again.
            let _ = scribe::start(dir, id);
        }
    }
}

/// Whether whoever the terminal belongs to now is an agent, or starts one.
fn is_in_front(truth: &Truth, program: u32) -> bool {
    truth.foreground(program).iter().any(|one| agents::is_kin(truth, &one.process))
}
