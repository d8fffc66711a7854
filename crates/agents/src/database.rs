//! An agent's SQLite database, read or copied while the agent writes it, without leaving a trace: neither the database nor
//! its log or index is created, changed or deleted.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::lines;

/// Whoever ends or recovers the log is waited for so long.
const PATIENCE: Duration = Duration::from_millis(250);
/// What was written less than this before a look may be written again without a later time.
const SETTLED: Duration = Duration::from_secs(1);

/// The kernel gives a process' locks on a file back as soon as it closes that file anywhere: one reader at a time.
static ONE: Mutex<()> = Mutex::new(());

/// What every database begins with.
const HEADER: [u8; 16] = *b"SQLite format 3\0";

/// Whether an open file is a database.
#[must_use]
pub fn is_database(file: &File) -> bool {
    let mut bytes = [0; HEADER.len()];
    file.read_exact_at(&mut bytes, 0).is_ok() && bytes == HEADER
}

/// Copies a database, all in one snapshot, into a file of ours that is empty.
///
/// # Errors
/// `WouldBlock` if it can be copied in a moment; else if it cannot be read, or there is no room.
pub fn copy_database(from: &Path, to: &Path) -> io::Result<()> {
    // What a writer that died left half done is undone by the next one; until then a copy would be half done too.
    let begun = lines::beginning(&beside(from, "-journal"), 1).unwrap_or_default();
    if begun.first().is_some_and(|byte| *byte != 0) {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "its journal is not settled"));
    }
    ask(from, &mut |source| {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut copy = Connection::open_with_flags(to, flags)?;
        copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
        let whole = Backup::new(source, &mut copy)?.step(-1)? == StepResult::Done;
        let busy = || rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None);
        if whole { Ok(()) } else { Err(busy()) }
    })
}

/// Asks a database, all in one snapshot.
///
/// # Errors
/// `WouldBlock` if it can be asked in a moment; else if there is none, or it does not answer.
pub(crate) fn ask<T>(
    path: &Path,
    question: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
) -> io::Result<T> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (file, _) = lines::open(path)?;
    let mut answer = Err(io::ErrorKind::WouldBlock.into());
    for _ in 0..TRIES {
        // As long as we hold this, nobody deletes the log: else SQLite, which finds none, would create one. It gives the
        // lock back when it closes the database.
        fcntl_lock(&file, FlockOperation::NonBlockingLockShared)?;
        let before = log(path);
        if before.is_some_and(|(length, _)| length > 0) {
            return asked(path, LOGGED, question);
        }
        let mut still = false;
        answer = asked(path, ALONE, &mut |database| {
            let answer = question(database);
            still = log(path) == before;
            answer
        });
        // With nothing in the log nobody wrote; if there is by now, what was read may be of two times.
        if still {
            return answer;
        }
    }
    answer.and(Err(io::ErrorKind::WouldBlock.into()))
}

/// So often the log may be begun while we read.
const TRIES: u32 = 3;
/// How a database is opened that nobody writes to.
const ALONE: &str = "mode=ro&immutable=1";
/// How a database with a log is opened; `readonly_shm`: its index stays as it is, too.
const LOGGED: &str = "mode=ro&readonly_shm=1";

/// Length of the log, and when it was written to.
fn log(path: &Path) -> Option<(u64, i128)> {
    let log = std::fs::metadata(beside(path, "-wal")).ok()?;
    Some((log.len(), written(&log)))
}

fn written(of: &Metadata) -> i128 {
    i128::from(of.mtime()) * 1_000_000_000 + i128::from(of.mtime_nsec())
}

fn asked<T>(
    path: &Path,
    how: &str,
    question: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
) -> io::Result<T> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let answer = Connection::open_with_flags(uri(path, how), flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        let snapshot = connection.unchecked_transaction()?;
        question(&snapshot)
    });
    answer.map_err(|error| match error.sqlite_error_code() {
        // The index is not ready for readers who must not write to it: also a matter of time.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::ReadOnly) => {
            io::Error::new(io::ErrorKind::WouldBlock, error)
        }
        Some(_) | None => io::Error::other(error),
    })
}

/// `file:` and the path, with every byte that means something else there escaped.
fn uri(path: &Path, how: &str) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("{uri}?{how}")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// What a database and its log look like from outside: whether it is worth asking again.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Device, inode, size and time of both files.
    seen: Option<[(u64, u64, u64, i128); 2]>,
    settled: bool,
}

impl Look {
    /// Looks, before asking. False if nothing was written since the last look.
    pub(crate) fn again(&mut self, path: &Path) -> io::Result<bool> {
        let database = std::fs::metadata(path)?;
        let log = std::fs::metadata(beside(path, "-wal")).ok();
        let at = |of: &Metadata| (of.dev(), of.ino(), of.len(), written(of));
        let seen = Some([at(&database), log.as_ref().map_or((0, 0, 0, 0), at)]);
        let fresh = self.seen != seen || !self.settled;
        let is_old =
            |of: &Metadata| of.modified().is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago > SETTLED));
        self.seen = seen;
        self.settled = is_old(&database) && log.as_ref().is_none_or(is_old);
        Ok(fresh)
    }

    /// What was asked came to nothing: it is worth asking again.
    pub(crate) fn forget(&mut self) {
        self.seen = None;
    }

    /// Which file it is.
    pub(crate) fn file(&self) -> Option<(u64, u64)> {
        self.seen.map(|[(device, inode, ..), _]| (device, inode))
    }
}
