//! The visible text of a screen, asked for by a command.

use std::io;

use abide_testkit::ScratchDir;
use abide_testkit::bench::{Bench, same};
use abide_testkit::deadline::until;

use crate::figure::{Bar, Line};
use crate::floor::Answerer;
use crate::gate::{Gate, gate};
use crate::peer::{Peer, Tmux};
use crate::place::Place;
use crate::row::Row;
use crate::text;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "snapshot",
    work: "snapshot of a screen",
    method: "a screen of 80 by 24 full of colourful text, behind lines that scrolled by; `abide snapshot` beside `tmux capture-pane \
             -p`. Floor: a bare client, which connects to a socket and writes what it is sent: that text",
    take,
};

const ROUNDS: usize = 200;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let shown = Shown::new(place)?;
    let answerer = Answerer::of(shown.bench.done(&["snapshot", &shown.id])?.stdout)?;
    let mut ways = vec![
        Way::command("abide", shown.bench.abide.command(&["snapshot", &shown.id])),
        Way::command("client", answerer.asking()?),
    ];
    if let Some(tmux) = &shown.tmux {
        ways.push(Way::command("tmux", tmux.command(&["capture-pane", "-p", "-t", "shown"])));
    }
    let turns = Turns::take(place.of(ROUNDS), ways)?;
    let line = Line::new(ROW.work, turns.p("abide", 50), Bar::AtMost(1.0));
    Ok(vec![line.against("tmux", turns.median("tmux")).floor("a bare client", turns.p("client", 50))])
}

/// The same screen in a session and in tmux, for as long as this lives.
pub struct Shown {
    pub bench: Bench,
    pub id: String,
    pub tmux: Option<Tmux>,
    _gate: Gate,
    _dir: ScratchDir,
}

impl Shown {
    pub fn new(place: &Place) -> io::Result<Self> {
        let (bench, dir) = (place.bench(), ScratchDir::new());
        let file = dir.file("screen", &text::screen(24, 80));
        let gate = gate(dir.path(), "gate")?;
        let script = format!("cat {}; exec cat {}", file.display(), gate.path());
        let last = text::row(23, 80);
        let id = bench.launch(&["sh", "-c", &script])?;
        bench.done(&["wait", "--text", &last, "--timeout", "60s", &id])?;
        let seen = bench.done(&["snapshot", &id])?.stdout;
        same("the last row", seen.lines().nth(22).map(str::trim_end), Some(last.trim_end()))?;
        let tmux = Tmux::start(place).ok();
        if let Some(tmux) = &tmux {
            tmux.made("shown", &["sh", "-c", &script])?;
            until("tmux shows it", || tmux.shows("shown", last.trim_end()));
        }
        Ok(Self { bench, id, tmux, _gate: gate, _dir: dir })
    }
}
