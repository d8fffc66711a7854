//! bench: the same work for abide and for its peers, in one run, in turns. Writes a table with ratios and a chart.
//! `bench [--load] [--quick] [--soak DURATION] [--release-binary PATH] [--to DIR] [ROW...]`; README.md beside this says more.
//!
//! What measures runs below a keeper (`keeper.rs`), which ends whatever is left of it, however it ended.

mod bare;
mod chart;
mod figure;
mod floor;
mod gate;
mod keeper;
mod load;
mod machine;
mod options;
mod peer;
mod place;
mod processes;
mod report;
mod row;
mod rows;
mod text;
mod turns;

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use crate::load::Load;
use crate::machine::Machine;
use crate::options::Options;
use crate::place::Place;
use crate::report::{Book, Taken};
use crate::row::Row;

/// No more of what went wrong is told.
const SHOWN: usize = 300;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--own", ref program @ ..] => bare::own(program),
        [floor::WORD, ref words @ ..] => floor::run(words),
        [keeper::INSIDE, ref words @ ..] => Options::parse(words).and_then(run),
        ["--help" | "-h"] => options::help(),
        ref words => Options::parse(words).and_then(|_| keeper::keep(words)),
    };
    done.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "bench: {error}");
        ExitCode::FAILURE
    })
}

/// Takes the rows that were asked for, and writes what came of them; fails if one could not be taken.
fn run(options: Options) -> io::Result<ExitCode> {
    let mut out = io::stdout();
    let rows = options.rows()?;
    let place = Place::new(options)?;
    let machine = Machine::here(&place)?;
    writeln!(out, "{}", machine.says())?;
    let load = place.options.load.then(Load::start).transpose()?;
    let mut taken = Vec::new();
    for row in &rows {
        writeln!(out, "\n{}: {}", row.name, row.work)?;
        let found = take(row, &place);
        report::print(&found, &mut out)?;
        taken.push(found);
    }
    drop(load);
    let failed = taken.iter().filter(|taken| taken.failed.is_some()).count();
    if place.options.quick {
        writeln!(out, "\nquick figures are not written down")?;
    } else {
        let mut book = Book::open(&place.options.to)?;
        book.enter(place.options.load, machine, taken);
        book.write(&place.options.to)?;
        writeln!(out, "\nwritten: {}", place.options.to.display())?;
    }
    place.peers.tell_missing(&mut out)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A row, with what went wrong if it could not be taken: the others are taken all the same.
fn take(row: &Row, place: &Place) -> Taken {
    let done = catch_unwind(AssertUnwindSafe(|| (row.take)(place)));
    let done = done.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&said| said.to_owned()));
        Err(io::Error::other(said.unwrap_or_else(|| "it broke off".to_owned())))
    });
    match done {
        Ok(lines) => Taken::of(row, lines, None),
        Err(error) => Taken::of(row, Vec::new(), Some(error.to_string().chars().take(SHOWN).collect())),
    }
}
