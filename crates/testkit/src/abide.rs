//! Runs the real binary: with an empty environment but for its home, and the answer taken apart.

pub mod schema;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::running::Ran;
use crate::scratch::{ScratchHome, install};

/// The binary under test, asked about one home.
#[derive(Debug, Clone)]
pub struct Abide {
    exe: PathBuf,
    home: PathBuf,
    around: PathBuf,
}

impl Abide {
    /// Where it and what it starts look for programs.
    pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

    /// `exe` is the test's `env!("CARGO_BIN_EXE_abide")`.
    #[must_use]
    pub fn new(exe: impl Into<PathBuf>, home: &ScratchHome) -> Self {
        Self { exe: exe.into(), home: home.path(), around: home.around().path().to_owned() }
    }

    /// The same binary, asked about another home.
    #[must_use]
    pub fn at(&self, home: &Path) -> Self {
        Self { home: home.to_owned(), ..self.clone() }
    }

    /// The same program as another executable.
    ///
    /// # Panics
    /// If there is no room for it.
    #[must_use]
    pub fn copied_to(&self, path: &Path) -> Self {
        install(self.exe.as_os_str(), path);
        Self { exe: path.to_owned(), ..self.clone() }
    }

    /// The command, to be started in another way than `run` does.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.exe);
        command.args(args).env_clear().env("ABIDE_HOME", &self.home).env("HOME", &self.around);
        command.env("PATH", Self::PATH).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command
    }

    /// Runs a command to its end.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs a command with `--json` and gives what it printed.
    #[must_use]
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let (verb, rest) = args.split_at(1);
        self.run(&[verb, &["--json"], rest].concat()).json()
    }
}
