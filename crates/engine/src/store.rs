//! The home and its session directories: what is where. `session` is one of them, `log` its evidence.
//! Reads and writes; judges nothing.

mod exec;
mod log;
mod session;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_sys::disk::{self, PrivateDir, Untrusted};

pub(crate) use log::{LONGEST, Progress, read_evidence, unopened};
pub use log::{Reading, Writer};
pub use session::SessionDir;

const SESSIONS: &str = "sessions";
const NAMES: &str = "names";
const EVIDENCE: &str = "evidence";
const OUTCOME: &str = "outcome";
const ALIVE: &str = "alive";
const SOCKET: &str = "socket";
const RECORDING: &str = "recording";
const KEYFRAMES: &str = "keyframes";
const VIEW: &str = "view";
const NOTIFY: &str = "notify";
/// Leads to the socket of the ssh agent of whoever attached last.
pub(crate) const SSH_AGENT: &str = "ssh-agent";
/// The fact that holds what was declared last, once more: the log may be damaged before the end.
pub(crate) const DECLARED: &str = "declared";
/// In a directory with this bit everyone may write, and only owners may remove.
const STICKY: u32 = 0o1000;
/// Room kept for facts when the disk is full.
const RESERVE: u64 = 8 * 1024;

/// Nobody is so unlucky as often as this.
const DRAFT_TRIES: u32 = 64;

/// A directory that holds sessions.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    sessions: PrivateDir,
}

impl Home {
    /// How many bytes could still be written where the sessions are, and how many files be made, where that is counted.
    pub(crate) fn room(&self) -> std::io::Result<(u64, Option<u64>)> {
        Ok((disk::room(&self.sessions)?, disk::room_for_files(&self.sessions)?))
    }

    /// The home at this path; none if there is none yet.
    ///
    /// # Errors
    /// If what stands there is not to be trusted.
    pub fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let path = &plain(path);
        let (below, opened) = match PrivateDir::open(path) {
            Ok(home) => (SESSIONS, home.open_below(SESSIONS)),
            untrusted => ("", untrusted),
        };
        match opened {
            Ok(sessions) => Ok(Some(Self { path: path.to_owned(), sessions })),
            Err(Untrusted::NotThere) => Ok(None),
            Err(untrusted) => Err(refuse(path, below, &untrusted)),
        }
    }

    /// The home at this path, made if there is none yet.
    ///
    /// # Errors
    /// If it cannot be made or is not to be trusted.
    pub fn ensure(path: &Path) -> Result<Self, Failure> {
        let path = &plain(path);
        let home = PrivateDir::ensure(path).map_err(|untrusted| refuse(path, "", &untrusted))?;
        let sessions = home.ensure_below(SESSIONS);
        let sessions = sessions.map_err(|untrusted| refuse(path, SESSIONS, &untrusted))?;
        Ok(Self { path: path.to_owned(), sessions })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether sessions can be added and removed, as the kernel says; nothing is written.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_change(&self) -> std::io::Result<()> {
        self.sessions.may_add()
    }

    /// Waits until the way to the sessions is on the disk.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        if let Some(parent) = self.path.parent() {
            std::fs::File::open(parent)?.sync_all()?;
        }
        let home = self.sessions.open_below("..");
        home.map_err(|untrusted| std::io::Error::other(untrusted.says()))?.flush()
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
        Ok(SessionDir::named(dir, id))
    }

    /// Makes the directory of a new session where nobody sees it yet, with an empty log and an empty slot.
    ///
    /// # Errors
    /// If there is no room; then nothing is left behind.
    pub fn draft(&self, id: &SessionId) -> Result<SessionDir, Failure> {
        let dir = self.empty_draft(id)?;
        match self.furnish(id, &dir) {
            Ok(()) => Ok(dir),
            Err(failure) => {
                self.discard(id, &dir);
                Err(failure)
            }
        }
    }

    /// The same with nothing in it yet.
    pub(crate) fn empty_draft(&self, id: &SessionId) -> Result<SessionDir, Failure> {
        self.held_draft(&draft_name(id)).map(SessionDir::from_trusted)
    }

    /// Puts into a draft what every session has from its beginning.
    pub(crate) fn furnish(&self, id: &SessionId, dir: &SessionDir) -> Result<(), Failure> {
        let dir = dir.dir();
        let made = dir
            .create_slot(OUTCOME)
            .and_then(|_| dir.create_log(EVIDENCE, RESERVE))
            .and_then(|_| dir.create_fifo(ALIVE));
        made.map_err(|e| Failure::io("make room for session", id, &e).about(id.as_str()))
    }

    /// Held by us, then by its guard and host, through this very descriptor: so one that nobody holds is nobody's.
    /// Where there are no such locks nobody can prove that, and it stays.
    fn held_draft(&self, name: &str) -> Result<PrivateDir, Failure> {
        let mut made = Err(Untrusted::NotThere);
        for _ in 0..DRAFT_TRIES {
            made = self.sessions.ensure_below(name).inspect(|dir| drop(dir.hold()));
            // Somebody who clears what nobody holds may have come between making, opening and holding it.
            let cleared = match &made {
                Ok(dir) => !dir.has_name(),
                Err(untrusted) => matches!(untrusted, Untrusted::NotThere),
            };
            if !cleared {
                break;
            }
        }
        made.map_err(|untrusted| {
            // It may have been made and then could not be opened.
            let _ = self.sessions.remove(name);
            refuse(&self.path, &format!("{SESSIONS}/{name}"), &untrusted)
        })
    }

    /// What killed launches and removals left behind.
    pub(crate) fn leftovers(&self) -> Result<Vec<Leftover>, Failure> {
        let names = self.sessions.names().map_err(|e| Failure::io("list", &self.path.display(), &e))?;
        Ok(names.iter().filter_map(|name| Leftover::parse(name.to_str()?)).collect())
    }

    /// The directory of a leftover.
    pub(crate) fn leftover(&self, leftover: &Leftover) -> Result<SessionDir, Untrusted> {
        Ok(SessionDir::from_trusted(self.sessions.open_below(&leftover.name())?))
    }

    /// Removes a leftover with everything in it.
    pub(crate) fn clear(&self, leftover: &Leftover) -> std::io::Result<()> {
        self.sessions.remove_tree(leftover.name())
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

    /// Makes a draft of a session again whose program has not run.
    pub(crate) fn unpublish(&self, id: &SessionId) -> std::io::Result<()> {
        self.sessions.publish(id.as_str(), &draft_name(id)).map(|_| ())
    }

    /// Removes a draft that came to nothing. It needs nothing that the system may have run out of.
    pub fn discard(&self, id: &SessionId, dir: &SessionDir) {
        for name in [ALIVE, SOCKET, EVIDENCE, OUTCOME, RECORDING, SSH_AGENT, NOTIFY] {
            // What is not there needs no removing.
            let _ = dir.dir().remove(name);
        }
        let _ = self.sessions.remove(&draft_name(id));
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
        // Gone for everyone at once; what is left of it has a name that is no session's.
        let gone = Leftover::Gone(id.clone()).name();
        self.sessions.remove_tree(&gone)?;
        self.sessions.publish(id.as_str(), &gone)?;
        self.sessions.remove_tree(&gone)
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

    /// The directory of names, for one who only reads; none if there is none.
    pub(crate) fn names_if_there(&self) -> Option<PrivateDir> {
        PrivateDir::open(&self.path).and_then(|home| home.open_below(NAMES)).ok()
    }

    /// The directory of names, made if there is none.
    pub(crate) fn names(&self) -> Result<PrivateDir, Failure> {
        let names = self.sessions.open_below("..").and_then(|home| home.ensure_below(NAMES));
        names.map_err(|untrusted| refuse(&self.path, NAMES, &untrusted))
    }

    /// The home that a session's directory is in, if it still has its name there.
    pub(crate) fn around(dir: &SessionDir, id: &SessionId) -> std::io::Result<Self> {
        let untrusted = |untrusted: Untrusted| std::io::Error::other(untrusted.says());
        let home = Self::from_trusted(dir.dir().open_below("..").map_err(untrusted)?);
        let named = home.session(id).map_err(untrusted)?;
        let same = disk::file_id(named.dir())? == disk::file_id(dir.dir())?;
        if same { Ok(home) } else { Err(std::io::ErrorKind::NotFound.into()) }
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
    Leftover::Draft(id.clone()).name()
}

/// A directory that is no session: not yet, or not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    Draft(SessionId),
    Gone(SessionId),
}

impl Leftover {
    /// The name of its directory.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Draft(id) => format!(".new-{id}"),
            Self::Gone(id) => format!(".gone-{id}"),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let draft = || Some(Self::Draft(SessionId::parse(name.strip_prefix(".new-")?)?));
        draft().or_else(|| Some(Self::Gone(SessionId::parse(name.strip_prefix(".gone-")?)?)))
    }
}

