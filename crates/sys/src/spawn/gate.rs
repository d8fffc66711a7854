//! The program behind its gate: forked, recorded, and let go or not.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::pipe::{PipeFlags, pipe_with};

use super::{
    Image, Stdio, Step, block_all, default_signals, exec, failure, free_signals, give_up, held, place,
    pointers, restore,
};

/// A process that waits before its exec.
#[derive(Debug)]
pub struct Gated {
    pub pid: u32,
    pub pidfd: OwnedFd,
    gate: OwnedFd,
    report: OwnedFd,
}

impl Gated {
    /// Lets it exec, and says how that went: the errno and the step that failed.
    ///
    /// # Errors
    /// If the exec, or something on the way to it, failed.
    pub fn open(self) -> Result<(), (i32, Step)> {
        match rustix::io::write(&self.gate, b"!") {
            Ok(_) => self.failure().map_or(Ok(()), Err),
            // It is gone; perhaps it could say why.
            Err(errno) => Err(self.failure().unwrap_or((errno.raw_os_error(), Step::Prepare))),
        }
    }

    /// Closes the gate for good, and says why the process could not even wait there, if that is so.
    #[must_use]
    pub fn close(self) -> Option<io::Error> {
        let Self { gate, report, .. } = self;
        drop(gate);
        failure(&report).map(|(errno, _)| io::Error::from_raw_os_error(errno))
    }

    fn failure(&self) -> Option<(i32, Step)> {
        failure(&self.report)
    }
}

/// Where the forked process finds the gate and the way to report a failed exec.
const GATE: RawFd = 3;
const REPORT: RawFd = 4;

/// Forks a process in a session of its own that waits until the gate is opened. If we die first, it exits.
/// With a cgroup, it is born there: to move it there later would take milliseconds.
///
/// # Errors
/// If no process can be made, or not in that cgroup.
pub fn gated(image: &Image, stdio: Stdio<'_>, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Gated> {
    let (gate_in, gate) = pipe_with(PipeFlags::CLOEXEC)?;
    let (report, report_out) = pipe_with(PipeFlags::CLOEXEC)?;
    let (argv, env) = (pointers(&image.argv), pointers(&image.env));
    let (fds, terminal) = match stdio {
        Stdio::Terminal(fd) => ([fd.as_raw_fd(); 3], true),
        Stdio::Pipes(fds) => (fds.map(|fd| fd.as_raw_fd()), false),
    };
    let wanted = [fds[0], fds[1], fds[2], gate_in.as_raw_fd(), report_out.as_raw_fd()];
    let mut lifted = [-1; 5];
    let mask = block_all();
    // SAFETY: the forked process calls only async-signal-safe functions on memory prepared above, and ends in
    // exec or _exit.
    let pid = unsafe {
        match cgroup {
            Some(cgroup) => fork_into(cgroup),
            None => libc::fork(),
        }
    };
    let refused = io::Error::last_os_error();
    if pid == 0 {
        // SAFETY: as above. Everything else is closed first, lifetime locks and our end of the gate included.
        unsafe {
            if !place(&wanted, &mut lifted) {
                give_up(report_out.as_raw_fd());
            }
            libc::fcntl(REPORT, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::setsid();
            default_signals();
            if !await_gate(GATE) {
                libc::_exit(0);
            }
            libc::close(GATE);
            if terminal {
                libc::ioctl(0, libc::TIOCSCTTY, 0);
            }
            free_signals();
            let failed = exec(image, &argv, &env);
            libc::write(REPORT, failed.as_ptr().cast(), failed.len());
            libc::_exit(127);
        }
    }
    drop((gate_in, report_out));
    restore(&mask);
    if pid == -1 {
        return Err(refused);
    }
    Ok(Gated { pid: pid.cast_unsigned(), pidfd: held(pid)?, gate, report })
}

/// The flag of clone3; the one of libc does not fit its type.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A fork whose process is born in another cgroup. For a process of one thread.
///
/// # Safety
/// As for `fork`.
unsafe fn fork_into(cgroup: BorrowedFd<'_>) -> libc::pid_t {
    // SAFETY: arguments of zeros are valid, and mean a plain fork.
    let mut wanted = unsafe { std::mem::zeroed::<libc::clone_args>() };
    wanted.flags = CLONE_INTO_CGROUP;
    wanted.exit_signal = libc::SIGCHLD as u64;
    wanted.cgroup = cgroup.as_raw_fd() as u64;
    // SAFETY: the kernel reads the arguments, whose size it is told; the new process has a copy of our memory.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const wanted, size_of::<libc::clone_args>()) };
    pid as libc::pid_t
}

/// # Safety
/// Only in a process that was just forked and will exec.
unsafe fn await_gate(gate: RawFd) -> bool {
    let mut word = 0_u8;
    loop {
        // SAFETY: reads one byte into a local.
        let got = unsafe { libc::read(gate, (&raw mut word).cast(), 1) };
        // SAFETY: errno belongs to this thread.
        if got == -1 && unsafe { *libc::__errno_location() } == libc::EINTR {
            continue;
        }
        return got == 1;
    }
}
