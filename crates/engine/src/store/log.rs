//! A session's evidence on file: being read as it grows, and written fact by fact.

use std::borrow::Cow;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, Found, Scanner, encode};
use abide_core::evidence::{Body, Fact, Role, Witness};
use abide_core::id::SessionId;
use abide_core::moment::Moment;
use abide_sys::disk::{self, PrivateDir, Untrusted};

use super::{EVIDENCE, SessionDir};

/// A log that is longer is not read to its end: no session writes so many facts, and no reader may be held up.
pub(crate) const LONGEST: u64 = 64 << 20;

/// The evidence itself, as whoever serves the session holds it: it goes on, whatever becomes of its name.
#[derive(Debug, Default)]
pub(super) struct Kept(Option<File>);

impl Kept {
    pub(super) const NOTHING: Self = Self(None);

    /// What the name leads to where that is the very file, else that file: through a descriptor with locks of its own.
    pub(super) fn or(&self, named: std::io::Result<File>) -> std::io::Result<File> {
        let Some(kept) = &self.0 else { return named };
        match &named {
            Ok(file) if disk::file_id(file)? == disk::file_id(kept)? => named,
            Ok(_) | Err(_) => disk::reopen(kept),
        }
    }
}

impl SessionDir {
    /// The directory of this session: a record that tells of another one was put into it.
    pub(super) fn named(dir: PrivateDir, id: &SessionId) -> Self {
        Self { id: Some(id.clone()), ..Self::from_trusted(dir) }
    }

    fn id(&self) -> Option<&str> {
        self.id.as_ref().map(SessionId::as_str)
    }

    fn is_foreign(&self, evidence: &Evidence) -> bool {
        self.id.as_ref().zip(evidence.id()).is_some_and(|(ours, told)| ours.as_str() != told)
    }

    /// The evidence's file, to be read later, whatever becomes of its name.
    pub(crate) fn evidence(&self) -> std::io::Result<File> {
        self.kept.or(self.dir().read(EVIDENCE))
    }

    /// Goes on with this very evidence, whatever becomes of its name: the one that was handed over, else the named one.
    pub(crate) fn keep_evidence(&mut self, handed: Option<OwnedFd>) {
        let handed = handed.map(File::from);
        self.kept = Kept(handed.or_else(|| self.dir().append(EVIDENCE).ok()));
    }

    /// The evidence that is kept, to hand over. Nobody holds a lock through it.
    pub(crate) fn kept_evidence(&self) -> Option<BorrowedFd<'_>> {
        self.kept.0.as_ref().map(AsFd::as_fd)
    }
}

/// How far a log was read, and what it said up to there.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    read: u64,
    scanner: Scanner,
    log: Evidence,
}

impl Progress {
    /// Reads what was added to the file since. True if there was anything.
    ///
    /// # Errors
    /// If it cannot be read; that is damage in what it said, too.
    fn read_on(&mut self, file: &File) -> std::io::Result<bool> {
        if self.read >= LONGEST {
            return Ok(false);
        }
        let (scanner, log) = (&mut self.scanner, &mut self.log);
        let before = self.read;
        let done = disk::read_pieces(file, before, LONGEST - before, |piece| {
            scanner.feed(piece, &mut |offset, found| log.add(offset, found));
            self.read += piece.len() as u64;
        });
        done.inspect_err(|error| self.log.damaged(unreadable(error)))?;
        if self.read >= LONGEST {
            self.log.damaged(endless(self.read));
        }
        Ok(self.read > before)
    }

    /// What it says now.
    pub(crate) fn up_to_now(&mut self, file: &File) -> Cow<'_, Evidence> {
        // What cannot be read is damage in it.
        let _ = self.read_on(file);
        self.evidence()
    }

    /// What it said, if the file ends here.
    fn evidence(&self) -> Cow<'_, Evidence> {
        let mut evidence = Cow::Borrowed(&self.log);
        self.scanner.clone().finish(&mut |offset, found| evidence.to_mut().add(offset, found));
        evidence
    }
}

/// Evidence being read: the file stays open, so that what is added later is read from there on.
#[derive(Debug)]
pub struct Reading<'a> {
    dir: &'a SessionDir,
    file: Option<File>,
    progress: Progress,
}

impl<'a> Reading<'a> {
    pub(super) fn new(dir: &'a SessionDir, file: std::io::Result<File>) -> Self {
        let mut reading = Self { dir, file: None, progress: Progress::default() };
        match file {
            Ok(file) => {
                reading.file = Some(file);
                reading.more();
            }
            Err(error) => reading.progress.log.damaged(unreadable(&error)),
        }
        reading
    }

    /// Reads what was added since. True if there was anything.
    pub fn more(&mut self) -> bool {
        let read = self.file.as_ref().map(|file| self.progress.read_on(file));
        read.is_some_and(|read| {
            read.unwrap_or_else(|_| {
                self.file = None;
                false
            })
        })
    }

    /// Reads on where something seems to be missing: the slot may tell of what came after all that was read of the log.
    /// True if there was more.
    pub(crate) fn outgrows(&mut self, told: &Evidence) -> bool {
        told.is_damaged() && self.more()
    }

