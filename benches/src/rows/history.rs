//! A list of many sessions that are over.

use std::io;
use std::ops::Range;
use std::path::Path;

use abide_core::evidence::How;
use abide_core::identity::Identity;
use abide_testkit::scene::{Scene, dead, launch};

use crate::figure::{Bar, Figure, Line, Unit};
use crate::floor;
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "history",
    work: "`ls -a` of 10,000 ended sessions",
    method: "homes of ended sessions that a test has told; `abide ls -a`, which also looks for agents among the processes of \
             the machine. Floor: a process that lists them, and opens and reads the evidence of each; it understands nothing of \
             that, asks for nothing else and prints nothing. As many threads as processors. Growth: what 10,000 take, by what \
             1,000 take",
    take,
};

const FEW: usize = 1_000;
const MANY: usize = 10_000;
const ROUNDS: usize = 40;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, process) = (place.bench(), dead());
    let home = bench.home.path();
    let take = |numbers: Range<usize>| {
        tell(&home, numbers, &process);
        let ways = vec![
            Way::command("abide", bench.abide.command(&["ls", "-a"])),
            Way::command("files", floor::ended(&home.join("sessions"))?),
        ];
        Turns::take(place.of(ROUNDS), ways)
    };
    let few = take(0..FEW)?.p("abide", 50);
    let turns = take(FEW..MANY)?;
    let many = turns.p("abide", 50);
    let growth = Figure::new(many.value / few.value, Unit::Times);
    let most = MANY as f64 / FEW as f64;
    Ok(vec![
        Line::new(ROW.work, many, Bar::Within(100.0))
            .beside("1,000 of them", few)
            .floor("reading their files", turns.p("files", 50)),
        Line::new("growth from 1,000 to 10,000", growth, Bar::Within(most)),
    ])
}

/// Adds ended sessions to a home.
fn tell(home: &Path, numbers: Range<usize>, process: &Identity) {
    for number in numbers {
        let id = format!("{number:08}");
        let mut launched = launch(&id, process);
        launched.name = Some(format!("nightly-{number}"));
        let scene = Scene::new(home, &id).guarded(process).launched_as(launched).hosted(process);
        drop(scene.started(process).ended(How::Exited { code: 0 }));
    }
}
