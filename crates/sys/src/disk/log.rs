//! Logs: files that are only ever appended to, one write an entry, and read in bounded memory.

use std::fs::File;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::fs::{FallocateFlags, fallocate, fstat};
use rustix::io::{Errno, pread};

/// Makes room for so many bytes at the end of the file, so that they can be written whole; and for as many as are to be kept for
/// others behind them.
///
/// # Errors
/// If there is no room.
pub fn make_room(file: &File, bytes: usize, kept: usize) -> io::Result<Room> {
    let end = length(file)?;
    let make = |bytes: usize| match fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes as u64) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(end + bytes as u64),
        Err(errno) => Err(errno),
    };
    match make(bytes + kept) {
        Ok(until) => Ok(Room { until, kept: true }),
        Err(_) => Ok(Room { until: make(bytes)?, kept: false }),
    }
}

/// Room at the end of a file.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Up to this place.
    pub until: u64,
    /// So much that some is kept for others.
    pub kept: bool,
}

/// How long the file is.
///
/// # Errors
/// If the kernel does not say.
pub fn length(file: &File) -> io::Result<u64> {
    Ok(u64::try_from(fstat(file)?.st_size).unwrap_or(0))
}

/// Appends with a single write. A reader sees all of it or, if the disk is full, a torn frame.
///
/// # Errors
/// If not all of it could be written.
pub fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    if append_some(file, bytes)? == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
}

/// Appends with a single write, and says how much of it had room.
///
/// # Errors
/// If nothing could be written.
pub fn append_some(file: &File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::io::write(file, bytes) {
            Err(Errno::INTR) => {}
            written => return Ok(written?),
        }
    }
}

/// Reads the file from this place on, piece by piece, in bounded memory, until about so many bytes.
///
/// # Errors
/// If the file cannot be read.
pub fn read_pieces(file: &File, from: u64, limit: u64, mut piece: impl FnMut(&[u8])) -> io::Result<u64> {
    const PIECE: usize = 16 * 1024;
    // Not on the stack, and not cleared: most logs are shorter, and what they leave of it is never touched.
    let mut buffer = Vec::with_capacity(PIECE);
    let mut total = 0;
    loop {
        buffer.clear();
        match pread(file, spare_capacity(&mut buffer), from + total) {
            Ok(length) => {
                piece(&buffer);
                total += length as u64;
                // A regular file gives all it has.
                if length < PIECE || total >= limit {
                    return Ok(total);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
