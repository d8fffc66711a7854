//! What comes behind the end of a recording that was cut while its program lives on: the host has it, and is asked for it.
//! Only whoever waits for something on the screen needs it; for everyone else a gap is told.

use abide_core::screen::Screen;
use abide_sys::clock;

use super::super::replayed::Replayed;
use super::super::tail::Tail;
use super::{Limit, Replay};

impl Replay<'_> {
    /// Where what is on record ends before the span begins, this is what was shown when it began.
    #[must_use]
    pub(crate) fn or_from(mut self, screen: Screen) -> Self {
        self.tail.beyond = Some(Box::new(screen));
        self
    }

    /// How much output was taken in.
    pub(crate) const fn position(&self) -> u64 {
        self.replayed.position
    }

    /// Takes in what was shown since and is not on record. True if there was anything.
    pub(crate) fn take_unrecorded(&mut self) -> bool {
        take(&mut self.tail, &mut self.replayed, u64::MAX)
    }

    /// Goes to where the span begins, which what is on record does not come to.
    pub(super) fn begin_unrecorded(&mut self) {
        let Limit::Position(from) = self.from else { return };
        match self.tail.beyond.take() {
            Some(screen) => self.replayed.screen = *screen,
            None => {
                take(&mut self.tail, &mut self.replayed, from);
            }
        }
        self.replayed.miss(from);
    }
}

/// Takes in what is not on record up to a position. True if there was anything.
pub(super) fn take(tail: &mut Tail<'_>, replayed: &mut Replayed, until: u64) -> bool {
    let span = replayed.position..until;
    let Some(told) = tail.unrecorded(span.start) else { return false };
    let mut any = false;
    told.each(span, replayed.screen.size(), clock::boot_micros(), &mut |entry| {
        // Its host answered what the program asked.
        let _ = replayed.take(entry);
        any = true;
    });
    any
}
