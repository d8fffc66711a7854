//! The recording: raw bytes of the terminal and what else happened to it, as checksummed frames.
//! A reader takes any bytes, serves every sound frame, and locates what is damaged. docs/recording.md tells others.

pub mod command;
pub mod kept;
pub mod pace;
pub mod player;
pub mod prompt;
pub mod redact;
pub mod scroll;
pub mod shed;
pub mod unrecorded;
pub mod veil;

use serde::{Deserialize, Serialize};

use self::shed::Shed;
use crate::evidence::Size;

/// The first bytes of every frame: what a reader looks for after damage.
pub const MARK: [u8; 4] = [0xAB, b'i', b'd', 0x01];
/// Mark, kind, three bytes of the entry's number, length, time, position, checksum.
pub const HEADER: usize = 32;
/// No writer makes longer frames.
pub const LONGEST: usize = 1 << 20;
/// No recording comes so far, by its clock, its output or its file: what says so is damage, and need not be reckoned with.
pub const FARTHEST: u64 = 1 << 62;

macro_rules! kinds {
    ($($kind:ident $byte:literal $doc:literal,)+) => {
        /// What an entry is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $(#[doc = $doc] $kind = $byte,)+ }

        impl Kind {
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte { $($byte => Some(Self::$kind),)+ _ => None }
            }
        }
    };
}

kinds! {
    Start b'h' "The first entry: JSON about the session and its clocks.",
    Output b'o' "What the program showed, or wrote to its standard output.",
    Errors b'e' "What a program without a terminal wrote to its standard error.",
    Input b'i' "What a client typed: its id and sequence number, then the bytes.",
    Hidden b'p' "What was typed at a password prompt: only how many bytes.",
    Answer b'a' "What the host answered to a query of the program's.",
    Lines b'l' "Its terminal reads whole lines and echoes them, just before it gets the answer that follows.",
    Resize b'r' "The terminal's new size: columns and rows.",
    Mark b'm' "A name for this instant.",
    Exec b'x' "What `exec` is about to do: its id and sequence number, then JSON; see the veil.",
    Cut b'c' "Frames before this place could not be written: how many bytes of output, and why.",
    Shed b'g' "The oldest part was let go: JSON that says where it goes on; see `shed`.",
    Screen b's' "The screen where it goes on behind what was let go; see `kept`. No entry of its own.",
}

/// What the first entry says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub version: u32,
    pub session: String,
    pub size: Option<Size>,
    /// The same instant on the wall clock, in ms, and on the recording's own clock, in us of boot time.
    pub wall_ms: i64,
    pub boot_us: u64,
}

/// One element of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    pub kind: Kind,
    /// How many entries there are with it, as far as 24 bits hold that; 0 where its writer did not say.
    pub number: u32,
    /// Microseconds of boot time.
    pub time: u64,
    /// How many bytes of output and errors came before it.
    pub position: u64,
    pub payload: &'a [u8],
}

/// What of an entry's number its header holds.
const NUMBERS: u64 = 1 << 24;

/// The number of an entry as its header has it.
#[must_use]
pub const fn short_number(entries: u64) -> u32 {
    (entries % NUMBERS) as u32
}

impl Entry<'_> {
    /// How many entries there are with this one, so many having been read before it. What could not be read in between
    /// counts too, so that a number means the same whatever was read of the recording.
    #[must_use]
    pub fn counted(&self, before: u64) -> u64 {
        let next = before + 1;
        if self.kind == Kind::Screen {
            return before;
        }
        if let Some(shed) = Shed::of(self) {
            return next.max(shed.entries);
        }
        let lost = (self.number as u64 + NUMBERS - next % NUMBERS) % NUMBERS;
        // Numbers do not go back: so many were never lost.
        if self.number == 0 || lost > NUMBERS / 2 { next } else { next + lost }
    }
}

