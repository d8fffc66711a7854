//! Which agents run in a session: those that it says are its own.

use abide_core::id::SessionId;
use abide_core::identity::Identity;
use abide_core::verdict::{owner_of_open_turn, program_of};

use super::Agent;
use crate::truth::Session;

/// Which processes a session says are its own.
#[derive(Debug, Clone)]
pub struct Claim {
    /// None if it is over: then it has none.
    session: Option<SessionId>,
    processes: Vec<Identity>,
}

impl Claim {
    #[must_use]
    pub fn of(session: &Session) -> Self {
        let active = !session.verdict.status.is_terminal();
        let known = program_of(&session.evidence).into_iter().chain(owner_of_open_turn(&session.evidence));
        Self {
            session: active.then(|| session.id.clone()),
            processes: known.filter(|_| active).copied().collect(),
        }
    }

    /// Whether this agent runs in the session: as its program, as the owner of its turn, or told so by its variables.
    pub(super) fn covers(&self, agent: &Agent) -> bool {
        self.processes.iter().any(|one| one.is(&agent.process))
            || (self.session.is_some() && agent.session == self.session)
    }
}
