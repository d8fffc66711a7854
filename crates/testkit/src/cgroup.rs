//! Cgroups that live as long as a test, where the kernel lets us make any; and places where none can be reached.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use abide_core::place::read::cgroup_mounts;
use abide_sys::cgroup::{self, Cgroup};
use abide_sys::clock;

use crate::namespace::unshare;

/// How long what is killed at the end may take to die.
const DEATH_MS: u64 = 5_000;

/// A cgroup with a name of its own; what is left in it is killed, and it is removed.
#[derive(Debug)]
pub struct ScratchCgroup(Cgroup);

impl ScratchCgroup {
    /// None where no cgroup2 is delegated to us: then a test proves what is done without.
    #[must_use]
    pub fn new() -> Option<Self> {
        let own = cgroup::paths().unified.as_deref().and_then(Cgroup::at).filter(Cgroup::is_delegated)?;
        let name = u64::from_ne_bytes(clock::random_bytes().expect("the kernel has random bytes"));
        // As the cgroup of a session, but no ID is that long.
        let made = own.of_session(&format!("test-{name:016x}"));
        made.make().ok().map(|()| Self(made))
    }

    #[must_use]
    pub const fn cgroup(&self) -> &Cgroup {
        &self.0
    }

    /// Makes cgroups below it, one in the other, and gives the innermost.
    ///
    /// # Panics
    /// If that is not allowed.
    #[must_use]
    pub fn below(&self, names: &str) -> Cgroup {
        let dir = self.0.dir().join(names);
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("cannot make {}: {error}", dir.display()));
        let path = format!("{}/{names}", self.0.path());
        Cgroup::at(&path).expect("it was just made")
    }
}

impl Drop for ScratchCgroup {
    fn drop(&mut self) {
        let _ = self.0.kill();
        if let Ok(mut changes) = self.0.changes() {
            changes.await_empty(DEATH_MS);
        }
        let _ = self.0.remove();
    }
}

/// The same command, started in a cgroup.
#[must_use]
pub fn inside(cgroup: &Cgroup, command: &Command) -> Command {
    let procs = cgroup.dir().join("cgroup.procs");
    behind(Command::new("sh").args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs), command)
}

/// The same command, started where no cgroup2 can be reached: something is mounted over each.
///
/// # Panics
/// If what is mounted cannot be read.
#[must_use]
pub fn without(command: &Command) -> Command {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
    let points: Vec<String> = cgroup_mounts(&mountinfo).into_iter().map(|(_, point)| point).collect();
    let script =
        "while [ \"$1\" != -- ]; do mount -t tmpfs none \"$1\" || exit; shift; done; shift; exec \"$@\"";
    let mut hidden = unshare(&["--mount"], "sh".as_ref());
    behind(hidden.args(["-c", script, "sh"]).args(points).arg("--"), command)
}

/// One command as the arguments of another, which becomes it.
fn behind(first: &mut Command, command: &Command) -> Command {
    first.arg(command.get_program()).args(command.get_args());
    let mut both = Command::new(first.get_program());
    both.args(first.get_args()).env_clear();
    both.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    both
}

/// A memory cgroup of version 1 with a limit, where the machine still has those.
#[derive(Debug)]
pub struct OldMemory(PathBuf);

impl OldMemory {
    #[must_use]
    pub fn new(limit: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own =
            own.lines().find_map(|line| line.split_once(":memory:").map(|(_, path)| path.to_owned()))?;
        let name = u64::from_ne_bytes(clock::random_bytes().expect("the kernel has random bytes"));
        let around = PathBuf::from("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let dir = around.join(format!("abide-test-{name:016x}"));
        fs::create_dir(&dir).ok()?;
        let made = Self(dir);
        let mut file = OpenOptions::new().write(true).open(made.0.join("memory.limit_in_bytes")).ok()?;
        file.write_all(limit.to_string().as_bytes()).ok().map(|()| made)
    }

    /// What a process writes its pid into, to be in it.
    #[must_use]
    pub fn procs(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// How many of its processes the kernel has killed for want of memory.
    #[must_use]
    pub fn kills(&self) -> Option<u64> {
        abide_core::place::read::count(
            &fs::read_to_string(self.0.join("memory.oom_control")).ok()?,
            "oom_kill",
        )
    }
}

impl Drop for OldMemory {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
