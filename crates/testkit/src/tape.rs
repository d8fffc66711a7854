//! A recording as data: what a guard would have written, entry by entry, at times that the test chooses.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use abide_core::evidence::Size;
use abide_core::evidence::frame::{body_from_line, body_to_line};
use abide_core::recording::kept::Kept;
use abide_core::recording::shed::{BEGINS, SLOTS, Shed};
use abide_core::recording::{Entry, Kind, Next, Start, header, next, resize_payload, short_number};
use abide_core::screen::Screen;

/// The boot time at which every tape begins, in microseconds, and its wall time, in ms.
pub const BOOT_US: u64 = 5_000_000;
pub const WALL_MS: i64 = 1_700_000_000_000;

/// A recording that is being made.
#[derive(Debug, Clone)]
pub struct Tape {
    bytes: Vec<u8>,
    /// Where each entry begins.
    begins: Vec<usize>,
    position: u64,
    /// Microseconds since its beginning.
    time: u64,
    /// How many entries were let go.
    let_go: u64,
}

impl Tape {
    /// A recording of a terminal of this size, with its first entry.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn new(cols: u16, rows: u16) -> Self {
        let tape = Self { bytes: Vec::new(), begins: Vec::new(), position: 0, time: 0, let_go: 0 };
        let start = Start {
            version: 1,
            session: "recorded".into(),
            size: Some(Size { cols, rows }),
            wall_ms: WALL_MS,
            boot_us: BOOT_US,
        };
        tape.entry(Kind::Start, &body_to_line(&start).expect("a start can be stored"))
    }

    /// The next entries come at so many microseconds after the beginning.
    #[must_use]
    pub const fn at(mut self, micros: u64) -> Self {
        self.time = micros;
        self
    }

    #[must_use]
    pub fn entry(mut self, kind: Kind, payload: &[u8]) -> Self {
        self.begins.push(self.bytes.len());
        let number = short_number(self.let_go + self.begins.len() as u64);
        let entry = Entry { kind, number, time: BOOT_US + self.time, position: self.position, payload };
        self.bytes.extend_from_slice(&header(&entry));
        self.bytes.extend_from_slice(payload);
        if matches!(kind, Kind::Output | Kind::Errors) {
            self.position += payload.len() as u64;
        }
        self
    }

    #[must_use]
    pub fn output(self, bytes: impl AsRef<[u8]>) -> Self {
        self.entry(Kind::Output, bytes.as_ref())
    }

    /// Somebody typed this.
    #[must_use]
    pub fn typed(self, bytes: impl AsRef<[u8]>) -> Self {
        let payload = [&[7; 16], bytes.as_ref()].concat();
        self.entry(Kind::Input, &payload)
    }

    #[must_use]
    pub fn mark(self, name: &str) -> Self {
        self.entry(Kind::Mark, name.as_bytes())
    }

    #[must_use]
    pub fn resize(self, cols: u16, rows: u16) -> Self {
        self.entry(Kind::Resize, &resize_payload(Size { cols, rows }))
    }

    /// So many bytes of output were lost.
    #[must_use]
    pub fn cut(mut self, bytes: u64) -> Self {
        self.position += bytes;
        self.entry(Kind::Cut, format!("{bytes} no room").as_bytes())
    }

    /// It may let go of its oldest part: there is room behind its first entry to say so.
    #[must_use]
    pub fn sheds(self) -> Self {
        let mut tape = self.entry(Kind::Shed, &Shed::NOTHING.payload());
        tape.bytes.resize(BEGINS as usize, 0);
        tape
    }

    /// So many entries with so many bytes of output were let go, behind which this stood on the screen.
    ///
    /// # Panics
    /// If anything but the first entry was made before.
    #[must_use]
    pub fn shed(mut self, entries: u64, output: u64, shown: &str) -> Self {
        let Next::Entry(Entry { payload, .. }, _) = next(&self.bytes) else { panic!("it has begun") };
        let start: Start = body_from_line(payload).expect("a start");
        let mut screen = Screen::new(start.size.expect("a terminal"), 100);
        let _ = screen.feed(shown.as_bytes());
        let (kept, lacks) = Kept::payload(&screen, None, Vec::new(), Vec::new()).expect("it is small");
        let shed = Shed { goes_on: BEGINS, entries: entries + 2, screen: Some(SLOTS[0]), lacks };
        (self.position, self.let_go) = (output, entries);
        let mut tape = self.entry(Kind::Shed, &shed.payload());
        tape.bytes.resize(SLOTS[0] as usize, 0);
        let (time, position) = (BOOT_US + tape.time, tape.position);
        let entry = Entry { kind: Kind::Screen, number: 0, time, position, payload: &kept };
        tape.bytes.extend_from_slice(&[&header(&entry), kept.as_slice()].concat());
        tape.bytes.resize(BEGINS as usize, 0);
        tape
    }

    /// Flips a byte in the payload of the entry with this number, counted from 1.
    #[must_use]
    pub fn damaged(mut self, entry: usize) -> Self {
        let at = self.begins[entry - 1] + abide_core::recording::HEADER;
        self.bytes[at] ^= 0x55;
        self
    }

    /// Leaves out the entry with this number, counted from 1, as if it had never been there.
    #[must_use]
    pub fn without(mut self, entry: usize) -> Self {
        let end = self.begins.get(entry).copied().unwrap_or(self.bytes.len());
        self.bytes.drain(self.begins[entry - 1]..end);
        self
    }

    /// Tears the last entry: so many bytes of it are missing.
    #[must_use]
    pub fn torn(mut self, missing: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - missing);
        self
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Puts it where a session keeps its recording.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn put(&self, session_dir: &Path) {
        let mut new = OpenOptions::new();
        new.mode(0o600).write(true).create(true).truncate(true);
        let mut file = new.open(session_dir.join("recording")).expect("the session is ours");
        file.write_all(&self.bytes).expect("there is room");
    }
}
