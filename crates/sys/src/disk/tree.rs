//! Removing a directory with everything in it, however deep it is and whatever it holds: links are removed, not followed.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::PrivateDir;

/// How often a directory is emptied that others still add to.
const ROUNDS: u32 = 100;
/// Whoever makes directories faster than they are removed is not waited for without end.
const MOST_MOVED: u32 = 1 << 24;

impl PrivateDir {
    /// Removes a file, or a directory with everything in it.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        let Some(top) = self.directory(name) else {
            return self.remove_if_there(name, AtFlags::empty());
        };
        // One who still works in it may add something after it was looked at; none can once it is gone.
        for _ in 0..ROUNDS {
            top.empty()?;
            match self.remove_if_there(name, AtFlags::REMOVEDIR) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                removed => return removed,
            }
        }
        Err(io::ErrorKind::DirectoryNotEmpty.into())
    }

    /// Removes what is in it. What is deeper is moved up first, so that it takes two descriptors and no stack.
    fn empty(&self) -> io::Result<()> {
        let (mut moved, mut idle) = (0, 0);
        while idle < ROUNDS && moved < MOST_MOVED {
            let (names, before) = (self.names()?, moved);
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                match self.directory(&name) {
                    Some(below) => {
                        self.raise(&below, &mut moved)?;
                        match self.remove_if_there(&name, AtFlags::REMOVEDIR) {
                            // Somebody adds to it: the next round finds it again.
                            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                            removed => removed?,
                        }
                    }
                    None => self.remove_if_there(&name, AtFlags::empty())?,
                }
            }
            idle += u32::from(moved == before);
        }
        Err(io::ErrorKind::DirectoryNotEmpty.into())
    }

    /// Removes the files of a directory below this one, and moves its directories into this one.
    fn raise(&self, below: &Self, moved: &mut u32) -> io::Result<()> {
        for name in below.names()? {
            // An empty one need not be moved, which it may not allow.
            let flags = if below.directory(&name).is_some() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            match below.remove_if_there(&name, flags) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                removed => {
                    removed?;
                    continue;
                }
            }
            loop {
                let free = OsString::from(format!(".{moved}"));
                *moved += 1;
                match renameat_with(&below.0, &name, &self.0, &free, RenameFlags::NOREPLACE) {
                    Ok(()) | Err(Errno::NOENT) => break,
                    Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(())
    }

    /// A directory below this one; none for anything else, and for what cannot be opened at all, a socket for one.
    fn directory(&self, name: &OsStr) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.0, name, flags, Mode::empty()).ok().map(Self)
    }

    /// Another may remove the same thing at the same time.
    fn remove_if_there(&self, name: &OsStr, flags: AtFlags) -> io::Result<()> {
        match unlinkat(&self.0, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // A directory that cannot be opened can be removed if it is empty.
            Err(Errno::ISDIR) => Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?),
            Err(errno) => Err(errno.into()),
        }
    }
}
