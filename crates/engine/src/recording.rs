//! Reading a recording: as it grows, entry by entry, with whatever is damaged located and passed over.

pub(crate) mod damage;
pub(crate) mod file;
pub(crate) mod keyframes;
pub(crate) mod limit;
pub(crate) mod logs;
pub(crate) mod packed;
pub(crate) mod replay;
pub(crate) mod replayed;
pub(crate) mod snapshot;
mod tail;
pub(crate) mod whole;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use abide_core::id::SessionId;
use abide_core::recording::{Entry, HEADER, LONGEST, MARK, Next, next, next_at_end};

use crate::{Session, Sessions};
use file::RecordingFile;

impl Sessions {
    /// The file that holds what a session showed; none if there is none.
    #[must_use]
    pub fn recording(&self, id: &SessionId) -> Option<Recording> {
        let home = self.home.as_ref()?;
        let (name, bytes) = home.session(id).ok()?.recording_file()?;
        Some(Recording { path: home.session_path(id.as_str()).join(name), bytes })
    }

    /// Whether all that the session showed is in that file; none if that is not known.
    #[must_use]
    pub fn is_complete(&self, session: &Session) -> Option<bool> {
        whole::is_complete(&self.home.as_ref()?.session(&session.id).ok()?, session)
    }
}

/// Where a session's recording is, and how long it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub path: PathBuf,
    pub bytes: u64,
}

/// How much is read at once.
const PIECE: usize = 256 * 1024;

/// One thing found in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    Entry(Entry<'a>),
    /// These bytes at this offset of the file are no entry.
    Damage {
        offset: u64,
        bytes: &'a [u8],
    },
}

/// Follows a recording from some offset on.
#[derive(Debug)]
pub struct Reader {
    file: RecordingFile,
    buffer: Vec<u8>,
    /// How much of the buffer has been given.
    taken: usize,
    /// The file's offset of the buffer's beginning.
    offset: u64,
    /// What comes next, if it is known.
    ahead: Option<Ahead>,
    /// Where the last entry that was given begins, and its header.
    behind: Option<(u64, [u8; HEADER])>,
    /// When the last entry came that is not given again.
    given: Option<u64>,
    /// Nothing is read from here on.
    limit: u64,
    /// What is not whole will never be.
    at_end: bool,
}

/// What comes next: an entry, here without its payload, or damage; how long it is.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    entry: Option<Entry<'static>>,
    length: usize,
}

impl Reader {
    /// Reads from an offset at which an entry begins.
    #[must_use]
    pub fn new(file: impl Into<RecordingFile>, offset: u64) -> Self {
        Self {
            file: file.into(),
            buffer: Vec::new(),
            taken: 0,
            offset,
            ahead: None,
            behind: None,
            given: None,
            limit: u64::MAX,
            at_end: false,
        }
    }

    /// Reads nothing from this offset on, whatever is added there.
    #[must_use]
    pub const fn limited(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// The offset behind the last entry that was given.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset + self.taken as u64
    }

    /// Where the last entry that was given begins, and its header.
    pub(crate) const fn behind(&self) -> Option<(u64, [u8; HEADER])> {
        self.behind
    }

