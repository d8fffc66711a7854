//! Linux: pidfd first, `/proc` second, readiness last, so that what `/proc` said belongs to the pidfd's process.

use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use abide_core::evidence::{How, Observer};
use abide_core::identity::{Doubt, FileId, Here, Identity, Liveness, Lock, Qualifier, Sighting, Stat, judge};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, fstat, fstatfs, openat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, test_kill_process};

pub(super) use super::exit::is_kept as keeps_ends;
pub(super) use super::front::foreground;
use super::here::file_id;
pub(super) use super::here::here;
pub(super) use super::spent::spent;
use super::{About, Means, Relative};
use crate::clock;

const PIDFS_MAGIC: u64 = 0x5049_4446;

pub(super) fn look(means: Means, pid: u32) -> Sighting {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Sighting::Failed(Doubt::NoIdentity);
    };
    match open_pidfd(means, number) {
        Ok(pidfd) => look_through(means, &pidfd, pid),
        Err(errno) => look_without_pidfd(errno, pid, number),
    }
}

fn look_through(means: Means, pidfd: &OwnedFd, pid: u32) -> Sighting {
    let pidfs = inode(means, pidfd);
    let stat = read_stat(pid);
    Sighting::Present { pidfs, exited: has_exited(pidfd), stat }
}

/// The same of one whose inode is on record: where the kernel has those, they and the pidfd tell whether it is alive, and
/// `/proc`, which takes five times as long, is not asked.
pub(super) fn look_briefly(means: Means, pid: u32) -> Sighting {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Sighting::Failed(Doubt::NoIdentity);
    };
    match open_pidfd(means, number) {
        Ok(pidfd) => match (inode(means, &pidfd), has_exited(&pidfd)) {
            (Some(pidfs), Some(exited)) => {
                Sighting::Present { pidfs: Some(pidfs), exited: Some(exited), stat: Err(Doubt::NotAsked) }
            }
            (_, None) | (None, _) => look_through(means, &pidfd, pid),
        },
        Err(errno) => look_without_pidfd(errno, pid, number),
    }
}

/// What is told by why there is no pidfd; on old kernels and in strict sandboxes by what `/proc` and a signal that is none say.
fn look_without_pidfd(refused: Errno, pid: u32, number: Pid) -> Sighting {
    match refused {
        Errno::SRCH => Sighting::Absent,
        // The number exists, but names no thread group: it is a thread of some other process.
        Errno::INVAL | Errno::NOENT => Sighting::Thread,
        Errno::NOSYS | Errno::PERM => match (read_stat(pid), test_kill_process(number)) {
            (_, Err(Errno::SRCH)) => Sighting::Absent,
            (stat, Ok(()) | Err(_)) => Sighting::Present { pidfs: None, exited: None, stat },
        },
        errno => Sighting::Failed(Doubt::Refused(errno.raw_os_error())),
    }
}

pub(super) fn identify(here: &Here, means: Means, pid: u32) -> Result<Identity, Doubt> {
    let boot = here.boot.ok_or(Doubt::NoBootId)?;
    let pid_ns = here.pid_ns.ok_or(Doubt::OtherPidNamespace)?;
    // Read before the process is seen: it was there in this tick, if this one is later than its birth.
    let seen_ticks = clock::boot_ticks();
    let (pidfs, stat) = match look(means, pid) {
        Sighting::Present { pidfs, exited: _, stat } => (pidfs, stat),
        Sighting::Failed(doubt) => return Err(doubt),
        Sighting::Absent | Sighting::Thread => return Err(Doubt::NoIdentity),
    };
    let stat = match (pidfs, stat) {
        (_, Ok(stat)) => Some(stat),
        (None, Err(Doubt::Hidden)) => return Err(Doubt::NoMark),
        (None, Err(doubt)) => return Err(doubt),
        (Some(_), Err(_)) => None,
    };
    // If `/proc` hides the process or is not ours, what it says of owner and image is not to be believed either.
    let owner = stat.and_then(|_| fs::metadata(format!("/proc/{pid}")).ok());
    let identity = Identity {
        machine: here.machine,
        boot,
        kernel_boot: here.kernel_boot,
        pid_ns,
        time_ns: here.time_ns,
        pid,
        start_ticks: stat.map(|stat| stat.start_ticks),
        seen_ticks,
        pidfs,
        uid: owner.map(|meta| meta.st_uid()),
        exe: stat.and_then(|_| file_id(&format!("/proc/{pid}/exe"))),
    };
    // Asked again: all of it was read of one process, which is still alive.
    match judge(&identity, here, &look(means, pid), Lock::Silent) {
        Liveness::Alive(_) | Liveness::Unknown(Doubt::SameTick) => Ok(identity),
        Liveness::Dead(_) => Err(Doubt::NoIdentity),
        Liveness::Unknown(doubt) => Err(doubt),
    }
}

