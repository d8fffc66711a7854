//! Reading a recording: as it grows, entry by entry, with whatever is damaged located and passed over.

pub(crate) mod damage;
pub(crate) mod file;
pub(crate) mod keyframes;
pub(crate) mod limit;
pub(crate) mod logs;
pub(crate) mod packed;
pub(crate) mod replay;
pub(crate) mod replayed;
pub(crate) mod shed;
pub(crate) mod snapshot;
mod tail;
pub(crate) mod whole;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use abide_core::id::SessionId;
use abide_core::recording::shed::{HEAD, Shed};
use abide_core::recording::{
    Entry, HEADER, Kind, LONGEST, MARK, Next, claimed_end, follows, next, next_at_end,
};
use abide_sys::disk;

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

/// How much is read at once, of what there is much of.
const PIECE: usize = 256 * 1024;
/// How much is read first: whoever follows a session finds a line or two.
const FIRST_PIECE: usize = 4 * 1024;

/// One thing found in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    Entry(Entry<'a>),
    /// These bytes at this offset of the file are no entry.
    Damage {
        offset: u64,
        bytes: &'a [u8],
        /// So many bytes behind them were never written: there is nothing to read in them.
        hole: u64,
    },
    /// The screen behind what was let go stands at this offset of the file, and is none.
    NoScreen {
        offset: u64,
    },
}

/// Follows a recording from some offset on.
#[derive(Debug)]
pub struct Reader {
    file: RecordingFile,
    buffer: Vec<u8>,
    /// How much of the buffer has been given.
    taken: usize,
    /// How much is read next.
    piece: usize,
    /// The file's offset of the buffer's beginning.
    offset: u64,
    /// What comes next, if it is known.
    ahead: Option<Ahead>,
    /// Where the last entry that was given begins, and its header.
    behind: Option<(u64, [u8; HEADER])>,
    /// When the last entry came that is not given again.
    given: Option<u64>,
    leads: Leads,
    /// Nothing is read from here on.
    limit: u64,
    /// What is not whole will never be.
    at_end: bool,
}

/// Where in the file what was shed leads, if anything was.
#[derive(Debug, Default)]
struct Leads {
    /// Here it goes on, behind the screen that comes next.
    on: Option<u64>,
    /// Here it was last said to go on.
    last: u64,
    /// It was asked whether what was to be read next has been let go meanwhile.
    asked: bool,
}

/// What comes next: an entry, here without its payload, or damage; how long it is.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    entry: Option<Entry<'static>>,
    length: usize,
    /// Of damage: what was never written behind it.
    hole: u64,
}

