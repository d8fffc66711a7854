//! Cgroups of version 2: ours, and those that we make below it, one a session. Paths are the kernel's names, as
//! `/proc/PID/cgroup` has them; where they are mounted is found out here. Holds no policy.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use abide_core::place::Paths;
use abide_core::place::read::{cgroup_mounts, count};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};

use crate::clock;
use crate::poll::{self, Interest};

/// What the names of the cgroups of sessions begin with.
const PREFIX: &str = "abide-";
const CGROUP2_MAGIC: u64 = 0x6367_7270;
/// Few machines have more to say of their mounts.
const MOUNTINFO: usize = 8192;

/// A cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    path: String,
    dir: PathBuf,
}

/// A process in a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub pid: u32,
    /// It is in the cgroup of another session, further below.
    pub nested: bool,
}

/// The kernel's names for the cgroups that this process is in.
#[must_use]
pub fn paths() -> Paths {
    Paths::parse(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
}

impl Cgroup {
    /// The cgroup of this name; none if it is not there, or cannot be reached from here.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        mounts().iter().rev().find_map(|(root, point)| {
            let below = match root.as_str() {
                "/" => path,
                root => path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?,
            };
            let dir = Path::new(point).join(below.trim_start_matches('/'));
            // Something else may be mounted over it.
            let is_cgroup = rustix::fs::statfs(&dir).is_ok_and(|fs| fs.f_type as u64 == CGROUP2_MAGIC);
            is_cgroup.then(|| Self { path: path.to_owned(), dir })
        })
    }

    /// The cgroup that was made for the session of this ID, wherever it is; none if there is none that can be reached.
    #[must_use]
    pub fn find_session(id: &str) -> Option<Self> {
        let name = name_of(id);
        mounts().iter().find_map(|(root, point)| {
            let mut open = vec![PathBuf::from(point)];
            while let Some(dir) = open.pop() {
                if dir.ends_with(&name) {
                    let below = dir.strip_prefix(point).ok()?.to_str()?;
                    return Self::at(&format!("{}/{below}", root.trim_end_matches('/')));
                }
                open.extend(below(&dir));
            }
            None
        })
    }

    /// The cgroup of this name, whose directory whoever made it told us.
    #[must_use]
    pub fn known(path: String, dir: &Path) -> Self {
        Self { path, dir: dir.to_owned() }
    }

    /// The kernel's name for it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The directory that shows it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether we may make cgroups below it and start processes of ours in them.
    #[must_use]
    pub fn is_delegated(&self) -> bool {
        let may = |path: &Path| rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
        may(&self.dir) && may(&self.dir.join("cgroup.procs"))
    }

    /// The cgroup that the session of this ID has below this one, whether it is there or not.
    #[must_use]
    pub fn of_session(&self, id: &str) -> Self {
        let name = name_of(id);
        Self { path: format!("{}/{name}", self.path.trim_end_matches('/')), dir: self.dir.join(name) }
    }

    /// Whether it was made for the session of this ID.
    #[must_use]
    pub fn is_of_session(&self, id: &str) -> bool {
        self.path.rsplit('/').next() == Some(name_of(id).as_str())
    }

    /// The cgroups of sessions below this one.
    #[must_use]
    pub fn sessions(&self) -> Vec<Self> {
        let names =
            below(&self.dir).into_iter().filter_map(|dir| dir.file_name()?.to_str().map(str::to_owned));
        names.filter_map(|name| Some(self.of_session(name.strip_prefix(PREFIX)?))).collect()
    }

    /// Makes it.
    ///
    /// # Errors
    /// If it is there already, or the kernel refuses.
    pub fn make(&self) -> io::Result<()> {
        fs::create_dir(&self.dir)
    }

    /// It, opened, to start a process in.
    ///
    /// # Errors
    /// If it is not there.
    pub fn open(&self) -> io::Result<OwnedFd> {
        Ok(rustix::fs::open(&self.dir, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Whether it is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.dir.is_dir()
    }

    /// Every process in it and below it. Those of another pid namespace have no number here and are left out.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let mut found = Vec::new();
        // Said in one file, where to look for them takes many.
        if self.is_populated() == Some(false) {
            return found;
        }
        let mut open = vec![(self.dir.clone(), false)];
        while let Some((dir, nested)) = open.pop() {
            let procs = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
            let pids = procs.lines().filter_map(|line| line.parse().ok()).filter(|&pid| pid > 0);
            found.extend(pids.map(|pid| Member { pid, nested }));
            open.extend(below(&dir).into_iter().map(|dir| {
                let others = dir
                    .file_name()
                    .is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
                (dir, nested || others)
            }));
        }
        found
    }

    /// Whether any process is in it or below it; none if that cannot be told.
    #[must_use]
    pub fn is_populated(&self) -> Option<bool> {
        Some(is_populated(&fs::read_to_string(self.dir.join("cgroup.events")).ok()?))
    }

    /// For how many seconds it has been there at the least; none if the kernel does not say.
    #[must_use]
    pub fn age_secs(&self) -> Option<i64> {
        Some((clock::now().wall / 1000).saturating_sub(fs::metadata(&self.dir).ok()?.mtime()))
    }

    /// How many of its processes the kernel has killed for want of memory; none without the memory controller.
    #[must_use]
    pub fn oom_kills(&self) -> Option<u64> {
        count(&fs::read_to_string(self.dir.join("memory.events")).ok()?, "oom_kill")
    }

    /// Kills every process in it and below it at once, those that are being forked included.
    ///
    /// # Errors
    /// If this kernel cannot (before 5.14), or we may not.
    pub fn kill(&self) -> io::Result<()> {
        fs::OpenOptions::new().write(true).open(self.dir.join("cgroup.kill"))?.write_all(b"1")
    }

    /// Removes it and what is empty below it.
    ///
    /// # Errors
    /// If a process is in it.
    pub fn remove(&self) -> io::Result<()> {
        remove_empty(&self.dir)
    }

    /// What there is to wait on for its last process to go.
    ///
    /// # Errors
    /// If it is not there.
    pub fn changes(&self) -> io::Result<Changes> {
        let mut changes = Changes(File::open(self.dir.join("cgroup.events"))?);
        changes.is_populated()?;
        Ok(changes)
    }
}

