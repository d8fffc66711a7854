//! The home and its session directories: what is where, and the one writer of facts.
//! Reads and appends; judges nothing.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, Found, Scanner, encode};
use abide_core::evidence::{Body, Fact, Role, Witness};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::moment::Moment;
use abide_core::verdict::is_closed;
use abide_sys::disk::{self, PrivateDir, Untrusted};
use abide_sys::sock;

const SESSIONS: &str = "sessions";
const NAMES: &str = "names";
const EVIDENCE: &str = "evidence";
const OUTCOME: &str = "outcome";
const ALIVE: &str = "alive";
const SOCKET: &str = "socket";
const NEXT: &str = "next";
const RESULT: &str = "result.toml";
const RECORDING: &str = "recording";
/// Room kept for facts when the disk is full.
const RESERVE: u64 = 8 * 1024;

/// A directory that holds sessions.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    sessions: PrivateDir,
}

impl Home {
    /// The home at this path; none if there is none yet.
    ///
    /// # Errors
    /// If what stands there is not to be trusted.
    pub fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let path = &plain(path);
        let sessions = PrivateDir::open(path).and_then(|home| home.open_below(SESSIONS));
        match sessions {
            Ok(sessions) => Ok(Some(Self { path: path.to_owned(), sessions })),
            Err(Untrusted::NotThere) => Ok(None),
            Err(untrusted) => Err(refuse(path, &untrusted)),
        }
    }

    /// The home at this path, made if there is none yet.
    ///
    /// # Errors
    /// If it cannot be made or is not to be trusted.
    pub fn ensure(path: &Path) -> Result<Self, Failure> {
        let path = &plain(path);
        let sessions = PrivateDir::ensure(path).and_then(|home| home.ensure_below(SESSIONS));
        let sessions = sessions.map_err(|untrusted| refuse(path, &untrusted))?;
        Ok(Self { path: path.to_owned(), sessions })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sessions in it, in no order. What does not have the form of an ID is not a session.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn ids(&self) -> Result<Vec<SessionId>, Failure> {
        let names = self.sessions.names().map_err(|e| Failure::io("list", &self.path.display(), &e))?;
        Ok(names.iter().filter_map(|name| SessionId::parse(name.to_str()?)).collect())
    }

    /// The directory of one session.
    ///
    /// # Errors
    /// If it is not there or not to be trusted.
    pub fn session(&self, id: &SessionId) -> Result<SessionDir, Untrusted> {
        let dir = self.sessions.open_below(id.as_str())?;
        Ok(SessionDir { dir })
    }

    pub(crate) fn recording_path(&self, id: &SessionId) -> PathBuf {
        self.path.join(SESSIONS).join(id.as_str()).join(RECORDING)
    }

    /// Makes the directory of a new session where nobody sees it yet, with an empty log and an empty slot.
    ///
    /// # Errors
    /// If there is no room; then nothing is left behind.
    pub fn draft(&self, id: &SessionId) -> Result<SessionDir, Failure> {
        let draft = draft_name(id);
        let dir = self.sessions.ensure_below(&draft).map_err(|untrusted| refuse(&self.path, &untrusted))?;
        let made = dir
            .create_slot(OUTCOME)
            .and_then(|_| dir.create_log(EVIDENCE, RESERVE))
            .and_then(|_| dir.create_fifo(ALIVE));
        match made {
            Ok(()) => Ok(SessionDir { dir }),
            Err(error) => {
                self.discard(id);
                Err(Failure::io("make room for session", id, &error)
                    .about(id.as_str())
                    .hint("free some space, or choose another home with --home"))
            }
        }
    }

    /// Lets everyone see a draft.
    ///
    /// # Errors
    /// If the ID is taken.
    pub fn publish(&self, id: &SessionId) -> std::io::Result<()> {
        match self.sessions.publish(&draft_name(id), id.as_str())? {
            true => Ok(()),
            false => Err(std::io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Removes a draft that came to nothing.
    pub fn discard(&self, id: &SessionId) {
        let draft = draft_name(id);
        if let Ok(dir) = self.sessions.open_below(&draft) {
            for name in [ALIVE, SOCKET, EVIDENCE, OUTCOME, RECORDING] {
                // What is not there needs no removing.
                let _ = dir.remove(name);
            }
        }
        let _ = self.sessions.remove(&draft);
    }

    /// Makes the directory of a new session for everyone to see.
    ///
    /// # Errors
    /// If the ID is taken or there is no room.
    pub fn create(&self, id: &SessionId) -> Result<SessionDir, Failure> {
        let dir = self.draft(id)?;
        self.publish(id).map_err(|e| Failure::io("create session", id, &e).about(id.as_str()))?;
        Ok(dir)
    }

    /// Removes a session's directory and everything in it.
    ///
    /// # Errors
    /// If something in it cannot be removed.
    pub(crate) fn erase(&self, id: &SessionId) -> std::io::Result<()> {
        self.sessions.remove_tree(id.as_str())
    }

    /// Whether there is a session with this ID.
    #[must_use]
    pub fn has(&self, id: &SessionId) -> bool {
        !matches!(self.sessions.open_below(id.as_str()), Err(Untrusted::NotThere))
    }

    /// Where a session's directory is, as its program is told.
    pub(crate) fn session_path(&self, id: &str) -> PathBuf {
        self.path.join(SESSIONS).join(id)
    }

    /// The directory of names.
    pub(crate) fn names(&self) -> Result<PrivateDir, Failure> {
        let names = PrivateDir::open(&self.path).and_then(|home| home.ensure_below(NAMES));
        names.map_err(|untrusted| refuse(&self.path, &untrusted))
    }

    /// The directory of all sessions, to hand to a guard.
    pub(crate) const fn sessions_dir(&self) -> &PrivateDir {
        &self.sessions
    }

    /// The home whose sessions are in this directory, which our launcher trusted.
    pub(crate) const fn from_trusted(sessions: PrivateDir) -> Self {
        Self { path: PathBuf::new(), sessions }
    }
}

/// Without the slash or dot at the end, behind which the kernel would follow a link.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

fn draft_name(id: &SessionId) -> String {
    format!(".new-{id}")
}

fn refuse(path: &Path, untrusted: &Untrusted) -> Failure {
    let path = path.display();
    let message = format!("home {path} cannot be used: {}", untrusted.says());
    match untrusted {
        Untrusted::Foreign(_) => Failure::new(Code::Permission, message)
            .hint("ask as its owner, or choose another home with --home"),
        Untrusted::Open(_) => Failure::new(Code::UnsafeHome, message).hint(format!("chmod go-w {path}")),
        Untrusted::NotThere | Untrusted::NotADirectory => {
            Failure::new(Code::UnsafeHome, message).hint("choose a real directory with --home or ABIDE_HOME")
        }
        Untrusted::Io(error) => Failure::io("use home", &path, error),
    }
}

/// The directory of one session.
#[derive(Debug)]
pub struct SessionDir {
    dir: PrivateDir,
}

impl SessionDir {
    /// Reads the evidence. What cannot be read is damage in it, never an error.
    #[must_use]
    pub fn read(&self) -> Reading<'_> {
        self.read_until(i64::MAX)
    }

    /// Reads the evidence that was written up to an instant of wall time.
    #[must_use]
    pub fn read_until(&self, wall: i64) -> Reading<'_> {
        let (scanner, log) = (Scanner::default(), Evidence::default());
        let mut reading = Reading { dir: self, until: wall, file: None, scanner, log };
        match self.dir.read(EVIDENCE) {
            Ok(file) => {
                reading.file = Some(file);
                reading.more();
            }
            Err(error) => reading.log.damaged(unreadable(&error)),
        }
        reading
    }

    /// Opens the evidence for a witness to add to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, role: Role, boot: u32) -> std::io::Result<Writer> {
        let file = self.dir.append(EVIDENCE)?;
        let witness = Witness { role, pid: std::process::id(), boot };
        Ok(Writer { file, witness, seq: 0 })
    }

    /// Writes the guard's word on the end into the slot.
    ///
    /// # Errors
    /// If the disk itself fails.
    pub fn fill_slot(&self, fact: &Fact) -> std::io::Result<()> {
        self.dir.open_slot(OUTCOME)?.fill(&encode(fact)?)
    }

    /// How long the recording is; none if there is none that can be read.
    pub(crate) fn recording_bytes(&self) -> Option<u64> {
        Some(self.dir.read(RECORDING).ok()?.metadata().ok()?.len())
    }

    /// Removes everything but the evidence and the slot.
    pub(crate) fn remove_bulk(&self) -> std::io::Result<()> {
        for name in self.dir.names()? {
            let name = name.to_str().ok_or(std::io::ErrorKind::InvalidData)?;
            if name != EVIDENCE && name != OUTCOME {
                self.dir.remove_tree(name)?;
            }
        }
        Ok(())
    }

    /// How much room the session takes.
    pub(crate) fn bytes(&self) -> u64 {
        let names = self.dir.names().unwrap_or_default();
        let sizes = names.iter().filter_map(|name| self.dir.read(name.to_str()?).ok()?.metadata().ok());
        sizes.map(|meta| meta.len()).sum()
    }

    /// The executable that the guard is to become.
    pub(crate) fn next_image(&self) -> std::io::Result<Option<String>> {
        self.dir.link_text(NEXT)
    }

    /// Names the executable that the guard is to become.
    pub(crate) fn set_next_image(&self, path: &str) -> std::io::Result<()> {
        self.dir.set_link_text(NEXT, path)
    }

    /// The text of the result that the program left, if there is one of at most so many bytes.
    pub(crate) fn result(&self, longest: u64) -> Option<String> {
        let file = self.dir.read(RESULT).ok()?;
        let mut text = String::new();
        file.take(longest + 1).read_to_string(&mut text).ok()?;
        (text.len() as u64 <= longest).then_some(text)
    }

    /// Listens for clients.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn listen(&self) -> std::io::Result<OwnedFd> {
        sock::listen_below(&self.dir, SOCKET)
    }

    /// Connects to whoever serves the session, or will.
    ///
    /// # Errors
    /// If nobody does.
    pub(crate) fn connect(&self) -> std::io::Result<OwnedFd> {
        sock::connect_below(&self.dir, SOCKET)
    }

    /// The FIFO to wait on.
    ///
    /// # Errors
    /// If there is none.
    pub fn waiting(&self) -> std::io::Result<File> {
        self.dir.wait_on_fifo(ALIVE)
    }

    /// Holds the FIFO that waiters wait on.
    ///
    /// # Errors
    /// If there is none.
    pub fn hold(&self) -> std::io::Result<File> {
        self.dir.hold_fifo(ALIVE)
    }

    /// Makes the recording.
    ///
    /// # Errors
    /// If there is one, or no room for one.
    pub fn create_recording(&self) -> std::io::Result<File> {
        self.dir.create_log(RECORDING, 0)
    }

    /// The recording, to go on writing.
    ///
    /// # Errors
    /// If there is none that may be written.
    pub(crate) fn append_recording(&self) -> std::io::Result<File> {
        self.dir.append(RECORDING)
    }

    /// The recording, to read.
    ///
    /// # Errors
    /// If there is none that may be read.
    pub fn recording(&self) -> std::io::Result<File> {
        self.dir.read(RECORDING)
    }

    /// The open directory, to hand to a guard.
    pub(crate) const fn dir(&self) -> &PrivateDir {
        &self.dir
    }

    /// A session's directory that our launcher made and trusted.
    pub(crate) const fn from_trusted(dir: PrivateDir) -> Self {
        Self { dir }
    }

    fn slot(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        disk::read_pieces(&mut self.dir.read(OUTCOME)?, |piece| {
            let room = disk::Slot::SIZE.saturating_sub(bytes.len());
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        })?;
        Ok(bytes)
    }
}

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

impl Reading<'_> {
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

    /// The pen of a witness that became another image.
    #[must_use]
    pub(crate) const fn resume(file: File, witness: Witness, seq: u64) -> Self {
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
