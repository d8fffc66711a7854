//! How far something is that takes a while: one line of standard error that is written over, for people who look.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use super::time;

/// What is smaller than this is done before anyone could read how far it is.
const WORTH_TELLING: u64 = 8 << 20;

/// A line about something that goes on.
#[derive(Debug)]
pub(crate) struct Meter {
    what: &'static str,
    shown: bool,
    /// The percent that were told last, and one more; 0 if nothing was told.
    told: AtomicU64,
}

impl Meter {
    /// Shows something only where it is wanted and somebody looks.
    pub(crate) fn new(wanted: bool, what: &'static str) -> Self {
        Self { what, shown: wanted && io::stderr().is_terminal(), told: AtomicU64::new(0) }
    }

    /// Tells how much is done, in bytes. Can be called from anywhere.
    pub(crate) fn tell(&self, done: u64, all: u64) {
        if !self.shown || all < WORTH_TELLING {
            return;
        }
        let percent = (done.min(all) as f64 / all as f64 * 100.0) as u64;
        if self.told.fetch_max(percent + 1, Ordering::Relaxed) <= percent {
            let line = format!("\rabide: {}: {percent}% of {}\x1b[K", self.what, time::size(all));
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
