//! The recording's single writer. Never blocks, never flushes; when the disk is full it counts what is lost
//! and says so as soon as it can.

use std::fs::File;
use std::io::{self, Read};

use abide_core::evidence::Cut;
use abide_core::recording::{Entry, HEADER, Kind, header};
use abide_sys::{clock, disk};

/// How much of what the program wrote becomes one entry.
const ROOM: usize = 64 * 1024;

/// What a look at a descriptor brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// There may be more.
    Some,
    /// Nothing is there now.
    All,
    /// Nothing will come any more.
    Closed,
}

pub(super) struct Recorder {
    file: File,
    /// Room for a header, then the payload.
    buffer: Vec<u8>,
    position: u64,
    /// Bytes of output that are not on record since it was cut, and why.
    lost: u64,
    reason: Option<io::ErrorKind>,
    newly_cut: Option<Cut>,
}

impl Recorder {
    pub(super) fn new(file: File) -> Self {
        let buffer = vec![0; HEADER + ROOM];
        Self { file, buffer, position: 0, lost: 0, reason: None, newly_cut: None }
    }

    /// Goes on where another guard stopped.
    pub(super) fn resume(file: File, position: u64) -> Self {
        Self { position, ..Self::new(file) }
    }

    /// How many bytes of output there have been.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Where and why the recording was cut, once each time.
    pub(super) const fn newly_cut(&mut self) -> Option<Cut> {
        self.newly_cut.take()
    }

    /// Records an entry that is no output.
    pub(super) fn add(&mut self, kind: Kind, payload: &[u8]) {
        let entry = Entry { kind, time: clock::boot_micros(), position: self.position, payload };
        let mut frame = header(&entry).to_vec();
        frame.extend_from_slice(payload);
        // An entry that is no output and does not fit is missed; what follows says that the recording was cut.
        let _ = disk::append(&self.file, &frame);
    }

    /// Reads what is there and records it as one entry.
    pub(super) fn take(&mut self, kind: Kind, from: &File) -> Took {
        let mut length = 0;
        let mut took = Took::Some;
        while length < ROOM {
            match (&*from).read(&mut self.buffer[HEADER + length..]) {
                Ok(0) => took = Took::Closed,
                Ok(got) => {
                    length += got;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => took = Took::All,
                Err(_) => took = Took::Closed,
            }
            break;
        }
        if length > 0 {
            self.record(kind, length);
        }
        took
    }

    fn record(&mut self, kind: Kind, length: usize) {
        if self.lost > 0 && !self.say_cut() {
            self.lose(length, None);
            return;
        }
        let (head, payload) = self.buffer[..HEADER + length].split_at_mut(HEADER);
        let entry = Entry { kind, time: clock::boot_micros(), position: self.position, payload };
        head.copy_from_slice(&header(&entry));
        match disk::append(&self.file, &self.buffer[..HEADER + length]) {
            Ok(()) => self.position += length as u64,
            Err(error) => self.lose(length, Some(&error)),
        }
    }

    fn lose(&mut self, length: usize, error: Option<&io::Error>) {
        if let (Some(error), 0) = (error, self.lost) {
            self.reason = Some(error.kind());
            self.newly_cut = Some(Cut { offset: self.position, reason: error.to_string() });
        }
        self.lost += length as u64;
        self.position += length as u64;
    }

    /// There may be room again: the gap is recorded before anything else.
    fn say_cut(&mut self) -> bool {
        let reason = self.reason.map_or_else(String::new, |reason| reason.to_string());
        let payload = format!("{} {reason}", self.lost);
        let entry = Entry {
            kind: Kind::Cut,
            time: clock::boot_micros(),
            position: self.position,
            payload: payload.as_bytes(),
        };
        let mut frame = header(&entry).to_vec();
        frame.extend_from_slice(payload.as_bytes());
        let said = disk::append(&self.file, &frame).is_ok();
        if said {
            self.lost = 0;
            self.reason = None;
        }
        said
    }
}