/// The header that goes before the payload. `LONGEST` is the caller's to keep.
#[must_use]
pub fn header(entry: &Entry<'_>) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&MARK);
    bytes[4] = entry.kind as u8;
    bytes[5..8].copy_from_slice(&entry.number.to_le_bytes()[..3]);
    bytes[8..12].copy_from_slice(&(entry.payload.len() as u32).to_le_bytes());
    bytes[12..20].copy_from_slice(&entry.time.to_le_bytes());
    bytes[20..28].copy_from_slice(&entry.position.to_le_bytes());
    let sum = checksum(&bytes, entry.payload);
    bytes[28..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn checksum(header: &[u8; HEADER], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[4..28]);
    hasher.update(payload);
    hasher.finalize()
}

/// The payload of a resize.
#[must_use]
pub fn resize_payload(size: Size) -> [u8; 4] {
    let ([a, b], [c, d]) = (size.cols.to_le_bytes(), size.rows.to_le_bytes());
    [a, b, c, d]
}

/// What was typed, of the payload of an input: behind who typed it and its number.
#[must_use]
pub fn typed(payload: &[u8]) -> &[u8] {
    payload.get(16..).unwrap_or_default()
}

/// The inverse of `resize_payload`.
#[must_use]
pub fn parse_resize(payload: &[u8]) -> Option<Size> {
    let &[a, b, c, d] = payload else { return None };
    Some(Size { cols: u16::from_le_bytes([a, b]), rows: u16::from_le_bytes([c, d]) })
}

/// The payload of a cut: how much output is missing, and why.
#[must_use]
pub fn cut_payload(bytes: u64, reason: &str) -> Vec<u8> {
    format!("{bytes} {reason}").into_bytes()
}

/// From where on a cut has no output, if it says how much.
#[must_use]
pub fn cut_begins(cut: &Entry<'_>) -> Option<u64> {
    let text = std::str::from_utf8(cut.payload).ok()?;
    let bytes: u64 = text.split(' ').next()?.parse().ok()?;
    cut.position.checked_sub(bytes)
}

/// What a cut says, for people.
#[must_use]
pub fn cut_says(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    let (bytes, reason) = text.split_once(' ').unwrap_or((&text, ""));
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{bytes} bytes of output are missing{reason}")
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<'a> {
    /// A sound entry; with its header it takes this many bytes.
    Entry(Entry<'a>, usize),
    /// A sound frame of a kind that a later abide knows.
    Other(usize),
    /// Not a frame: this many bytes, up to the next mark or to where one may begin.
    Damage(usize),
    /// At least this many more bytes are needed to tell.
    More(usize),
}

/// Looks at the beginning of `bytes`, which must be where a frame begins or damage does.
#[must_use]
pub fn next(bytes: &[u8]) -> Next<'_> {
    let known = bytes.len().min(MARK.len());
    if bytes[..known] != MARK[..known] {
        return Next::Damage(skip(bytes));
    }
    let Some(head) = bytes.first_chunk::<HEADER>() else {
        return Next::More(HEADER - bytes.len());
    };
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let length = u32::from_le_bytes(std::array::from_fn(|i| head[8 + i])) as usize;
    if length > LONGEST {
        return Next::Damage(skip(bytes));
    }
    let Some(payload) = bytes.get(HEADER..HEADER + length) else {
        return Next::More(HEADER + length - bytes.len());
    };
    if head[28..] != checksum(head, payload).to_le_bytes() {
        return Next::Damage(skip(bytes));
    }
    if number(12).max(number(20)) >= FARTHEST {
        return Next::Damage(skip(bytes));
    }
    match Kind::from_byte(head[4]) {
        Some(kind) => {
            let entry = Entry { kind, number: said(head), time: number(12), position: number(20), payload };
            Next::Entry(entry, HEADER + length)
        }
        None => Next::Other(HEADER + length),
    }
}

fn said(head: &[u8; HEADER]) -> u32 {
    u32::from_le_bytes([head[5], head[6], head[7], 0])
}

/// As `next`, where no more bytes will come: a frame that is not all there is damage.
#[must_use]
pub fn next_at_end(bytes: &[u8]) -> Next<'_> {
    match next(bytes) {
        Next::More(_) => Next::Damage(skip(bytes)),
        whole @ (Next::Entry(..) | Next::Other(_) | Next::Damage(_)) => whole,
    }
}

/// One filler at most makes a torn frame the very frame that it was to be.
const FILLERS: [u8; 2] = [0, 0x55];