/// Says when a cgroup becomes empty, or is no longer. To be waited on for news, never for reading.
#[derive(Debug)]
pub struct Changes(File);

impl Changes {
    /// Whether any process is left. From now on the next change is news.
    ///
    /// # Errors
    /// If the cgroup is gone.
    pub fn is_populated(&mut self) -> io::Result<bool> {
        let mut text = String::new();
        self.0.rewind()?;
        self.0.read_to_string(&mut text)?;
        Ok(is_populated(&text))
    }

    /// Waits until no process is left, for so many ms at most. True once there is none.
    pub fn await_empty(&mut self, ms: u64) -> bool {
        let deadline = clock::now().boot.saturating_add(ms);
        // One that is gone is empty.
        while self.is_populated().unwrap_or(false) {
            let left = deadline.saturating_sub(clock::now().boot);
            if left == 0 {
                return false;
            }
            let _ = poll::wait(&[Interest::news(self.as_fd())], Some(left));
        }
        true
    }
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Where cgroup2 is mounted. Read once: doctors ask about thousands of sessions.
fn mounts() -> &'static [(String, String)] {
    static MOUNTS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    MOUNTS.get_or_init(|| {
        // The kernel tells no length, and writes a line again that did not fit.
        let mut text = String::with_capacity(MOUNTINFO);
        let read = File::open("/proc/self/mountinfo").and_then(|mut file| file.read_to_string(&mut text));
        cgroup_mounts(read.map_or("", |_| &text))
    })
}

/// What `cgroup.events` says of it.
fn is_populated(text: &str) -> bool {
    count(text, "populated") != Some(0)
}

fn name_of(id: &str) -> String {
    format!("{PREFIX}{id}")
}

fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// The kernel removes an empty cgroup only, so nothing that is in use can be lost here.
fn remove_empty(dir: &Path) -> io::Result<()> {
    below(dir).iter().try_for_each(|dir| remove_empty(dir))?;
    fs::remove_dir(dir)
}
