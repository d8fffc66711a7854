//! The recording's single writer. Never blocks, never flushes; when the disk is full it counts what is lost
//! and says so as soon as it can.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::{Cut, Size};
use abide_core::recording::shed::Shed;
use abide_core::recording::{Entry, Kind, closing, cut_payload, header, resize_payload, short_number};
use abide_sys::{clock, disk};

use super::handover::Handover;
use crate::spill::{BATCH, Spill};

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
    pen: Pen,
    spill: Spill,
    position: u64,
    /// How many entries are on record, if that is known.
    entries: Option<u64>,
    /// Bytes of output that are not on record since it was cut, and why.
    lost: u64,
    reason: String,
    newly_cut: Option<Cut>,
}

impl Recorder {
    pub(super) fn new(file: File, spill: Spill, most: Option<u64>) -> Self {
        let length = file.metadata().map_or(0, |file| file.len());
        let pen = Pen { file, torn: Vec::new(), room: most.map(|most| most.saturating_sub(length)) };
        Self { pen, spill, position: 0, entries: Some(0), lost: 0, reason: String::new(), newly_cut: None }
    }

    /// Goes on where another guard stopped, with what it had read and not recorded.
    pub(super) fn resume(file: File, spill: Spill, known: &Evidence, handover: &Handover) -> Self {
        let left = spill.left();
        // A host knows no more than the recording holds, and somebody may have taken from that.
        let (reached, numbered) = spill.reached();
        let known_position = handover.position.max(reached);
        let unrecorded = left.length > 0 && left.position >= known_position;
        let position = if unrecorded { left.position } else { known_position };
        let lost = position.saturating_sub(handover.recorded);
        let terms = known.beginning.launched.as_ref().map(|told| told.body.terms).unwrap_or_default();
        let entries = handover.entries.map(|entries| entries.max(numbered));
        let mut recorder = Self { position, entries, lost, ..Self::new(file, spill, terms.cut_at()) };
        recorder.reason = known.record.cut.as_ref().map_or_else(String::new, |told| told.body.reason.clone());
        if reached > handover.position {
            "what was recorded of it is gone".clone_into(&mut recorder.reason);
        }
        recorder.pen.torn = handover.torn.clone();
        if unrecorded {
            recorder.record(left.kind, left.length);
        }
        recorder
    }

    /// Leaves room behind the first entry, for what is said there when the oldest part is let go.
    pub(super) fn leave_room(&mut self) -> io::Result<()> {
        self.put(Kind::Shed, &Shed::NOTHING.payload())?;
        self.pen.file.set_len(Shed::NOTHING.goes_on)
    }

    /// How many bytes of output there have been.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// How far the output is on record.
    pub(super) const fn recorded(&self) -> u64 {
        self.position - self.lost
    }

    /// How many entries are on record, if that is known.
    pub(super) const fn entries(&self) -> Option<u64> {
        self.entries
    }

    /// What closes the last frame, if it was torn.
    pub(super) fn torn(&self) -> &[u8] {
        &self.pen.torn
    }

