//! A session's evidence on file: being read as it grows, and written fact by fact.

use std::fs::File;
use std::io::Seek;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, Found, Scanner, encode};
use abide_core::evidence::{Body, Fact, Witness};
use abide_core::moment::Moment;
use abide_sys::disk::{self, Untrusted};

use super::SessionDir;

/// A log that is longer is not read to its end: no session writes so many facts, and no reader may be held up.
pub(crate) const LONGEST: u64 = 64 << 20;

/// Evidence being read: the file stays open, so that what is added later is read from there on.
#[derive(Debug)]
pub struct Reading<'a> {
    dir: &'a SessionDir,
    file: Option<File>,
    read: u64,
    scanner: Scanner,
    log: Evidence,
}

impl<'a> Reading<'a> {
    pub(super) fn new(dir: &'a SessionDir, file: std::io::Result<File>) -> Self {
        let (scanner, log) = (Scanner::default(), Evidence::default());
        let mut reading = Self { dir, file: None, read: 0, scanner, log };
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
        let (Some(file), true) = (&mut self.file, self.read < LONGEST) else {
            return false;
        };
        let (scanner, log) = (&mut self.scanner, &mut self.log);
        let mut take = |offset, found| log.add(offset, found);
        match disk::read_pieces(file, LONGEST - self.read, |piece| scanner.feed(piece, &mut take)) {
            Ok(added) => {
                self.read += added;
                if self.read >= LONGEST {
                    self.log.damaged(Damage { offset: self.read, length: 0, flaw: Flaw::Endless });
                }
                added > 0
            }
            Err(error) => {
                self.log.damaged(unreadable(&error));
                self.file = None;
                false
            }
        }
    }

    /// The evidence as read so far, the slot included where the log lacks something of the end.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut evidence = self.log.clone();
        self.scanner.clone().finish(&mut |offset, found| evidence.add(offset, found));
        complete(&mut evidence, self.dir, i64::MAX, self.read);
        evidence
    }

    /// The evidence itself, where nothing more can matter: its end is on record and it ends with a line.
    pub(crate) fn closed(&mut self) -> Option<Evidence> {
        let closed = self.log.is_closed() && !self.log.wants_slot() && !self.is_mid_line();
        closed.then(|| std::mem::take(&mut self.log))
    }

    /// Whether the file ends within a line: torn, or still being written.
    #[must_use]
    pub const fn is_mid_line(&self) -> bool {
        self.scanner.is_mid_line()
    }

    /// Whether a guard or a host holds the session's directory: each does from its first moment to its last. None
    /// where that cannot be told.
    pub(crate) fn is_held(&self) -> Option<bool> {
        self.dir.dir().is_held()
    }

    /// The open file, to ask its locks.
    #[must_use]
    pub const fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }
}

/// The evidence as it was at an instant: everything up to the last fact that bears an earlier wall time. The order of
/// the file decides, for the clock may have been set back between two facts.
pub(super) fn past(dir: &SessionDir, file: std::io::Result<File>, wall: i64) -> Evidence {
    let mut evidence = Evidence::default();
    let read = file.and_then(|mut file| read_past(&mut file, wall, &mut evidence)).unwrap_or_else(|error| {
        evidence.damaged(unreadable(&error));
        0
    });
    complete(&mut evidence, dir, wall, read);
    evidence
}

/// Read twice, in bounded memory: where the past ends, and then up to there. Gives how long the log is.
fn read_past(file: &mut File, wall: i64, evidence: &mut Evidence) -> std::io::Result<u64> {
    let (mut last, mut next) = (None, None);
    let read = scan(file, &mut |offset, found| match found {
        Found::Fact(fact) if fact.at.wall <= wall => (last, next) = (Some(offset), None),
        Found::Fact(_) => next = next.or(Some(offset)),
        Found::Damage(_) => {}
    })?;
    let Some(last) = last else {
        return Ok(read);
    };
    scan(file, &mut |offset, found| {
        // Damage that no later fact stands before may have held one of the past.
        let damage = matches!(found, Found::Damage(_)) && next.is_none_or(|next| offset < next);
        if offset <= last || damage {
            evidence.add(offset, found);
        }
    })?;
    if read >= LONGEST && next.is_none() {
        evidence.damaged(Damage { offset: read, length: 0, flaw: Flaw::Endless });
    }
    Ok(read)
}

