//! The stored form of a fact: newline, checksum in hex, space, one JSON object, newline.
//! The newline in front keeps a torn frame from swallowing the next one; blank lines mean nothing.
//! A scanner takes any bytes in any pieces, in bounded memory, and locates what it cannot read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{Body, Fact, SCHEMA, Witness};
use crate::moment::Moment;

/// A longer line is damage: no fact needs it, and a reader must not be made to hold it.
pub const LONGEST_LINE: usize = 256 * 1024;

/// The outcome's slot is as long as this from its first moment on.
pub const SLOT_SIZE: usize = 4096;

const CHECKSUM_LENGTH: usize = 8;

/// One line as it is written, in this order: what a fact is called stands before its body.
#[derive(Serialize)]
struct LineV1<'a> {
    v: u32,
    w: String,
    n: u64,
    wall: i64,
    boot: u64,
    fact: &'a str,
    body: &'a RawValue,
}

/// The same as it is read, in one go.
struct Line {
    v: u32,
    /// Boxed where it is put together: it is handed up through the parser.
    fact: Box<Fact>,
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(LineVisitor)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    V,
    W,
    N,
    Wall,
    Boot,
    Fact,
    Body,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a fact")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line, A::Error> {
        let (mut v, mut witness, mut seq, mut wall, mut boot) = (None, None, None, None, None);
        let mut name: Option<Text<'de>> = None;
        let mut body = None;
        while let Some(key) = map.next_key()? {
            match key {
                Key::V => v = Some(map.next_value()?),
                Key::W => witness = Witness::parse(&map.next_value::<Text<'de>>()?.0),
                Key::N => seq = Some(map.next_value()?),
                Key::Wall => wall = Some(map.next_value()?),
                Key::Boot => boot = Some(map.next_value()?),
                Key::Fact => name = Some(map.next_value()?),
                Key::Body => {
                    let name = name.as_ref().ok_or_else(|| A::Error::missing_field("fact"))?;
                    body = Some(map.next_value_seed(BodyOf(&name.0))?);
                }
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let missing = A::Error::missing_field;
        let at =
            Moment { wall: wall.ok_or_else(|| missing("wall"))?, boot: boot.ok_or_else(|| missing("boot"))? };
        let fact = Fact {
            witness: witness.ok_or_else(|| missing("w"))?,
            seq: seq.ok_or_else(|| missing("n"))?,
            at,
            body: body.ok_or_else(|| missing("body"))?,
        };
        Ok(Line { v: v.ok_or_else(|| missing("v"))?, fact: Box::new(fact) })
    }
}

/// The body of a fact of this name.
struct BodyOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for BodyOf<'_> {
    type Value = Body;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Body, D::Error> {
        Body::read(self.0, from)
    }
}

/// Enough of any version's line to learn its version.
#[derive(Deserialize)]
struct LineVersion {
    v: u32,
}

/// A place that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where it starts in its file.
    pub offset: u64,
    pub length: u64,
    pub flaw: Flaw,
}

impl Damage {
    /// What is wrong, and where.
    #[must_use]
    pub fn says(&self) -> String {
        match (self.offset, self.length) {
            (0, 0) => self.flaw.says(),
            (offset, 0) => format!("{} at byte {offset}", self.flaw.says()),
            (offset, length) => format!("{} at byte {offset}, {length} bytes", self.flaw.says()),
        }
    }
}

/// What is wrong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The file ends within a frame.
    Torn,
    /// Not a frame at all.
    Garbage,
    Checksum,
    TooLong,
    /// Whole and sound, but of a later schema.
    Newer(u32),
    /// A known fact whose body does not parse.
    Body,
    /// Whole facts of one witness are missing before this place.
    Gap,
    /// The log is longer than any session writes; the rest was not read.
    Endless,
    /// The file has nothing in it.
    Empty,
    /// The session's directory is not there.
    Gone,
    /// The outcome's slot is not there.
    NoSlot,
    /// The outcome's slot cannot be read at this place of its own.
    BadSlot,
    /// It holds an end that no guard of this session can have written.
    ForeignSlot,
    /// It tells of a session of another ID.
    ForeignLog,
    /// It holds an end of a program that is alive: another's, or it was altered.
    Denied,
    /// This is a copy of a session's record; what became of the original is not in it.
    Copied,
    /// The session's directory is a link, or no directory.
    Link,
    /// It belongs to this uid.
    Foreign(u32),
    /// Others may write to it, with this mode.
    Open(u32),
    /// What stands in its place is no regular file.
    NotAFile,
    /// The system refused to read it, with this errno.
    Unreadable(i32),
}

