//! Another abide is installed while many sessions print, are waited for and are attached.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use abide_sys::clock;

use super::{Bench, agent};
use crate::agent::stream_line;
use crate::deadline::until;
use crate::{Ending, Observer, Running, Terminal};

const SESSIONS: usize = 50;
const ATTACHED: usize = 10;

/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let new = PathBuf::from(bench.beside("abide-new"));
    let other = bench.abide.copied_to(&new);
    let (agent, stop) = (agent()?, bench.beside("stop"));
    let said = |number: usize| bench.beside(&format!("said{number}"));
    let start = |n| bench.launch(&[&agent, &format!("stream {stop} {}", said(n)), &format!("exit {n}")]);
    let ids = (0..SESSIONS).map(start).collect::<io::Result<Vec<_>>>()?;
    let programs: Vec<Observer> = ids
        .iter()
        .filter_map(|id| {
            until("it is served", || ["guard", "host"].iter().all(|who| bench.process(id, who).is_some()));
            bench.process(id, "program")
        })
        .collect();
    let wait = |id: &String| Running::start(bench.abide.command(&["wait", id]).stderr(Stdio::null()));
    let mut waits: Vec<Running> = ids.iter().map(wait).collect();
    let attach = |id: &String| Terminal::start(&bench.abide.command(&["attach", id]));
    let mut attached: Vec<Terminal> = ids.iter().take(ATTACHED).map(attach).collect();
    attached.iter_mut().for_each(|terminal| drop(terminal.until("0")));
    let began = clock::boot_micros();
    let ran = other.run(&["upgrade"]);
    let took = (clock::boot_micros() - began) as f64 / 1000.0;
    let is_new = |id: &String, who: &str| bench.process(id, who).is_some_and(|one| image(one.pid()) == new);
    until("every helper is the new one", || {
        ids.iter().all(|id| ["guard", "host"].iter().all(|who| is_new(id, who)))
    });
    let alive = programs.iter().filter(|program| program.lives()).count();
    writeln!(
        out,
        "upgrade of {SESSIONS} printing sessions: exit code {:?}, {took:.0} ms in all",
        ran.code()
    )?;
    writeln!(out, "  programs undisturbed: {alive} of {}", programs.len())?;
    drop(File::create(&stop)?);
    let codes = waits
        .iter_mut()
        .zip(0..)
        .map(|(wait, n)| wait.reap() == Ending::Exited(n))
        .filter(|right| *right)
        .count();
    let left = attached
        .iter_mut()
        .zip(0..)
        .map(|(one, n)| one.reap() == Ending::Exited(n))
        .filter(|right| *right)
        .count();
    writeln!(
        out,
        "  waits with the exact code: {codes} of {SESSIONS}; attached terminals likewise: {left} of {ATTACHED}"
    )?;
    let whole = ids.iter().enumerate().filter(|(n, id)| is_whole(&bench, id, &said(*n))).count();
    writeln!(out, "  recordings with every byte once: {whole} of {SESSIONS}")
}

/// The executable of a process.
fn image(pid: u32) -> PathBuf {
    std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe")).unwrap_or_default()
}

fn is_whole(bench: &Bench, id: &str, said: &str) -> bool {
    let lines = std::fs::read_to_string(said).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let shown = bench.abide.run(&["logs", "--raw", id]).stdout;
    let right = shown.lines().zip(0..).all(|(line, number)| line == stream_line(number).trim_end());
    right && lines == Some(shown.lines().count() as u64)
}
