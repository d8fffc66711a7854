//! Copies of files that others write to. A copy only grows: a file that still begins with all that was copied costs its
//! growth, a database the parts that changed, any other a copy of its own. What counts is told by facts, so what is beyond
//! them may be cut off again.

mod patches;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use abide_agents::{copy_database, is_database};
use abide_core::evidence::fold::Saved;
use abide_core::evidence::{Checkpointed, Patched};
use abide_sys::disk::{self, PrivateDir, Untrusted};
use abide_sys::{clock, poll};

use crate::store::SessionDir;
use patches::Patches;

/// A copy that is not whole yet.
const DRAFT: &str = ".new";
/// Longer files are not copied.
const LONGEST: u64 = 1 << 30;
/// So much of the disk is left to the recording.
const RESERVE: u64 = 16 << 20;
/// So often a file may be rewritten while it is read.
const TRIES: u32 = 5;
/// What was written less than this ago may be written again without a later time.
const SETTLED_MS: i64 = 1_000;
/// Whoever else copies is waited for so long, and looked at this often.
const TURN_MS: u64 = 2_000;
const LOOK_MS: u64 = 20;
/// Of each file so many copies stay, and no more than take so much room, but always the latest two.
const COPIES: usize = 16;
const BYTES: u64 = 64 << 20;
const ALWAYS: usize = 2;
const PIECE: usize = 64 * 1024;
/// Patches may take so much room, however small the database is.
const PATCHES: u64 = 1 << 20;

/// The copies of one session.
pub(crate) struct Copies(PrivateDir);

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) number: u64,
    pub(super) size: u64,
    pub(super) new: u64,
    pub(super) sum: u32,
    pub(super) patched: Option<Patched>,
}

impl Copies {
    /// Those there are; for one who only reads.
    pub(super) fn of(dir: &SessionDir) -> io::Result<Self> {
        dir.checkpoints().map(Self).map_err(told)
    }

    /// To add to, made if there are none. Nobody else adds to them meanwhile.
    pub(super) fn in_turn(dir: &SessionDir) -> io::Result<Self> {
        let copies = dir.ensure_checkpoints().map_err(told)?;
        let deadline = clock::now().boot.saturating_add(TURN_MS);
        while !copies.hold_if_free() {
            if clock::now().boot >= deadline {
                return Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is at it"));
            }
            let _ = poll::readable(&[], Some(LOOK_MS));
        }
        Ok(Self(copies))
    }

    /// Copies what a file holds now, where it differs from the last checkpoint of it; `next` is the number of a new copy.
    pub(super) fn take(&self, file: &Path, last: Option<&Checkpointed>, next: u64) -> io::Result<Copied> {
        for _ in 0..TRIES {
            let source = disk::open_foreign(file)?;
            let copied = match is_database(&source) {
                true => Some(self.take_database(file, &source, last, next)?),
                false => self.take_bytes(&source, last, next)?,
            };
            if let Some(copied) = copied {
                return Ok(copied);
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "it is being rewritten"))
    }

    /// None if it was rewritten while it was read.
    fn take_bytes(
        &self,
        source: &File,
        last: Option<&Checkpointed>,
        next: u64,
    ) -> io::Result<Option<Copied>> {
        let there = Stand::of(source)?;
        if there.size > LONGEST {
            return Err(too_long());
        }
        let grown = last.filter(|last| last.size <= there.size).and_then(|last| self.begun(source, last));
        let (number, copy, from, sum) = match grown {
            Some((number, copy, last)) => (number, copy, last.size, last.sum),
            None => (next, self.draft()?, 0, 0),
        };
        self.make_room(there.size - from)?;
        copy.set_len(from)?;
        let taken = append(source, &copy, (from, there.size), sum).and_then(|taken| {
            let after = Stand::of(source)?;
            let same = (after == there && !there.is_recent()) || begins_with(source, &copy, taken.size)?;
            // Of a file that grows just now whole lines are taken.
            let taken = if after.size > there.size {
                taken.lines.unwrap_or((from, sum))
            } else {
                (taken.size, taken.sum)
            };
            Ok(Some(taken).filter(|_| same))
        });
        let Ok(Some((size, sum))) = taken else {
            copy.set_len(from)?;
            return taken.map(|_| None);
        };
        copy.set_len(size)?;
        if from == 0 && number == next {
            self.publish(next)?;
        }
        Ok(Some(Copied { number, size, new: size - from, sum, patched: None }))
    }

