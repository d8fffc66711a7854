//! Signals as things to read and to send. A signal goes only to a process that is held by its pidfd.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::thread;

use crate::poll;

pub const HUP: i32 = libc::SIGHUP;
pub const INT: i32 = libc::SIGINT;
pub const USR1: i32 = libc::SIGUSR1;
pub const TERM: i32 = libc::SIGTERM;
pub const CONT: i32 = libc::SIGCONT;
pub const STOP: i32 = libc::SIGSTOP;
pub const KILL: i32 = libc::SIGKILL;
pub const CHLD: i32 = libc::SIGCHLD;
pub const WINCH: i32 = libc::SIGWINCH;

/// Blocks signals and reads them from a descriptor instead.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// From now on these signals wait to be read.
    ///
    /// # Errors
    /// If the system has no descriptor to give.
    pub fn of(numbers: &[i32]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set that it is given; the calls after it use that set only.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &number in numbers {
                libc::sigaddset(set.as_mut_ptr(), number);
            }
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just given us this descriptor, and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The same for those of them that would end this program: who was started to ignore one goes on ignoring it.
    ///
    /// # Errors
    /// As `of`.
    pub fn heeded(numbers: &[i32]) -> io::Result<Self> {
        let heeded: Vec<i32> = numbers.iter().copied().filter(|number| !is_ignored(*number)).collect();
        Self::of(&heeded)
    }

    /// The next signal that waits.
    #[must_use]
    pub fn next(&self) -> Option<Caught> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `size` bytes into `info`, which has room for them.
        let got = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if got != size as isize {
            return None;
        }
        // SAFETY: a whole record was read into it, and any bytes make a valid record.
        let info = unsafe { info.assume_init() };
        let number = i32::try_from(info.ssi_signo).ok()?;
        let value = (info.ssi_code == libc::SI_QUEUE).then_some(info.ssi_int);
        Some(Caught { number, pid: info.ssi_pid, uid: info.ssi_uid, value })
    }

    /// Does something that knows nothing of signals, in a thread of its own, and gives what came of it; or the signal that
    /// came first: then it is not begun, or goes on for as long as this program does.
    ///
    /// # Errors
    /// If the system has no thread or no descriptor to give.
    pub fn before<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Result<T, Caught>> {
        if let Some(caught) = self.next() {
            return Ok(Err(caught));
        }
        let (done, doing) = io::pipe()?;
        let acting = thread::Builder::new().spawn(move || {
            let _doing = doing;
            act()
        })?;
        loop {
            let ready = poll::readable(&[done.as_fd(), self.as_fd()], None);
            if ready[0] {
                return Ok(Ok(acting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
            }
            if let Some(caught) = ready[1].then(|| self.next()).flatten() {
                return Ok(Err(caught));
            }
        }
    }
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caught {
    pub number: i32,
    /// Its sender, as far as the sender can be believed.
    pub pid: u32,
    pub uid: u32,
    /// What the sender gave along.
    pub value: Option<i32>,
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn is_ignored(number: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: asks only; the kernel writes a whole action into `now` if it answers with 0.
    unsafe {
        libc::sigaction(number, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Whatever whoever started us did with them: the ends of our children are kept until we ask for them, and a file that
/// may not grow any more is an error of whoever writes to it, and not its death. What is started at a gate has its own
/// dispositions.
pub fn settle() {
    // SAFETY: sets the dispositions of two signals to constants.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Sends a signal to the process that this pidfd holds.
///
/// # Errors
/// If it is gone, or may not be signalled.
pub fn send(pidfd: impl AsFd, number: i32) -> io::Result<()> {
    send_info(pidfd, number, std::ptr::null())
}

/// Sends a signal with a number along.
///
/// # Errors
/// If the process is gone, or may not be signalled.
pub fn send_with(pidfd: impl AsFd, number: i32, value: i32) -> io::Result<()> {
    let mut info = Queued {
        number,
        errno: 0,
        code: libc::SI_QUEUE,
        pad: 0,
        pid: std::process::id(),
        uid: rustix::process::getuid().as_raw(),
        value: i64::from(value),
        rest: [0; 96],
    };
    send_info(pidfd, number, (&raw mut info).cast())
}

/// A `siginfo_t` as the kernel lays it out for a queued signal.
#[repr(C)]
struct Queued {
    number: i32,
    errno: i32,
    code: i32,
    pad: i32,
    pid: u32,
    uid: u32,
    value: i64,
    rest: [u8; 96],
}

const _: () = assert!(size_of::<Queued>() == size_of::<libc::siginfo_t>());

fn send_info(pidfd: impl AsFd, number: i32, info: *const libc::siginfo_t) -> io::Result<()> {
    let fd = pidfd.as_fd().as_raw_fd();
    // SAFETY: the call takes plain numbers, and a pointer that is null or to a whole siginfo on the caller's stack.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, number, info, 0) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

const NAMES: &[(&str, i32)] = &[
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("WINCH", libc::SIGWINCH),
];

/// A signal by its number or by its name, with or without `SIG`.
#[must_use]
pub fn parse(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return (1..=64).contains(&number).then_some(number);
    }
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    NAMES.iter().find(|(known, _)| *known == name).map(|&(_, number)| number)
}

/// The name of a signal, or its number.
#[must_use]
pub fn name(number: i32) -> String {
    let known = NAMES.iter().find(|&&(_, known)| known == number);
    known.map_or_else(|| number.to_string(), |(name, _)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_known_by_number_and_by_name() {
        assert_eq!([parse("9"), parse("KILL"), parse("sigkill")], [Some(9); 3]);
        assert_eq!([parse("0"), parse("65"), parse("NOPE"), parse("")], [None; 4]);
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(40), "40");
    }
}
