//! Whoever means harm, or does it without meaning to: peers at a host's socket, a host that is none, links and other files
//! planted in a home, other users, and text that a terminal would obey. docs/SECURITY.md names these tests.

mod escapes;
mod fakes;
mod links;
mod peers;
mod planted;
mod users;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The most memory that a process ever had, in KiB, as the kernel says.
pub(crate) fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel says so");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// Makes a file of these bytes, or puts them in the place of what it holds.
pub(crate) fn put(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let made = File::create(path).and_then(|mut file| file.write_all(bytes.as_ref()));
    made.expect("there is room");
}
