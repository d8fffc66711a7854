//! Starting processes: the program behind its gate, and helpers that belong to nobody.
//! After a fork only calls that are safe there are made; all memory is prepared before it.

mod gate;
mod helper;

use std::ffi::{CStr, CString, OsStr};
use std::io::{self, IsTerminal};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::pipe::{PipeFlags, pipe_with};

pub use gate::{Gated, gated};
pub use helper::{HELPER, detached, helper};

/// What is to be executed.
#[derive(Debug)]
pub struct Image {
    /// Tried in order: the places where a search path may have it.
    pub paths: Vec<CString>,
    pub argv: Vec<CString>,
    pub env: Vec<CString>,
    pub cwd: CString,
}

/// What the program's standard descriptors are.
#[derive(Debug, Clone, Copy)]
pub enum Stdio<'a> {
    /// A terminal, which also becomes its controlling terminal.
    Terminal(BorrowedFd<'a>),
    /// Input, output and errors apart.
    Pipes([BorrowedFd<'a>; 3]),
}

/// Waits for the process's word: none once it has exec'd or ended without one.
fn failure(report: &OwnedFd) -> Option<(i32, Step)> {
    let mut word = [0; 8];
    let got = loop {
        match rustix::io::read(report, &mut word) {
            Err(rustix::io::Errno::INTR) => {}
            got => break got.unwrap_or(0),
        }
    };
    if got < word.len() {
        return None;
    }
    let errno = i32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
    let step = [Step::Prepare, Step::Chdir].into_iter().find(|&step| step as u8 == word[4]);
    Some((errno, step.unwrap_or(Step::Exec)))
}

/// What the process was doing when it failed before its exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Exec = 0,
    Chdir = 1,
    Prepare = 2,
}

/// Takes hold of a process that we made: nobody but us reaps it, so the number is still its own.
fn held(pid: i32) -> io::Result<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?)
}

/// The name under which this process is listed.
pub fn call_ourselves(name: &CStr) {
    // A name is for people; without it everything works.
    let _ = rustix::thread::set_name(name);
}

/// This very process, for another to hold.
///
/// # Errors
/// If the kernel has no such descriptors, or none to give.
pub fn ourselves() -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty())?)
}

/// Becomes another image: the same process with the given descriptors as 3, 4, ... and no others, its signals still
/// blocked. Returns only if that failed, and then nothing has changed.
#[must_use]
pub fn become_image(image: &Image, fds: &[BorrowedFd<'_>]) -> io::Error {
    let (argv, env) = (pointers(&image.argv), pointers(&image.env));
    let Some(path) = image.paths.first() else {
        return io::ErrorKind::NotFound.into();
    };
    // Copies that are left open over an exec; the originals stay as they are, should it fail.
    let count = fds.len() as libc::c_int;
    let mut copies: Vec<OwnedFd> = Vec::new();
    for fd in fds {
        // SAFETY: asks for a copy of an open descriptor.
        let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD, 3 + count) };
        if copy == -1 {
            return io::Error::last_os_error();
        }
        // SAFETY: the kernel has just given us this descriptor.
        copies.push(unsafe { OwnedFd::from_raw_fd(copy) });
    }
    let map: String = copies.iter().map(|copy| format!("{} ", copy.as_raw_fd())).collect();
    let Ok(map) = CString::new(format!("{DESCRIPTORS}={}", map.trim_end())) else {
        return io::ErrorKind::InvalidInput.into();
    };
    let mut env = env;
    env.insert(0, map.as_ptr());
    // SAFETY: all strings and pointer lists end with a null and outlive the call, which returns only if it failed.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Names the descriptors that an image was left with, where they are not 3, 4, ...
const DESCRIPTORS: &str = "ABIDE_DESCRIPTORS";

/// Says why it could not come up, and ends.
///
/// # Safety
/// Only in a process that was just forked.
unsafe fn give_up(report: RawFd) -> ! {
    // SAFETY: plain calls on locals; errno belongs to this thread.
    unsafe {
        let failed = word(*libc::__errno_location(), Step::Prepare);
        libc::write(report, failed.as_ptr().cast(), failed.len());
        libc::_exit(127)
    }
}

/// Moves the wanted descriptors to 0, 1, 2, ... and closes all others. False if there is no room for them.
///
/// # Safety
/// Only in a process that was just forked and will exec.
unsafe fn place(wanted: &[RawFd], lifted: &mut [RawFd]) -> bool {
    let count = wanted.len() as libc::c_int;
    // SAFETY: plain descriptor calls; `lifted` was allocated before the fork.
    unsafe {
        for (from, to) in wanted.iter().zip(lifted.iter_mut()) {
            *to = libc::fcntl(*from, libc::F_DUPFD, count);
            if *to == -1 {
                return false;
            }
        }
        for (number, from) in lifted.iter().enumerate() {
            libc::dup2(*from, number as libc::c_int);
        }
        if libc::syscall(libc::SYS_close_range, count, libc::c_uint::MAX, 0) == -1 {
            for fd in count..65536 {
                libc::close(fd);
            }
        }
    }
    true
}

