//! A recording that is over, packed: the same bytes in blocks that are compressed one by one, so that any offset is as near
//! as before. Of a block that is damaged every entry counts that is still whole; the rest is what a reader of recordings
//! calls damage.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use abide_core::recording::{Entry, FARTHEST, Next, next};
use abide_sys::disk;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::file::RecordingFile;
use super::{next_mark, shed};

/// The first bytes of every block: what a reader looks for after damage.
const MARK: [u8; 4] = [0xAB, b'p', b'k', 0x01];
/// Mark, how long the recording was, where in it this block begins, how long it is, how long it is packed, a checksum
/// of the packed bytes.
const HEADER: usize = 4 + 8 + 8 + 4 + 4 + 4;
/// How much of the recording is one block: little enough to lose, and a few parts in a hundred longer than large ones.
const BLOCK: usize = 1 << 17;
/// No block was ever longer.
const LONGEST_BLOCK: usize = 1 << 20;
/// As small as can be had at a speed of tens of megabytes a second.
const LEVEL: u8 = 5;

/// A packed recording.
#[derive(Debug)]
pub struct Packed {
    file: File,
    length: u64,
    /// In the order of the recording.
    blocks: Vec<Block>,
    /// The block that was read last: recordings are read onwards.
    last: RefCell<Option<(u64, Vec<u8>)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    offset: u64,
    length: u32,
    packed: u32,
    sum: u32,
    /// Where its packed bytes are in the file.
    at: u64,
}

impl Block {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

impl Packed {
    /// # Errors
    /// If the file cannot be read, or has not one block.
    pub(crate) fn open(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        let (mut blocks, mut length, mut at) = (Vec::new(), None, 0);
        while let Some((total, block)) = next_block(&file, at, size) {
            at = block.at + u64::from(block.packed);
            // Blocks follow each other; what does not is no block of this recording.
            let follows = blocks.last().is_none_or(|before: &Block| before.end() <= block.offset);
            if follows && block.end() <= total && *length.get_or_insert(total) == total {
                blocks.push(block);
            }
        }
        let length = length.ok_or_else(|| io::Error::other("no block of the packed recording is left"))?;
        Ok(Self { file, length, blocks, last: RefCell::new(None) })
    }

    /// How long the recording was.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let (file, blocks) = (self.file.try_clone()?, self.blocks.clone());
        Ok(Self { file, length: self.length, blocks, last: RefCell::new(None) })
    }

    /// Where the block is that holds something at this offset or behind it; the end if none does.
    pub(crate) fn next_data(&self, offset: u64) -> u64 {
        let block = self.blocks.get(self.blocks.partition_point(|block| block.end() <= offset));
        block.map_or(self.length, |block| block.offset).max(offset)
    }

    /// Reads within one block, or within what is missing between two.
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let index = self.blocks.partition_point(|block| block.end() <= offset);
        let block = self.blocks.get(index);
        let begin = block.map_or(self.length, |block| block.offset);
        if offset < begin {
            let missing = usize::try_from(begin - offset).unwrap_or(usize::MAX).min(into.len());
            into[..missing].fill(0);
            return Ok(missing);
        }
        let Some(block) = block else { return Ok(0) };
        let mut last = self.last.borrow_mut();
        let bytes = match last.take() {
            Some((known, bytes)) if known == block.offset => bytes,
            Some(_) | None => self.unpack(block)?,
        };
        let from = (offset - block.offset) as usize;
        let length = (bytes.len() - from).min(into.len());
        into[..length].copy_from_slice(&bytes[from..from + length]);
        *last = Some((block.offset, bytes));
        Ok(length)
    }

    /// The bytes of a block; of a damaged one, what can be had.
    fn unpack(&self, block: &Block) -> io::Result<Vec<u8>> {
        let (length, mut packed) = (block.length as usize, vec![0; block.packed as usize]);
        self.file.read_exact_at(&mut packed, block.at)?;
        let sound = crc32fast::hash(&packed) == block.sum;
        let mut bytes = decompress_to_vec_with_limit(&packed, length).unwrap_or_else(|broken| broken.output);
        let whole = bytes.len() == length;
        bytes.resize(length, 0);
        if !(sound && whole) {
            clear_doubtful(&mut bytes);
        }
        Ok(bytes)
    }
}

