//! Whom a terminal belongs to now, and how each of them stands and sleeps, as `/proc` tells.

use std::fs;

use abide_core::identity::Belonging;

use super::linux::{parent, relative, walk_down, walk_up};
use super::{InFront, Sleep};

pub(super) fn foreground(of: u32) -> Vec<InFront> {
    let Some(group) = belonging(of).map(|it| it.foreground).filter(|group| *group > 0) else {
        return Vec::new();
    };
    let below = walk_down(of, &[]).unwrap_or_else(|| walk_up(of));
    let all = std::iter::once((of, parent(of).unwrap_or(0))).chain(below);
    all.filter_map(|(pid, parent)| {
        let it = belonging(pid).filter(|it| it.group == group)?;
        let image = fs::read_link(format!("/proc/{pid}/exe")).ok();
        let image = image.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let process = relative(pid, parent);
        let place = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        Some(InFront {
            leads: i32::try_from(pid) == Ok(group),
            image: image.unwrap_or_else(|| process.name.clone()),
            sleeps: it.letter == b'S',
            place: if place == "0" { String::new() } else { place },
            is_zombie: matches!(it.letter, b'Z' | b'X'),
            is_stopped: matches!(it.letter, b'T' | b't'),
            holds_signals: holds_signals(&status),
            is_as_we_are: is_as_we_are(&status),
            sleep: sleep(pid),
            process,
        })
    })
    .collect()
}

/// Whether it opens files as we do, or as root; also if that is not told.
fn is_as_we_are(status: &str) -> bool {
    const EFFECTIVE: usize = 1;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let user: Option<u32> = users.split_ascii_whitespace().nth(EFFECTIVE).and_then(|user| user.parse().ok());
    user.is_none_or(|user| user == 0 || user == rustix::process::geteuid().as_raw())
}

/// Whether SIGCHLD is blocked.
fn holds_signals(status: &str) -> bool {
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let blocked = blocked.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    blocked.is_some_and(|mask| mask & (1 << (libc::SIGCHLD - 1)) != 0)
}

/// How it sleeps; none if it does not, or may not be asked: its calls are shown to those who might trace it.
fn sleep(pid: u32) -> Option<Sleep> {
    const BORN: usize = 19;
    const STACK: usize = 25;
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let call: Vec<&str> = call.split_ascii_whitespace().collect();
    let argument = |at: usize| u64::from_str_radix(call.get(at)?.strip_prefix("0x")?, 16).ok();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let stat: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| stat.get(at)?.parse::<u64>().ok();
    let top = number(STACK).filter(|top| *top > 0)?;
    let number_of_call = call.first()?.parse().ok()?;
    Some(Sleep {
        born: number(BORN)?,
        top,
        call: number_of_call,
        wants: argument(3).filter(|_| i64::try_from(number_of_call) == Ok(libc::SYS_read)),
        depth: top.checked_sub(argument(7)?)?,
    })
}

fn belonging(pid: u32) -> Option<Belonging> {
    Belonging::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}
