//! A list of many sessions that are alive, each of which is proved to be.

use std::io;
use std::process::Command;

use abide_testkit::ScratchDir;
use abide_testkit::bench::same;

use crate::figure::{Bar, Line};
use crate::gate::gate;
use crate::peer::{Peer, Tmux};
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way, told};

pub const ROW: Row = Row {
    name: "list",
    work: "`ls` of 500 live sessions",
    method: "500 sessions of each at once; `abide ls` beside `tmux list-sessions`. Floor: `true`",
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
        Way::command("true", Command::new("/bin/true")),
    ];
    ways.extend(tmux.as_ref().map(|tmux| Way::command("tmux", tmux.list())));
    let turns = Turns::take(place.of(ROUNDS), ways)?;
    let line = Line::new(ROW.work, turns.p("abide", 50), Bar::AtMost(1.0));
    Ok(vec![line.against("tmux", turns.median("tmux")).floor("`true`", turns.p("true", 50))])
}
