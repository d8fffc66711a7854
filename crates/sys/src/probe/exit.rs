//! How a process ended that is not ours to wait for: asked of its pidfd, or read off its corpse.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use abide_core::evidence::{How, Observer};

use crate::reap::how;

/// The kernel's `struct pidfd_info`, in its first version.
#[repr(C)]
struct Info {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

const GET_INFO: libc::c_ulong = 0xC040_FF0B;
const WITH_EXIT: u64 = 1 << 3;

const _: () = assert!(size_of::<Info>() == 64);

/// Whether one that was reaped is still known by its pidfd.
pub(super) fn is_kept() -> Option<bool> {
    let mut quiet = Command::new("/proc/self/exe");
    quiet.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut other = quiet.spawn().ok()?;
    let pidfd = super::linux::hold(other.id());
    other.wait().ok()?;
    Some(from_pidfd(&pidfd?).is_some())
}

/// How the process ended, and how that was learnt. None while it runs, or if nobody can tell any more.
pub(super) fn of(pidfd: &OwnedFd, pid: u32) -> Option<(How, Observer)> {
    // The corpse may be taken away between the two looks; then the pidfd knows.
    from_pidfd(pidfd).or_else(|| from_corpse(pidfd, pid)).or_else(|| from_pidfd(pidfd))
}

/// Linux 6.15 and later, once the process was reaped by whoever it belonged to.
pub(super) fn from_pidfd(pidfd: &OwnedFd) -> Option<(How, Observer)> {
    let mut info = Info { mask: WITH_EXIT, cgroup: 0, ids: [0; 11], exit_code: 0 };
    // SAFETY: the kernel writes at most the size that the request's number holds, which is that of `info`.
    let answer = unsafe { libc::ioctl(pidfd.as_raw_fd(), GET_INFO as _, &raw mut info) };
    let told = answer == 0 && info.mask & WITH_EXIT != 0;
    if told { how(info.exit_code).map(|how| (how, Observer::Pidfd)) } else { None }
}

/// A corpse that nobody has taken away still shows its wait status, as the last field of its line. Whoever may not
/// look closely is shown a zero in its place, which is no observation.
fn from_corpse(pidfd: &OwnedFd, pid: u32) -> Option<(How, Observer)> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let close = line.iter().rposition(|&b| b == b')')?;
    let fields: Vec<&str> = std::str::from_utf8(&line[close + 1..]).ok()?.split_ascii_whitespace().collect();
    let dead = fields.first() == Some(&"Z");
    let status = fields.get(49).and_then(|field| field.parse().ok()).filter(|_| dead)?;
    let may_look = fs::read_link(format!("/proc/{pid}/ns/user")).is_ok();
    // Asked last: if the held process is still there, the line was its own and not a later one's.
    let held = crate::signal::send(pidfd, 0).is_ok();
    how(status).filter(|_| may_look && held).map(|how| (how, Observer::Procfs))
}