impl Flaw {
    /// It says nothing of the record: too much is open, or there is no memory, at this moment.
    #[must_use]
    pub const fn passes(self) -> bool {
        const INTERRUPTED: i32 = 4;
        const AGAIN: i32 = 11;
        const NO_MEMORY: i32 = 12;
        const FILES_OF_SYSTEM: i32 = 23;
        const FILES_OF_PROCESS: i32 = 24;
        matches!(self, Self::Unreadable(INTERRUPTED | AGAIN | NO_MEMORY | FILES_OF_SYSTEM | FILES_OF_PROCESS))
    }

    #[must_use]
    pub fn says(self) -> String {
        match self {
            Self::Torn => "torn frame at the end".to_owned(),
            Self::Garbage => "not a frame".to_owned(),
            Self::Checksum => "checksum does not match".to_owned(),
            Self::TooLong => "line longer than any fact".to_owned(),
            Self::Newer(v) => format!("written in schema {v}, and this abide reads schema {SCHEMA}"),
            Self::Body => "fact with an unreadable body".to_owned(),
            Self::Gap => "facts are missing before this place".to_owned(),
            Self::Endless => {
                "the file is longer than any session writes, and was not read further".to_owned()
            }
            Self::Empty => "the file is empty".to_owned(),
            Self::Gone => "the session's directory is not there".to_owned(),
            Self::NoSlot => "the outcome file is missing".to_owned(),
            Self::BadSlot => "the outcome file is damaged".to_owned(),
            Self::ForeignSlot => "the outcome file is another session's; its end is not believed".to_owned(),
            Self::ForeignLog => "this is another session's record; nothing of it is believed".to_owned(),
            Self::Denied => "an end is on record of a program that is alive; it is not believed".to_owned(),
            Self::Copied => "this is a copy of the record, made while the session was not over".to_owned(),
            Self::Link => "the session's directory is a link or not a directory".to_owned(),
            Self::Foreign(uid) => format!("the session's directory belongs to uid {uid}"),
            Self::Open(mode) => format!("others may write to the session's directory (mode {mode:03o})"),
            Self::NotAFile => "what stands in its place is no regular file".to_owned(),
            Self::Unreadable(errno) => format!("it cannot be read (errno {errno})"),
        }
    }
}

/// The bytes of one fact, to be written with a single `write`.
///
/// # Errors
/// If a body cannot be expressed as JSON, or is longer than a reader takes.
pub fn encode(fact: &Fact) -> Result<Vec<u8>, serde_json::Error> {
    let line = LineV1 {
        v: SCHEMA,
        w: fact.witness.to_string(),
        n: fact.seq,
        wall: fact.at.wall,
        boot: fact.at.boot,
        fact: fact.body.name(),
        body: &RawValue::from_string(fact.body.to_json()?)?,
    };
    let json = serde_json::to_vec(&line)?;
    if json.len() + CHECKSUM_LENGTH + 1 > LONGEST_LINE || json.contains(&b'\n') {
        return Err(serde::ser::Error::custom("the fact cannot be read back as one line"));
    }
    let mut frame = format!("\n{:08x} ", crc32fast::hash(&json)).into_bytes();
    frame.extend_from_slice(&json);
    frame.push(b'\n');
    Ok(frame)
}

/// A body alone as one line of JSON, for those who hand it on before it is a fact.
///
/// # Errors
/// If it cannot be expressed as JSON.
pub fn body_to_line<T: Serialize>(body: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(body)
}

/// The inverse of `body_to_line`.
///
/// # Errors
/// If it is not such a body.
pub fn body_from_line<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

/// One thing found in the bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Fact(Box<Fact>),
    Damage(Damage),
}

