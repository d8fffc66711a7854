//! Many sessions for a long time: programs come and go, are typed into and looked at, and lose their helpers. Nothing of it
//! may be wrong, and what all of them take together may not grow.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use abide_sys::{clock, poll};
use rustix::process::Signal;

use super::memory::pss;
use super::{Bench, Tally, same};
use crate::Observer;
use crate::lines::Dice;

pub const SESSIONS: usize = 200;
pub const SECONDS: usize = 3600;
/// Says again what it is told, until it is told to end.
const PROGRAM: &str = "stty -echo; echo ready; while read -r word rest; do \
    case $word in exit) exit $rest;; *) echo \"$word $rest\";; esac; done";
const CLIENTS: usize = 8;
/// How long a client rests between two acts.
const REST: &str = "1s";
/// How often is looked what all of them take: so many times in all.
const LOOKS: usize = 60;
/// How much of a recording is kept, so that those who live long take no more than others.
const RECORDED: [&str; 4] = ["--keep", "last", "--max-recording", "4M"];
/// By how much the last quarter may exceed the second one.
const FLAT: f64 = 1.1;

/// # Errors
/// If an answer was wrong, or something grew.
pub fn run(sessions: usize, seconds: usize, out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let until_ms = clock::now().boot + seconds as u64 * 1000;
    let (mut taken, mut tally) = (Vec::new(), Tally::default());
    std::thread::scope(|scope| {
        let of = |client| sessions / CLIENTS + usize::from(client < sessions % CLIENTS);
        let begin = |client| Client { bench: &bench, dice: Dice(client as u64), places: Vec::new(), said: 0 };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || begin(client).live(of(client), until_ms)))
            .collect();
        let (pause, began) = (seconds as u64 * 1000 / LOOKS as u64, clock::now().boot);
        for look in 1..=LOOKS as u64 {
            let left = (began + look * pause).saturating_sub(clock::now().boot);
            let _ = poll::readable(&[], Some(left));
            taken.push(Taken::by(&bench));
        }
        for client in clients {
            tally.join(client.join().map_err(|_| io::Error::other("a client panicked"))??);
        }
        io::Result::Ok(())
    })?;
    writeln!(out, "{sessions} sessions for {seconds} s")?;
    tally.tell("  acts of clients", out)?;
    tell(&taken, out)
}

/// One who looks after some sessions.
struct Client<'a> {
    bench: &'a Bench,
    dice: Dice,
    places: Vec<String>,
    said: u64,
}

impl Client<'_> {
    /// Has so many sessions until then, and does this and that to them.
    fn live(mut self, sessions: usize, until_ms: u64) -> io::Result<Tally> {
        for _ in 0..sessions {
            let id = self.begin()?;
            self.places.push(id);
        }
        let mut tally = Tally::default();
        while clock::now().boot < until_ms {
            tally.round(|| self.act());
            let _ = self.bench.abide.run(&["wait", "--cap", REST, &self.places[0]]);
        }
        for place in 0..self.places.len() {
            tally.round(|| self.end(place));
        }
        Ok(tally)
    }

    fn begin(&self) -> io::Result<String> {
        let id = self.bench.launch_with(&RECORDED, &["sh", "-c", PROGRAM])?;
        self.bench.done(&["wait", "--text", "ready", "--timeout", "60s", &id])?;
        Ok(id)
    }

    fn act(&mut self) -> io::Result<()> {
        let place = self.dice.below(self.places.len() as u64) as usize;
        match self.dice.below(10) {
            0 => self.kill(place, "host"),
            1 => self.kill(place, "guard"),
            2 | 3 => {
                self.end(place)?;
                self.places[place] = self.begin()?;
                // Those that are over are kept for a while.
                self.bench.done(&["gc", "--keep", "100"]).map(drop)
            }
            4 => self.bench.done(&["snapshot", "--json", &self.places[place]]).map(drop),
            _ => self.speak(place),
        }
    }

    /// Types a line that no other types, and waits until it is said again.
    fn speak(&mut self, place: usize) -> io::Result<()> {
        self.said += 1;
        let line = format!("line {} of {:08x}", self.said, self.dice.below(1 << 31));
        let id = &self.places[place];
        let typed = self.bench.done(&["type", "--json", "--enter", id, &line])?.json();
        let since = typed["data"]["seq"].to_string();
        self.bench.done(&["wait", "--timeout", "50s", "--since", &since, "--text", &line, id]).map(drop)
    }

    /// Kills a helper, if there is one at this moment; another takes its place.
    fn kill(&mut self, place: usize, who: &str) -> io::Result<()> {
        if let Some(helper) = self.bench.process(&self.places[place], who) {
            helper.signal(Signal::KILL);
        }
        self.speak(place)
    }

    /// Has the program of a session exit, and makes sure that its code is told.
    fn end(&mut self, place: usize) -> io::Result<()> {
        let (id, code) = (&self.places[place], self.dice.below(100));
        self.bench.done(&["type", "--enter", id, &format!("exit {code}")])?;
        same("the code", self.bench.abide.run(&["wait", id]).code(), i32::try_from(code).ok())
    }
}