    fn take_database(
        &self,
        file: &Path,
        source: &File,
        last: Option<&Checkpointed>,
        next: u64,
    ) -> io::Result<Copied> {
        let log = std::fs::metadata(with_log(file)).map_or(0, |log| log.len());
        let most = source.metadata()?.len().saturating_add(log);
        if most > LONGEST {
            return Err(too_long());
        }
        self.make_room(most)?;
        let copy = self.draft()?;
        let name = format!("/proc/self/fd/{}/{DRAFT}", self.0.as_fd().as_raw_fd());
        copy_database(file, Path::new(&name))?;
        let size = copy.metadata()?.len();
        if let Some(copied) = last.and_then(|last| self.take_patch(&copy, size, last).transpose()) {
            self.0.remove(DRAFT)?;
            return copied;
        }
        let sum = sum_of(&copy, size)?;
        self.publish(next)?;
        Ok(Copied { number: next, size, new: size, sum, patched: None })
    }

    /// Adds the parts of a database that changed to the last copy of it. None if that is gone or damaged, or another whole one
    /// is worth its room: what changed since then takes no more than half of the image, or so much of a small one.
    fn take_patch(&self, now: &File, size: u64, last: &Checkpointed) -> io::Result<Option<Copied>> {
        let patched = last.patched.unwrap_or(Patched { base: last.size, end: last.size });
        let copy = last.copy().and_then(|number| Some((number, self.0.append(&number.to_string()).ok()?)));
        let Some((number, copy)) = copy else { return Ok(None) };
        let Ok(changed) = Patches::read(&copy, patched).and_then(|before| before.changed(&copy, now, size))
        else {
            return Ok(None);
        };
        if changed.is_empty() && size == last.size {
            return Ok(Some(Copied { number, size, new: 0, sum: last.sum, patched: last.patched }));
        }
        let new = patches::room(&changed);
        if patched.end - patched.base + new > (patched.base / 2).max(PATCHES) {
            return Ok(None);
        }
        copy.set_len(patched.end)?;
        if let Err(error) = patches::add(&copy, now, &changed) {
            copy.set_len(patched.end)?;
            return Err(error);
        }
        let patched = Some(Patched { end: patched.end + new, ..patched });
        Ok(Some(Copied { number, size, new, sum: sum_of(now, size)?, patched }))
    }