/// Why a home cannot be used: because of itself, or of the directory `below` it.
fn refuse(home: &Path, below: &str, untrusted: &Untrusted) -> Failure {
    let path = if below.is_empty() { home.to_owned() } else { home.join(below) };
    // What is shared by many is not ours to close.
    let shared = std::fs::symlink_metadata(&path).map(|meta| meta.mode() & 0o7777).ok();
    let shared = shared.filter(|mode| mode & STICKY != 0);
    let (home, path) = (home.display(), path.display());
    let whose = if below.is_empty() { String::new() } else { format!(" because of {path}") };
    let refused = |why: &str| format!("home {home} cannot be used{whose}: {why}");
    let message = refused(&untrusted.says());
    match untrusted {
        Untrusted::Foreign(_) => Failure::new(Code::Permission, message)
            .hint("ask as its owner, or choose another home with --home"),
        Untrusted::Open(_) => match shared {
            Some(mode) => {
                let why = format!("it is shared, and others may write to it (mode {mode:o})");
                Failure::new(Code::UnsafeHome, refused(&why)).hint("choose another directory with --home")
            }
            None => Failure::new(Code::UnsafeHome, message).hint(format!("chmod go-w {path}")),
        },
        Untrusted::NotThere | Untrusted::NotADirectory if below.is_empty() => {
            Failure::new(Code::UnsafeHome, message).hint("choose a real directory with --home or ABIDE_HOME")
        }
        Untrusted::NotThere | Untrusted::NotADirectory => Failure::new(Code::UnsafeHome, message)
            .hint(format!("put a real directory at {path}, or choose another home with --home")),
        Untrusted::Io(error) if below.is_empty() => Failure::io("use home", &path, error),
        Untrusted::Io(error) => Failure::io("use", &path, error),
    }
}
