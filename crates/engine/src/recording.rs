//! Reading a recording: as it grows, entry by entry, with whatever is damaged located and passed over.

pub(crate) mod keyframes;
pub(crate) mod logs;
pub(crate) mod snapshot;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use abide_core::recording::{Entry, HEADER, LONGEST, Next, next, next_at_end};

/// How much is read at once.
const PIECE: usize = 256 * 1024;

/// One thing found in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    Entry(Entry<'a>),
    /// So many bytes at this offset of the file are no entry.
    Damage {
        offset: u64,
        length: u64,
    },
}

/// Follows a recording from some offset on.
#[derive(Debug)]
pub struct Reader {
    file: File,
    buffer: Vec<u8>,
    /// The file's offset of the buffer's beginning.
    offset: u64,
    /// Where the last entry that was given begins, and its header.
    behind: Option<(u64, [u8; HEADER])>,
}

impl Reader {
    /// Reads from an offset at which an entry begins.
    ///
    /// # Errors
    /// If the file has no such place.
    pub fn new(mut file: File, offset: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { file, buffer: Vec::new(), offset, behind: None })
    }

    /// The offset behind the last entry that was given.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the last entry that was given begins, and its header.
    pub(crate) const fn behind(&self) -> Option<(u64, [u8; HEADER])> {
        self.behind
    }

    /// What was read and is not the whole of an entry yet.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads the next piece and gives what is whole in it. False if there was nothing to read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn advance(&mut self, found: &mut impl FnMut(Found<'_>)) -> io::Result<bool> {
        let held = self.buffer.len();
        self.buffer.resize(held + PIECE, 0);
        let got = self.file.read(&mut self.buffer[held..]);
        self.buffer.truncate(held + *got.as_ref().unwrap_or(&0));
        let got = got?;
        self.give(false, found);
        Ok(got > 0)
    }

    /// Says that nothing will be added: what is not whole is damage.
    pub fn finish(&mut self, found: &mut impl FnMut(Found<'_>)) {
        self.give(true, found);
    }

    /// Gives up the memory that a burst needed.
    pub fn rest(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
    }

    fn give(&mut self, at_end: bool, found: &mut impl FnMut(Found<'_>)) {
        let mut taken = 0;
        while taken < self.buffer.len() {
            let bytes = &self.buffer[taken..];
            let look = if at_end { next_at_end(bytes) } else { next(bytes) };
            let length = match look {
                Next::Entry(entry, length) => {
                    self.behind = bytes.first_chunk().map(|header| (self.offset + taken as u64, *header));
                    found(Found::Entry(entry));
                    length
                }
                Next::Other(length) => length,
                Next::Damage(length) => {
                    found(Found::Damage { offset: self.offset + taken as u64, length: length as u64 });
                    length
                }
                Next::More(_) => break,
            };
            taken += length;
        }
        self.buffer.drain(..taken);
        self.offset += taken as u64;
        debug_assert!(self.buffer.len() <= LONGEST + PIECE + 64, "no entry is longer");
    }
}
