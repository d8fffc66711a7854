//! Memory that outlives the process that writes to it: one process writes, others that hold its descriptor read.
//! Words are read and written whole, by anyone at any time; bytes belong to the writer alone.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

/// How many words stand before the bytes.
pub const WORDS: usize = 24 + 512;
const WORDS_SIZE: usize = WORDS * size_of::<u64>();

/// A piece of memory that processes share.
#[derive(Debug)]
pub struct Shared {
    fd: OwnedFd,
    at: NonNull<u8>,
    /// The bytes behind the words.
    length: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is until it is dropped.
unsafe impl Send for Shared {}

impl Shared {
    /// New memory, all zero, with so many bytes behind its words. It takes room only where it was written.
    ///
    /// # Errors
    /// If the system has none to give.
    pub fn new(length: usize) -> io::Result<Self> {
        let fd = rustix::fs::memfd_create("abide", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let file = File::from(fd);
        file.set_len((WORDS_SIZE + length) as u64)?;
        // Whoever holds it cannot take away what others have mapped.
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file.into(), length)
    }

    /// The memory that another process made with so many bytes.
    ///
    /// # Errors
    /// If it is not such memory, or cannot be mapped.
    pub fn of(fd: OwnedFd, length: usize) -> io::Result<Self> {
        let sealed = rustix::fs::fcntl_get_seals(&fd)?.contains(SealFlags::SHRINK);
        let file = File::from(fd);
        if !sealed || file.metadata()?.len() != (WORDS_SIZE + length) as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(file.into(), length)
    }

    fn map(fd: OwnedFd, length: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice; the file has this length and is sealed against
        // becoming shorter.
        let at = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), WORDS_SIZE + length, access, MapFlags::SHARED, &fd, 0)
        }?;
        let at = NonNull::new(at.cast::<u8>()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { fd, at, length })
    }

    /// One of the words.
    ///
    /// # Panics
    /// If there is no such word.
    #[must_use]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < WORDS, "there are {WORDS} words");
        // SAFETY: the mapping begins page-aligned and has room for the words; they are only ever used atomically.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr().cast::<u64>().add(index)) }
    }

    /// The bytes, for the one process that writes.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has this length behind its words, and only the writer changes it. What other
        // processes read meanwhile is theirs to check.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr().add(WORDS_SIZE), self.length) }
    }

    /// A copy of some of the bytes, which their writer may be changing: the words must tell whether it is whole.
    #[must_use]
    pub fn copy(&self, range: Range<usize>) -> Vec<u8> {
        let range = range.start.min(self.length)..range.end.min(self.length);
        // SAFETY: within the mapping; a volatile read takes whatever is there.
        range.map(|at| unsafe { self.at.as_ptr().add(WORDS_SIZE + at).read_volatile() }).collect()
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrowed from it outlives this value.
        let _ = unsafe { rustix::mm::munmap(self.at.as_ptr().cast(), WORDS_SIZE + self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_writes_another_that_holds_it_reads() {
        let mut writer = Shared::new(100).unwrap();
        writer.bytes_mut()[90..95].copy_from_slice(b"hello");
        writer.word(7).store(42, Ordering::Release);
        let reader = Shared::of(writer.as_fd().try_clone_to_owned().unwrap(), 100).unwrap();
        drop(writer);
        assert_eq!(reader.word(7).load(Ordering::Acquire), 42);
        assert_eq!(reader.copy(89..96), b"\0hello\0");
        assert_eq!(reader.copy(99..1000).len(), 1, "never beyond its end");
    }

    #[test]
    fn memory_of_another_length_or_kind_is_refused() {
        let memory = Shared::new(100).unwrap();
        assert!(Shared::of(memory.as_fd().try_clone_to_owned().unwrap(), 101).is_err());
        let open = rustix::fs::memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&open, (WORDS_SIZE + 100) as u64).unwrap();
        assert!(Shared::of(open, 100).is_err(), "it could be cut under our feet");
    }
}