    /// The copy of the last checkpoint, if what is there now begins with all of it.
    fn begun<'a>(&self, source: &File, last: &'a Checkpointed) -> Option<(u64, File, &'a Checkpointed)> {
        let number = last.copy()?;
        let copy = self.0.append(&number.to_string()).ok()?;
        let same = begins_with(source, &copy, last.size).ok()?;
        same.then_some((number, copy, last))
    }

    fn draft(&self) -> io::Result<File> {
        let draft = self.0.ensure_log(DRAFT)?;
        draft.set_len(0)?;
        Ok(draft)
    }

    fn publish(&self, number: u64) -> io::Result<()> {
        let name = number.to_string();
        // One that no fact tells of was left by a writer that was killed.
        let _ = self.0.remove(&name);
        if self.0.publish(DRAFT, &name)? { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) }
    }

    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let left = disk::room(&self.0)?;
        if left >= bytes.saturating_add(RESERVE) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::StorageFull, "too little room is left on the disk"))
    }

    /// Removes the copies of a file that need not stay.
    pub(super) fn prune(&self, saved: &Saved) {
        let mut bytes = 0_u64;
        for (at, (number, size)) in saved.copies.iter().rev().enumerate() {
            bytes = bytes.saturating_add(*size);
            if at >= ALWAYS && (at >= COPIES || bytes > BYTES) {
                // One that is gone already need not go.
                let _ = self.0.remove(&number.to_string());
            }
        }
    }

    /// Whether all bytes of a checkpoint may be there, without reading them.
    pub(super) fn holds(&self, told: &Checkpointed) -> bool {
        self.file(told).and_then(|file| file.metadata()).is_ok_and(|meta| meta.len() >= told.stored())
    }

    /// The file that begins with a checkpoint, once its bytes have proved to be those that were saved.
    pub(super) fn proved(&self, told: &Checkpointed) -> io::Result<File> {
        let stored = self.file(told)?;
        let file = match told.patched {
            None => stored,
            Some(patched) => {
                let damaged = |_| io::Error::from(io::ErrorKind::InvalidData);
                Patches::read(&stored, patched)
                    .and_then(|patches| patches.whole(&stored, told.size))
                    .map_err(damaged)?
            }
        };
        let sound = sum_of(&file, told.size).is_ok_and(|sum| sum == told.sum);
        if sound { Ok(file) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// Waits until copies are on the disk.
    pub(super) fn flush(&self, told: &[Checkpointed]) -> io::Result<()> {
        for one in told {
            self.file(one)?.sync_data()?;
        }
        self.0.flush()
    }

    fn file(&self, told: &Checkpointed) -> io::Result<File> {
        let number = told.copy().ok_or(io::ErrorKind::NotFound)?;
        self.0.read(&number.to_string())
    }
}

/// How a file stands, from outside: whether it is worth reading again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stand {
    file: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stand {
    /// How a file and the log that a database has beside it stand. None if one of them was written to just now, or
    /// cannot be looked at.
    pub(crate) fn settled(path: &Path) -> Option<(Self, Option<Self>)> {
        let file = Self::about(&std::fs::metadata(path).ok()?);
        let log = std::fs::metadata(with_log(path)).ok().map(|log| Self::about(&log));
        (!file.is_recent() && !log.is_some_and(|log| log.is_recent())).then_some((file, log))
    }

    fn of(file: &File) -> io::Result<Self> {
        Ok(Self::about(&file.metadata()?))
    }

    fn about(meta: &std::fs::Metadata) -> Self {
        Self {
            file: (meta.dev(), meta.ino()),
            size: meta.len(),
            written: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    fn is_recent(&self) -> bool {
        let at = self.changed.0 * 1000 + self.changed.1 / 1_000_000;
        clock::now().wall.saturating_sub(at) < SETTLED_MS
    }
}

/// What was appended to a copy: how long it is then, and its sum; the same at the end of the last whole line.
struct Appended {
    size: u64,
    sum: u32,
    lines: Option<(u64, u32)>,
}

/// Appends a part of one file to another. What is not there any more is not missed here.
fn append(source: &File, copy: &File, (from, to): (u64, u64), sum: u32) -> io::Result<Appended> {
    let mut hasher = crc32fast::Hasher::new_with_initial(sum);
    let (mut size, mut lines, mut buffer) = (from, None, vec![0; PIECE]);
    while size < to {
        let most = usize::try_from(to - size).map_or(PIECE, |left| left.min(PIECE));
        let length = read_at(source, &mut buffer[..most], size)?;
        if length == 0 {
            break;
        }
        let piece = &buffer[..length];
        let mut rest = piece;
        while !rest.is_empty() {
            let written = disk::append_some(copy, rest)?;
            rest = &rest[written..];
        }
        let whole = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        hasher.update(&piece[..whole]);
        if whole > 0 {
            lines = Some((size + whole as u64, hasher.clone().finalize()));
        }
        hasher.update(&piece[whole..]);
        size += length as u64;
    }
    Ok(Appended { size, sum: hasher.finalize(), lines })
}

/// Whether a file begins with the first so many bytes of another.
pub(super) fn begins_with(file: &File, with: &File, size: u64) -> io::Result<bool> {
    let (mut one, mut other, mut at) = (vec![0; PIECE], vec![0; PIECE], 0);
    while at < size {
        let most = usize::try_from(size - at).map_or(PIECE, |left| left.min(PIECE));
        let length = read_at(file, &mut one[..most], at)?;
        if length == 0
            || read_at(with, &mut other[..length], at)? != length
            || one[..length] != other[..length]
        {
            return Ok(false);
        }
        at += length as u64;
    }
    Ok(true)
}

/// The sum of the first so many bytes of a file.
fn sum_of(file: &File, size: u64) -> io::Result<u32> {
    let (mut hasher, mut buffer, mut at) = (crc32fast::Hasher::new(), vec![0; PIECE], 0);
    while at < size {
        let most = usize::try_from(size - at).map_or(PIECE, |left| left.min(PIECE));
        let length = read_at(file, &mut buffer[..most], at)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.update(&buffer[..length]);
        at += length as u64;
    }
    Ok(hasher.finalize())
}

/// Reads as much as there is room for, less at the end of the file.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], at + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn with_log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {} MiB", LONGEST >> 20))
}

fn told(untrusted: Untrusted) -> io::Error {
    match untrusted {
        Untrusted::NotThere => io::ErrorKind::NotFound.into(),
        Untrusted::Io(error) => error,
        Untrusted::NotADirectory | Untrusted::Foreign(_) | Untrusted::Open(_) => {
            io::Error::other(untrusted.says())
        }
    }
}