impl Found {
    /// Whether it was there at an instant of wall time; damage has no time and always was.
    #[must_use]
    pub fn is_by(&self, wall: i64) -> bool {
        match self {
            Self::Fact(fact) => fact.at.wall <= wall,
            Self::Damage(_) => true,
        }
    }
}

/// Splits bytes into facts and damage. Holds at most one line.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    line: Vec<u8>,
    /// Where `line` starts.
    start: u64,
    /// Bytes of an overlong line that were dropped already.
    dropped: u64,
}

impl Scanner {
    /// Takes the next bytes of the file.
    pub fn feed(&mut self, mut bytes: &[u8], found: &mut impl FnMut(u64, Found)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.line.is_empty() && self.dropped == 0 {
                self.take(&bytes[..end], true, found);
            } else {
                self.keep(&bytes[..end]);
                let line = std::mem::take(&mut self.line);
                self.take(&line, true, found);
            }
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Says that the file ends here.
    pub fn finish(&mut self, found: &mut impl FnMut(u64, Found)) {
        let line = std::mem::take(&mut self.line);
        self.take(&line, false, found);
    }

    /// Whether the last bytes were not a whole line: torn, or still being written.
    #[must_use]
    pub const fn is_mid_line(&self) -> bool {
        !self.line.is_empty() || self.dropped > 0
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LONGEST_LINE {
            self.dropped += (self.line.len() + bytes.len()) as u64;
            self.line.clear();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take(&mut self, line: &[u8], ended: bool, found: &mut impl FnMut(u64, Found)) {
        let offset = self.start;
        let length = self.dropped + line.len() as u64;
        let too_long = self.dropped > 0 || line.len() > LONGEST_LINE;
        self.start += length + u64::from(ended);
        self.dropped = 0;
        let flaw = match decode(line) {
            _ if length == 0 => return,
            _ if too_long => Flaw::TooLong,
            Ok(fact) => return found(offset, Found::Fact(fact)),
            Err(Flaw::Checksum | Flaw::Garbage) if !ended => Flaw::Torn,
            Err(flaw) => flaw,
        };
        found(offset, Found::Damage(Damage { offset, length, flaw }));
    }
}

fn decode(line: &[u8]) -> Result<Box<Fact>, Flaw> {
    let (sum, json) = line.split_at_checked(CHECKSUM_LENGTH).ok_or(Flaw::Garbage)?;
    let json = json.strip_prefix(b" ").ok_or(Flaw::Garbage)?;
    let lower_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    let sum = Some(sum).filter(|sum| sum.iter().all(lower_hex)).and_then(|sum| std::str::from_utf8(sum).ok());
    let sum = sum.and_then(|sum| u32::from_str_radix(sum, 16).ok()).ok_or(Flaw::Garbage)?;
    if sum != crc32fast::hash(json) {
        return Err(Flaw::Checksum);
    }
    let json = std::str::from_utf8(json).map_err(|_| Flaw::Garbage)?;
    match serde_json::from_str::<Line>(json) {
        Ok(Line { v: SCHEMA, fact }) => Ok(fact),
        Ok(Line { v, .. }) => Err(Flaw::Newer(v)),
        Err(_) => Err(flaw_of(json)),
    }
}

/// What is wrong with a sound line that is not one of ours: another schema, or a body we should know.
fn flaw_of(json: &str) -> Flaw {
    match serde_json::from_str::<LineVersion>(json) {
        Ok(LineVersion { v: SCHEMA }) => Flaw::Body,
        Ok(LineVersion { v }) => Flaw::Newer(v),
        Err(_) => Flaw::Garbage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scanner_never_holds_more_than_the_longest_line() {
        let mut scanner = Scanner::default();
        let piece = vec![b'x'; 60_000];
        for _ in 0..180 {
            scanner.feed(&piece, &mut |_, _| {});
            assert!(scanner.line.len() <= LONGEST_LINE);
            assert!(scanner.line.capacity() <= 2 * LONGEST_LINE);
        }
        scanner.feed(b"\n", &mut |_, _| {});
        assert_eq!((scanner.line.len(), scanner.start), (0, 180 * 60_000 + 1));
    }
}
