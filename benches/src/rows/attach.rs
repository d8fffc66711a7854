//! The first full repaint of a terminal that attaches.

use std::io;
use std::process::Command;

use abide_core::screen::Screen;
use abide_sys::clock;
use abide_testkit::Terminal;

use super::snapshot::Shown;
use crate::figure::{Bar, Line};
use crate::floor::Answerer;
use crate::place::Place;
use crate::row::Row;
use crate::text;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "attach",
    work: "first full repaint on attach",
    method: "a new terminal of 80 by 24, from the start of `abide attach` or `tmux attach` in it until it shows every row of the \
             screen of `snapshot` in its place. Floor: a bare client in the same terminal, which connects to a socket and writes what it is sent: that \
             screen, painted",
    take,
};

const ROUNDS: usize = 60;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let shown = Shown::new(place)?;
    let answerer = Answerer::of(format!("\x1b[H\x1b[2J{}", text::page(24, 80)))?;
    let mut attach = shown.bench.abide.command(&["attach", &shown.id]);
    attach.env("TERM", "xterm-256color");
    let mut ways = vec![way("abide", attach), way("client", answerer.asking()?)];
    ways.extend(shown.tmux.as_ref().map(|tmux| way("tmux", tmux.command(&["attach", "-t", "shown"]))));
    let turns = Turns::take(place.of(ROUNDS), ways)?;
    let line = |what: &str, bar, percent| {
        Line::new(what, turns.p("abide", percent), bar).against("tmux", turns.of_hundred("tmux", percent))
    };
    let median = line(ROW.work, Bar::AtMost(1.0), 50).floor("a bare client", turns.p("client", 50));
    Ok(vec![median, line("first full repaint on attach, p90", Bar::Stated, 90)])
}

/// The terminal is closed with its client when the time is taken.
fn way<'a>(name: &'static str, command: Command) -> Way<'a> {
    Way::new(name, move |_| {
        let began = clock::boot_micros();
        let mut terminal = Terminal::start(&command);
        terminal.until_screen("all of it", is_whole);
        Ok(clock::boot_micros() - began)
    })
}

fn is_whole(screen: &Screen) -> bool {
    let text = screen.visible_text();
    let mut rows = text.lines().map(str::trim_end);
    (1..24).all(|number| rows.next() == Some(text::row(number, 80).trim_end()))
}
