//! When what was shown is flushed to the disk, and who does that while there is no end of it.

use std::fs::File;
use std::thread::{Builder, JoinHandle};

/// How long what was shown may wait before it is flushed to the disk.
pub(super) const FLUSH_MS: u64 = 700;
/// All that one who flushes needs.
const STACK: usize = 64 * 1024;

/// What of the session is to be flushed to the disk, and what is done once it is.
#[derive(Default)]
pub(super) struct Flushing {
    pub(super) at: Option<u64>,
    /// The names that lead to the session's files are on the disk.
    pub(super) settled: bool,
    /// Memory was used since some was last given back.
    pub(super) loose: bool,
    /// Who waits for the disk, so that the host need not.
    begun: Option<JoinHandle<()>>,
}

impl Flushing {
    /// Whether it is time, and nobody is at it.
    pub(super) fn is_due(&mut self, now: u64) -> bool {
        if self.at.is_none_or(|at| at > now) {
            return false;
        }
        if self.begun.as_ref().is_some_and(|begun| !begun.is_finished()) {
            self.at = Some(now.saturating_add(FLUSH_MS));
            return false;
        }
        (self.at, self.loose, self.begun) = (None, true, None);
        true
    }

    /// Has these files flushed while others are served, if that can be.
    pub(super) fn begin(&mut self, files: [&File; 2]) -> bool {
        let [Ok(first), Ok(second)] = files.map(File::try_clone) else { return false };
        let flush = move || {
            // A disk that fails is met again by the guard's next write.
            let _ = (first.sync_data(), second.sync_data());
        };
        self.begun = self.settled.then(|| Builder::new().stack_size(STACK).spawn(flush).ok()).flatten();
        self.begun.is_some()
    }
}
