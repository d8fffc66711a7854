//! How far something is that takes a while: one line of standard error that is written over, for people who look.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use super::time;

/// What something is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Sessions,
}

impl Unit {
    /// What is smaller than this is done before anyone could read how far it is.
    const fn worth_telling(self) -> u64 {
        match self {
            Self::Bytes => 8 << 20,
            Self::Sessions => 20,
        }
    }

    fn says(self, all: u64) -> String {
        match self {
            Self::Bytes => time::size(all),
            Self::Sessions => format!("{all} sessions"),
        }
    }
}

/// A line about something that goes on.
#[derive(Debug)]
pub(crate) struct Meter {
    what: &'static str,
    unit: Unit,
    shown: bool,
    /// The percent that were told last, and one more; 0 if nothing was told.
    told: AtomicU64,
}

impl Meter {
    /// Shows something only where it is wanted and somebody looks.
    pub(crate) fn new(wanted: bool, what: &'static str, unit: Unit) -> Self {
        Self { what, unit, shown: wanted && io::stderr().is_terminal(), told: AtomicU64::new(0) }
    }

    /// Tells how much is done. Can be called from anywhere.
    pub(crate) fn tell(&self, done: u64, all: u64) {
        if !self.shown || all < self.unit.worth_telling() {
            return;
        }
        let percent = (done.min(all) as f64 / all as f64 * 100.0) as u64;
        if self.told.fetch_max(percent + 1, Ordering::Relaxed) <= percent {
            let line = format!("\rabide: {}: {percent}% of {}\x1b[K", self.what, self.unit.says(all));
            put(&line);
        }
    }

    /// Leaves nothing behind.
    pub(crate) fn clear(&self) {
        if self.told.load(Ordering::Relaxed) > 0 {
            put("\r\x1b[K");
        }
    }
}

fn put(text: &str) {
    let mut stderr = io::stderr().lock();
    // Whoever does not hear it misses nothing.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
