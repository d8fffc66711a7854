//! Point: how far a recording has been harvested, and all that is needed to go on there: the screen, what was being
//! typed, and the lines that are not put away yet. Only ever a cache: it names the frame of the recording that it
//! stands behind, and counts only while that very frame is there.

use crate::recording;
use crate::screen::bytes::{Reader, put_bytes, put_number};

/// Where a harvest stands.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// Which file of lines it belongs to, and how much of that is whole.
    pub file: u64,
    pub file_bytes: u64,
    /// How long the recording was when it was last looked at.
    pub read_to: u64,
    /// How many places could not be read, or say that output was not recorded.
    pub gaps: u64,
    pub place: Place,
    /// The screen, frozen; empty if nothing will follow.
    pub screen: Vec<u8>,
    /// What was kept back of the output, frozen.
    pub veil: Vec<u8>,
    /// What is kept of the harvest itself.
    pub harvest: Vec<u8>,
    /// The columns of what was seen last and is not in the file yet.
    pub text: Vec<u8>,
    pub rest: Vec<u8>,
}

/// A place in a recording, between two entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Where the next frame begins.
    pub offset: u64,
    /// The header of the frame that it stands behind, and where that is; none at the beginning.
    pub behind: Option<(u64, [u8; recording::HEADER])>,
    /// What came before it: so many entries, so much output, the last of them at this time.
    pub entries: u64,
    pub position: u64,
    pub time: u64,
    pub has_terminal: bool,
}

impl Point {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [self.file, self.file_bytes, self.read_to, self.gaps] {
            put_number(&mut out, number);
        }
        let Place { offset, behind, entries, position, time, has_terminal } = self.place;
        for number in [offset, entries, position, time] {
            put_number(&mut out, number);
        }
        out.extend([has_terminal, behind.is_some()].map(u8::from));
        if let Some((at, header)) = behind {
            put_number(&mut out, at);
            out.extend_from_slice(&header);
        }
        for bytes in [&self.screen, &self.veil, &self.harvest, &self.text, &self.rest] {
            put_bytes(&mut out, bytes);
        }
        out
    }

    /// None if the bytes are no point.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let (file, file_bytes, read_to) = (reader.number()?, reader.number()?, reader.number()?);
        let gaps = reader.number()?;
        let (offset, entries) = (reader.number()?, reader.number()?);
        let (position, time) = (reader.number()?, reader.number()?);
        let (has_terminal, is_behind) = (reader.flag()?, reader.flag()?);
        let behind = match is_behind {
            true => Some((reader.number()?, *reader.take(recording::HEADER)?.first_chunk()?)),
            false => None,
        };
        let (screen, veil) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
        let harvest = reader.bytes()?.to_vec();
        let (text, rest) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
        let place = Place { offset, behind, entries, position, time, has_terminal };
        let near =
            [offset, entries, position, time, file_bytes, read_to].iter().all(|n| *n < recording::FARTHEST);
        let whole = reader.0.is_empty() && near && behind.is_none_or(|(at, _)| at < recording::FARTHEST);
        whole.then_some(Self { file, file_bytes, read_to, gaps, place, screen, veil, harvest, text, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_comes_back_as_it_was_and_nothing_else_does() {
        let behind = Some((7, std::array::from_fn(|i| i as u8)));
        let place = Place { offset: 1, behind, entries: 2, position: 3, time: 4, has_terminal: true };
        let [screen, veil, harvest] = [&b"frozen"[..], b"veil", b"\0"].map(<[u8]>::to_vec);
        let (text, rest) = (b"a line\n".to_vec(), Vec::new());
        let point = Point {
            file: u64::MAX,
            file_bytes: 5,
            read_to: 6,
            gaps: 7,
            place,
            screen,
            veil,
            harvest,
            text,
            rest,
        };
        let bytes = point.encode();
        let again = Point::decode(&bytes).unwrap();
        assert_eq!((again.place, again.encode()), (place, bytes.clone()));
        for cut in 0..bytes.len() {
            assert!(Point::decode(&bytes[..cut]).is_none(), "cut at {cut}");
        }
        let start = Point::default();
        assert_eq!(Point::decode(&start.encode()).unwrap().place, Place::default());
    }
}
