//! Directories that live as long as a test: closed to everyone else, and removed at its end.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_sys::cgroup::{self, Cgroup};
use abide_sys::clock;

use crate::Ran;

/// How long what a test has killed may take to leave its cgroup.
const LEAVING_MS: u64 = 2_000;

/// A directory of mode 0700 with a name of its own, removed with all that is in it.
#[derive(Debug)]
pub struct ScratchDir(PathBuf);

impl ScratchDir {
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// One that no disk slows down, where there is memory to be had as files.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    fn below(parent: &Path) -> Self {
        let name = u64::from_ne_bytes(clock::random_bytes().expect("the kernel has random bytes"));
        let path = parent.join(format!("abide-test-{name:016x}"));
        DirBuilder::new().mode(0o700).create(&path).expect("a scratch directory can be made");
        Self(path)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of something in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in it, and gives its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.join(name);
        let written = File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// Copies a program into it, and gives its path.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn program(&self, name: &str, from: impl AsRef<OsStr>) -> PathBuf {
        let path = self.join(name);
        install(from.as_ref(), &path);
        path
    }

    /// Writes a script that can be run into it, as `program` does, and gives its path.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let source = self.file(&format!("{name}.source"), text);
        let path = self.program(name, &source);
        fs::remove_file(source).expect("it is ours");
        path
    }
}

/// Copies a program. Another process does it: what this one has open to write, a fork in another thread may keep open,
/// and then the kernel runs it for nobody.
pub(crate) fn install(from: &OsStr, to: &Path) {
    let copied = Ran::of(Command::new("install").args(["-m", "755"]).arg(from).arg(to));
    assert_eq!(copied.code(), Some(0), "{copied:?}");
}

impl Default for ScratchDir {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What a test has made unremovable is the temporary directory's to clean.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A home for abide, not made yet, in a directory of its own that also serves as `HOME`.
#[derive(Debug, Default)]
pub struct ScratchHome(ScratchDir);

impl ScratchHome {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The home: what `ABIDE_HOME` names.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.0.join("abide-home")
    }

    /// Writes the config file that abide reads where `HOME` is the directory around, and gives its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn config(&self, text: &str) -> PathBuf {
        let folder = self.0.join(".config/abide");
        fs::create_dir_all(&folder).expect("there is room");
        self.0.file(".config/abide/config.toml", text)
    }

    /// The directory around it.
    #[must_use]
    pub const fn around(&self) -> &ScratchDir {
        &self.0
    }
}

impl Drop for ScratchHome {
    /// A test that kills guards leaves cgroups that nobody else removes.
    fn drop(&mut self) {
        let Some(own) = cgroup::paths().unified.as_deref().and_then(Cgroup::at) else { return };
        for session in fs::read_dir(self.path().join("sessions")).into_iter().flatten().flatten() {
            let cgroup = session.file_name().to_str().map(|id| own.of_session(id)).filter(Cgroup::exists);
            if let Some((cgroup, Ok(mut changes))) = cgroup.map(|cgroup| (cgroup.clone(), cgroup.changes())) {
                changes.await_empty(LEAVING_MS);
                // Its guard may have been quicker.
                let _ = cgroup.remove();
            }
        }
    }
}
