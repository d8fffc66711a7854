//! Peers: what else keeps programs in sessions. Found or installed, and each asked in its own words to make a session and to
//! list. Each has its own sockets and settings in a scratch directory, and ends with its value.

mod dtach;
mod pueue;
mod screen;
mod shpool;
mod tmux;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_testkit::bench::Bench;
use abide_testkit::deadline::until;
use abide_testkit::tools::needed;
use abide_testkit::{Abide, ScratchDir};

pub use self::screen::Screen;
pub use self::tmux::Tmux;
use crate::place::Place;
use crate::processes::{marked, pss};
use crate::turns::told;

/// What Debian has.
const PACKAGES: [&str; 6] = ["tmux", "dtach", "abduco", "screen", "script", "asciinema"];
/// What is built, and the program by which each is known.
const CRATES: [&str; 2] = ["shpool", "pueue"];

/// Keeps programs in sessions.
pub trait Peer {
    fn name(&self) -> &'static str;

    /// Makes a session of this name in which this program runs.
    fn create(&self, session: &str, program: &[&str]) -> Command;

    /// Lists the sessions that are not over.
    fn list(&self) -> Command;

    /// The processes that keep the sessions, without their programs.
    fn keepers(&self) -> Vec<u32>;

    fn lists(&self, session: &str) -> io::Result<bool> {
        Ok(told(&mut self.list())?.split(|sign: char| !sign.is_alphanumeric()).any(|word| word == session))
    }

    /// Makes a session and looks whether it is listed, until it is.
    fn made(&self, session: &str, program: &[&str]) -> io::Result<()> {
        let ran = self.create(session, program).output()?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            return Err(io::Error::other(format!("{} makes no session: {said}", self.name())));
        }
        while !self.lists(session)? {}
        Ok(())
    }

    fn gone(&self, session: &str) {
        let what = format!("{} does not list {session} any more", self.name());
        until(&what, || self.lists(session).is_ok_and(|lists| !lists));
    }

    /// The memory of all that keeps the sessions, in KiB.
    fn kib(&self) -> io::Result<u64> {
        let kib = self.keepers().into_iter().map(pss).collect::<Option<Vec<u64>>>();
        let kib = kib.filter(|kib| !kib.is_empty()).map(|kib| kib.iter().sum());
        kib.ok_or_else(|| io::Error::other(format!("the memory of {} cannot be read", self.name())))
    }
}

/// A peer that was found, and those that were not, with the reason.
#[derive(Debug)]
pub struct Peers {
    found: BTreeMap<&'static str, PathBuf>,
    missing: Vec<(&'static str, String)>,
}

impl Peers {
    /// Installs what can be.
    pub fn find() -> Self {
        let mut peers = Self { found: BTreeMap::new(), missing: Vec::new() };
        for name in PACKAGES {
            let known = needed(&[name]).and_then(|()| on_path(name));
            peers.note(name, known);
        }
        for name in CRATES {
            peers.note(name, built(name));
        }
        peers
    }

    fn note(&mut self, name: &'static str, found: io::Result<PathBuf>) {
        match found {
            Ok(path) => drop(self.found.insert(name, path)),
            Err(why) => self.missing.push((name, why.to_string())),
        }
    }

    pub fn path(&self, name: &str) -> Option<&Path> {
        self.found.get(name).map(PathBuf::as_path)
    }

    pub fn tell_missing(&self, out: &mut impl Write) -> io::Result<()> {
        self.missing.iter().try_for_each(|(name, why)| writeln!(out, "without {name}: {why}"))
    }

    /// Each with its version, as it says it; and what is missing.
    pub fn versions(&self) -> Vec<String> {
        let version = |(name, path): (&&str, &PathBuf)| {
            let flag = match *name {
                "tmux" => "-V",
                "abduco" => "-v",
                "shpool" => "version",
                _ => "--version",
            };
            let said = told(Command::new(path).arg(flag)).unwrap_or_default();
            let numbers = said.split_ascii_whitespace();
            let number =
                numbers.into_iter().find(|word| word.starts_with(|sign: char| sign.is_ascii_digit()));
            format!("{name} {}", number.unwrap_or("of unknown version"))
        };
        let missing = self.missing.iter().map(|(name, _)| format!("{name} (not here)"));
        self.found.iter().map(version).chain(missing).collect()
    }
}

fn on_path(name: &str) -> io::Result<PathBuf> {
    let paths = Abide::PATH.split(':').map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| path.is_file()).ok_or_else(|| io::Error::other("not there"))
}

