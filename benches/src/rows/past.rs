//! The screen at any instant of a gigabyte.

use std::io;
use std::process::Stdio;

use abide_testkit::ScratchDir;
use abide_testkit::deadline::until;
use abide_testkit::lines::Dice;

use crate::figure::{Bar, Figure, Line, Unit};
use crate::place::Place;
use crate::processes::await_end;
use crate::row::Row;
use crate::text;
use crate::turns::{Turns, Way, timed};

pub const ROW: Row = Row {
    name: "past",
    work: "`snapshot --at` in 1 GiB",
    method: "a session that showed 1 GiB of colourful lines, and pages in the other screen in between; the screen at instants by \
             chance, a command each, once its host has written its last keyframe and ended",
    take,
};

const BYTES: usize = 1 << 30;
const INSTANTS: usize = 200;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let file = dir.join("text");
    let bytes = text::write(&file, place.of(BYTES) as u64, text::mixed)?;
    let id = bench.launch(&["cat", &file.display().to_string()])?;
    let mut helpers = Vec::new();
    until("the session is served", || {
        helpers = ["guard", "host"].iter().filter_map(|who| bench.process(&id, who)).collect();
        helpers.len() == 2
    });
    // It may take longer than any command that is waited for.
    let status = bench.abide.command(&["wait", &id]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the session was to end with 0: {status}")));
    }
    let at_once = timed(&mut bench.abide.command(&["snapshot", "--at", &format!("seq:{bytes}"), &id]))?;
    // Until then the host still feeds its screen with what came at last.
    helpers.iter().for_each(|one| await_end(one.pid()));
    let mut dice = Dice(bytes);
    let way = Way::new("abide", |_| {
        let at = format!("seq:{}", dice.below(bytes));
        timed(&mut bench.abide.command(&["snapshot", "--at", &at, &id]))
    });
    let turns = Turns::take(place.of(INSTANTS), vec![way])?;
    let size = Figure::new(bytes as f64 / f64::from(1 << 20), Unit::Mib);
    Ok(vec![
        Line::new(ROW.work, turns.p("abide", 50), Bar::Within(50.0)).beside("shown", size),
        Line::new("`snapshot --at` in 1 GiB, p99", turns.p("abide", 99), Bar::Stated)
            .beside("worst", turns.p("abide", 100)),
        Line::new(
            "the last screen, asked for as soon as `wait` returns",
            Figure::micros(at_once),
            Bar::Stated,
        ),
    ])
}
