//! A picture of a screen.

use std::io;

use abide_testkit::ScratchDir;

use crate::figure::{Bar, Line};
use crate::gate::gate;
use crate::place::Place;
use crate::row::Row;
use crate::text;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "screenshot",
    work: "`screenshot` of 120x40 as PNG",
    method: "a screen of 120 by 40 full of colourful text, drawn into a file by a command",
    take,
};

const ROUNDS: usize = 60;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let file = dir.file("screen", &text::screen(40, 120));
    let gate = gate(dir.path(), "gate")?;
    let script = format!("cat {}; exec cat {}", file.display(), gate.path());
    let id = bench.launch_with(&["--size", "120x40"], &["sh", "-c", &script])?;
    bench.done(&["wait", "--text", &text::row(39, 120), "--timeout", "60s", &id])?;
    let picture = dir.join("picture.png").display().to_string();
    let way = Way::command("abide", bench.abide.command(&["screenshot", "-o", &picture, &id]));
    let turns = Turns::take(place.of(ROUNDS), vec![way])?;
    let line = Line::new(ROW.work, turns.p("abide", 50), Bar::Within(50.0));
    Ok(vec![line.beside("p99", turns.p("abide", 99))])
}
