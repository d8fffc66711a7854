//! The proof that sessions live, or that they are over: their files are read, and of those that live the kernel is asked. Who
//! wants it understands nothing that it reads, and prints nothing.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use abide_core::identity::Lock;
use abide_sys::lock::{self, Holder};
use abide_sys::poll;
use rustix::fs::{CWD, Dir, Mode, OFlags, fstat, openat};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The life of each `ID:PID`, by so many threads.
pub fn of_all(threads: usize, dir: &Path, sessions: &[&str]) -> io::Result<()> {
    shared(threads, &open_all(dir)?, sessions, &of)
}

/// The end of each session that is in the directory, by so many threads.
pub fn of_ends(threads: usize, dir: &Path) -> io::Result<()> {
    let dir = open_all(dir)?;
    let mut ids = Vec::new();
    for entry in Dir::read_from(&dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        ids.extend(Some(name).filter(|name| !name.starts_with('.')));
    }
    shared(threads, &dir, &ids, &end_of)
}

fn open_all(dir: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn shared<S: AsRef<str> + Sync>(
    threads: usize,
    dir: &OwnedFd,
    sessions: &[S],
    prove: &(impl Fn(&OwnedFd, &str, &mut [u8]) -> io::Result<()> + Sync),
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut bytes = [0; 16384];
        while let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            prove(dir, session.as_ref(), &mut bytes)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let done: io::Result<()> = work();
        let broken = |_| Err(io::Error::other("a thread broke off"));
        others.into_iter().map(|other| other.join().unwrap_or_else(broken)).fold(done, io::Result::and)
    })
}

/// What has an end on record is over, and that is all that is asked of it: its evidence is read.
fn end_of(dir: &OwnedFd, id: &str, bytes: &mut [u8]) -> io::Result<()> {
    let evidence = openat(dir, format!("{id}/evidence"), OFlags::CLOEXEC, Mode::empty())?;
    let read = rustix::io::read(&evidence, bytes)?;
    if read > 0 { Ok(()) } else { Err(io::Error::other(format!("{id} has no evidence"))) }
}

fn of(dir: &OwnedFd, session: &str, bytes: &mut [u8]) -> io::Result<()> {
    let (id, pid) = session.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
    let open = |path: String| openat(dir, path, OFlags::CLOEXEC, Mode::empty()).map(File::from);
    let mut evidence = open(format!("{id}/evidence"))?;
    let _ = evidence.read(bytes)?;
    let _ = open(format!("{id}/outcome"))?.read(bytes)?;
    let guard = lock::ask(&evidence, Holder::Guard);
    let _host = lock::ask(&evidence, Holder::Host);
    let program = pid.parse().ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let program = pidfd_open(program, PidfdFlags::empty())?;
    let _identity = fstat(&program)?;
    let ended = poll::readable(&[program.as_fd()], Some(0))[0];
    let _ = open(format!("/proc/{pid}/status"))?.read(bytes)?;
    let lives = guard == Lock::Held && !ended;
    if lives { Ok(()) } else { Err(io::Error::other(format!("{session} does not live"))) }
}
