//! A session's evidence on file: being read as it grows, and written fact by fact.

use std::fs::File;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, Found, Scanner, encode};
use abide_core::evidence::{Body, Fact, Witness};
use abide_core::moment::Moment;
use abide_core::verdict::is_closed;
use abide_sys::disk;

use super::SessionDir;

/// Evidence being read: the file stays open, so that what is added later is read from there on.
#[derive(Debug)]
pub struct Reading<'a> {
    dir: &'a SessionDir,
    /// Facts of a later wall time are left out.
    until: i64,
    file: Option<File>,
    scanner: Scanner,
    log: Evidence,
}

impl<'a> Reading<'a> {
    pub(super) fn new(dir: &'a SessionDir, file: std::io::Result<File>, until: i64) -> Self {
        let (scanner, log) = (Scanner::default(), Evidence::default());
        let mut reading = Self { dir, until, file: None, scanner, log };
        match file {
            Ok(file) => {
                reading.file = Some(file);
                reading.more();
            }
            Err(error) => reading.log.damaged(unreadable(&error)),
        }
        reading
    }

    /// Reads what was added since. True if there was anything.
    pub fn more(&mut self) -> bool {
        let Some(file) = &mut self.file else {
            return false;
        };
        let (scanner, log, until) = (&mut self.scanner, &mut self.log, self.until);
        let mut take = |offset, found: Found| {
            if found.is_by(until) {
                log.add(offset, found);
            }
        };
        match disk::read_pieces(file, |piece| scanner.feed(piece, &mut take)) {
            Ok(added) => added > 0,
            Err(error) => {
                self.log.damaged(unreadable(&error));
                self.file = None;
                false
            }
        }
    }

    /// The evidence as read so far, the slot included where the log holds no end.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut evidence = self.log.clone();
        let until = self.until;
        self.scanner.clone().finish(&mut |offset, found| {
            if found.is_by(until) {
                evidence.add(offset, found);
            }
        });
        if evidence.record.facts == 0 && !evidence.is_damaged() {
            evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Empty });
        }
        let has_slot = evidence.helpers.guarded.is_some() || evidence.beginning.launched.is_some();
        if has_slot && !is_closed(&evidence) {
            evidence.add_slot(self.dir.slot().ok().as_deref(), self.until);
        }
        evidence
    }

    /// The evidence itself, where nothing more can matter: its end is on record and it ends with a line.
    pub(crate) fn closed(&mut self) -> Option<Evidence> {
        let closed = is_closed(&self.log) && !self.is_mid_line();
        closed.then(|| std::mem::take(&mut self.log))
    }

    /// Whether the file ends within a line: torn, or still being written.
    #[must_use]
    pub const fn is_mid_line(&self) -> bool {
        self.scanner.is_mid_line()
    }

    /// The open file, to ask its locks.
    #[must_use]
    pub const fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }
}

fn unreadable(error: &std::io::Error) -> Damage {
    let flaw = Flaw::Unreadable(error.raw_os_error().unwrap_or(0));
    Damage { offset: 0, length: 0, flaw }
}

/// One witness' pen.
#[derive(Debug)]
pub struct Writer {
    file: File,
    witness: Witness,
    seq: u64,
}

impl Writer {
    /// The fact that `add` would append.
    #[must_use]
    pub const fn draft(&self, at: Moment, body: Body) -> Fact {
        Fact { witness: self.witness, seq: self.seq + 1, at, body }
    }

    /// Appends one fact with one write.
    ///
    /// # Errors
    /// If it is not wholly on record; then its number is used again.
    pub fn add(&mut self, at: Moment, body: Body) -> std::io::Result<()> {
        disk::append(&self.file, &encode(&self.draft(at, body))?)?;
        self.seq += 1;
        Ok(())
    }

    /// The pen of a witness that has written so many facts.
    #[must_use]
    pub(crate) const fn new(file: File, witness: Witness, seq: u64) -> Self {
        Self { file, witness, seq }
    }

    /// How many facts this witness has written.
    #[must_use]
    pub(crate) const fn seq(&self) -> u64 {
        self.seq
    }

    /// Waits until all of it is on the disk.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    /// The open file, to hold locks on.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }
}
