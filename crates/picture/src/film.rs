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

/// How often a film shows another screen, so that a flood of output does not make it one of thousands: at whole
/// multiples of a step, and then the last that was to be seen before the next.
#[derive(Debug, Clone, Copy)]
pub struct Shutter {
    step: Duration,
}

impl Shutter {
    /// So many screens a second at most.
    #[must_use]
    pub fn new(rate: u32) -> Self {
        Self { step: Duration::from_secs(1) / rate.max(1) }
    }

    /// From which time on a screen is shown that came at one time and stays until another; none if it does not stay
    /// until the next step.
    #[must_use]
    pub fn opens(&self, at: Duration, until: Option<Duration>) -> Option<Duration> {
        let step = self.step_of(at);
        until.is_none_or(|until| self.step_of(until) > step).then_some(step)
    }

    fn step_of(&self, at: Duration) -> Duration {
        let steps = at.as_nanos() / self.step.as_nanos().max(1);
        self.step.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
    }
}
