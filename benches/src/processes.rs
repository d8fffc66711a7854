//! What `/proc` says of processes: whose child, whose environment, how much memory.

use std::collections::HashMap;
use std::fs;
use std::os::fd::AsFd;

use abide_sys::poll;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The number of every process, and that of its parent.
pub fn parents() -> HashMap<u32, u32> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, parent(pid)?))).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&stat);
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// What a process is called by the kernel; nothing if it is gone.
pub fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Everything that descends from a process, but not itself.
pub fn below(ancestor: u32) -> Vec<u32> {
    let parents = parents();
    let descends = |mut pid: u32| {
        // No chain is longer than there are processes.
        for _ in 0..parents.len() {
            match parents.get(&pid) {
                Some(&parent) if parent == ancestor => return true,
                Some(&parent) => pid = parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| descends(*pid)).collect()
}

/// The processes of some names in whose environment this text stands.
pub fn marked(mark: &str, names: &[&str]) -> Vec<u32> {
    let has = |pid: &u32| {
        let name = name(*pid);
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        names.iter().any(|wanted| name == **wanted) && String::from_utf8_lossy(&environ).contains(mark)
    };
    parents().keys().copied().filter(has).collect()
}

/// Waits for the end of a process, however long that takes.
pub fn await_end(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(Ok(pidfd)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        while !poll::readable(&[pidfd.as_fd()], None)[0] {}
    }
}

/// The proportional set size of a process in KiB; none if it is not ours to know.
pub fn pss(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
