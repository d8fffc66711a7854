//! Where a span ends, and what follows it.

use abide_sys::clock;

use super::{Limit, Replay};
use crate::truth::Session;

impl Replay<'_> {
    /// Behind the end of the span, what follows it.
    pub const fn go_on(&mut self) {
        self.to = Limit::None;
    }

    /// When the span ends, in microseconds since the recording began, where that is later than its last entry: where it was
    /// asked to end, or when the session was seen to end.
    #[must_use]
    pub fn span_end(&self, session: &Session) -> Option<u64> {
        let closing = &session.evidence.closing;
        let same_boot =
            |boot| session.evidence.beginning.launched.as_ref().is_some_and(|l| l.witness.boot == boot);
        let ended = closing.ended.as_ref().filter(|told| same_boot(told.witness.boot));
        let ended = ended.map(|told| self.clock.micros(told.at.boot.saturating_mul(1000)));
        match self.to {
            Limit::Time { asked, .. } => {
                let last = ended.unwrap_or_else(|| self.clock.micros(clock::boot_micros()));
                Some(self.clock.micros(asked).min(last))
            }
            Limit::None => ended,
            Limit::Start | Limit::Position(_) | Limit::Entry(_) => None,
        }
    }
}
