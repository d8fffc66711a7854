//! Hints that files have grown: one descriptor for any number of them. A hint may be missed or come for nothing, so
//! nobody relies on it alone.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};

/// Watches files and directories.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// # Errors
    /// If the user has as many as allowed.
    pub fn new() -> io::Result<Self> {
        Ok(Self(init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    /// Gives hints when this open file grows. The number stands for it.
    ///
    /// # Errors
    /// If the user has as many as allowed, or there is no `/proc`.
    pub fn growth_of(&self, file: impl AsFd) -> io::Result<i32> {
        self.add(file, WatchFlags::MODIFY)
    }

    /// Gives hints when names appear or vanish in this open directory. The number stands for it.
    ///
    /// # Errors
    /// As `growth_of`.
    pub fn names_in(&self, dir: impl AsFd) -> io::Result<i32> {
        self.add(dir, WatchFlags::CREATE | WatchFlags::MOVE | WatchFlags::DELETE)
    }

    /// The numbers of those that gave a hint since. None if there were more hints than could be kept.
    #[must_use]
    pub fn hints(&self) -> Option<Vec<i32>> {
        let mut room = [MaybeUninit::uninit(); 8192];
        let mut reader = Reader::new(&self.0, &mut room);
        let mut numbers = Vec::new();
        while let Ok(hint) = reader.next() {
            numbers.push(hint.wd());
        }
        // The kernel names nobody when it gives up counting.
        (!numbers.contains(&-1)).then_some(numbers)
    }

    fn add(&self, what: impl AsFd, flags: WatchFlags) -> io::Result<i32> {
        let path = format!("/proc/self/fd/{}", what.as_fd().as_raw_fd());
        Ok(add_watch(&self.0, path.as_str(), flags)?)
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
