//! The least that a command of ours costs.

use std::io;
use std::process::Command;

use crate::figure::{Bar, Line};
use crate::floor;
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "cold",
    work: "cold start of the command line",
    method: "`abide version` beside `tmux -V`, started and reaped. Floor: an executable as ours that does nothing",
    take,
};

const ROUNDS: usize = 400;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let bench = place.bench();
    let mut ways = vec![
        Way::command("abide", bench.abide.command(&["version"])),
        Way::command("nothing", floor::command(&["nothing"])?),
    ];
    if let Some(tmux) = place.peers.path("tmux") {
        let mut version = Command::new(tmux);
        version.arg("-V");
        ways.push(Way::command("tmux", version));
    }
    let turns = Turns::take(place.of(ROUNDS), ways)?;
    let line = Line::new(ROW.work, turns.p("abide", 50), Bar::AtMost(1.0));
    Ok(vec![line.against("tmux", turns.median("tmux")).floor("doing nothing", turns.p("nothing", 50))])
}
