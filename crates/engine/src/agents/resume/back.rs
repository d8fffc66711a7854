//! Whether a conversation came back: the agent's own word, or what it wrote; never our command line, which says only what
//! it was told.

use abide_core::failure::Failure;
use abide_core::verdict::Turn;
use abide_sys::{clock, poll};

use super::{Resumable, Stood, Writer};
use crate::truth::Session;
use crate::wait::Ending;
use crate::{Sessions, find};

/// How often an agent that starts is looked at.
const LOOK_MS: u64 = 100;
/// One that waits for a prompt has said by then all that it says before one.
const SILENT_MS: u64 = 3_000;

impl Sessions {
    /// Waits until the agent in a session is at a conversation: whether it is at this one. None if that could not be told
    /// within so many ms.
    ///
    /// # Errors
    /// If there is no such session.
    pub fn came_back(
        &self,
        session: &Session,
        found: &Resumable,
        patience_ms: u64,
    ) -> Result<Option<bool>, Failure> {
        let home = self.home().ok_or_else(|| find::nothing(session.id.as_str()))?;
        let deadline = clock::now().boot.saturating_add(patience_ms);
        let mut ending = Ending::new(self.truth(), home, &session.id);
        let mut silent_at = None;
        loop {
            let is_over = ending.session.is_over();
            let held = self.agent_in(&ending.session).and_then(|agent| agent.conversation);
            if let Some(held) = held.filter(|held| held.by.is_its_own_word()) {
                return Ok(Some(held.conversation == found.conversation));
            }
            if found.is_written_to() {
                return Ok(Some(true));
            }
            let now = clock::now().boot;
            if ending.session.verdict.turn == Turn::Settled {
                silent_at.get_or_insert(now.saturating_add(SILENT_MS));
            }
            if is_over || now >= deadline || silent_at.is_some_and(|at| now >= at) {
                return Ok(None);
            }
            let fds: Vec<_> = ending.fds().collect();
            let _ = poll::readable(&fds, Some(LOOK_MS));
            drop(fds);
            ending.look_again(self.truth(), home);
        }
    }
}

impl Resumable {
    /// Whether somebody has written to it since it was found, and can only be the one that was started for it.
    fn is_written_to(&self) -> bool {
        self.writer == Writer::Nobody
            && Stood::of(self.adapter, &self.place, &self.conversation) != self.stood
    }
}
