//! The independent observer: knows by a pidfd of its own whether a process lives and how it ended.
//! Never asks abide's probe, so that it can be held against it.

use std::os::fd::{AsFd, OwnedFd};

use abide_sys::drill;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use crate::deadline::{Deadline, until};

/// Watches one process, from a time when it was there until after its end.
#[derive(Debug)]
pub struct Observer {
    pid: u32,
    pidfd: OwnedFd,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signaled { signal: i32, core: bool },
}

impl Observer {
    /// Watches a process that is known to be there: one that we have not reaped, or that waits for us.
    ///
    /// # Panics
    /// If there is none with this pid.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self::find(pid).unwrap_or_else(|| panic!("cannot observe {pid}: there is no such process"))
    }

    /// Watches a process that may be gone, and reaped, by now.
    ///
    /// # Panics
    /// If the kernel does not say.
    #[must_use]
    pub fn find(pid: u32) -> Option<Self> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid is a positive number");
        match pidfd_open(number, PidfdFlags::empty()) {
            Ok(pidfd) => Some(Self { pid, pidfd }),
            Err(Errno::SRCH) => None,
            Err(errno) => panic!("cannot observe {pid}: {errno}"),
        }
    }

    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it lives now: a zombie does not.
    ///
    /// # Panics
    /// If the kernel does not say.
    #[must_use]
    pub fn lives(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).expect("a pidfd can be polled") == 0
    }

    /// Waits for its end, without reaping it.
    ///
    /// # Panics
    /// If it does not end.
    pub fn await_end(&self) {
        assert!(Deadline::start().readable(self.pidfd.as_fd()), "process {} does not end", self.pid);
    }

    /// Waits until it is stopped by a signal or a tracer. Only for processes that we started.
    ///
    /// # Panics
    /// If it is not ours, or ends instead.
    pub fn await_stop(&self) {
        let options =
            WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let mut status = None;
        until("the process stops", || {
            status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options).expect("we started it");
            status.is_some()
        });
        let stopped = status.is_some_and(|status| status.stopped() || status.trapped());
        assert!(stopped, "process {} ended instead of stopping", self.pid);
    }

    /// How it ended. `None` while it lives; and, for a process that another one started, until it is reaped.
    ///
    /// # Panics
    /// If the kernel does not say.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
            Ok(Some(status)) if status.exited() => status.exit_status().map(Ending::Exited),
            Ok(Some(status)) => {
                let signal = status.terminating_signal()?;
                Some(Ending::Signaled { signal, core: status.dumped() })
            }
            Ok(None) => None,
            Err(Errno::CHILD) => drill::kept_status(self.pidfd.as_fd()).map(Ending::from_wait_status),
            Err(errno) => panic!("cannot ask how {} ended: {errno}", self.pid),
        }
    }

    /// Sends a signal to this very process, or to nobody if it is gone.
    ///
    /// # Panics
    /// If we may not.
    pub fn signal(&self, signal: Signal) {
        match pidfd_send_signal(&self.pidfd, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => panic!("cannot send {signal:?} to {}: {errno}", self.pid),
        }
    }
}

impl Ending {
    /// From the status that `wait` gives.
    #[must_use]
    pub const fn from_wait_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited((status >> 8) & 0xff),
            signal => Self::Signaled { signal, core: status & 0x80 != 0 },
        }
    }
}

/// A process that another one started and that must not outlive the test: killed when this is dropped.
#[derive(Debug)]
pub struct Doomed(pub Observer);

impl Drop for Doomed {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.0.pidfd, Signal::KILL);
    }
}
