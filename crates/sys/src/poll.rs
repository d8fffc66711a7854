//! Waiting for descriptors, with or without a limit in time. The only place that blocks on many things at once.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A descriptor and what is awaited of it.
#[derive(Debug, Clone, Copy)]
pub struct Interest<'a> {
    pub fd: BorrowedFd<'a>,
    pub read: bool,
    pub write: bool,
}

/// What can be done with a descriptor without blocking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ready {
    /// There is something to read, or the other side is gone.
    pub read: bool,
    pub write: bool,
}

impl<'a> Interest<'a> {
    #[must_use]
    pub const fn reading(fd: BorrowedFd<'a>) -> Self {
        Self { fd, read: true, write: false }
    }

    /// Awaits only what needs no asking: a hang-up, or the news of a cgroup, which the kernel tells as an error.
    #[must_use]
    pub const fn news(fd: BorrowedFd<'a>) -> Self {
        Self { fd, read: false, write: false }
    }
}

/// Waits until something can be done, for so many ms at most.
#[must_use]
pub fn wait(interests: &[Interest<'_>], timeout_ms: Option<u64>) -> Vec<Ready> {
    let flags = |interest: &Interest<'_>| {
        let read = if interest.read { PollFlags::IN } else { PollFlags::empty() };
        read | if interest.write { PollFlags::OUT } else { PollFlags::empty() }
    };
    let mut fds = Vec::with_capacity(interests.len());
    fds.extend(interests.iter().map(|interest| PollFd::from_borrowed_fd(interest.fd, flags(interest))));
    let timeout = timeout_ms.map(|ms| Timespec {
        tv_sec: i64::try_from(ms / 1000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ms % 1000 * 1_000_000).unwrap_or(0),
    });
    // An interruption or a failure to wait is an answer too: nothing is ready.
    let _ = poll(&mut fds, timeout.as_ref());
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let ready = |fd: &PollFd<'_>| Ready {
        read: fd.revents().intersects(PollFlags::IN | gone),
        write: fd.revents().intersects(PollFlags::OUT),
    };
    fds.iter().map(ready).collect()
}

/// Waits until one of them can be read or has been hung up, for so many ms at most. Says which.
#[must_use]
pub fn readable(fds: &[BorrowedFd<'_>], timeout_ms: Option<u64>) -> Vec<bool> {
    let interests: Vec<_> = fds.iter().map(|fd| Interest::reading(*fd)).collect();
    wait(&interests, timeout_ms).iter().map(|ready| ready.read).collect()
}

/// Lets this process hold as many descriptors as it may. For one that starts no others: they would inherit it.
pub fn make_room_for_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where that is not allowed, there is as much room as before.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// How many descriptors this process, and what it starts, may hold at once.
#[must_use]
pub fn descriptors_allowed() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// # Errors
/// If fewer may be held.
pub fn ensure_descriptors(needed: u64) -> io::Result<()> {
    if descriptors_allowed() < needed { Err(Errno::MFILE.into()) } else { Ok(()) }
}

/// How many more descriptors this process may hold; none if that cannot be told.
#[must_use]
pub fn descriptors_left() -> Option<u64> {
    let most = descriptors_allowed();
    // One of them is for the looking.
    let held = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    Some(most.saturating_sub(held.saturating_sub(1)))
}
