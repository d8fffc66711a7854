//! A film: screens, each from a time on. Whoever makes one is fed in order and keeps no more than the last of them.

use std::io;
use std::time::Duration;

use abide_core::screen::View;

/// What is fed screens and writes a file.
pub trait Film {
    /// Shows a screen from this time on, which is not before that of the screen shown last.
    ///
    /// # Errors
    /// If it cannot be written.
    fn show(&mut self, at: Duration, view: &View<'_>) -> io::Result<()>;

    /// Ends the film at this time.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(self: Box<Self>, until: Duration) -> io::Result<()>;
}

/// How often a film may show another screen, so that a flood of output does not make it one of thousands: at whole
/// multiples of a step, and only where something has changed.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    step: Duration,
    changed: Option<Duration>,
}

impl Pace {
    /// So many screens a second at most.
    #[must_use]
    pub fn new(rate: u32) -> Self {
        Self { step: Duration::from_secs(1) / rate.max(1), changed: None }
    }

    /// Takes note that the screen changes at this time. Before that it may have to be shown: gives from which time on.
    pub fn change(&mut self, at: Duration) -> Option<Duration> {
        let due = self.changed.map(|changed| self.step_of(changed));
        let show = due.filter(|due| self.step_of(at) > *due);
        if show.is_some() || self.changed.is_none() {
            self.changed = Some(at);
        }
        show
    }

    /// From which time on the last screen is to be shown, if it was not yet.
    pub fn end(&mut self) -> Option<Duration> {
        self.changed.take().map(|changed| self.step_of(changed))
    }

    fn step_of(&self, at: Duration) -> Duration {
        let steps = at.as_nanos() / self.step.as_nanos().max(1);
        self.step * u32::try_from(steps).unwrap_or(u32::MAX)
    }
}
