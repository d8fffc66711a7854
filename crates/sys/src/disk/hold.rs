//! Holding a directory, from making it until the last of those who serve it is gone; and a file whose name may go.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, openat};
use rustix::io::Errno;

use super::PrivateDir;

impl PrivateDir {
    /// Holds the directory as nobody else can, waiting for whoever does. Every copy of this descriptor holds it too, in
    /// whatever process, until the last one is closed.
    ///
    /// # Errors
    /// If the file system has no such locks.
    pub fn hold(&self) -> io::Result<()> {
        loop {
            match rustix::fs::flock(&self.0, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                answer => return Ok(answer?),
            }
        }
    }

    /// The same if nobody holds it now. False if somebody does, or if that cannot be told.
    #[must_use]
    pub fn hold_if_free(&self) -> bool {
        rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Whether somebody holds it; none where that cannot be told. Asked through a descriptor of its own, and so that any
    /// number may ask at once.
    #[must_use]
    pub fn is_held(&self) -> Option<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let own = openat(&self.0, ".", flags, Mode::empty()).ok()?;
        match rustix::fs::flock(&own, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Some(false),
            Err(Errno::WOULDBLOCK) => Some(true),
            Err(_) => None,
        }
    }
}

/// Opens a file once more that is only ever appended to, whatever became of its name: locks on it are its own.
///
/// # Errors
/// If it may not be written, or there is no `/proc`.
pub fn reopen(file: impl AsFd) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(openat(CWD, path, flags, Mode::empty())?))
}
