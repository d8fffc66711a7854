//! From the start of the command that makes a session until the peer's own list shows it.

use std::io;

use abide_sys::clock;
use abide_testkit::ScratchDir;

use crate::figure::{Bar, Line};
use crate::floor::{self, Helpers, Session};
use crate::gate::gate;
use crate::peer::{Peer, everyone};
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way, timed};

pub const ROW: Row = Row {
    name: "start",
    work: "`run -d` until listed",
    method: "a command that makes a session in which `cat FIFO` runs, then the peer's list, again and again until it shows \
             it: `abide run -d`, `ls`; `tmux new-session -d`, `list-sessions` on a warm server; `dtach -n`, `ls` of its \
             sockets; `abduco -n`; `screen -d -m`, `-ls`; `shpool attach --background`, `list`; `pueue add`, `status`. Floor: \
             a launcher that starts its guard, makes the name, the directory and its files as `run -d` does while that comes up, and \
             ends when the guard has opened a terminal, written what ours writes, published the directory and exec'd `cat`, while a bare host comes up (all of \
             them this executable, no cgroup); then the floor of `list`, of that session",
    take,
};

const ROUNDS: usize = 60;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let peers = everyone(place, &bench)?;
    let mut ways: Vec<Way<'_>> = peers.iter().map(|peer| way(&**peer, &dir)).collect();
    ways.push(floor_way(&dir));
    let turns = Turns::take(place.of(ROUNDS), ways)?;
    let ours = turns.p("abide", 50);
    let mut beside = Line::new("", ours, Bar::Stated);
    for name in turns.names().filter(|name| !["abide", "tmux", "dtach", "floor"].contains(name)) {
        beside = beside.beside(name, turns.p(name, 50));
    }
    let line = |bar, peer: &str| {
        let line = Line::new(ROW.work, ours, bar).against(peer, turns.median(peer));
        line.floor("a bare launch and its proof", turns.p("floor", 50))
    };
    let first = Line { beside: beside.beside, ..line(Bar::AtMost(1.0), "tmux") };
    Ok(vec![first, line(Bar::AtMost(2.0), "dtach")])
}

/// Makes a session, and ends it when the time is taken.
fn way<'a>(peer: &'a dyn Peer, dir: &'a ScratchDir) -> Way<'a> {
    Way::new(peer.name(), move |round| {
        let session = format!("{}{round}", peer.name());
        let gate = gate(dir.path(), &session)?;
        let began = clock::boot_micros();
        peer.made(&session, &["cat", &gate.path()])?;
        let took = clock::boot_micros() - began;
        gate.open();
        peer.gone(&session);
        Ok(took)
    })
}

/// The same work, barely.
fn floor_way(dir: &ScratchDir) -> Way<'_> {
    Way::new("floor", move |round| {
        let (gate, home) = (gate(dir.path(), &format!("floor{round}"))?, dir.join("home"));
        let id = format!("bare{round}");
        let began = clock::boot_micros();
        let session = Session::launch(&home, &id, Helpers::Host, &["/bin/cat", &gate.path()])?;
        timed(&mut floor::proving(&home.join("sessions"), std::slice::from_ref(&session.told))?)?;
        let took = clock::boot_micros() - began;
        gate.open();
        session.gone()?;
        Ok(took)
    })
}
