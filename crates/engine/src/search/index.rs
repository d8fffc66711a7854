//! The index of one session: the lines of its recording, in the session's own directory, so that they go with it. A
//! cache and never evidence: what is missing, damaged or of another version is made anew, by one writer at a time.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use abide_core::search::{Lines, Place, Point};
use abide_sys::lock::{self, Holder};
use abide_sys::{clock, disk};
use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};

use super::block::{Block, checksum};
use crate::recording::file::RecordingFile;
use crate::store::SessionDir;

/// The first bytes of a point's file; the last of them is the version of all that an index holds.
const MARK: [u8; 8] = *b"abidix\0\x07";
/// How much room is always left to others.
const SPARE: u64 = 64 << 20;
/// A longer point is none.
const LONGEST_POINT: u64 = 1 << 28;

/// Where the lines of one recording are, and how far they go.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) point: Point,
    pub(super) blocks: Vec<Block>,
    file: Option<File>,
    /// Held while it is written to.
    pen: Option<File>,
    /// Why it is only in memory.
    unkept: Option<io::Error>,
    /// It is to be made anew, whatever is there.
    distrusted: bool,
}

impl Index {
    /// What there is of it; nothing, if that is not whole.
    pub(super) fn open(dir: &SessionDir) -> Self {
        Self::read(dir).unwrap_or_else(Self::empty)
    }

    fn empty() -> Self {
        Self::of(Point::default(), Vec::new(), None)
    }

    const fn of(point: Point, blocks: Vec<Block>, file: Option<File>) -> Self {
        Self { point, blocks, file, pen: None, unkept: None, distrusted: false }
    }

    fn read(dir: &SessionDir) -> Option<Self> {
        let point = read_point(dir)?;
        let file = (point.file_bytes > 0).then(|| dir.index_lines()).transpose().ok()?;
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < point.file_bytes {
            let (block, next) = Block::read(file.as_ref()?, at)?;
            if block.file() != point.file {
                return None;
            }
            blocks.push(block);
            at = next;
        }
        (at == point.file_bytes).then(|| Self::of(point, blocks, file))
    }

    /// Whether nothing is missing of a recording that is so long now, and is over or not.
    pub(super) const fn is_current(&self, length: u64, over: bool) -> bool {
        // What is over is only done with once nothing is kept to go on with.
        self.point.read_to == length && length > 0 && (self.point.screen.is_empty() || !over)
    }

    /// Whether the recording is the one that it was made of, as far as it goes.
    pub(super) fn belongs_to(&self, recording: &RecordingFile) -> bool {
        let Place { offset, behind, .. } = self.point.place;
        let long_enough = || recording.length().is_ok_and(|length| length >= offset);
        behind.is_none_or(|(at, header)| {
            let mut there = header;
            recording.read_exact_at(&mut there, at).is_ok() && there == header && long_enough()
        })
    }

    pub(super) const fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Has it made anew, whatever is there.
    pub(super) const fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// Becomes the only writer, and goes on from what the one before left; where there is no way to write, in memory.
    /// False if another one writes it at this moment.
    pub(super) fn write(&mut self, dir: &SessionDir) -> bool {
        let distrusted = self.distrusted;
        match lock_pen(dir) {
            Ok(Some(pen)) => {
                *self = Self::open(dir);
                // What a writer that was killed had not told of is written again.
                match pen.set_len(self.point.file_bytes).and_then(|()| pen.try_clone()) {
                    Ok(file) => (self.file, self.pen) = (Some(file), Some(pen)),
                    Err(error) => self.unkept = Some(error),
                }
            }
            Ok(None) => return false,
            Err(error) => self.unkept = Some(error),
        }
        if distrusted {
            self.clear();
        }
        true
    }

    /// Forgets all of it, to begin anew.
    pub(super) fn clear(&mut self) {
        let file = clock::random_bytes().map_or(0, u64::from_ne_bytes);
        self.point = Point { file, ..Point::default() };
        self.blocks.clear();
        if let Some(pen) = &self.pen {
            // Whoever reads it now sees that it is not whole any more.
            let _ = pen.set_len(0);
        }
    }

    /// Takes lines and puts them away.
    pub(super) fn put_away(&mut self, lines: &mut Lines) {
        if let Some(Err(error)) = self.pen.as_ref().map(has_room) {
            self.give_up(error);
        }
        let Some((block, bytes)) = Block::pack(lines, self.point.file) else {
            return;
        };
        let block = match self.pen.as_ref().map(|pen| disk::append(pen, &bytes)) {
            Some(Ok(())) => {
                let at = self.point.file_bytes;
                self.point.file_bytes += bytes.len() as u64;
                block.written(at)
            }
            Some(Err(error)) => {
                self.give_up(error);
                block
            }
            None => block,
        };
        self.blocks.push(block);
    }

    /// Tells others how far it goes now.
    pub(super) fn tell(&mut self, dir: &SessionDir) {
        if self.pen.is_none() {
            return;
        }
        let packed = compress_prepend_size(&self.point.encode());
        let mut bytes = MARK.to_vec();
        for number in [self.point.read_to, self.point.place.offset] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&checksum(&packed));
        bytes.extend_from_slice(&packed);
        if let Err(error) = dir.replace_index(&bytes) {
            self.give_up(error);
        }
    }

    /// From now on it is only in memory, and what others know of it stays as it was.
    fn give_up(&mut self, error: io::Error) {
        if let Some(pen) = &self.pen {
            let _ = pen.set_len(self.point.file_bytes);
        }
        self.rest();
        self.unkept = Some(error);
    }

    /// Why it could not be kept, once.
    pub(super) const fn unkept(&mut self) -> Option<io::Error> {
        self.unkept.take()
    }

    /// Lets others write it.
    pub(super) fn rest(&mut self) {
        if let Some(pen) = self.pen.take() {
            lock::give_back(&pen, Holder::Sealer);
        }
    }
}

/// The file of lines, held to be written; none if another one holds it.
fn lock_pen(dir: &SessionDir) -> io::Result<Option<File>> {
    has_room(dir.dir())?;
    let pen = dir.append_index_lines()?;
    Ok(lock::take(&pen, Holder::Sealer)?.then_some(pen))
}

/// A cache must not take the room that recordings need.
fn has_room(place: impl AsFd) -> io::Result<()> {
    if disk::room(place)? < SPARE { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

/// How long the recording was when the index was last brought up to date, and how far that went; none if there is no
/// index. Only to tell how much is left: nothing is proved by it.
pub(super) fn reach(dir: &SessionDir) -> Option<(u64, u64)> {
    let mut bytes = [0; MARK.len() + 16];
    dir.index().ok()?.read_exact(&mut bytes).ok()?;
    let (read_to, offset) = bytes.strip_prefix(&MARK)?.split_first_chunk()?;
    Some((u64::from_le_bytes(*read_to), u64::from_le_bytes(*offset.first_chunk()?)))
}

fn read_point(dir: &SessionDir) -> Option<Point> {
    let mut bytes = Vec::new();
    dir.index().ok()?.take(LONGEST_POINT).read_to_end(&mut bytes).ok()?;
    let (_, rest) = bytes.strip_prefix(&MARK)?.split_first_chunk::<16>()?;
    let (sum, packed) = rest.split_first_chunk::<4>()?;
    if *sum != checksum(packed) {
        return None;
    }
    // As long as it says it is, it is made room for.
    let length = u64::from(u32::from_le_bytes(*packed.first_chunk()?));
    let bytes = (length <= LONGEST_POINT).then(|| decompress_size_prepended(packed))?;
    Point::decode(&bytes.ok()?)
}