/// A program of a crate, built if it is not there yet.
fn built(name: &str) -> io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    let path = root.join("bin").join(name);
    if path.is_file() {
        return Ok(path);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    writeln!(io::stdout(), "cargo install {name}, below target/peers")?;
    let ran = Command::new(cargo).args(["install", "--locked", "-q", name, "--root"]).arg(root).output()?;
    let last = String::from_utf8_lossy(&ran.stderr).trim().lines().last().unwrap_or_default().to_owned();
    let failed = || io::Error::other(format!("cargo install {name} failed: {last}"));
    if ran.status.success() && path.is_file() { Ok(path) } else { Err(failed()) }
}

/// Everyone that can be asked for sessions and a list of them, abide first.
pub fn everyone<'a>(place: &Place, bench: &'a Bench) -> io::Result<Vec<Box<dyn Peer + 'a>>> {
    let mut all: Vec<Box<dyn Peer + 'a>> = vec![Box::new(Ours(bench))];
    if place.peers.path("tmux").is_some() {
        all.push(Box::new(Tmux::start(place)?));
    }
    for name in ["dtach", "abduco"] {
        let found = place.peers.path(name);
        all.extend(found.map(|exe| -> Box<dyn Peer> { Box::new(dtach::Dtach::new(name, exe)) }));
    }
    if let Some(screen) = Screen::new(place) {
        all.push(Box::new(screen));
    }
    if let Some(exe) = place.peers.path("shpool") {
        all.push(Box::new(shpool::Shpool::start(exe)?));
    }
    if let Some(exe) = place.peers.path("pueue") {
        all.push(Box::new(pueue::Pueue::start(exe)?));
    }
    Ok(all)
}

/// abide itself, asked as the others are.
struct Ours<'a>(&'a Bench);

impl Peer for Ours<'_> {
    fn name(&self) -> &'static str {
        "abide"
    }

    fn create(&self, session: &str, program: &[&str]) -> Command {
        self.0.abide.command(&[&["run", "-d", "--name", session, "--"], program].concat())
    }

    fn list(&self) -> Command {
        self.0.abide.command(&["ls"])
    }

    /// Removed as well: others keep nothing of what is over.
    fn gone(&self, session: &str) {
        let _ = self.0.abide.run(&["wait", session]);
        let _ = self.0.abide.run(&["rm", session]);
    }

    fn keepers(&self) -> Vec<u32> {
        let listed = self.0.abide.json(&["ls"])["data"]["sessions"].take();
        let both = |session: &serde_json::Value| {
            ["guard", "host"].map(|who| session["processes"][who]["pid"].as_u64())
        };
        let pids = listed.as_array().into_iter().flatten().flat_map(both).flatten();
        pids.filter_map(|pid| u32::try_from(pid).ok()).collect()
    }
}

/// A command with nothing in its environment but what any program needs, and a scratch directory by which what it starts
/// is known.
fn command(exe: &Path, dir: &ScratchDir) -> Command {
    let mut command = Command::new(exe);
    command.env_clear().env("HOME", dir.path()).env("PATH", Abide::PATH).env("LC_ALL", "C.UTF-8");
    command.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").current_dir(dir.path());
    command
}

/// The processes of these names that were started for a scratch directory.
fn of(dir: &ScratchDir, names: &[&str]) -> Vec<u32> {
    marked(&dir.path().display().to_string(), names)
}

/// Closed to others, as sockets' directories must be.
fn closed(dir: &ScratchDir, name: &str) -> io::Result<PathBuf> {
    let path = dir.join(name);
    fs::create_dir(&path)?;
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(path)
}