impl Reader {
    /// Reads from an offset at which an entry begins.
    #[must_use]
    pub fn new(file: impl Into<RecordingFile>, offset: u64) -> Self {
        Self {
            file: file.into(),
            buffer: Vec::new(),
            taken: 0,
            piece: FIRST_PIECE,
            offset,
            ahead: None,
            behind: None,
            given: None,
            leads: Leads::default(),
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
        let (next, shed) = (self.next_offset(), self.shed_ahead());
        let Some(Ahead { entry, length, hole }) = self.ahead.take() else { return };
        if entry.is_some() {
            let begins = self.offset();
            self.behind = self.unread().first_chunk().map(|header| (begins, *header));
        }
        self.leads.on = shed.filter(|shed| shed.screen.is_some()).map(|shed| shed.goes_on);
        self.leads.last = shed.map_or(self.leads.last, |shed| shed.goes_on);
        match next {
            Some(next) if next != self.offset() + length as u64 || hole > 0 => self.go_to(next),
            Some(_) | None => self.taken += length,
        }
    }

    /// Where what follows that which was peeked at begins.
    fn next_offset(&self) -> Option<u64> {
        let Ahead { length, hole, .. } = self.ahead?;
        let behind = self.offset() + length as u64 + hole;
        let shed = self.shed_ahead().map(|shed| shed.screen.unwrap_or(shed.goes_on));
        Some(shed.or(self.leads.on).unwrap_or(behind))
    }

    /// What was shed, if what was peeked at says it. A file that is shorter now leads nowhere.
    fn shed_ahead(&self) -> Option<Shed> {
        let Ahead { entry: Some(entry), length, .. } = self.ahead? else { return None };
        let shed = Shed::of(&Entry { payload: &self.unread()[HEADER..length], ..entry })?;
        self.file.length().is_ok_and(|length| shed.goes_on <= length).then_some(shed)
    }

    fn go_to(&mut self, offset: u64) {
        (self.offset, self.taken) = (offset, 0);
        self.buffer.clear();
    }

    /// Whether the next entry leads on, and is none to begin behind.
    pub(crate) const fn is_led(&self) -> bool {
        self.leads.on.is_some()
    }

    /// What cannot be read may have been let go since it was looked for. Then it is read on where that is said.
    fn is_overtaken(&mut self) -> bool {
        if std::mem::replace(&mut self.leads.asked, true) {
            return false;
        }
        let Some((at, shed)) = shed::said(&self.file) else { return false };
        if shed.goes_on <= self.offset().max(self.leads.last) {
            return false;
        }
        self.leads.on = None;
        self.go_to(at);
        true
    }

    /// When the entry came that was peeked at.
    pub(crate) fn time_ahead(&self) -> Option<u64> {
        self.ahead?.entry.map(|entry| entry.time)
    }

    /// When the entry came that follows what was peeked at, as its header says; none if there is none yet.
    pub(crate) fn time_behind(&self) -> Option<u64> {
        let next = self.next_offset()?;
        let held = next.checked_sub(self.offset).and_then(|at| usize::try_from(at).ok());
        let mut header = [0; HEADER];
        match held.and_then(|at| self.buffer.get(at..at + HEADER)) {
            Some(bytes) => header.copy_from_slice(bytes),
            None => {
                let readable = next + HEADER as u64 <= self.limit;
                self.file.read_exact_at(&mut header, next).ok().filter(|()| readable)?;
            }
        }
        header.starts_with(&MARK).then_some(time_in(&header))
    }

    /// Up to where the file is read.
    pub(crate) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether more was recorded since there was so much that is to be read.
    pub(crate) fn has_grown(&self) -> bool {
        self.file.length().is_ok_and(|length| length > self.limit)
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
        // What is not whole yet stays, and may for long: a frame for which the disk had no room.
        self.buffer.drain(..self.taken);
        self.buffer.shrink_to_fit();
        self.offset += self.taken as u64;
        (self.taken, self.piece) = (0, FIRST_PIECE);
    }

    /// Finds what comes next in what was read. False if it takes more to tell.
    fn look(&mut self) -> bool {
        while self.ahead.is_none() {
            let bytes = self.unread();
            let next = if self.at_end && !bytes.is_empty() { next_at_end(bytes) } else { next(bytes) };
            match next {
                Next::Entry(Entry { kind, number, time, position, .. }, length) => {
                    if !self.may_come(kind) {
                        self.taken += length;
                        continue;
                    }
                    let entry = Some(Entry { kind, number, time, position, payload: &[] });
                    self.ahead = Some(Ahead { entry, length, hole: 0 });
                    if self.given.is_some_and(|given| time <= given) {
                        self.pass();
                    }
                }
                Next::Other(length) => self.taken += length,
                Next::Damage(length) => {
                    if !self.is_overtaken() {
                        let length = self.own_length().unwrap_or(length);
                        let hole = self.hole_behind(length);
                        self.ahead = Some(Ahead { entry: None, length, hole });
                    }
                }
                Next::More(_) => return false,
            }
        }
        true
    }

    /// How long damage is that is one frame, as its header and the frame behind it say.
    fn own_length(&self) -> Option<usize> {
        let damage = self.unread();
        let end = claimed_end(damage).filter(|end| *end <= damage.len())?;
        let mut behind = [0; HEADER];
        match damage.get(end..end + HEADER) {
            Some(bytes) => behind.copy_from_slice(bytes),
            None => self.file.read_exact_at(&mut behind, self.offset() + end as u64).ok()?,
        }
        follows(&behind, damage).then_some(end)
    }

    /// How much was never written behind damage to which all belongs that was read: a file that somebody made long takes no
    /// longer to read than what is in it.
    fn hole_behind(&self, damage: usize) -> u64 {
        let ends = self.offset() + damage as u64;
        if damage < self.unread().len() || damage < SEARCHED || self.is_led() {
            return 0;
        }
        self.file.next_data(ends).unwrap_or(ends).min(self.limit).saturating_sub(ends)
    }

    /// Whether an entry of this kind may stand here. One that leads elsewhere and stands elsewhere is somebody's output.
    const fn may_come(&self, kind: Kind) -> bool {
        match kind {
            Kind::Shed => self.offset() < HEAD,
            Kind::Screen => self.is_led(),
            Kind::Start
            | Kind::Output
            | Kind::Errors
            | Kind::Input
            | Kind::Hidden
            | Kind::Answer
            | Kind::Lines
            | Kind::Resize
            | Kind::Mark
            | Kind::Exec
            | Kind::Cut => true,
        }
    }

    fn found(&self) -> Option<Found<'_>> {
        let Ahead { entry, length, hole } = self.ahead?;
        let bytes = &self.unread()[..length];
        Some(match entry {
            Some(entry) => Found::Entry(Entry { payload: &bytes[HEADER..], ..entry }),
            None if self.is_led() => Found::NoScreen { offset: self.offset() },
            None => Found::Damage { offset: self.offset(), bytes, hole },
        })
    }

