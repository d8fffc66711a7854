//! When a checkpoint is due: a pure function of the evidence and the time. Who makes it, and how, is the engine's.

use crate::evidence::Reason;
use crate::evidence::fold::Evidence;

/// How often, where nobody said anything else.
pub const EVERY_MS: u64 = 30_000;

/// What a scribe knows of the checkpoints that it made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// None: never just because time has passed.
    every_ms: Option<u64>,
    /// When it was due last because of the time, in ms of boot time.
    last: Option<u64>,
    /// The last time there was nothing to save: there may be at any look.
    nothing: bool,
    /// The turn that was open then, by the number of its fact.
    turn: Option<u64>,
    /// Of the signals and stops up to the fact of this number none is due any more.
    heeded: u64,
}

impl Schedule {
    /// As the launch had it. What was asked for before the last checkpoint on record is done.
    #[must_use]
    pub fn new(evidence: &Evidence) -> Self {
        let launched = evidence.beginning.launched.as_ref();
        let every_ms = launched.and_then(|told| told.body.terms.checkpoint_ms).unwrap_or(EVERY_MS);
        let turn = evidence.work.turn.as_ref().map_or(0, |told| told.order + 1);
        let done = evidence.work.saved.iter().map(|saved| saved.latest.order + 1).max().unwrap_or(0);
        let every_ms = Some(every_ms).filter(|ms| *ms > 0);
        Self { every_ms, last: None, nothing: false, turn: None, heeded: turn.max(done) }
    }

    /// Why a checkpoint is due now, if one is. It counts as made: whoever cannot make it says so and waits for the next.
    #[must_use]
    pub fn due(&mut self, now: u64, evidence: &Evidence) -> Option<Reason> {
        let asked = self.asked(evidence);
        self.heeded = evidence.record.facts;
        if !is_at_work(evidence) {
            // The next turn begins with one.
            self.last = None;
            return None;
        }
        // One turn may follow another between two looks.
        let turn = evidence.work.turn.as_ref().map(|told| told.order);
        if std::mem::replace(&mut self.turn, turn) != turn {
            self.last = None;
        }
        let again = self.nothing && self.every_ms.is_some();
        let up = again || self.wake_at(evidence).is_some_and(|at| at <= now);
        let due = asked.or(up.then_some(Reason::Interval));
        if due.is_some() {
            (self.last, self.nothing) = (Some(now), false);
        }
        due
    }

    /// There was nothing to save yet: it is due again whenever somebody looks, and nobody looks because of it.
    pub const fn nothing_yet(&mut self) {
        self.nothing = true;
    }

    /// The last one could not be made for now: it is due again at the next look.
    pub const fn again(&mut self) {
        self.last = None;
    }

    /// When the time is up, in ms of boot time.
    #[must_use]
    pub fn wake_at(&self, evidence: &Evidence) -> Option<u64> {
        let every = self.every_ms.filter(|_| is_at_work(evidence))?;
        Some(self.last.map_or(0, |last| last.saturating_add(every)))
    }

    /// What the helpers wrote down since.
    fn asked(&self, evidence: &Evidence) -> Option<Reason> {
        let since = |order: u64| order >= self.heeded;
        let stop = evidence.closing.stop_asked.as_ref().filter(|told| since(told.order));
        let heard = evidence.helpers.heard.as_ref().filter(|told| since(told.order));
        let heard = heard.map(|told| if told.body == HUP { Reason::Hangup } else { Reason::Terminate });
        stop.map(|_| Reason::Stop).or(heard)
    }
}

const HUP: i32 = 1;

/// Whether a turn is open, or nobody ever told of one: a program that is no agent is always at work.
#[must_use]
pub const fn is_at_work(evidence: &Evidence) -> bool {
    !evidence.work.turn_closed
}
