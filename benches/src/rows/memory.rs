//! What idle sessions take: the proportional set size of all processes that keep them, without their programs.

use std::io;

use abide_testkit::bench::Bench;
use abide_testkit::deadline::until;
use abide_testkit::{Observer, ScratchDir};

use crate::figure::{Bar, Figure, Line, Unit};
use crate::gate::gate;
use crate::peer::everyone;
use crate::place::Place;
use crate::row::Row;

pub const ROW: Row = Row {
    name: "memory",
    work: "memory of an idle session, of 100",
    method: "PSS of all that keeps 100 sessions of `cat FIFO`, by 100: guards and hosts; a server or daemon counts whole. One \
             after the other: what processes share is shared with their own kind alone",
    take,
};

const SESSIONS: usize = 100;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let mut took = Vec::new();
    for peer in everyone(place, &bench)?.into_iter().filter(|peer| peer.name() != "pueue") {
        let (name, gate) = (peer.name(), gate(dir.path(), peer.name())?);
        for number in 0..SESSIONS {
            peer.made(&format!("of{number}"), &["cat", &gate.path()])?;
        }
        if name == "abide" {
            settle(&bench);
        }
        took.push((name, Figure::new(peer.kib()? as f64 / SESSIONS as f64, Unit::Kib)));
        let keepers: Vec<Observer> = peer.keepers().into_iter().filter_map(Observer::find).collect();
        gate.open();
        drop(peer);
        keepers.iter().for_each(Observer::await_end);
    }
    let of = |name: &str| took.iter().find(|one| one.0 == name).map(|one| one.1);
    let ours = of("abide").ok_or_else(|| io::Error::other("no figure of abide"))?;
    let mut line = Line::new(ROW.work, ours, Bar::Within(600.0)).against("shpool", of("shpool"));
    for (name, figure) in took.iter().filter(|one| !["abide", "shpool"].contains(&one.0)) {
        line = line.beside(name, *figure);
    }
    Ok(vec![line])
}

/// Waits until each session has both of its helpers, and they have come to rest.
fn settle(bench: &Bench) {
    let served = || {
        let listed = bench.abide.json(&["ls"])["data"]["sessions"].take();
        let served = |session: &serde_json::Value| {
            ["guard", "host"].iter().all(|who| session["processes"][who]["liveness"] == "alive")
        };
        listed.as_array().is_some_and(|all| all.len() == SESSIONS && all.iter().all(served))
    };
    until("every session is served", served);
    bench.rest("of0");
}