/// What all sessions take together at an instant.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// The average helper's.
    kib: f64,
    fds: f64,
    helpers: f64,
    disk_kib: f64,
}

impl Taken {
    fn by(bench: &Bench) -> Self {
        let listed = bench.abide.json(&["ls"]);
        let sessions = listed["data"]["sessions"].as_array().cloned().unwrap_or_default();
        let pids = sessions.iter().flat_map(|session| {
            ["guard", "host"].map(|who| session["processes"][who]["pid"].as_u64()).into_iter().flatten()
        });
        let pids = pids.filter_map(|pid| u32::try_from(pid).ok());
        let living: Vec<Observer> = pids.filter_map(Observer::find).collect();
        let fds = |one: &Observer| fs::read_dir(format!("/proc/{}/fd", one.pid())).map_or(0, Iterator::count);
        let (kib, fds) =
            living.iter().fold((0, 0), |(kib, open), one| (kib + pss(one.pid()), open + fds(one)));
        let helpers = living.len().max(1) as f64;
        let disk_kib = disk_kib(&bench.home.path()) as f64;
        Self { kib: kib as f64 / helpers, fds: fds as f64 / helpers, helpers: living.len() as f64, disk_kib }
    }
}

/// One of the figures.
type Kind = fn(&Taken) -> f64;

/// How much room a directory and all below it take. What is not there, or goes meanwhile, takes none.
fn disk_kib(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let room = |entry: fs::DirEntry| {
        let found = entry.path().symlink_metadata().ok()?;
        let below = if found.is_dir() { disk_kib(&entry.path()) } else { 0 };
        Some(found.blocks() / 2 + below)
    };
    entries.filter_map(room).sum()
}

/// Tells what was taken in each quarter of the time, and fails if the last exceeds the second.
fn tell(taken: &[Taken], out: &mut impl Write) -> io::Result<()> {
    let kinds: [(&str, Kind); 4] = [
        ("KiB PSS of a helper", |taken| taken.kib),
        ("descriptors of a helper", |taken| taken.fds),
        ("helpers", |taken| taken.helpers),
        ("KiB of disk in all", |taken| taken.disk_kib),
    ];
    let mut grown = Vec::new();
    for (what, of) in kinds {
        let quarters: Vec<f64> = taken.chunks(taken.len().div_ceil(4)).map(|some| median(some, of)).collect();
        let said: Vec<String> = quarters.iter().map(|figure| format!("{figure:.1}")).collect();
        writeln!(out, "  {what}, by quarters: {}", said.join(", "))?;
        if let [_, second, _, last] = quarters[..]
            && last > second * FLAT
        {
            grown.push(format!("{what}: from {second:.1} to {last:.1}"));
        }
    }
    if grown.is_empty() { Ok(()) } else { Err(io::Error::other(grown.join("; "))) }
}

fn median(taken: &[Taken], of: Kind) -> f64 {
    let mut figures: Vec<f64> = taken.iter().map(of).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
