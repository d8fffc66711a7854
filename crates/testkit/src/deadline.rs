//! How long a test waits for what must happen: long enough for any machine, and never waited for in vain.

use std::os::fd::BorrowedFd;

use abide_sys::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const PATIENCE_MS: u64 = 60_000;

/// The instant at which waiting has failed.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(u64);

impl Deadline {
    #[must_use]
    pub fn start() -> Self {
        Self(clock::now().boot + PATIENCE_MS)
    }

    /// Whether it has passed.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.left_ms() == 0
    }

    /// Waits until this can be read or is closed. False if the deadline came first.
    #[must_use]
    pub fn readable(self, fd: BorrowedFd<'_>) -> bool {
        self.first_readable(&[fd]).is_some()
    }

    /// Waits until one of these can be read or is closed, and tells which. `None` if the deadline came first.
    ///
    /// # Panics
    /// If they cannot be polled.
    #[must_use]
    pub fn first_readable(self, fds: &[BorrowedFd<'_>]) -> Option<usize> {
        let mut polled: Vec<_> = fds.iter().map(|&fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        loop {
            match poll(&mut polled, Some(&self.left())) {
                Ok(_) => return polled.iter().position(|fd| !fd.revents().is_empty()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => panic!("cannot poll: {errno}"),
            }
        }
    }

    fn left(self) -> Timespec {
        let ms = self.left_ms().cast_signed();
        Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 }
    }

    fn left_ms(self) -> u64 {
        self.0.saturating_sub(clock::now().boot)
    }
}

/// Waits for what nothing announces, by asking again and again; between two questions for as long as the last one took,
/// so that whoever is waited for has room.
///
/// # Panics
/// If it has not come true by the deadline.
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Deadline::start();
    loop {
        let asked = clock::boot_micros();
        if is_true() {
            return;
        }
        assert!(!deadline.is_over(), "waited in vain until {what}");
        let took = clock::boot_micros().saturating_sub(asked).clamp(200, 20_000).cast_signed();
        let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: took * 1000 }));
    }
}
