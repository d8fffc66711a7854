//! The bytes of a recording: as they were written or, once it is over, packed. Both are read in the same way, at any
//! offset, and an offset means the same in both.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use abide_sys::disk;

use super::packed::Packed;

/// A recording to read.
#[derive(Debug)]
pub enum RecordingFile {
    Plain(File),
    Packed(Packed),
}

impl RecordingFile {
    /// Reads at an offset; nothing behind the end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read_at(into, offset),
            Self::Packed(packed) => packed.read_at(into, offset),
        }
    }

    /// Reads all of `into`.
    pub(crate) fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let mut read = 0;
        while read < into.len() {
            match self.read_at(&mut into[read..], offset + read as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => read += more,
            }
        }
        Ok(())
    }

    /// How long it is, or was before it was packed.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => Ok(file.metadata()?.len()),
            Self::Packed(packed) => Ok(packed.length()),
        }
    }

    /// Where something was written at this offset or behind it; the end if nothing was.
    pub(crate) fn next_data(&self, offset: u64) -> io::Result<u64> {
        match self {
            Self::Plain(file) => disk::next_data(file, offset),
            Self::Packed(packed) => Ok(packed.next_data(offset)),
        }
    }

    /// The same recording, to be read apart.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Plain(file) => Ok(Self::Plain(file.try_clone()?)),
            Self::Packed(packed) => Ok(Self::Packed(packed.try_clone()?)),
        }
    }
}

impl From<File> for RecordingFile {
    fn from(file: File) -> Self {
        Self::Plain(file)
    }
}
