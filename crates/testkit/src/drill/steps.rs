//! The steps of `sys-drill`.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abide_core::identity::{Identity, Lock};
use abide_sys::disk::{self, PrivateDir, Untrusted};
use abide_sys::drill::refuse_fstatfs;
use abide_sys::lock::{self, Holder};
use abide_sys::probe::Probe;
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_thread_gid, set_thread_groups, set_thread_uid,
};

use super::{Drill, MEANS};
use crate::reuse;

impl Drill {
    pub(super) fn step(&mut self, step: &str) -> io::Result<()> {
        let words: Vec<&str> = step.split(' ').collect();
        match *words {
            ["means", name] => {
                self.means = MEANS.iter().position(|(known, _)| *known == name).ok_or(UNKNOWN)?;
            }
            ["identify"] => say(&self.identify(std::process::id())?)?,
            ["identify", "started"] => {
                let pid = self.started.last().map(Child::id).ok_or(io::ErrorKind::NotFound)?;
                say(&self.identify(pid)?)?;
            }
            ["identify", pid] => say(&self.identify(number(pid)?)?)?,
            ["ask", identity] => self.ask(identity, Lock::Silent)?,
            ["ask", identity, file, holder] => self.ask(identity, ask_lock(file, holder)?)?,
            ["end", identity] => self.end(identity)?,
            ["lock", file, holder] => say(&format!("{:?}", ask_lock(file, holder)?))?,
            ["hold", file, holder] => self.hold(file, parse_holder(holder)?)?,
            ["take", file, holder, times] => take(file, parse_holder(holder)?, times)?,
            ["count-in-turn", file, counter, times] => count_in_turn(file, counter, times)?,
            ["publish", dir, to, times] => publish(dir, to, times)?,
            ["bind", from, to] => mount_bind(from, to)?,
            ["tmpfs", dir, options] => mount_new("tmpfs", dir, options)?,
            ["proc", options] => mount_new("proc", "/proc", options)?,
            ["user", uid] => become_user(uid)?,
            ["no-caps"] => drop_capabilities()?,
            ["no-files"] => self.use_up_files()?,
            ["full-disk", dir] => full_disk(&private(Path::new(dir))?)?,
            ["start", program, ref args @ ..] => {
                let started =
                    Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
                say(&format!("started {}", started.id()))?;
                self.started.push(started);
            }
            ["run", program, ref args @ ..] => {
                let ended = Command::new(program).args(args).stdin(Stdio::null()).status()?;
                say(&format!("{ended}"))?;
            }
            ["no-pidfs"] => refuse_fstatfs()?,
            ["wait-line"] => drop(io::stdin().lock().read_line(&mut String::new())?),
            ["coincide", ref steps @ ..] => reuse::coincide(&steps.join(" "))?,
            ["if-coincident"] => reuse::end_unless_coincident()?,
            _ => return Err(UNKNOWN.into()),
        }
        Ok(())
    }

    /// Says the identity as JSON, or why there is none.
    fn identify(&mut self, pid: u32) -> io::Result<String> {
        let identity = self.probe().identify(pid);
        self.last = identity.ok();
        match identity {
            Ok(identity) => Ok(serde_json::to_string(&identity)?),
            Err(doubt) => Ok(format!("{doubt:?}")),
        }
    }

    fn ask(&self, identity: &str, lock: Lock) -> io::Result<()> {
        let identity = match identity {
            "last" => self.last.ok_or(io::ErrorKind::NotFound)?,
            written => serde_json::from_str(written)?,
        };
        let (liveness, lives) = (self.probe().liveness(&identity, lock), self.probe().lives(&identity, lock));
        // Both ways to ask must come to the same.
        let other = if lives.name() == liveness.name() { String::new() } else { format!(", or {lives:?}") };
        say(&format!("{liveness:?}{other}"))
    }

    /// Holds a process, waits to be told that it has ended, and says how it did.
    fn end(&self, identity: &str) -> io::Result<()> {
        let identity: Identity = serde_json::from_str(identity)?;
        let held = self.probe().hold(&identity).map_err(|liveness| io::Error::other(liveness.says()))?;
        say("held")?;
        io::stdin().lock().read_line(&mut String::new())?;
        say(&format!("{:?}", self.probe().end_of(&held, &identity)))
    }

    fn hold(&mut self, file: &str, holder: Holder) -> io::Result<()> {
        let file = open_log(file)?;
        say(&format!("held {}", lock::take(&file, holder)?))?;
        self.held.push(file);
        Ok(())
    }