pub(super) fn qualifier(pid: u32) -> Option<Qualifier> {
    // Among the first lines, and those are read at once.
    Qualifier::of_status(start_of(pid, "status", &mut [0; STAT]).ok()?)
}

pub(super) fn parent(pid: u32) -> Option<u32> {
    read_stat(pid).ok().map(|stat| stat.parent)
}

pub(super) fn end_of(pidfd: &OwnedFd, pid: u32) -> Option<(How, Observer)> {
    if proc_is_ours().unwrap_or(false) { super::exit::of(pidfd, pid) } else { super::exit::from_pidfd(pidfd) }
}

/// The number of a process that we hold; none once it is dead.
pub(super) fn pid_of(pidfd: &OwnedFd) -> Option<u32> {
    let told =
        fs::read_to_string(format!("/proc/self/fdinfo/{}", std::os::fd::AsRawFd::as_raw_fd(pidfd))).ok()?;
    let number = told.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    number.trim().parse().ok()
}

pub(super) fn hold(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// How often a family is looked at until it is the same twice.
const LOOKS: u32 = 16;

/// Whoever ends meanwhile leaves its children to another, where they were not looked for: so the family is looked at
/// until it is the same twice.
pub(super) fn descendants(of: u32, but: &[u32]) -> Vec<Relative> {
    if is_childless(of, but) {
        return Vec::new();
    }
    let look = || walk_down(of, but).unwrap_or_else(|| walk_up(of));
    let mut known = look();
    for _ in 0..LOOKS {
        let again = look();
        if again.iter().map(|one| one.0).eq(known.iter().map(|one| one.0)) {
            break;
        }
        known = again;
    }
    known.into_iter().map(|(pid, parent)| relative(pid, parent)).collect()
}

/// By the kernel's lists of children: each below this process, with its parent. None where it keeps no such lists.
pub(super) fn walk_down(of: u32, but: &[u32]) -> Option<Vec<(u32, u32)>> {
    let mut found = Vec::new();
    let mut families = vec![(of, children(of)?)];
    while let Some((elder, family)) = families.pop() {
        for pid in family.into_iter().filter(|pid| !but.contains(pid)) {
            if !found.iter().any(|&(known, _)| known == pid) {
                families.push((pid, children(pid).unwrap_or_default()));
                found.push((pid, elder));
            }
        }
    }
    Some(found)
}

/// It has one thread, and nobody below it but these: nobody is there who could leave others to it unseen.
fn is_childless(of: u32, but: &[u32]) -> bool {
    const ONE_THREAD: u64 = 3;
    let alone = fs::metadata(format!("/proc/{of}/task")).is_ok_and(|dir| dir.st_nlink() == ONE_THREAD);
    let children = || children_of(format!("/proc/{of}/task/{of}").into());
    alone && children().is_some_and(|children| children.iter().all(|pid| but.contains(pid)))
}

fn children(of: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{of}/task")).ok()?.flatten() {
        found.extend(children_of(thread.path())?);
    }
    Some(found)
}

fn children_of(thread: PathBuf) -> Option<Vec<u32>> {
    let text = fs::read_to_string(thread.join("children")).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

fn numbers_in(folder: &str) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
}

pub(super) fn everyone(fits: &dyn Fn(&[String]) -> bool) -> Option<Vec<Relative>> {
    // Whoever can be seen at all, we can.
    parent(std::process::id())?;
    Some(numbers_in("/proc").filter(|pid| fits(&command(*pid))).filter_map(process).collect())
}

