//! What the benchmarks share: the released binary, sessions of it in a scratch home, and figures in a row.

pub mod batches;
pub mod crowds;
pub mod executing;
pub mod killing;
pub mod latency;
pub mod memory;
pub mod past;
pub mod pasting;
pub mod recording;
pub mod soaking;
pub mod stopping;
pub mod upgrading;
pub mod waiting;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_sys::clock;
use serde_json::Value;

use crate::{Abide, Observer, Ran, ScratchHome};

/// The released binary, built if it is not fresh: it stands beside this program.
///
/// # Errors
/// If this program is not a released one itself.
pub fn built() -> io::Result<PathBuf> {
    released("abide", "abide")
}

/// The fake agent, built likewise.
///
/// # Errors
/// As `built`.
pub fn agent() -> io::Result<String> {
    Ok(released("testkit", "fake-agent")?.display().to_string())
}

fn released(package: &str, program: &str) -> io::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{package}/Cargo.toml"));
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "-q", "--bin", program, "--manifest-path"]).arg(manifest);
    let status = build.status()?;
    let path = std::env::current_exe()?.with_file_name(program);
    let stale = !status.success() || !path.is_file();
    if stale {
        Err(io::Error::other("run with `cargo run --release`, so that all of it is built"))
    } else {
        Ok(path)
    }
}

/// The released binary at work in a home of its own. What it started is stopped with this value.
#[derive(Debug)]
pub struct Bench {
    pub home: ScratchHome,
    pub abide: Abide,
}

impl Bench {
    /// # Errors
    /// If there is no released binary.
    pub fn new() -> io::Result<Self> {
        let home = ScratchHome::new();
        let abide = Abide::new(built()?, &home);
        Ok(Self { home, abide })
    }

    /// Launches a program in a session, detached, and gives the session's ID.
    ///
    /// # Errors
    /// If that failed.
    pub fn launch(&self, command: &[&str]) -> io::Result<String> {
        self.launch_with(&[], command)
    }

    /// The same, with flags for `run`.
    ///
    /// # Errors
    /// If that failed.
    pub fn launch_with(&self, flags: &[&str], command: &[&str]) -> io::Result<String> {
        let ran = self.done(&[&["run", "-d"], flags, &["--"], command].concat())?;
        Ok(ran.stdout.trim_end().to_owned())
    }

    /// Runs a command that must exit with 0.
    ///
    /// # Errors
    /// If it did not: what it said.
    pub fn done(&self, args: &[&str]) -> io::Result<Ran> {
        let ran = self.abide.run(args);
        let wrong = || io::Error::other(format!("abide {}: {ran:?}", args.join(" ")));
        if ran.code() == Some(0) { Ok(ran) } else { Err(wrong()) }
    }

    /// Launches a script of `sh` that says when it is ready, and waits for that.
    ///
    /// # Errors
    /// If it never is.
    pub fn ready(&self, script: &str) -> io::Result<String> {
        let id = self.launch(&["sh", "-c", script])?;
        self.done(&["wait", "--text", "ready", "--timeout", "60s", &id])?;
        Ok(id)
    }

    /// What is true of a session.
    #[must_use]
    pub fn inspect(&self, id: &str) -> Value {
        self.abide.json(&["inspect", id])["data"].take()
    }

    /// A helper or the program of a session, if it is alive.
    #[must_use]
    pub fn process(&self, id: &str, who: &str) -> Option<Observer> {
        let told = &self.inspect(id)["processes"][who];
        let alive = told["liveness"] == "alive";
        let pid = told["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        pid.filter(|_| alive).and_then(Observer::find)
    }

    /// Lets the machine come to rest.
    pub fn rest(&self, id: &str) {
        let _ = self.abide.run(&["wait", "--cap", "2s", id]);
    }

    /// A path beside the home.
    #[must_use]
    pub fn beside(&self, name: &str) -> String {
        self.home.around().join(name).display().to_string()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let listed = self.abide.run(&["ls", "-q"]).stdout;
        for id in listed.lines() {
            let _ = self.abide.run(&["stop", "--grace", "0s", id]);
        }
    }
}

/// Makes sure that something is as it should be.
///
/// # Errors
/// If it is not.
pub fn same<T: std::fmt::Debug + PartialEq>(what: &str, seen: T, wanted: T) -> io::Result<()> {
    let other = || io::Error::other(format!("{what}: {seen:?} and not {wanted:?}"));
    if seen == wanted { Ok(()) } else { Err(other()) }
}

/// What became of many rounds of the same: how long each took, and what went wrong in which.
#[derive(Debug, Default)]
pub struct Tally {
    rounds: usize,
    took: Figures,
    failed: Vec<String>,
}

impl Tally {
    /// Does a round, and counts it.
    pub fn round(&mut self, act: impl FnOnce() -> io::Result<()>) {
        let began = clock::boot_micros();
        let done = act();
        self.took.add(clock::boot_micros() - began);
        self.rounds += 1;
        self.failed.extend(done.err().map(|why| format!("round {}: {why}", self.rounds)));
    }

    /// Counts what another counted, too.
    pub fn join(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.took.join(other.took);
        self.failed.extend(other.failed);
    }

    /// How many rounds there were.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        self.rounds
    }

    /// How many went well, and how long they took.
    ///
    /// # Errors
    /// If one did not, or it cannot be told.
    pub fn tell(&self, what: &str, out: &mut impl io::Write) -> io::Result<()> {
        let well = self.rounds - self.failed.len();
        writeln!(out, "{what}: {well} of {} right, {}", self.rounds, self.took.says())?;
        if self.failed.is_empty() { Ok(()) } else { Err(io::Error::other(self.failed.join("\n"))) }
    }
}

/// Some figures of one kind, in us.
#[derive(Debug, Default)]
pub struct Figures(Vec<u64>);

impl Figures {
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds how long something took.
    ///
    /// # Errors
    /// That of what took so long.
    pub fn time(&mut self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let began = clock::boot_micros();
        act()?;
        self.add(clock::boot_micros() - began);
        Ok(())
    }

    pub fn add(&mut self, micros: u64) {
        self.0.push(micros);
        self.0.sort_unstable();
    }

    pub fn join(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_unstable();
    }

    /// The figure that so many of a hundred do not exceed.
    #[must_use]
    pub fn of_hundred(&self, percent: usize) -> u64 {
        let at = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Median, 99th of a hundred, and the worst, in ms.
    #[must_use]
    pub fn says(&self) -> String {
        let ms = |percent| self.of_hundred(percent) as f64 / 1000.0;
        format!("median {:.2} ms, p99 {:.2} ms, worst {:.2} ms", ms(50), ms(99), ms(100))
    }
}
