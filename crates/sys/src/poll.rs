//! Waiting for descriptors, with or without a limit in time. The only place that blocks on many things at once.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until one of them can be read or has been hung up, for so many ms at most. Says which.
#[must_use]
pub fn readable(fds: &[BorrowedFd<'_>], timeout_ms: Option<u64>) -> Vec<bool> {
    let mut polled: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let timeout = timeout_ms.map(|ms| Timespec {
        tv_sec: i64::try_from(ms / 1000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ms % 1000 * 1_000_000).unwrap_or(0),
    });
    // An interruption or a failure to wait is an answer too: nothing is ready.
    let _ = poll(&mut polled, timeout.as_ref());
    polled.iter().map(|fd| !fd.revents().is_empty()).collect()
}