pub(super) fn image(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The longest environment that is read, and so many descriptors of one process are looked at.
const ENVIRONMENT: u64 = 4 << 20;
const DESCRIPTORS: usize = 4_096;

/// What a process was given at its exec; what cannot be read says nothing.
fn environment(pid: u32) -> Vec<u8> {
    let mut environment = Vec::new();
    if let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) {
        let _ = file.take(ENVIRONMENT).read_to_end(&mut environment);
    }
    environment
}

pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = environment(pid);
    let mut entries = environment.split(|&b| b == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    entries.find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
}

pub(super) fn carries(pid: u32, entry: &str) -> bool {
    environment(pid).split(|&b| b == 0).any(|one| one == entry.as_bytes())
}

pub(super) fn carriers(entry: &str) -> Vec<u32> {
    let ours = proc_is_ours().unwrap_or(false);
    numbers_in("/proc").filter(|pid| ours && carries(*pid, entry)).collect()
}

pub(super) fn cgroups(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}

pub(super) fn about(pid: u32, names: &[&str]) -> About {
    let environment = environment(pid);
    let text = String::from_utf8_lossy(&environment);
    let variables = text.split('\0').filter_map(|entry| entry.split_once('='));
    let folder = format!("/proc/{pid}/fd");
    let open = numbers_in(&folder)
        .take(DESCRIPTORS)
        .filter_map(|number| fs::read_link(format!("{folder}/{number}")).ok())
        .filter(|path| path.is_absolute());
    let now = clock::now();
    let ticks = read_stat(pid).map_or(0, |stat| stat.start_ticks);
    let born = ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second();
    About {
        image: image(pid),
        cwd: fs::read_link(format!("/proc/{pid}/cwd")).ok(),
        variables: variables
            .filter(|(name, _)| names.contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        open: open.collect(),
        started_ms: now.wall.saturating_sub_unsigned(now.boot.saturating_sub(born)),
    }
}

pub(super) fn holders(of: FileId) -> Vec<Relative> {
    let holds = |pid: &u32| {
        let folder = format!("/proc/{pid}/fd");
        numbers_in(&folder).any(|number| file_id(&format!("{folder}/{number}")) == Some(of))
    };
    numbers_in("/proc").filter(holds).filter_map(process).collect()
}

/// By what every process says of its parent.
pub(super) fn walk_up(to: u32) -> Vec<(u32, u32)> {
    let pids = numbers_in("/proc");
    let mut others: Vec<_> = pids.filter_map(|pid| parent(pid).map(|parent| (pid, parent))).collect();
    let mut family = vec![to];
    let mut found = Vec::new();
    while let Some(elder) = family.pop() {
        others.retain(|&(pid, parent)| {
            if parent == elder {
                family.push(pid);
                found.push((pid, parent));
            }
            parent != elder
        });
    }
    found
}

pub(super) fn process(pid: u32) -> Option<Relative> {
    let mut room = [0; STAT];
    let line = start_of(pid, "stat", &mut room).ok()?;
    let (name, parent) = (name_in(line), Stat::parse(line)?.parent);
    Some(Relative { pid, parent, name, command: command(pid) })
}

pub(super) fn above(of: u32) -> Vec<u32> {
    climb(of, |pid| (pid, parent(pid)))
}

pub(super) fn ancestors(of: u32) -> Vec<Relative> {
    climb(of, |pid| {
        let one = process(pid).unwrap_or_else(|| relative(pid, 0));
        let parent = one.parent;
        (one, Some(parent))
    })
}

/// What is seen of each process above this one, its parent first, with the number of the next.
fn climb<T>(of: u32, see: impl Fn(u32) -> (T, Option<u32>)) -> Vec<T> {
    let (mut known, mut found) = (Vec::new(), Vec::new());
    let mut next = parent(of);
    // A process that ends meanwhile may leave its number to another one, but no chain is longer than all numbers.
    while let Some(pid) = next.filter(|pid| *pid > 0 && !known.contains(pid)) {
        known.push(pid);
        let (one, parent) = see(pid);
        found.push(one);
        next = parent;
    }
    found
}

pub(super) fn terminal(pid: u32) -> Option<u32> {
    read_stat(pid).ok().map(|stat| stat.terminal).filter(|terminal| *terminal > 0)
}

pub(super) fn relative(pid: u32, parent: u32) -> Relative {
    let mut room = [0; STAT];
    let name = start_of(pid, "stat", &mut room).map(name_in).unwrap_or_default();
    Relative { pid, parent, name, command: command(pid) }
}

/// Read before the arguments: in an exec it changes before those of the new image can be read.
fn name_in(stat: &[u8]) -> String {
    String::from_utf8_lossy(Stat::name(stat).unwrap_or_default()).into_owned()
}

/// How often arguments are read again that are not there yet.
const ROUNDS: u32 = 1_000;

fn command(pid: u32) -> Vec<String> {
    let mut line = Vec::new();
    for _ in 0..ROUNDS {
        line = arguments(pid).unwrap_or_default();
        // Who has an image and no arguments is in the middle of an exec; a zombie has neither.
        if !line.is_empty() || fs::read_link(format!("/proc/{pid}/exe")).is_err() {
            break;
        }
        std::thread::yield_now();
    }
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|&b| b == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// Such a file has no size to ask for, and what does not fill the room is all there is.
fn arguments(pid: u32) -> std::io::Result<Vec<u8>> {
    let mut file = fs::File::open(format!("/proc/{pid}/cmdline"))?;
    let mut room = [0; 4096];
    let mut line = Vec::new();
    loop {
        let length = file.read(&mut room)?;
        line.extend_from_slice(&room[..length]);
        if length < room.len() {
            return Ok(line);
        }
    }
}

fn open_pidfd(means: Means, pid: Pid) -> Result<OwnedFd, Errno> {
    if means.pidfd { pidfd_open(pid, PidfdFlags::empty()) } else { Err(Errno::NOSYS) }
}

/// The inode counts only on pidfs; before it, all pidfds shared one anonymous inode.
pub(super) fn inode(means: Means, pidfd: &OwnedFd) -> Option<u64> {
    // The device that pidfs is: whatever is on it needs no asking.
    static PIDFS: OnceLock<u64> = OnceLock::new();
    let stat = if means.pidfs { fstat(pidfd).ok()? } else { return None };
    let is_pidfs = || fstatfs(pidfd).is_ok_and(|fs| fs.f_type as u64 == PIDFS_MAGIC);
    if PIDFS.get() != Some(&stat.st_dev) {
        is_pidfs().then(|| PIDFS.get_or_init(|| stat.st_dev))?;
    }
    Some(stat.st_ino)
}

fn has_exited(pidfd: &OwnedFd) -> Option<bool> {
    let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).ok().map(|ready| ready > 0)
}

fn read_stat(pid: u32) -> Result<Stat, Doubt> {
    Stat::parse(start_of(pid, "stat", &mut [0; STAT])?).ok_or(Doubt::Hidden)
}

/// No line of `stat` is longer.
const STAT: usize = 2048;

/// What one of the files that tell of a process begins with.
fn start_of<'a>(pid: u32, file: &str, room: &'a mut [u8; STAT]) -> Result<&'a [u8], Doubt> {
    let refused = |errno: Errno| match errno {
        Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM => Doubt::Hidden,
        errno => Doubt::Refused(errno.raw_os_error()),
    };
    if !proc_is_ours().map_err(|error| refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))? {
        return Err(Doubt::Hidden);
    }
    let path = format!("/proc/{pid}/{file}");
    let file =
        openat(CWD, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
    let length = rustix::io::read(&file, &mut room[..]).map_err(refused)?;
    Ok(&room[..length])
}

/// `/proc` may be another pid namespace's (`unshare --pid` without a mount of its own): there we have more numbers
/// than one. The first may be the same as here by chance, so it proves nothing.
fn proc_is_ours() -> std::io::Result<bool> {
    static OURS: OnceLock<bool> = OnceLock::new();
    if let Some(&ours) = OURS.get() {
        return Ok(ours);
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    let us = getpid().as_raw_nonzero().to_string();
    Ok(*OURS.get_or_init(|| numbers.split_ascii_whitespace().eq([us.as_str()])))
}