/// What must follow a frame that was torn off here, so that readers see at once that it is no frame and go on
/// behind it.
#[must_use]
pub fn closing(torn: &[u8]) -> Vec<u8> {
    for filler in FILLERS {
        let mut padded = torn.to_vec();
        while let (Next::More(more), false) = (next(&padded), padded.is_empty()) {
            padded.resize(padded.len() + more, filler);
        }
        if !matches!(next(&padded), Next::Entry(..) | Next::Other(_)) {
            return padded.split_off(torn.len());
        }
    }
    Vec::new()
}

/// What damage says that it was, if its header is there: to be weighed, never believed. Its payload is not told.
#[must_use]
pub fn claimed(damage: &[u8]) -> Option<Entry<'static>> {
    let head = damage.first_chunk::<HEADER>().filter(|head| head.starts_with(&MARK))?;
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let kind = Kind::from_byte(head[4])?;
    Some(Entry { kind, number: said(head), time: number(12), position: number(20), payload: &[] })
}

/// Where in the file damage ends that begins as a frame, counted from there, if its header may be right.
#[must_use]
pub fn claimed_end(damage: &[u8]) -> Option<usize> {
    let head = damage.first_chunk::<HEADER>().filter(|head| head.starts_with(&MARK))?;
    let length = u32::from_le_bytes(std::array::from_fn(|i| head[8 + i])) as usize;
    (length <= LONGEST).then_some(HEADER + length)
}

/// Whether a frame that begins so follows damage that begins as a frame, as both say. What stands in between is then all of
/// that one: what looks like a frame there is what somebody's program showed.
#[must_use]
pub fn follows(next: &[u8], damage: &[u8]) -> bool {
    let (Some(was), Some(end), Some(is)) = (claimed(damage), claimed_end(damage), claimed(next)) else {
        return false;
    };
    let output = if is_output(was.kind) { (end - HEADER) as u64 } else { 0 };
    let counted = was.number == 0 || is.number == short_number(u64::from(was.number) + 1);
    counted && was.position.checked_add(output) == Some(is.position) && is.time >= was.time
}

/// Whether damage may be the torn beginning of this very output, which its writer, or the next one, wrote again.
#[must_use]
pub fn is_written_again(damage: &[u8], entry: &Entry<'_>) -> bool {
    (damage.len() <= HEADER || is_output(entry.kind)) && is_torn_output(damage, entry.position)
}

/// Whether damage may be the torn beginning of the output that came at this position.
#[must_use]
pub fn is_torn_output(damage: &[u8], position: u64) -> bool {
    if damage.len() <= HEADER {
        // There was no room for a payload: no more than a beginning.
        return true;
    }
    claimed(damage).is_some_and(|was| {
        // What was torn off within the header is filler.
        let filler = FILLERS.iter().any(|filler| was.position == u64::from_le_bytes([*filler; 8]));
        is_output(was.kind) && (filler || was.position == position)
    })
}

const fn is_output(kind: Kind) -> bool {
    matches!(kind, Kind::Output | Kind::Errors)
}

