//! Helpers that are killed again and again while their program prints without pause: what is lost, and for how long
//! nobody serves.

use std::fs::File;
use std::io::{self, Write};

use abide_sys::clock;
use rustix::process::Signal;

use super::{Bench, Figures, agent};
use crate::agent::stream_line;
use crate::deadline::until;

const TIMES: usize = 100;

/// Kills the guard or the host.
///
/// # Errors
/// If something cannot be started, or what was recorded is not what it should be.
pub fn run(who: &str, out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let (stop, said) = (bench.beside("stop"), bench.beside("said"));
    let agent = agent()?;
    let id = bench.launch(&[&agent, &format!("stream {stop} {said}"), "exit 33"])?;
    let mut unserved = Figures::default();
    let mut helper = served(&bench, &id, who, None);
    for _ in 0..TIMES {
        let killed = clock::boot_micros();
        helper.signal(Signal::KILL);
        helper = served(&bench, &id, who, Some(helper.pid()));
        unserved.add(clock::boot_micros() - killed);
    }
    drop(File::create(&stop)?);
    let code = bench.abide.run(&["wait", &id]).code();
    let lines: u64 = std::fs::read_to_string(&said)?.trim().parse().map_err(io::Error::other)?;
    let shown = bench.abide.run(&["logs", "--raw", &id]).stdout;
    let written = lines * (stream_line(0).len() as u64 + 1);
    let missing = written.saturating_sub(shown.len() as u64);
    let whole = shown.lines().zip(0..).all(|(line, number)| line == stream_line(number).trim_end());
    writeln!(
        out,
        "{who} killed {TIMES} times: exit code {code:?}, {lines} lines written, {missing} bytes missing"
    )?;
    writeln!(out, "  every byte once and in order: {}", whole && missing == 0)?;
    let events = bench.abide.run(&["events", &id]).stdout;
    let told = events.lines().filter(|line| line.contains("in the middle of a read")).count();
    writeln!(out, "  deaths in the middle of a read, as told: {told}")?;
    writeln!(out, "  until the next one was known to serve: {}", unserved.says())
}

/// The helper that serves, once it is not the one before.
fn served(bench: &Bench, id: &str, who: &str, before: Option<u32>) -> crate::Observer {
    let mut found = None;
    until("it is served", || {
        found = bench.process(id, who).filter(|one| Some(one.pid()) != before && one.lives());
        found.is_some()
    });
    found.expect("it was found")
}