    /// The recording itself.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.pen.file.as_fd()
    }

    /// The memory that the host and the next guard need.
    pub(super) const fn spill(&self) -> &Spill {
        &self.spill
    }

    /// Where and why the recording was cut, once each time.
    pub(super) const fn newly_cut(&mut self) -> Option<Cut> {
        self.newly_cut.take()
    }

    /// Records an entry that is no output, and says whether there was room. One that does not fit is missed; what follows
    /// says that the recording was cut.
    pub(super) fn add(&mut self, kind: Kind, payload: &[u8]) -> bool {
        self.put(kind, payload).is_ok()
    }

    /// Records the tag of a line, and says whether there was room. Without it the line is not typed, and the cut is told
    /// although no output is missing yet.
    pub(super) fn tag(&mut self, payload: &[u8]) -> bool {
        let put = self.put(Kind::Exec, payload);
        if let Err(error) = &put {
            self.cut(error);
        }
        put.is_ok()
    }

    /// The terminal is about to have this size. Where there is no room to record that, the host learns it from the spill.
    pub(super) fn resize(&mut self, size: Size) {
        // Forgotten first: whoever reads it off the recording must not find the one before afterwards.
        self.spill.resize(None);
        if self.put(Kind::Resize, &resize_payload(size)).is_err() {
            self.spill.resize(Some((self.position, size)));
        }
    }

    /// The last word: output that is not on record is told, however much may be recorded.
    pub(super) fn finish(&mut self) {
        let room = self.pen.room.take();
        // Without room for it even so, the evidence says it.
        let _ = self.say_missed();
        self.pen.room = room;
    }

    /// Reads what is there and records it as one entry.
    pub(super) fn take(&mut self, kind: Kind, from: &File) -> Took {
        let mut length = 0;
        let mut took = Took::Some;
        self.spill.begin(kind, self.position);
        while length < BATCH {
            match self.spill.read(length, |room| (&*from).read(room)) {
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

    /// Records the batch.
    fn record(&mut self, kind: Kind, length: usize) {
        if let Err(error) = self.say_missed() {
            self.lose(length, &error);
            return;
        }
        let (time, position) = (clock::boot_micros(), self.position);
        let number = self.next_number();
        let header = header(&Entry { kind, number, time, position, payload: self.spill.batch(length) });
        match self.pen.append(self.spill.frame(header, length)) {
            Ok(()) => {
                self.entries = self.entries.map(|entries| entries + 1);
                self.position += length as u64;
                self.reach();
                self.spill.done();
            }
            Err(error) => self.lose(length, &error),
        }
    }

    fn lose(&mut self, length: usize, error: &io::Error) {
        self.cut(error);
        self.spill.keep(self.position, length);
        self.lost += length as u64;
        self.position += length as u64;
        self.reach();
        self.spill.done();
    }

    /// Says how far we have come, to whoever comes after us.
    fn reach(&self) {
        self.spill.reach(self.position, self.entries.unwrap_or(0));
    }

    /// Nothing more can be recorded; told once.
    fn cut(&mut self, error: &io::Error) {
        if self.lost == 0 {
            self.reason = error.to_string();
            self.newly_cut = Some(Cut { offset: self.position, reason: self.reason.clone() });
        }
    }

    /// There may be room again: the gap is recorded before anything else, then the size that what follows is made for.
    fn say_missed(&mut self) -> io::Result<()> {
        if self.lost > 0 {
            self.put(Kind::Cut, &cut_payload(self.lost, &self.reason))?;
            self.lost = 0;
        }
        if let Some(sized) = self.spill.size() {
            self.spill.resize(None);
            let said = self.put(Kind::Resize, &resize_payload(sized.1));
            said.inspect_err(|_| self.spill.resize(Some(sized)))?;
        }
        Ok(())
    }

    /// Puts an entry that is no output on record.
    fn put(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let (number, time) = (self.next_number(), clock::boot_micros());
        let mut frame = header(&Entry { kind, number, time, position: self.position, payload }).to_vec();
        frame.extend_from_slice(payload);
        self.pen.append(&frame)?;
        self.entries = self.entries.map(|entries| entries + 1);
        self.reach();
        Ok(())
    }

    /// What the next entry says of its number.
    fn next_number(&self) -> u32 {
        self.entries.map_or(0, |entries| short_number(entries + 1))
    }
}

/// What writes the recording.
struct Pen {
    file: File,
    /// What must be written before the next frame, because the last one was torn.
    torn: Vec<u8>,
    /// How much more may be recorded; none for as much as there is room for.
    room: Option<u64>,
}

impl Pen {
    /// Appends a frame, after what closes one that was torn; if this one is torn too, that is to be closed next.
    fn append(&mut self, frame: &[u8]) -> io::Result<()> {
        if let Some(room) = &mut self.room {
            // Where one does not fit, none that is shorter does afterwards: there is one cut, not many.
            *room = room.saturating_sub(frame.len() as u64);
            if *room == 0 {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is as long as it may be"));
            }
        }
        while !self.torn.is_empty() {
            let written = disk::append_some(&self.file, &self.torn)?;
            if written == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.torn.drain(..written);
        }
        let mut written = 0;
        while written < frame.len() {
            // The reason for a short write is told by the next one.
            match disk::append_some(&self.file, &frame[written..]) {
                Ok(more) if more > 0 => written += more,
                stopped => {
                    self.torn = if written > 0 { closing(&frame[..written]) } else { Vec::new() };
                    return Err(stopped.err().unwrap_or_else(|| io::ErrorKind::StorageFull.into()));
                }
            }
        }
        Ok(())
    }
}
