//! What only tests need and no safe library offers: signal dispositions, leaving one thread, a trace stop, and the
//! exit status that a pidfd keeps. Behind the feature `drill`, which nothing that is shipped turns on.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

/// Ignores a signal from now on, across exec.
///
/// # Errors
/// If the signal cannot be ignored.
pub fn ignore(signal: i32) -> io::Result<()> {
    dispose(signal, libc::SIG_IGN)
}

/// Gives a signal its default effect back.
///
/// # Errors
/// If there is no such signal.
pub fn restore(signal: i32) -> io::Result<()> {
    dispose(signal, libc::SIG_DFL)
}

/// Has a command begin with the default effect of the signals that whoever started us may have us ignore (`nohup`, `&` in
/// a script): what is ignored is so for everything below, and no program could be told to end by it.
pub fn with_defaults(command: &mut Command) -> &mut Command {
    const SIGNALS: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    if SIGNALS.iter().any(|signal| is_ignored(*signal)) {
        // SAFETY: between fork and exec only `signal` is called, which is safe there.
        unsafe { command.pre_exec(|| SIGNALS.into_iter().try_for_each(restore)) };
    }
    command
}

fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `action` is room for what is asked, and zero is a value of it.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Makes a signal end the process with an exit code.
///
/// # Errors
/// If the signal cannot be caught.
pub fn exit_on(signal: i32, code: u8) -> io::Result<()> {
    let place = usize::try_from(signal).ok().and_then(|signal| CODES.get(signal));
    place.ok_or(io::ErrorKind::InvalidInput)?.store(i32::from(code), Ordering::Relaxed);
    dispose(signal, exit_with_code as *const () as libc::sighandler_t)
}

/// Makes the kernel refuse to say what file systems our files are on, to us and to all that we start: no pidfd can
/// be told to have an inode of its own then, as on kernels before 6.9.
///
/// # Errors
/// If the system has no such filters.
pub fn refuse_fstatfs() -> io::Result<()> {
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let number = u32::try_from(libc::SYS_fstatfs).map_err(|_| io::ErrorKind::Unsupported)?;
    let mut filter = [
        // The number of the call is the first word of what a filter sees.
        libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: 0 },
        libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: number,
        },
        libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32 },
        libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: sets a flag of this process and reads nothing.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    // SAFETY: `program` and the filter that it points to are valid and only read, and outlive the call.
    check(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, std::ptr::from_ref(&program))
    })
}

/// Ends this thread and no other; the process lives on in the others.
pub fn leave_thread() -> ! {
    // SAFETY: `exit` ends only the calling thread and touches no memory; what its stack holds stays as it is.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("the kernel does not return from exit")
}

/// Traces a process and brings it into a trace stop, in which it stays as long as this thread lives.
///
/// # Errors
/// If it may not be traced by us.
pub fn stop_by_trace(pid: u32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: neither request reads or writes our memory.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, nothing, nothing) })?;
    // SAFETY: as above.
    check(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, pid, nothing, nothing) })?;
    // SAFETY: a null status asks for none.
    check(unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) }.into())
}

/// The wait status that the kernel keeps for a pidfd once its process has been reaped, by whomever.
/// `None` before that, and on kernels before 6.15.
#[must_use]
pub fn kept_status(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the request carries the size of `info`, and the kernel writes no more than that into it.
    let answer = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, std::ptr::from_mut(&mut info)) };
    (answer == 0 && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit_code)
}

/// The first version of the kernel's `pidfd_info`.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

const PIDFD_INFO_EXIT: u64 = 1 << 3;
/// `_IOWR(0xFF, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: libc::Ioctl =
    (3 << 30 | (size_of::<PidfdInfo>() as libc::Ioctl) << 16 | 0xFF << 8 | 11) as libc::Ioctl;

/// The exit codes that signals end us with.
static CODES: [AtomicI32; 65] = [const { AtomicI32::new(0) }; 65];

extern "C" fn exit_with_code(signal: libc::c_int) {
    let code = usize::try_from(signal).ok().and_then(|signal| CODES.get(signal));
    // SAFETY: `_exit` may be called in a signal handler, and ends the process.
    unsafe { libc::_exit(code.map_or(0, |code| code.load(Ordering::Relaxed))) }
}

fn dispose(signal: i32, disposition: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: the disposition is a default, an ignore, or a handler that only loads an atomic and calls `_exit`.
    let before = unsafe { libc::signal(signal, disposition) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn check(answer: libc::c_long) -> io::Result<()> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