    /// The evidence as read so far, the slot included where the log lacks something of the end.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut evidence = self.progress.evidence().into_owned();
        complete(&mut evidence, self.dir, i64::MAX, self.progress.read);
        evidence
    }

    /// The evidence itself, where nothing more can matter: its end is on record and it ends with a line.
    pub(crate) fn closed(&mut self) -> Option<Evidence> {
        let log = &mut self.progress.log;
        let known = !log.wants_slot() && !self.dir.is_foreign(log);
        let closed = log.is_closed() && known && !self.progress.scanner.is_mid_line();
        closed.then(|| std::mem::take(log))
    }

    /// Whether the file ends within a line: torn, or still being written.
    #[must_use]
    pub const fn is_mid_line(&self) -> bool {
        self.progress.scanner.is_mid_line()
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
    let read = file.and_then(|file| read_past(&file, wall, &mut evidence));
    let (read, goes_on) = read.unwrap_or_else(|error| {
        evidence.damaged(unreadable(&error));
        (0, false)
    });
    // Between two facts of a launch nothing is missing.
    let begins = is_guarded(&evidence) && !evidence.is_begun() && !evidence.is_damaged() && goes_on;
    if !begins {
        complete(&mut evidence, dir, wall, read);
    }
    evidence
}

/// Read twice, in bounded memory: where the past ends, and then up to there. Gives how long the log is, and whether there are
/// later facts.
fn read_past(file: &File, wall: i64, evidence: &mut Evidence) -> std::io::Result<(u64, bool)> {
    let (mut last, mut next) = (None, None);
    let read = scan(file, &mut |offset, found| match found {
        Found::Fact(fact) if fact.at.wall <= wall => (last, next) = (Some(offset), None),
        Found::Fact(_) => next = next.or(Some(offset)),
        Found::Damage(_) => {}
    })?;
    let Some(last) = last else {
        return Ok((read, next.is_some()));
    };
    scan(file, &mut |offset, found| {
        // Damage that no later fact stands before may have held one of the past.
        let damage = matches!(found, Found::Damage(_)) && next.is_none_or(|next| offset < next);
        if offset <= last || damage {
            evidence.add(offset, found);
        }
    })?;
    if read >= LONGEST && next.is_none() {
        evidence.damaged(endless(read));
    }
    Ok((read, next.is_some()))
}

/// What a log says that was opened before and may have no name any more.
pub(crate) fn read_evidence(file: &File) -> Evidence {
    Progress::default().up_to_now(file).into_owned()
}

/// Reads a log from its beginning, and says how much of it.
pub(super) fn scan(file: &File, take: &mut impl FnMut(u64, Found)) -> std::io::Result<u64> {
    let mut scanner = Scanner::default();
    let read = disk::read_pieces(file, 0, LONGEST, |piece| scanner.feed(piece, take))?;
    scanner.finish(take);
    Ok(read)
}

/// What the file as a whole says, and the slot where the log lacks something of the end.
fn complete(evidence: &mut Evidence, dir: &SessionDir, until: i64, end: u64) {
    if evidence.record.facts == 0 && !evidence.is_damaged() {
        evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Empty });
    }
    if dir.is_foreign(evidence) {
        *evidence = Evidence::default();
        return evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::ForeignLog });
    }
    // A session is published with its launch on record: without it, the record was cut.
    let guarded = is_guarded(evidence);
    if guarded && !evidence.is_begun() {
        evidence.damaged(Damage { offset: end, length: 0, flaw: Flaw::Gap });
    }
    let watched = evidence.helpers.watched.is_some();
    let has_slot = guarded || watched || evidence.beginning.launched.is_some();
    if has_slot && evidence.wants_slot() {
        match dir.slot(&mut [0; disk::Slot::SIZE]) {
            Ok(bytes) => evidence.add_slot(dir.id(), Some(bytes), until, end),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                evidence.add_slot(None, None, until, end);
            }
            Err(error) => evidence.damaged(unreadable(&error)),
        }
    }
}

const fn is_guarded(evidence: &Evidence) -> bool {
    evidence.helpers.guarded.is_some()
}

/// What is behind this place was not read.
const fn endless(read: u64) -> Damage {
    Damage { offset: read, length: 0, flaw: Flaw::Endless }
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

/// So much room is kept behind the last fact: on a disk that is full what is asked for, done and seen of a session's life is on
/// record all the same.
const KEPT: usize = 8 * 1024;

/// What follows a session's work, and the user's own notifications, can do without.
const fn may_use_what_is_kept(role: Role) -> bool {
    match role {
        Role::Guard | Role::Host | Role::Client | Role::Watcher | Role::Sealer | Role::Other => true,
        Role::Hook | Role::Adapter | Role::Courier => false,
    }
}

/// One witness' pen.
#[derive(Debug)]
pub struct Writer {
    file: File,
    witness: Witness,
    seq: u64,
    /// Up to where this pen has made room. What of it is left when the session ends was kept for that.
    room: u64,
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
        let for_the_end = matches!(body, Body::Drained(_) | Body::Ended(_));
        let frame = encode(&self.draft(at, 1, body))?;
        // A frame that was torn by a full disk would be damage for ever.
        if !(for_the_end && disk::length(&self.file)? + frame.len() as u64 <= self.room) {
            self.make_room(frame.len())?;
        }
        disk::append(&self.file, &frame)?;
        self.seq += 1;
        Ok(())
    }

    fn make_room(&mut self, bytes: usize) -> std::io::Result<()> {
        let room = disk::make_room(&self.file, bytes, KEPT)?;
        if !room.kept && !may_use_what_is_kept(self.witness.role) {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.room = room.until;
        Ok(())
    }

    /// The pen of a witness that has written so many facts.
    #[must_use]
    pub(crate) const fn new(file: File, witness: Witness, seq: u64) -> Self {
        Self { file, witness, seq, room: 0 }
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
