//! Instants. Wall time is for showing, boot time for measuring; neither is ever read here.

use serde::{Deserialize, Serialize};

/// One instant on both clocks, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// Since the Unix epoch. Can be set by anyone, so it decides nothing.
    pub wall: i64,
    /// Since the machine booted, sleep included. Comparable only within one boot.
    pub boot: u64,
}

impl Moment {
    /// The milliseconds from `earlier` to `self` by the boot-time clock; zero if the clocks say it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.boot.saturating_sub(earlier.boot)
    }
}
