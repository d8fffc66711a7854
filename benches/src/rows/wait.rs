//! From the end of a program to the return of whoever waits for it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abide_sys::clock;
use abide_testkit::ScratchDir;
use abide_testkit::bench::{Bench, Figures};
use abide_testkit::deadline::until;

use crate::figure::{Bar, Figure, Line};
use crate::floor::{Helpers, Session};
use crate::gate::{Gate, gate};
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "wait",
    work: "end of the program until `wait` returns",
    method: "`cat FIFO` ends when the FIFO is closed; the clock runs until the waiting process is reaped: `abide wait`, and a \
             bare owner of a terminal, a program that opens one, starts `cat` in it, reads, and ends when `cat` has ended. \
             Floor: a bare guard and one who waits: the owner of the terminal reaps `cat`, lists its children for survivors, looks for a \
             declared result under the lock that keeps others from declaring one, writes as much evidence and outcome as ours and \
             rings the FIFO `alive`; the other is woken, reads the evidence and ends. Beside: `cat` itself, reaped by its parent. Then 1,000 `abide wait` at once, until the last is reaped",
    take,
};

const ROUNDS: usize = 200;
const CROWD: usize = 1_000;
const CROWDS: usize = 3;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let own = std::env::current_exe()?;
    let bare = Way::new("bare owner", |_| {
        let gate = gate(dir.path(), "bare")?;
        let mut command = Command::new(&own);
        command.args(["--own", "/bin/cat"]).arg(gate.path());
        ended(&gate, vec![null(command)?])
    });
    let floor = Way::new("floor", |round| told(dir.path(), round));
    let parent = Way::new("parent", |_| {
        let gate = gate(dir.path(), "parent")?;
        let mut command = Command::new("/bin/cat");
        command.arg(gate.path());
        ended(&gate, vec![null(command)?])
    });
    let ours = Way::new("abide", |_| waited(&bench, &gate(dir.path(), "ours")?, 1));
    let turns = Turns::take(place.of(ROUNDS), vec![bare, ours, floor, parent])?;
    let mut crowd = Figures::default();
    for _ in 0..if place.options.quick { 1 } else { CROWDS } {
        crowd.add(waited(&bench, &gate(dir.path(), "crowd")?, place.of(CROWD))?);
    }
    let median = Line::new(ROW.work, turns.p("abide", 50), Bar::AtMost(1.5));
    let p99 =
        Line::new("end of the program until `wait` returns, p99", turns.p("abide", 99), Bar::Within(5.0));
    let crowd = Figure::micros(crowd.of_hundred(50));
    Ok(vec![
        median
            .against("bare owner", turns.median("bare owner"))
            .floor("a bare guard and waiter", turns.p("floor", 50))
            .beside("parent's `waitpid`", turns.p("parent", 50)),
        p99.floor("a bare guard and waiter", turns.p("floor", 99))
            .beside("bare owner", turns.p("bare owner", 99))
            .beside("parent", turns.p("parent", 99)),
        Line::new("1,000 waiters, until the last returns", crowd, Bar::Within(1000.0)),
    ])
}

/// Us from the end of a bare session until its one waiter is gone.
fn told(dir: &Path, round: usize) -> io::Result<u64> {
    let gate = gate(dir, "floor")?;
    let program = ["/bin/cat", &gate.path()];
    let session = Session::launch(&dir.join("home"), &format!("bare{round}"), Helpers::Nobody, &program)?;
    let waiter = null(session.waiting()?)?;
    until("it waits", || waits(waiter.id()));
    let took = ended(&gate, vec![waiter])?;
    session.gone()?;
    Ok(took)
}

/// Us from the end of a session until so many waiters are gone.
fn waited(bench: &Bench, gate: &Gate, waiters: usize) -> io::Result<u64> {
    let id = bench.launch(&["cat", &gate.path()])?;
    let mut started = Vec::new();
    for _ in 0..waiters {
        started.push(null(bench.abide.command(&["wait", &id]))?);
    }
    for waiter in &started {
        until("it waits", || waits(waiter.id()));
    }
    let took = ended(gate, started)?;
    bench.done(&["rm", &id])?;
    Ok(took)
}

/// Started, and neither told nor heard.
fn null(mut command: Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Whether a process waits on the end of a session: it holds what wakes it.
fn waits(pid: u32) -> bool {
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    fds.filter_map(|fd| std::fs::read_link(fd.path()).ok()).any(|file| file.ends_with("alive"))
}

/// Lets the program at the gate end, and gives the us until all of these are reaped.
fn ended(gate: &Gate, mut started: Vec<Child>) -> io::Result<u64> {
    let held = gate.held();
    let began = clock::boot_micros();
    drop(held);
    for process in &mut started {
        let status = process.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("who waits ended with {status}")));
        }
    }
    Ok(clock::boot_micros() - began)
}
