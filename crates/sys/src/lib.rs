//! The kernel as abide sees it: processes, files, locks, clocks. Small and dull; the only unsafe code.
//! Answers questions and carries out acts; holds no policy.

pub mod cgroup;
pub mod clock;
pub mod disk;
#[cfg(all(feature = "drill", target_os = "linux"))]
pub mod drill;
pub mod heap;
pub mod lock;
pub mod login;
pub mod poll;
pub mod probe;
pub mod pty;
pub mod reap;
pub mod shared;
pub mod signal;
pub mod sock;
pub mod spawn;
pub mod tty;
pub mod watch;