    /// Leaves not one file descriptor. Probes that a later question needs are made before.
    fn use_up_files(&mut self) -> io::Result<()> {
        self.made =
            MEANS.iter().enumerate().map(|(index, (_, means))| (index, Probe::with(*means))).collect();
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), maximum })?;
        Ok(())
    }
}

const UNKNOWN: io::ErrorKind = io::ErrorKind::Unsupported;

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn number<T: std::str::FromStr>(word: &str) -> io::Result<T> {
    word.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn ask_lock(file: &str, holder: &str) -> io::Result<Lock> {
    Ok(lock::ask(&File::open(file)?, parse_holder(holder)?))
}

fn parse_holder(name: &str) -> io::Result<Holder> {
    match name {
        "guard" => Ok(Holder::Guard),
        "host" => Ok(Holder::Host),
        "sealer" => Ok(Holder::Sealer),
        _ => Err(UNKNOWN.into()),
    }
}

fn private(path: &Path) -> io::Result<PrivateDir> {
    PrivateDir::open(path).map_err(|untrusted: Untrusted| io::Error::other(untrusted.says()))
}

/// Opens a log as abide does.
fn open_log(file: &str) -> io::Result<File> {
    let path = Path::new(file);
    let (dir, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    private(dir)?.append(name.to_str().ok_or(io::ErrorKind::InvalidInput)?)
}

/// Takes and frees a lock again and again, and says how often it could be taken.
fn take(file: &str, holder: Holder, times: &str) -> io::Result<()> {
    let mut taken = 0;
    for _ in 0..number::<u32>(times)? {
        taken += u32::from(lock::take(&open_log(file)?, holder)?);
    }
    say(&format!("taken {taken}"))
}

/// Adds one to the number in a file, each time under the sealer's lock and with nothing else to keep order.
fn count_in_turn(file: &str, counter: &str, times: &str) -> io::Result<()> {
    for _ in 0..number::<u32>(times)? {
        let locked = open_log(file)?;
        lock::take_in_turn(&locked, Holder::Sealer)?;
        let mut counter = File::options().read(true).write(true).open(counter)?;
        let mut text = String::new();
        counter.read_to_string(&mut text)?;
        counter.rewind()?;
        write!(counter, "{}", number::<u64>(&text)? + 1)?;
    }
    Ok(())
}

/// Gives a file of its own one contested name after the other, and says how often it was the first.
fn publish(dir: &str, to: &str, times: &str) -> io::Result<()> {
    let dir = private(Path::new(dir))?;
    let mut won = 0;
    for round in 0..number::<u32>(times)? {
        let own = format!("{to}-{round}-by-{}", std::process::id());
        dir.create_log(&own, 0)?;
        won += u32::from(dir.publish(&own, &format!("{to}-{round}"))?);
    }
    say(&format!("won {won}"))
}

fn mount_new(kind: &str, target: &str, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    mount(kind, target, kind, MountFlags::empty(), options.as_c_str())?;
    Ok(())
}

/// Only this thread changes; there is no other.
fn become_user(uid: &str) -> io::Result<()> {
    let id = number(uid)?;
    set_thread_groups(&[])?;
    set_thread_gid(Gid::from_raw(id))?;
    set_thread_uid(Uid::from_raw(id))?;
    Ok(())
}

fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Fills the disk between making a log and a slot and writing to them, and says how each act went.
fn full_disk(dir: &PrivateDir) -> io::Result<()> {
    let slot = dir.create_slot("outcome")?;
    let log = dir.create_log("evidence", 8192)?;
    let mut filler = dir.create_log("filler", 0)?;
    while filler.write(&[b'.'; 4096]).is_ok_and(|written| written > 0) {}
    report("append within the reserve", disk::append(&log, &[b'a'; 8000]))?;
    report("append across its end", disk::append(&log, &[b'b'; 8000]))?;
    report("append behind it", disk::append(&log, b"c"))?;
    report("fill the slot", slot.fill(&[b'd'; disk::Slot::SIZE]))?;
    report("create a log", dir.create_log("second", 8192))?;
    report("create a slot", dir.create_slot("third"))
}

fn report<T>(act: &str, went: io::Result<T>) -> io::Result<()> {
    match went {
        Ok(_) => say(&format!("{act}: done")),
        Err(error) => say(&format!("{act}: {:?}", error.kind())),
    }
}
