//! Blocks: lines that are put away, packed and checksummed, with a sieve before them that says where not to look.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use abide_core::search::{Line, Lines, Sieve, lines};
use lz4_flex::block::{compress, decompress};

/// The first bytes of every block.
const MARK: [u8; 4] = [0xAB, b'l', b'n', 0x01];
/// Mark, checksum of the numbers, the numbers of `Head`. Behind it come the sieve and the columns, each with a checksum.
const HEADER: usize = 8 + Head::NUMBERS * 8;
const SUM: usize = 4;
/// No writer packs more than this.
const LONGEST: u64 = 1 << 27;

/// Lines that are put away, without the lines themselves.
#[derive(Debug, Clone)]
pub(super) struct Block {
    head: Head,
    place: Placed,
}

#[derive(Debug, Clone)]
enum Placed {
    /// In the file, at this offset.
    At(u64),
    /// Here, because it could not be written: its columns.
    Here(Vec<u8>),
}

/// What is known of a block before it is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    /// The file that it belongs to.
    file: u64,
    text: u64,
    packed_text: u64,
    rest: u64,
    packed_rest: u64,
    /// The wall times between which its lines were seen, in ms.
    from: i64,
    to: i64,
}

/// The columns of a block, as far as they are unpacked.
pub(super) struct Unpacked {
    pub(super) text: Vec<u8>,
    packed_rest: Vec<u8>,
    rest: usize,
}

impl Block {
    /// Takes lines away and packs them. The bytes are what is to be written; none if there are no lines.
    pub(super) fn pack(lines: &mut Lines, file: u64) -> Option<(Self, Vec<u8>)> {
        let (text, rest) = lines.take();
        let seen = lines::read(&text, &rest)?;
        let from = seen.iter().map(|line| line.first.wall).min()?;
        let to = seen.iter().map(|line| line.last.wall).max()?;
        let (packed_text, packed_rest) = (compress(&text), compress(&rest));
        let head = Head {
            file,
            text: text.len() as u64,
            packed_text: packed_text.len() as u64,
            rest: rest.len() as u64,
            packed_rest: packed_rest.len() as u64,
            from,
            to,
        };
        let body = [packed_text, packed_rest].concat();
        let mut bytes = MARK.to_vec();
        let numbers = head.numbers().map(u64::to_le_bytes).concat();
        bytes.extend_from_slice(&checksum(&numbers));
        bytes.extend_from_slice(&numbers);
        for part in [Sieve::of(&text).bytes(), &body] {
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(&checksum(part));
        }
        Some((Self { head, place: Placed::Here(body) }, bytes))
    }

    /// The same block, which was written at this offset of the file.
    pub(super) fn written(self, offset: u64) -> Self {
        Self { place: Placed::At(offset), ..self }
    }

    /// The block at this offset of the file, and where the next one begins; none if there is none.
    pub(super) fn read(file: &File, offset: u64) -> Option<(Self, u64)> {
        let mut bytes = [0; HEADER];
        file.read_exact_at(&mut bytes, offset).ok()?;
        let (sum, numbers) = bytes.strip_prefix(&MARK)?.split_first_chunk::<SUM>()?;
        let head = Head::from_numbers(numbers).filter(|_| *sum == checksum(numbers))?;
        Some((Self { head, place: Placed::At(offset) }, offset + BEFORE_BODY + head.packed() + SUM as u64))
    }

    pub(super) const fn file(&self) -> u64 {
        self.head.file
    }

    /// Whether some of its lines may have been seen between these wall times.
    pub(super) const fn overlaps(&self, from: i64, to: i64) -> bool {
        self.head.from <= to && from <= self.head.to
    }

    /// Its sieve; none if it has none at hand.
    ///
    /// # Errors
    /// If it is not as it was written.
    pub(super) fn sieve(&self, file: Option<&File>) -> io::Result<Option<Sieve>> {
        match (&self.place, file) {
            (Placed::At(at), Some(file)) => {
                Ok(Sieve::from_bytes(read_part(file, at + HEADER as u64, Sieve::BYTES)?))
            }
            (Placed::At(_), None) | (Placed::Here(_), _) => Ok(None),
        }
    }

    /// Its columns.
    ///
    /// # Errors
    /// If they are not as they were written.
    pub(super) fn unpack(&self, file: Option<&File>) -> io::Result<Unpacked> {
        let Head { text, packed_text, rest, .. } = self.head;
        let [text, packed_text, rest, packed] =
            [text, packed_text, rest, self.head.packed()].map(|n| n as usize);
        let mut body = match (&self.place, file) {
            (Placed::Here(body), _) => body.clone(),
            (Placed::At(at), Some(file)) => read_part(file, at + BEFORE_BODY, packed)?,
            (Placed::At(_), None) => return Err(io::ErrorKind::NotFound.into()),
        };
        let packed_rest = body.split_off(packed_text.min(body.len()));
        let text = decompress(&body, text).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Unpacked { text, packed_rest, rest })
    }
}

impl Unpacked {
    /// All its lines, in the order of its text.
    ///
    /// # Errors
    /// If they are not as they were written.
    pub(super) fn lines(&self) -> io::Result<Vec<Line<'_>>> {
        let rest = decompress(&self.packed_rest, self.rest).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(lines::read(&self.text, &rest).ok_or(io::ErrorKind::InvalidData)?)
    }
}

/// How far it is from the beginning of a block to its columns.
const BEFORE_BODY: u64 = (HEADER + Sieve::BYTES + SUM) as u64;

impl Head {
    const NUMBERS: usize = 7;

    const fn numbers(&self) -> [u64; Self::NUMBERS] {
        let (from, to) = (self.from.cast_unsigned(), self.to.cast_unsigned());
        [self.file, self.text, self.packed_text, self.rest, self.packed_rest, from, to]
    }

    fn from_numbers(bytes: &[u8]) -> Option<Self> {
        let number = |index: usize| Some(u64::from_le_bytes(*bytes.get(index * 8..)?.first_chunk()?));
        let (file, text, packed_text) = (number(0)?, number(1)?, number(2)?);
        let (rest, packed_rest) = (number(3)?, number(4)?);
        let (from, to) = (number(5)?.cast_signed(), number(6)?.cast_signed());
        let sane = [text, packed_text, rest, packed_rest].iter().all(|length| *length <= LONGEST);
        sane.then_some(Self { file, text, packed_text, rest, packed_rest, from, to })
    }

    const fn packed(&self) -> u64 {
        self.packed_text + self.packed_rest
    }
}

/// A part of a block, which has its checksum behind it.
fn read_part(file: &File, at: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut part = vec![0; length + SUM];
    file.read_exact_at(&mut part, at)?;
    let sum = part.split_off(length);
    if sum == checksum(&part) { Ok(part) } else { Err(io::ErrorKind::InvalidData.into()) }
}

pub(super) fn checksum(bytes: &[u8]) -> [u8; SUM] {
    crc32fast::hash(bytes).to_le_bytes()
}