/// What a log says that was opened before and may have no name any more.
pub(crate) fn read_evidence(file: &File) -> Evidence {
    let mut evidence = Evidence::default();
    let read = file.try_clone();
    let read = read.and_then(|mut file| scan(&mut file, &mut |offset, found| evidence.add(offset, found)));
    if let Err(error) = read {
        evidence.damaged(unreadable(&error));
    }
    evidence
}

/// Reads a log from its beginning, and says how much of it.
pub(super) fn scan(file: &mut File, take: &mut impl FnMut(u64, Found)) -> std::io::Result<u64> {
    let mut scanner = Scanner::default();
    file.rewind()?;
    let read = disk::read_pieces(file, LONGEST, |piece| scanner.feed(piece, take))?;
    scanner.finish(take);
    Ok(read)
}

/// What the file as a whole says, and the slot where the log lacks something of the end.
fn complete(evidence: &mut Evidence, dir: &SessionDir, until: i64, end: u64) {
    if evidence.record.facts == 0 && !evidence.is_damaged() {
        evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Empty });
    }
    // A session is published with its launch on record: without it, the record was cut.
    let begun = evidence.beginning.launched.is_some() || evidence.beginning.adopted.is_some();
    let guarded = evidence.helpers.guarded.is_some();
    if guarded && !begun {
        evidence.damaged(Damage { offset: end, length: 0, flaw: Flaw::Gap });
    }
    let watched = evidence.helpers.watched.is_some();
    let has_slot = guarded || watched || evidence.beginning.launched.is_some();
    if has_slot && evidence.wants_slot() {
        match dir.slot() {
            Ok(bytes) => evidence.add_slot(Some(&bytes), until, end),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => evidence.add_slot(None, until, end),
            Err(error) => evidence.damaged(unreadable(&error)),
        }
    }
}

fn unreadable(error: &std::io::Error) -> Damage {
    let flaw = error.raw_os_error().map_or(Flaw::NotAFile, Flaw::Unreadable);
    Damage { offset: 0, length: 0, flaw }
}

/// What is wrong with a session whose directory was not opened.
pub(crate) fn unopened(untrusted: &Untrusted) -> Damage {
    let flaw = match untrusted {
        Untrusted::NotADirectory => Flaw::Link,
        Untrusted::Foreign(uid) => Flaw::Foreign(*uid),
        Untrusted::Open(mode) => Flaw::Open(*mode),
        Untrusted::NotThere => Flaw::Gone,
        Untrusted::Io(error) => Flaw::Unreadable(error.raw_os_error().unwrap_or(0)),
    };
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
    /// The fact that `add` would append after so many calls.
    #[must_use]
    pub const fn draft(&self, at: Moment, ahead: u64, body: Body) -> Fact {
        Fact { witness: self.witness, seq: self.seq + ahead, at, body }
    }

    /// Appends one fact with one write.
    ///
    /// # Errors
    /// If it is not wholly on record; then its number is used again.
    pub fn add(&mut self, at: Moment, body: Body) -> std::io::Result<()> {
        let frame = encode(&self.draft(at, 1, body))?;
        // A frame that was torn by a full disk would be damage for ever.
        disk::make_room(&self.file, frame.len())?;
        disk::append(&self.file, &frame)?;
        self.seq += 1;
        Ok(())
    }

    /// The pen of a witness that has written so many facts.
    #[must_use]
    pub(crate) const fn new(file: File, witness: Witness, seq: u64) -> Self {
        Self { file, witness, seq }
    }

    /// Whose pen it is.
    #[must_use]
    pub(crate) const fn witness(&self) -> Witness {
        self.witness
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
