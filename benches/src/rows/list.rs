//! A list of many sessions that are alive, each of which is proved to be.

use std::io;

use abide_testkit::ScratchDir;
use abide_testkit::bench::{Bench, same};
use serde_json::Value;

use crate::figure::{Bar, Line};
use crate::floor;
use crate::gate::gate;
use crate::peer::{Peer, Tmux};
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way, told};

pub const ROW: Row = Row {
    name: "list",
    work: "`ls` of 500 live sessions",
    method: "500 sessions of each at once; `abide ls` beside `tmux list-sessions`. Floor: a process that is told \
             the pids, and for each of these sessions opens and reads its evidence and its outcome, asks for the locks of guard and \
             host, looks whether the program has ended and reads its status in `/proc`; it understands nothing of that and prints \
             nothing. As many threads as processors",
    take,
};

const SESSIONS: usize = 500;
const ROUNDS: usize = 60;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let (tmux, gate) = (Tmux::start(place).ok(), gate(dir.path(), "gate")?);
    let sessions = place.of(SESSIONS);
    let program = ["cat", &gate.path()];
    for number in 0..sessions {
        bench.launch(&program)?;
        if let Some(tmux) = &tmux {
            let ran = tmux.create(&format!("of{number}"), &program).status()?;
            same("tmux makes a session", ran.code(), Some(0))?;
        }
    }
    let listed = told(&mut bench.abide.command(&["ls", "-q"]))?.lines().count();
    same("sessions listed", listed, sessions)?;
    let mut ways = vec![
        Way::command("abide", bench.abide.command(&["ls"])),
        Way::command("questions", floor::proving(&bench.home.path().join("sessions"), &told_of(&bench))?),
    ];
    ways.extend(tmux.as_ref().map(|tmux| Way::command("tmux", tmux.list())));
    let turns = Turns::take(place.of(ROUNDS), ways)?;
    let line = Line::new(ROW.work, turns.p("abide", 50), Bar::AtMost(1.0));
    Ok(vec![
        line.against("tmux", turns.median("tmux")).floor("its questions alone", turns.p("questions", 50)),
    ])
}

/// Each with its program's pid, `ID:PID`.
fn told_of(bench: &Bench) -> Vec<String> {
    let listed = bench.abide.json(&["ls"])["data"]["sessions"].take();
    let told = |session: &Value| {
        Some(format!("{}:{}", session["id"].as_str()?, session["processes"]["program"]["pid"]))
    };
    listed.as_array().into_iter().flatten().filter_map(told).collect()
}