/// Default dispositions, empty mask: as a login would leave them.
///
/// # Safety
/// Only in a process that was just forked and will exec.
unsafe fn fresh_signals() {
    // SAFETY: as the caller promises.
    unsafe {
        default_signals();
        free_signals();
    }
}

/// # Safety
/// Only in a process that was just forked and will exec.
unsafe fn default_signals() {
    for number in 1..=64 {
        // SAFETY: signal is async-signal-safe.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// # Safety
/// Only in a process that was just forked and will exec.
unsafe fn free_signals() {
    // SAFETY: sigprocmask is async-signal-safe; the set is initialised by sigemptyset.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Execs the first of the paths that can be. Returns only if none can: errno and step, as bytes.
///
/// # Safety
/// Only in a process that was just forked.
unsafe fn exec(image: &Image, argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> [u8; 8] {
    // SAFETY: all strings and pointer lists end with a null and outlive the call.
    unsafe {
        if libc::chdir(image.cwd.as_ptr()) == -1 {
            return word(*libc::__errno_location(), Step::Chdir);
        }
        let mut worst = libc::ENOENT;
        for path in &image.paths {
            libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr());
            match *libc::__errno_location() {
                libc::ENOENT | libc::ENOTDIR => {}
                // Another directory of the search path may still have one that may be executed.
                libc::EACCES => worst = libc::EACCES,
                errno => return word(errno, Step::Exec),
            }
        }
        word(worst, Step::Exec)
    }
}

const fn word(errno: i32, step: Step) -> [u8; 8] {
    let [a, b, c, d] = errno.to_ne_bytes();
    [a, b, c, d, step as u8, 0, 0, 0]
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

fn block_all() -> libc::sigset_t {
    // SAFETY: the sets are initialised by the calls themselves.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

fn restore(mask: &libc::sigset_t) {
    // SAFETY: puts back a mask that the kernel gave us.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, std::ptr::from_ref(mask), std::ptr::null_mut());
    }
}

/// Bytes to hand to a process through a descriptor, read from their beginning.
///
/// # Errors
/// If there is no memory for them.
pub fn parcel(bytes: &[u8]) -> io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    let fd = rustix::fs::memfd_create("abide", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Takes this process's own standard input, to be handed on. Nothing can be read here any more.
///
/// # Errors
/// If it is not open.
pub fn give_up_input() -> io::Result<OwnedFd> {
    let null =
        rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC, 0.into())?;
    let input = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    rustix::stdio::dup2_stdin(null)?;
    Ok(input)
}

/// Whether something waits to be read on this process's own standard input, and that is no terminal.
#[must_use]
pub fn input_waits() -> bool {
    let input = io::stdin();
    !input.is_terminal() && rustix::io::ioctl_fionread(input).is_ok_and(|bytes| bytes > 0)
}

/// A pipe: what is written to the second end is read from the first.
///
/// # Errors
/// If the system has no descriptors to give.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// A pipe that is read without blocking.
///
/// # Errors
/// If the system has no descriptors to give.
pub fn reading_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reading, writing) = pipe()?;
    rustix::io::ioctl_fionbio(&reading, true)?;
    Ok((reading, writing))
}

/// Where a command may stand: itself if it has a slash, else below each directory of the search path. Nothing at all
/// stands nowhere.
#[must_use]
pub fn candidates(command: &CStr, search_path: &[u8]) -> Vec<CString> {
    if command.is_empty() || command.to_bytes().contains(&b'/') {
        return vec![command.to_owned()];
    }
    let below = |dir: &[u8]| {
        let dir = if dir.is_empty() { b"." } else { dir };
        CString::new([dir, b"/", command.to_bytes()].concat()).ok()
    };
    search_path.split(|&b| b == b':').filter_map(below).collect()
}

/// The executable that an image means, if there is one: the first of its candidates that may be executed, links followed. What
/// a relative one means is known only in its directory.
#[must_use]
pub fn found(image: &Image) -> Option<String> {
    let cwd = Path::new(OsStr::from_bytes(image.cwd.to_bytes()));
    let path = |candidate: &CString| cwd.join(OsStr::from_bytes(candidate.to_bytes()));
    let may =
        |path: &PathBuf| path.is_file() && accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    let found = image.paths.iter().map(path).find(may)?.canonicalize().ok()?;
    found.into_os_string().into_string().ok()
}

/// The descriptors that we were started with, in their order, made close-on-exec.
/// They can be taken once.
///
/// # Errors
/// If they were taken before, or are not there.
pub fn inherited(count: usize) -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(io::Error::other("the inherited descriptors were taken before"));
    }
    let named = std::env::var(DESCRIPTORS).ok();
    let numbers: Vec<RawFd> = match &named {
        Some(named) => named.split(' ').filter_map(|number| number.parse().ok()).take(count).collect(),
        None => (3..).take(count).collect(),
    };
    if numbers.len() < count {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    numbers
        .into_iter()
        .map(|number| {
            // SAFETY: asks about a number only.
            if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is open, and `TAKEN` makes us the only one to take it.
            Ok(unsafe { OwnedFd::from_raw_fd(number) })
        })
        .collect()
}
