//! From a key at a terminal to what the program shows for it there.

use std::io;
use std::ops::RangeInclusive;
use std::process::Command;

use abide_sys::clock;
use abide_testkit::{Abide, Terminal};

use crate::figure::{Bar, Line};
use crate::floor;
use crate::peer::{Peer, Tmux};
use crate::place::Place;
use crate::row::Row;
use crate::turns::{Turns, Way};

pub const ROW: Row = Row {
    name: "echo",
    work: "key to echo, attached",
    method: "a program in raw mode answers each key with itself and a sign; typed at a terminal that is attached: `abide attach`, \
             `tmux attach`, and the program in the terminal itself. A line is begun every 20 keys. Floor: as many bare relays as \
             stand between the keyboard and the program of a session (client, host, guard), each a process that waits, reads and \
             writes, with sockets between them and a terminal at the end",
    take,
};

const KEYS: usize = 1_000;
/// Client, host, guard.
const RELAYS: usize = 3;
/// Answers with more than the key: what any terminal on the way echoes is no answer.
const ECHO: &str = "stty raw -echo; printf 'ready>'; \
                    exec perl -e 'while (sysread STDIN, $key, 99) { syswrite STDOUT, qq($key>) }'";
/// Letters one cell wide that are in no sequence by which a terminal is told something: each is typed once.
const LETTERS: [RangeInclusive<char>; 3] = ['Ā'..='ɏ', 'Ѐ'..='ҁ', 'ᐁ'..='ᙬ'];

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let bench = place.bench();
    let tmux = Tmux::start(place).ok();
    let id = bench.ready(ECHO)?;
    let mut bare = Command::new("sh");
    bare.args(["-c", ECHO]).env("PATH", Abide::PATH).env("TERM", "xterm-256color");
    let mut relayed = floor::relayed(RELAYS, &["/bin/sh", "-c", ECHO])?;
    relayed.env("PATH", Abide::PATH).env("TERM", "xterm-256color");
    let mut ways = vec![
        way("abide", &bench.abide.command(&["attach", &id])),
        way("bare", &bare),
        way("relays", &relayed),
    ];
    if let Some(tmux) = &tmux {
        tmux.made("echo", &["sh", "-c", ECHO])?;
        ways.push(way("tmux", &tmux.command(&["attach", "-t", "echo"])));
    }
    let turns = Turns::take(place.of(KEYS), ways)?;
    let line = |what: &str, bar, percent| {
        let line = Line::new(what, turns.p("abide", percent), bar)
            .against("tmux", turns.of_hundred("tmux", percent));
        line.floor("three bare relays", turns.p("relays", percent))
            .beside("bare terminal", turns.p("bare", percent))
    };
    Ok(vec![
        line("key to echo, attached, p50", Bar::AtMost(1.2), 50),
        line("key to echo, attached, p99", Bar::AtMost(1.0), 99),
    ])
}

fn way<'a>(name: &'static str, command: &Command) -> Way<'a> {
    let mut attached = Terminal::start(command);
    let _ = attached.until(">");
    Way::new(name, move |round| {
        let letter = String::from(LETTERS.into_iter().flatten().nth(round).unwrap_or('Ā'));
        if round.is_multiple_of(20) {
            attached.type_in("\rñ".as_bytes());
            attached.until("ñ>");
        }
        let began = clock::boot_micros();
        attached.type_in(letter.as_bytes());
        attached.until(&format!("{letter}>"));
        Ok(clock::boot_micros() - began)
    })
}
