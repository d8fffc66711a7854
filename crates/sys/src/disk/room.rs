//! Room on a disk: how much there is, what a file takes of it, and some of it given back.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate};
use rustix::io::Errno;

/// How many bytes we could still write where a file or directory is.
///
/// # Errors
/// If the file system does not say.
pub fn room(fd: impl AsFd) -> io::Result<u64> {
    let told = rustix::fs::fstatvfs(fd)?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

/// How many files could still be made there. None where the file system does not count them.
///
/// # Errors
/// If the file system does not say.
pub fn room_for_files(fd: impl AsFd) -> io::Result<Option<u64>> {
    let told = rustix::fs::fstatvfs(fd)?;
    Ok((told.f_files > 0).then_some(told.f_favail))
}

/// Gives back the room that a part of a file takes: it reads as zeros from then on.
///
/// # Errors
/// `Unsupported` if the file system cannot do that at all.
pub fn punch(file: impl AsFd, part: std::ops::Range<u64>) -> io::Result<()> {
    let (flags, length) = (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, part.end - part.start);
    match fallocate(file, flags, part.start, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "its file system cannot give room back"))
        }
        answer => Ok(answer?),
    }
}

/// Where something was written to a file at this offset or behind it; its end if nothing was.
///
/// # Errors
/// If the file system does not say.
pub fn next_data(file: &File, offset: u64) -> io::Result<u64> {
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Err(Errno::NXIO) => Ok(file.metadata()?.len().max(offset)),
        found => Ok(found?),
    }
}
