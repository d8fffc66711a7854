//! Where a span begins: the recording is taken in up to there. What was let go cannot be; then it begins behind that.

use std::io;

use abide_sys::clock;

use super::super::damage::Gap;
use super::super::tail::News;
use super::stride::{Stepped, Taken};
use super::{Limit, Replay};

/// What is to be told of the beginning of a span.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    /// What was missing on the way to it.
    pub(super) gaps: Vec<Gap>,
    /// What was asked for was let go: it begins behind that.
    pub(super) is_let_go: bool,
    /// When whoever asked for the screen of now has waited for long enough.
    pub(super) until: Option<u64>,
    /// Where in the file it is, with the time, position and number of what came last.
    pub(super) at: [u64; 4],
}

impl Beginning {
    pub(super) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| clock::now().boot >= until)
    }
}

impl Replay<'_> {
    /// When somebody typed last, in microseconds of boot time, if nothing was shown since: at a position that stands before it.
    pub(crate) const fn typed(&self) -> Option<u64> {
        self.replayed.typed
    }

    /// Goes to where the span begins.
    pub(super) fn begin(&mut self) -> io::Result<Stepped> {
        let kept = std::mem::replace(&mut self.keeps_screen, true);
        loop {
            match self.take(self.from)? {
                Taken::Entry => {
                    self.asked = None;
                    if self.is_late() {
                        break;
                    }
                }
                Taken::Screen => self.begin_behind_shed(),
                Taken::LetGo => {}
                Taken::Gap(gap) => {
                    let no_screen = matches!(gap, Gap::Screen(_));
                    self.beginning.gaps.push(gap);
                    if no_screen {
                        self.note_let_go();
                    }
                }
                Taken::Beyond => {
                    // The screen stood so from the last entry to the next: then is when it was asked for.
                    if let Limit::Time { asked, .. } = self.from {
                        self.asked = Some(asked.max(self.replayed.time));
                        self.replayed.unveil_by(asked);
                    }
                    break;
                }
                Taken::Nothing => match self.tail.more(&mut self.reader) {
                    Some(News::CaughtUp) if !self.tail.waits() => {
                        if !self.from.is_reached(&self.replayed) {
                            self.begin_unrecorded();
                        }
                        break;
                    }
                    Some(_) => {}
                    None if !self.tail.has_ended() && self.from.is_behind(clock::boot_micros()) => {
                        return Ok(Stepped::Short);
                    }
                    // What is missing at the end was told on the way: who asks for something of that is led to the last screen.
                    None if self.from.is_reached(&self.replayed) || self.is_missing() => {
                        if self.tail.has_ended() {
                            self.replayed.finish();
                        }
                        self.stand_until_now();
                        // The screen of a program that goes on stands so until now.
                        if let Limit::Time { asked, .. } = self.from
                            && !self.tail.has_ended()
                            && asked < u64::MAX
                        {
                            self.asked = Some(asked.max(self.replayed.time));
                        }
                        break;
                    }
                    None => return Ok(Stepped::Short),
                },
            }
        }
        self.keeps_screen = kept;
        self.begun = true;
        self.beginning.at = self.reached();
        Ok(Stepped::Begun)
    }

    /// Whether what the span begins with came, as far as is known, and is not on record.
    fn is_missing(&self) -> bool {
        let position = self.replayed.position;
        self.from.is_within(position..self.due.may_have_come(position))
    }

    /// The screen lacks nothing of what was let go. If that is what was asked for, this is the first that is left.
    fn begin_behind_shed(&mut self) {
        self.asked = None;
        let gaps = std::mem::take(&mut self.replayed.gaps);
        self.note_let_go();
        if !self.beginning.is_let_go {
            self.beginning.gaps = gaps;
        }
    }

    fn note_let_go(&mut self) {
        self.beginning.is_let_go = !self.from.admits_replayed(&self.replayed);
        if self.beginning.is_let_go {
            let instead = "what was shown then is not on record any more; this is the first screen that is";
            self.beginning.gaps.push(Gap::Cut(instead.to_owned()));
        }
    }
}