    /// What was read and is not the whole of an entry yet.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    /// What comes next, read if need be; none if there is nothing more for now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn peek(&mut self) -> io::Result<Option<Found<'_>>> {
        while !self.look() {
            if !self.fill()? {
                return Ok(None);
            }
        }
        Ok(self.found())
    }

    /// Goes behind what was peeked at.
    pub(crate) fn pass(&mut self) {
        if let Some(Ahead { entry, length }) = self.ahead.take() {
            if entry.is_some() {
                let begins = self.offset();
                self.behind = self.unread().first_chunk().map(|header| (begins, *header));
            }
            self.taken += length;
        }
    }

    /// When the entry came that was peeked at.
    pub(crate) fn time_ahead(&self) -> Option<u64> {
        self.ahead?.entry.map(|entry| entry.time)
    }

    /// When the entry came that follows what was peeked at, as its header says; none if there is none yet.
    pub(crate) fn time_behind(&self) -> Option<u64> {
        let at = self.taken + self.ahead?.length;
        let mut header = [0; HEADER];
        match self.buffer.get(at..at + HEADER) {
            Some(bytes) => header.copy_from_slice(bytes),
            None => {
                let offset = self.offset + at as u64;
                let readable = offset + HEADER as u64 <= self.limit;
                self.file.read_exact_at(&mut header, offset).ok().filter(|()| readable)?;
            }
        }
        header.starts_with(&MARK).then_some(time_in(&header))
    }

    /// Up to where the file is read.
    pub(crate) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Reads the next piece and gives what is whole in it. False if there was nothing to read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn advance(&mut self, found: &mut impl FnMut(Found<'_>)) -> io::Result<bool> {
        let any = self.fill()?;
        while self.look() {
            if let Some(next) = self.found() {
                found(next);
            }
            self.pass();
        }
        Ok(any)
    }

    /// Says that nothing will be added: what is not whole is damage.
    pub(crate) const fn finish(&mut self) {
        self.at_end = true;
    }

    /// Gives up the memory that a burst needed.
    pub fn rest(&mut self) {
        if self.unread().is_empty() {
            self.offset += self.taken as u64;
            (self.buffer, self.taken) = (Vec::new(), 0);
        }
    }

    /// Finds what comes next in what was read. False if it takes more to tell.
    fn look(&mut self) -> bool {
        while self.ahead.is_none() {
            let bytes = self.unread();
            let next = if self.at_end && !bytes.is_empty() { next_at_end(bytes) } else { next(bytes) };
            match next {
                Next::Entry(entry, length) if self.given.is_some_and(|given| entry.time <= given) => {
                    self.taken += length;
                }
                Next::Entry(Entry { kind, number, time, position, .. }, length) => {
                    let entry = Some(Entry { kind, number, time, position, payload: &[] });
                    self.ahead = Some(Ahead { entry, length });
                }
                Next::Other(length) => self.taken += length,
                Next::Damage(length) => self.ahead = Some(Ahead { entry: None, length }),
                Next::More(_) => return false,
            }
        }
        true
    }

    fn found(&self) -> Option<Found<'_>> {
        let Ahead { entry, length } = self.ahead?;
        let bytes = &self.unread()[..length];
        Some(match entry {
            Some(entry) => Found::Entry(Entry { payload: &bytes[HEADER..], ..entry }),
            None => Found::Damage { offset: self.offset(), bytes },
        })
    }

    /// Reads the next piece. False if there was nothing to read.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.taken);
        self.offset += self.taken as u64;
        self.taken = 0;
        let held = self.buffer.len();
        debug_assert!(held <= LONGEST + PIECE + 64, "no entry is longer");
        let left = self.limit.saturating_sub(self.offset + held as u64);
        let room = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        self.buffer.resize(held + room, 0);
        let got = self.file.read_at(&mut self.buffer[held..], self.offset + held as u64);
        self.buffer.truncate(held + *got.as_ref().unwrap_or(&0));
        let any = got? > 0;
        let may_grow = !self.at_end && self.limit == u64::MAX;
        if !any && may_grow && self.file.length()? < self.offset + self.buffer.len() as u64 {
            self.start_again();
            return self.fill();
        }
        Ok(any)
    }

    /// Looks again from the start through a file that somebody made shorter: what was added since is somewhere there.
    fn start_again(&mut self) {
        self.given = self.behind.map(|(_, header)| time_in(&header));
        self.offset = 0;
        self.buffer.clear();
    }
}

fn time_in(header: &[u8; HEADER]) -> u64 {
    header[12..20].iter().rev().fold(0, |time, byte| time << 8 | u64::from(*byte))
}

/// How much is searched at once for the next mark after damage.
const SEARCHED: usize = 64 * 1024;

/// Where something with this mark may begin, at this place of the file or behind it.
fn next_mark(file: &File, mark: [u8; 4], mut from: u64) -> Option<u64> {
    let mut piece = vec![0; SEARCHED];
    loop {
        let got = file.read_at(&mut piece, from).ok().filter(|&got| got >= mark.len())?;
        if let Some(at) = piece[..got].windows(mark.len()).position(|window| window == mark) {
            return Some(from + at as u64);
        }
        from += (got - mark.len() + 1) as u64;
    }
}
