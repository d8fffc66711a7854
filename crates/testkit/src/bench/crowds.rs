//! Many sessions, each driven by a client of its own, all at once: each shows exactly its own lines, in their order, and
//! nothing is left of them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use abide_sys::clock;

use super::memory::pss;
use super::{Bench, Tally, same};
use crate::Observer;
use crate::deadline::until;
use crate::lines::Dice;

pub const SESSIONS: usize = 100;
pub const SECONDS: usize = 60;
/// Shows every line that is typed, once.
const ECHO: &str = "stty -echo; echo ready; exec cat";
/// The rows above the one with the cursor.
const ROWS: usize = 23;
/// How many lines there are to a snapshot.
const LOOKS: usize = 5;

/// # Errors
/// If a line was lost or came elsewhere, or something is left.
pub fn run(sessions: usize, seconds: usize, out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let ids = (0..sessions).map(|_| bench.ready(ECHO)).collect::<io::Result<Vec<_>>>()?;
    let roles = ["guard", "host", "program"];
    let processes = roles.map(|who| ids.iter().filter_map(|id| bench.process(id, who)).collect::<Vec<_>>());
    same("guards, hosts and programs", processes.each_ref().map(Vec::len), [sessions; 3])?;
    let held = || {
        bench.rest(&ids[0]);
        processes.each_ref().map(|them| Held::by(them))
    };
    let start = |(place, id)| Client {
        bench: &bench,
        place,
        id,
        shown: vec!["ready".into()],
        tally: Tally::default(),
    };
    let mut clients: Vec<Client<'_>> = ids.iter().map(String::as_str).enumerate().map(start).collect();
    let before = held();
    drive(&mut clients, seconds as u64 * 500);
    // What is touched for the first time is touched by now: what still grows grows with the work.
    let half_way = held();
    drive(&mut clients, seconds as u64 * 500);
    let after = held();
    writeln!(out, "{sessions} sessions driven by as many clients at once for {seconds} s")?;
    for (place, who) in roles.iter().enumerate().take(2) {
        let [first, then, last] = [before, half_way, after].map(|held| held[place].says());
        writeln!(out, "  each {who}: {first} before, {then} half-way, {last} after")?;
    }
    finish(clients, out)?;
    let all: Vec<Observer> = processes.into_iter().flatten().collect();
    until("guards and hosts have ended", || all.iter().all(|one| !one.lives()));
    same("processes left", processes_of(&bench.home.path())?, 0)?;
    writeln!(out, "  left of {} processes: 0", all.len())?;
    same("descriptors", after.map(|held| held.fds), before.map(|held| held.fds))
}

/// Lets every client drive its session for so many ms, all at once.
fn drive(clients: &mut [Client<'_>], ms: u64) {
    let until_ms = clock::now().boot + ms;
    std::thread::scope(|scope| {
        for client in clients {
            scope.spawn(move || client.drive(until_ms));
        }
    });
}

/// Ends every session, and makes sure that its log is what its client typed.
fn finish(clients: Vec<Client<'_>>, out: &mut impl Write) -> io::Result<()> {
    let counts = clients.iter().map(|client| client.shown.len() - 1);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let (mut seen, mut logs) = (Tally::default(), Tally::default());
    for client in clients {
        logs.round(|| client.end());
        seen.join(client.tally);
    }
    let seen = seen.tell(&format!("  {least} to {most} lines a session, typed and seen"), out);
    logs.tell("  logs with exactly these lines in their order", out).and(seen)
}

/// Who drives one session.
#[derive(Debug)]
struct Client<'a> {
    bench: &'a Bench,
    place: usize,
    id: &'a str,
    /// What the session must show.
    shown: Vec<String>,
    tally: Tally,
}

impl Client<'_> {
    /// Types lines that no other types until the time is over, and looks whether they come.
    fn drive(&mut self, until_ms: u64) {
        let mut dice = Dice(self.place as u64);
        while clock::now().boot < until_ms {
            let number = self.shown.len();
            self.shown.push(format!("client {} line {number} {:08x}", self.place, dice.below(1 << 31)));
            let mut tally = std::mem::take(&mut self.tally);
            tally.round(|| self.line(number));
            self.tally = tally;
        }
    }

    fn line(&self, number: usize) -> io::Result<()> {
        let line = &self.shown[number];
        let typed = self.bench.done(&["type", "--json", "--enter", self.id, line])?.json();
        let since = typed["data"]["seq"].to_string();
        self.bench.done(&["wait", "--timeout", "50s", "--since", &since, "--text", line, self.id])?;
        if !number.is_multiple_of(LOOKS) {
            return Ok(());
        }
        let looked = self.bench.done(&["snapshot", self.id])?.stdout;
        let seen: Vec<&str> = looked.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let rows = self.shown.len().saturating_sub(ROWS);
        same("the screen", seen, self.shown[rows..].iter().map(String::as_str).collect())
    }

    fn end(&self) -> io::Result<()> {
        self.bench.done(&["keys", self.id, "Ctrl-D"])?;
        self.bench.done(&["wait", self.id])?;
        let log = self.bench.done(&["logs", self.id])?.stdout;
        let other = log.lines().zip(&self.shown).position(|(seen, typed)| seen != typed);
        same(
            "(lines in the log, the first other one)",
            (log.lines().count(), other),
            (self.shown.len(), None),
        )
    }
}

/// What some processes hold on average.
#[derive(Debug, Clone, Copy)]
struct Held {
    fds: usize,
    kib: u64,
    of: usize,
}

impl Held {
    fn by(processes: &[Observer]) -> Self {
        let fds = |pid: u32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        let pids = processes.iter().map(Observer::pid);
        Self { fds: pids.clone().map(fds).sum(), kib: pids.map(pss).sum(), of: processes.len() }
    }

    fn says(self) -> String {
        let each = |sum: f64| sum / self.of as f64;
        format!("{:.2} descriptors and {:.0} KiB PSS", each(self.fds as f64), each(self.kib as f64))
    }
}

/// How many processes were started for a home and live.
fn processes_of(home: &Path) -> io::Result<usize> {
    let home = home.display().to_string();
    let environs =
        fs::read_dir("/proc")?.flatten().filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    Ok(environs.filter(|environ| String::from_utf8_lossy(environ).contains(&home)).count())
}
