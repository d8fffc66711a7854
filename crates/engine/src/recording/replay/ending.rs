//! Where a span ends, and what follows it.

use abide_sys::clock;

use super::{Limit, Replay};
use crate::recording::replayed::Replayed;
use crate::truth::Session;

impl Replay<'_> {
    /// Behind the end of the span, what follows it.
    pub const fn go_on(&mut self) {
        self.to = Limit::None;
    }

    /// Where it is in the file, with the time, position and number of what came last.
    pub(super) const fn reached(&self) -> [u64; 4] {
        let Replayed { time, position, entries, .. } = self.replayed;
        [self.reader.offset(), time, position, entries]
    }

    /// How much of the span was read, in percent; none while it is followed.
    #[must_use]
    pub fn percent(&self) -> Option<u64> {
        let (_, length) = self.progress()?;
        let (began, reached) = (self.beginning.at, self.reached());
        let share = |which: usize, end: u64| {
            let done = reached[which].saturating_sub(began[which]).saturating_mul(100);
            done / end.saturating_sub(began[which]).max(1)
        };
        let asked = match self.to {
            Limit::Time { until, .. } => share(1, until),
            Limit::Position(end) => share(2, end),
            Limit::Entry(end) => share(3, end),
            Limit::Start | Limit::None => 0,
        };
        Some(asked.max(share(0, length)).min(100))
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

#[cfg(test)]
mod tests {
    use abide_core::instant::{At, Span};
    use abide_testkit::scene::over;
    use abide_testkit::{ScratchHome, Tape};

    use crate::Sessions;

    #[test]
    fn how_far_a_replay_is_counts_the_span_and_not_the_recording() {
        let home = ScratchHome::new();
        let scene = over(&home.path(), "spanning");
        let tape = (0..1000).fold(Tape::new(80, 24), |tape, n| tape.at(n * 10_000).output("ten bytes\n"));
        tape.put(scene.dir());
        let sessions = Sessions::open(&home.path()).expect("it is ours");
        let session = sessions.find("spanning").expect("it is there");
        for (from, to) in [
            (None, None),
            (None, Some(At::Since(2_000_000))),
            (Some(At::Since(4_000_000)), Some(At::Since(5_000_000))),
            (Some(At::Entry(800)), Some(At::Entry(900))),
            (Some(At::Position(7000)), Some(At::Position(8000))),
            (Some(At::Position(5000)), None),
        ] {
            let span = Span { from, to };
            let mut replay = sessions.replay(&session, &span, false).expect("there is a recording");
            let mut told = Vec::new();
            while replay.next().expect("it can be read").is_some() {
                told.extend(replay.percent());
            }
            assert!(told[0] < 5 && told.is_sorted() && told.last() > Some(&97), "{span:?}: {told:?}");
            let half = told[told.len() / 2];
            assert!((45..=55).contains(&half), "{span:?}: {half} half way");
        }
    }
}
