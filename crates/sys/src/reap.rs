//! The ends of our processes: taken from the kernel once each, with what they used.

use std::io;

use abide_core::evidence::{How, Resources};

/// A process of ours that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Reaped {
    pub pid: u32,
    pub how: How,
    pub resources: Resources,
}

/// Takes the next of our processes that have ended, if there is one.
#[must_use]
pub fn reap() -> Option<Reaped> {
    let mut status = 0;
    // SAFETY: a rusage of zeros is valid.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    // SAFETY: both out-parameters outlive the call.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
    let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0)?;
    Some(Reaped { pid, how: how(status)?, resources: resources(&usage) })
}

/// A raw wait status as an outcome; none for a stop or a continuation.
#[must_use]
pub fn how(status: i32) -> Option<How> {
    if libc::WIFEXITED(status) {
        return u8::try_from(libc::WEXITSTATUS(status)).ok().map(|code| How::Exited { code });
    }
    if libc::WIFSIGNALED(status) {
        let signal = u8::try_from(libc::WTERMSIG(status)).ok()?;
        return Some(How::Signaled { signal, core: libc::WCOREDUMP(status) });
    }
    None
}

fn resources(usage: &libc::rusage) -> Resources {
    let ms = |time: libc::timeval| u64::try_from(time.tv_sec * 1000 + time.tv_usec / 1000).unwrap_or(0);
    Resources {
        wall_ms: 0,
        user_ms: ms(usage.ru_utime),
        system_ms: ms(usage.ru_stime),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    }
}

/// Becomes the one to whom orphaned descendants are given.
///
/// # Errors
/// If the kernel refuses.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: a plain number as argument.
    let answer = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