    /// Reads the next piece. False if there was nothing to read.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.taken);
        self.offset += self.taken as u64;
        self.taken = 0;
        self.leads.asked = false;
        let held = self.buffer.len();
        debug_assert!(held <= LONGEST + PIECE + 64, "no entry is longer");
        let left = self.limit.saturating_sub(self.offset + held as u64);
        let room = usize::try_from(left).map_or(self.piece, |left| left.min(self.piece));
        self.buffer.resize(held + room, 0);
        let got = self.file.read_at(&mut self.buffer[held..], self.offset + held as u64);
        self.buffer.truncate(held + *got.as_ref().unwrap_or(&0));
        let got = got?;
        if got == self.piece {
            self.piece = PIECE;
        }
        let any = got > 0;
        let may_grow = !self.at_end && self.limit == u64::MAX;
        if !any && may_grow && self.file.length()? < self.offset + self.buffer.len() as u64 {
            self.start_again();
            return self.fill();
        }
        Ok(any)
    }

    /// Looks again from the start through a file that somebody made shorter: what was added since is somewhere there.
    fn start_again(&mut self) {
        self.given = self.given.max(self.behind.map(|(_, header)| time_in(&header)));
        self.leads = Leads::default();
        self.go_to(0);
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
        if piece[..got].iter().all(|byte| *byte == 0) {
            from = disk::next_data(file, from).unwrap_or(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_core::recording::header;
    use abide_sys::spawn;

    #[test]
    fn a_recording_that_a_damaged_entry_shows_is_not_taken_for_entries() {
        let frame = |number, time, position, payload: &[u8]| {
            let entry = Entry { kind: Kind::Output, number, time, position, payload };
            [&header(&entry)[..], payload].concat()
        };
        let shown = [frame(1, 2, 0, b"somebody's"), frame(2, 3, 10, b"else's")].concat().repeat(10_000);
        let length = shown.len() as u64;
        let frames = [
            frame(1, 5, 0, b"own"),
            frame(2, 6, 3, &shown),
            frame(3, 6, 3 + length, b"too"),
            frame(4, 9, 6 + length, b"!"),
        ];
        let whole = frames.concat();
        let begins = frames[0].len();
        for flipped in
            [begins + 28, begins + HEADER, begins + HEADER + 100, begins + HEADER + shown.len() - 1]
        {
            let mut bytes = whole.clone();
            bytes[flipped] ^= 1;
            let mut reader = Reader::new(File::from(spawn::parcel(&bytes).unwrap()), 0);
            let (mut payloads, mut damage) = (Vec::new(), Vec::new());
            while reader
                .advance(&mut |found| match found {
                    Found::Entry(entry) => payloads.push(entry.payload.to_vec()),
                    Found::Damage { offset, bytes, .. } => damage.push((offset, bytes.len())),
                    Found::NoScreen { .. } => {}
                })
                .unwrap()
            {}
            assert!(payloads == [&b"own"[..], b"too", b"!"], "{flipped}: {} entries", payloads.len());
            assert_eq!(damage, [(begins as u64, HEADER + shown.len())]);
        }
    }

    #[test]
    fn a_frame_that_is_not_whole_for_long_keeps_no_more_memory_than_itself() {
        let payload = [b'x'; 20_000];
        let entry = Entry { kind: Kind::Output, number: 0, time: 1, position: 0, payload: &payload };
        let frame = [&header(&entry)[..], &payload].concat();
        let (whole, torn) = (frame.repeat(20), &frame[..frame.len() / 2]);
        let file = File::from(spawn::parcel(&[&whole, torn].concat()).unwrap());
        let mut reader = Reader::new(file.try_clone().unwrap(), 0);
        let mut entries = 0;
        let mut count = |found: Found<'_>| entries += usize::from(matches!(found, Found::Entry(_)));
        while reader.advance(&mut count).unwrap() {}
        reader.rest();
        assert_eq!((reader.unread(), reader.piece), (torn, FIRST_PIECE));
        assert!(reader.buffer.capacity() < 2 * torn.len(), "{} bytes are held", reader.buffer.capacity());
        file.write_all_at(&frame[torn.len()..], (whole.len() + torn.len()) as u64).unwrap();
        while reader.advance(&mut count).unwrap() {}
        assert_eq!(entries, 21, "it is given once it is whole");
    }
}
