//! Logs: files that are only ever appended to, one write an entry, and read in bounded memory.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Makes room for so many bytes at the end of the file, so that they can be written whole; and for as many as are to be kept for
/// others behind them. Whether there was room for those too.
///
/// # Errors
/// If there is no room.
pub fn make_room(file: &File, bytes: usize, kept: usize) -> io::Result<bool> {
    let end = file.metadata()?.len();
    let make = |bytes: usize| match fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes as u64) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(errno),
    };
    if make(bytes + kept).is_ok() {
        return Ok(true);
    }
    Ok(make(bytes).map(|()| false)?)
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

/// Reads what follows in the file, piece by piece, in bounded memory, until about so many bytes.
///
/// # Errors
/// If the file cannot be read.
pub fn read_pieces(file: &mut File, limit: u64, mut piece: impl FnMut(&[u8])) -> io::Result<u64> {
    // Most files are shorter by far, and what they leave of it need not be made ready.
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut total = 0;
    loop {
        match rustix::io::read(&*file, &mut buffer[..]) {
            Ok((read, rest)) => {
                piece(read);
                total += read.len() as u64;
                // A regular file gives all it has.
                if !rest.is_empty() || total >= limit {
                    return Ok(total);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
