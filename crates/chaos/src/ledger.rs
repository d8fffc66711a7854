//! The observer's book: the truth about every session, kept by pidfds of our own and by what the programs themselves
//! report through a FIFO. Asks abide nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_sys::{clock, poll, sock};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::judge::{Kind, Lie};
use crate::truth::{Ending, Truth};

/// How the kernel says that a process ended, asked of its pidfd: a wait status, where the kernel keeps one.
pub type ExitOf = fn(BorrowedFd<'_>) -> Option<i32>;

/// One session in the book.
#[derive(Debug, Default)]
struct Entry {
    truth: Truth,
    pidfd: Option<Arc<OwnedFd>>,
}

/// The truth about all sessions.
pub struct Ledger {
    entries: Mutex<BTreeMap<u32, Entry>>,
    changed: Condvar,
    exit_of: Option<ExitOf>,
    /// Rung when there is a new process to watch, or nothing any more.
    bell: OwnedFd,
}

impl Ledger {
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn new(exit_of: Option<ExitOf>) -> io::Result<Self> {
        let entries = Mutex::default();
        Ok(Self { entries, changed: Condvar::new(), exit_of, bell: sock::bell()? })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Entry>> {
        // Whoever panicked in between has only noted less.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something about a session, before it is done.
    pub fn note<T>(&self, tag: u32, change: impl FnOnce(&mut Truth) -> T) -> T {
        let mut entries = self.lock();
        let entry = entries.entry(tag).or_default();
        entry.truth.tag = tag;
        let made = change(&mut entry.truth);
        drop(entries);
        self.changed.notify_all();
        made
    }

    /// Notes something about every session that is not over.
    pub fn note_all(&self, mut change: impl FnMut(&mut Truth)) {
        self.lock().values_mut().for_each(|entry| change(&mut entry.truth));
    }

    /// What is true of a session now.
    #[must_use]
    pub fn truth(&self, tag: u32) -> Truth {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(&tag) else { return Truth { tag, ..Truth::default() } };
        self.refresh(entry);
        entry.truth.clone()
    }

    /// Looks at what is true of all sessions now.
    pub fn with_all<T>(&self, look: impl FnOnce(&[&Truth]) -> T) -> T {
        let mut entries = self.lock();
        entries.values_mut().for_each(|entry| self.refresh(entry));
        let truths: Vec<&Truth> = entries.values().map(|entry| &entry.truth).collect();
        look(&truths)
    }

    /// The process of a program, to be signalled.
    #[must_use]
    pub fn pidfd(&self, tag: u32) -> Option<Arc<OwnedFd>> {
        self.lock().get(&tag)?.pidfd.clone()
    }

    /// Waits until something is true of a session. False if it did not come true in time.
    pub fn await_truth(&self, tag: u32, ms: u64, mut is_true: impl FnMut(&Truth) -> bool) -> bool {
        let deadline = clock::boot_micros() + ms * 1000;
        let mut entries = self.lock();
        loop {
            if let Some(entry) = entries.get_mut(&tag) {
                self.refresh(entry);
                if is_true(&entry.truth) {
                    return true;
                }
            }
            let left = deadline.saturating_sub(clock::boot_micros());
            if left == 0 {
                return false;
            }
            let waited = self.changed.wait_timeout(entries, Duration::from_micros(left));
            entries = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Forgets a session whose life is over and whose files are gone.
    pub fn forget(&self, tag: u32) {
        self.lock().remove(&tag);
    }

    /// The program of a session that must have ended in a way we know of.
    #[must_use]
    pub fn disturbed(&self, tag: u32) -> Option<Lie> {
        let truth = self.truth(tag);
        truth.dead?;
        let explained = match truth.ending {
            Some(ending) => truth.endings.contains(&ending),
            None => !truth.endings.is_empty(),
        };
        let says = || {
            format!(
                "it ended as {:?}, and only {:?} was asked of it; harm {:?}",
                truth.ending, truth.endings, truth.harm
            )
        };
        (!explained).then(|| Kind::DisturbedProgram.about(tag, says()))
    }

    /// Asks the kernel about one process.
    fn refresh(&self, entry: &mut Entry) {
        let Some(pidfd) = &entry.pidfd else { return };
        if entry.truth.dead.is_none() {
            let now = clock::boot_micros();
            if poll::readable(&[pidfd.as_fd()], Some(0)) == [true] {
                entry.truth.dead = Some(clock::boot_micros());
            } else {
                entry.truth.alive_at = now;
            }
        }
        if entry.truth.dead.is_some() && entry.truth.ending.is_none() {
            let status = self.exit_of.and_then(|ask| ask(pidfd.as_fd()));
            entry.truth.ending = status.map(ending);
        }
    }

    /// Watches until there is nothing more to watch: `over` is asked whenever something happens.
    ///
    /// # Errors
    /// If the reports cannot be read.
    pub fn watch(&self, reports: &mut Reports, over: impl Fn() -> bool) -> io::Result<()> {
        while !over() {
            let living: Vec<Arc<OwnedFd>> = self.living();
            let mut fds = vec![self.bell.as_fd(), reports.file.as_fd()];
            fds.extend(living.iter().map(|pidfd| pidfd.as_fd()));
            let ready = poll::readable(&fds, None);
            sock::hush(&self.bell);
            if ready.get(1) == Some(&true) {
                for report in reports.take()? {
                    self.hear(&report);
                }
            }
            if ready.iter().skip(2).any(|dead| *dead) {
                self.lock().values_mut().for_each(|entry| self.refresh(entry));
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    /// Lets `watch` look around.
    pub fn ring(&self) {
        sock::ring(&self.bell);
    }

    fn living(&self) -> Vec<Arc<OwnedFd>> {
        let entries = self.lock();
        let living = entries.values().filter(|entry| entry.truth.dead.is_none());
        living.filter_map(|entry| entry.pidfd.clone()).collect()
    }

    /// Notes what a program says of itself: `TAG born PID ID`, or `TAG printed COUNT`.
    fn hear(&self, report: &str) {
        let now = clock::boot_micros();
        let words: Vec<&str> = report.split_ascii_whitespace().collect();
        match words.as_slice() {
            [tag, "born", pid, id] => {
                let (Ok(tag), Ok(pid)) = (tag.parse(), pid.parse()) else { return };
                self.born(tag, pid, id, now);
            }
            [tag, "printed", count] => {
                let (Ok(tag), Ok(count)) = (tag.parse(), count.parse()) else { return };
                self.note(tag, |truth| truth.output.says(now, count));
            }
            _ => {}
        }
    }

    fn born(&self, tag: u32, pid: u32, id: &str, now: u64) {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pidfd = number.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // The number may be another's by now: only who was told where to report is our program.
        let pidfd = pidfd.filter(|_| is_puppet(pid, tag)).map(Arc::new);
        let mut entries = self.lock();
        let entry = entries.entry(tag).or_default();
        entry.truth.born = Some(now);
        // There is no program without a session that can be found.
        entry.truth.launched = entry.truth.launched.or(Some(now));
        entry.truth.pid = Some(pid);
        entry.truth.id = Some(id.to_owned());
        // Gone before we could take hold of it.
        if pidfd.is_none() {
            entry.truth.dead = Some(now);
        }
        entry.pidfd = pidfd;
        drop(entries);
        self.changed.notify_all();
    }
}

fn is_puppet(pid: u32, tag: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    words.any(|word| word == b"puppet") && words.next() == Some(tag.to_string().as_bytes())
}

fn ending(status: i32) -> Ending {
    let low = |number: i32| u8::try_from(number & 0xff).unwrap_or(0);
    match status & 0x7f {
        0 => Ending::Exited(low(status >> 8)),
        signal => Ending::Signaled(low(signal)),
    }
}

/// What the programs say of themselves, line by line.
#[derive(Debug)]
pub struct Reports {
    file: File,
    half: Vec<u8>,
}

impl Reports {
    /// # Errors
    /// If there is no such FIFO.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Held for writing too: without any program it must not be at its end.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        Ok(Self { file, half: Vec::new() })
    }

    fn take(&mut self) -> io::Result<Vec<String>> {
        let mut piece = [0; 16_384];
        match self.file.read(&mut piece) {
            Ok(length) => self.half.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let end = self.half.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = self.half.drain(..end).collect();
        Ok(String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect())
    }
}