/// How far it is from the beginning of damage to the next possible mark.
fn skip(bytes: &[u8]) -> usize {
    let rest = bytes.get(1..).unwrap_or_default();
    let begins = |at: usize| {
        let tail = &rest[at..];
        let known = tail.len().min(MARK.len());
        tail[..known] == MARK[..known]
    };
    let found = rest
        .iter()
        .enumerate()
        .filter(|&(_, &byte)| byte == MARK[0])
        .map(|(at, _)| at)
        .find(|&at| begins(at));
    1 + found.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
        let mut bytes = header(&Entry { kind, number: 3, time: 7, position: 9, payload }).to_vec();
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Every payload that a reader serves, and how many bytes it calls damaged.
    fn read(mut bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let (mut payloads, mut damaged) = (Vec::new(), 0);
        while !bytes.is_empty() {
            let taken = match next_at_end(bytes) {
                Next::Entry(entry, taken) => {
                    payloads.push(entry.payload.to_vec());
                    taken
                }
                Next::Other(taken) => taken,
                Next::Damage(taken) => {
                    damaged += taken;
                    taken
                }
                Next::More(_) => unreachable!("there is no more"),
            };
            bytes = &bytes[taken..];
        }
        (payloads, damaged)
    }

    #[test]
    fn frames_come_back_as_they_were_written() {
        let bytes = frame(Kind::Output, b"hello\xff");
        let entry = Entry { kind: Kind::Output, number: 3, time: 7, position: 9, payload: b"hello\xff" };
        assert_eq!(next(&bytes), Next::Entry(entry, bytes.len()));
        let size = Size { cols: 120, rows: 40 };
        assert_eq!(parse_resize(&resize_payload(size)), Some(size));
    }

    #[test]
    fn a_frame_that_is_not_all_there_asks_for_more() {
        let bytes = frame(Kind::Output, b"hello");
        for length in 0..bytes.len() {
            assert!(matches!(next(&bytes[..length]), Next::More(n) if n > 0), "{length}");
        }
    }

    #[test]
    fn any_flipped_byte_costs_its_own_frame_only() {
        let frames = [frame(Kind::Output, b"one"), frame(Kind::Input, b"two"), frame(Kind::Output, b"three")];
        let whole = frames.concat();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let (payloads, damaged) = read(&bytes);
            assert!(damaged > 0, "{at}");
            let hit = if at < frames[0].len() {
                0
            } else if at < frames[0].len() + frames[1].len() {
                1
            } else {
                2
            };
            for (index, expected) in [b"one".as_slice(), b"two", b"three"].into_iter().enumerate() {
                assert_eq!(payloads.iter().any(|p| p == expected), index != hit, "byte {at}, frame {index}");
            }
        }
    }

    #[test]
    fn a_torn_frame_that_is_closed_hides_nothing_behind_it_and_is_never_served() {
        for payload in [&b"hello"[..], b"\0\0\0\0", b"UUUU", b""] {
            let (whole, after) = (frame(Kind::Output, payload), frame(Kind::Output, b"after"));
            for torn in (0..whole.len()).map(|length| &whole[..length]) {
                let bytes = [torn, &closing(torn), &after].concat();
                // Not as at the end, where nothing more will come: as one who follows sees it.
                let mut at = 0;
                let served = loop {
                    match next(&bytes[at..]) {
                        Next::Entry(entry, _) => break entry.payload,
                        Next::Damage(length) | Next::Other(length) => at += length,
                        Next::More(_) => unreachable!("{payload:?} torn at {}", torn.len()),
                    }
                };
                assert_eq!(served, b"after", "{payload:?} torn at {}", torn.len());
            }
        }
    }

    #[test]
    fn what_was_torn_and_written_again_is_told_from_what_is_missing() {
        let whole = frame(Kind::Output, b"hello, hello");
        let Next::Entry(entry, _) = next(&whole) else { panic!("it is whole") };
        for torn in 1..whole.len() {
            let closed = [&whole[..torn], &closing(&whole[..torn])].concat();
            assert!(is_written_again(&closed, &entry), "torn at {torn}");
        }
        let resize = [frame(Kind::Resize, &[9, 0, 9, 0]), b"x".to_vec()].concat();
        assert!(!is_written_again(&resize, &entry), "a resize is missing");
        assert!(is_torn_output(&whole, 9) && !is_torn_output(&whole, 8) && !is_torn_output(&resize, 9));
        let cut = cut_payload(20, "full");
        assert_eq!(cut_begins(&Entry { kind: Kind::Cut, position: 29, payload: &cut, ..entry }), Some(9));
        let later = Entry { position: 99, ..entry };
        assert!(!is_written_again(&whole, &later), "output is missing");
        assert_eq!(claimed(&whole), Some(Entry { payload: &[], ..entry }));
        assert_eq!(claimed(&whole[1..]), None);
    }

    #[test]
    fn a_kind_of_a_later_version_is_passed_over() {
        let mut bytes = frame(Kind::Output, b"x");
        bytes[4] = b'?';
        let sum = checksum(bytes.first_chunk().unwrap(), b"x");
        bytes[28..32].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(next(&bytes), Next::Other(bytes.len()));
    }

    #[test]
    fn numbers_count_what_could_not_be_read_and_never_go_back() {
        let entry = |number| Entry { kind: Kind::Output, number, time: 0, position: 0, payload: b"" };
        for (number, before, counted) in [
            (0, 7, 8),
            (8, 7, 8),
            (12, 7, 12),
            (7, 7, 8),
            (1, 0xff_ffff, 0x100_0001),
            (3, 0xff_fffe, 0x100_0003),
            (short_number(0x500_0002), 0x500_0000, 0x500_0002),
        ] {
            assert_eq!(entry(number).counted(before), counted, "{number} after {before}");
        }
    }
}