/// What is unpacked of damaged bytes may be an entry from elsewhere in the block: only one that follows the one before
/// is left. What is no entry, whoever reads it finds out by its checksum.
fn clear_doubtful(bytes: &mut [u8]) {
    let (mut at, mut before) = (0, (0, 0));
    while at < bytes.len() {
        let (doubtful, length) = match next(&bytes[at..]) {
            Next::Entry(Entry { position, time, .. }, length) => {
                let doubtful = (position, time) < before;
                before = before.max((position, time));
                (doubtful, length)
            }
            Next::Other(length) | Next::Damage(length) => (false, length),
            Next::More(_) => return,
        };
        if doubtful {
            bytes[at..at + length].fill(0);
        }
        at += length.max(1);
    }
}

/// Packs a recording that nobody adds to any more, and proves that it comes back as it was. What was let go of it is passed
/// over, however long that was.
pub(crate) fn pack(recording: &File, into: &File) -> io::Result<()> {
    let length = recording.metadata()?.len();
    let parts = shed::parts(&RecordingFile::from(recording.try_clone()?), length);
    let mut raw = vec![0; BLOCK];
    let (mut kept, mut data) = (Vec::new(), 0);
    for offset in blocks(&parts) {
        // What is left out comes back as zeros: what was never written need not be read, however long it is.
        if offset + BLOCK as u64 <= data {
            continue;
        }
        let piece = &mut raw[..usize::try_from(length - offset).unwrap_or(BLOCK).min(BLOCK)];
        recording.read_exact_at(piece, offset)?;
        if !kept.is_empty() && piece.iter().all(|byte| *byte == 0) {
            data = disk::next_data(recording, offset).unwrap_or(0);
            continue;
        }
        kept.push(offset);
        let packed = compress_to_vec(piece, LEVEL);
        let mut frame = MARK.to_vec();
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&offset.to_le_bytes());
        for number in [piece.len() as u32, packed.len() as u32, crc32fast::hash(&packed)] {
            frame.extend_from_slice(&number.to_le_bytes());
        }
        frame.extend_from_slice(&packed);
        disk::append(into, &frame)?;
    }
    let packed = Packed::open(into.try_clone()?)?;
    let mut back = vec![0; BLOCK];
    for offset in kept {
        let piece = usize::try_from(length - offset).unwrap_or(BLOCK).min(BLOCK);
        recording.read_exact_at(&mut raw[..piece], offset)?;
        let got = packed.read_at(&mut back[..piece], offset)?;
        if got != piece || back[..piece] != raw[..piece] {
            return Err(io::Error::other("what was packed does not come back as it was"));
        }
    }
    Ok(())
}

/// Where the blocks begin that hold anything of these parts, which are in order.
fn blocks(parts: &[Range<u64>]) -> impl Iterator<Item = u64> {
    let size = BLOCK as u64;
    let mut from = 0;
    parts.iter().flat_map(move |part| {
        let first = from.max(part.start / size);
        from = if part.is_empty() { from } else { first.max(part.end.div_ceil(size)) };
        (first..from).map(move |block| block * size)
    })
}

/// The next block at this place of the file or behind it, and how long its recording was.
fn next_block(file: &File, mut at: u64, size: u64) -> Option<(u64, Block)> {
    loop {
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, at).ok()?;
        let wide = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| header[from + i]));
        let short = |from: usize| u32::from_le_bytes(std::array::from_fn(|i| header[from + i]));
        let (total, at_data) = (wide(4), at + HEADER as u64);
        let mut block =
            Block { offset: wide(12), length: short(20), packed: short(24), sum: short(28), at: at_data };
        let fits = block.length as usize <= LONGEST_BLOCK && block.packed as usize <= 2 * LONGEST_BLOCK;
        // Of the last one the end may be cut off.
        block.packed = block.packed.min(u32::try_from(size - at_data).unwrap_or(u32::MAX));
        if header.starts_with(&MARK) && fits && total.max(block.offset) < FARTHEST {
            return Some((total, block));
        }
        at = next_mark(file, MARK, at + 1)?;
    }
}
