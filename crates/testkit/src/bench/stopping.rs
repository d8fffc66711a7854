//! A stop of a tree whose members are in sessions of their own and ignore being asked.

use std::io::{self, Write};

use abide_sys::clock;

use super::{Bench, agent};
use crate::Observer;
use crate::deadline::until;

const MEMBERS: usize = 20;

/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let agent = agent()?;
    let mut steps = vec![agent.as_str(), "ignore TERM HUP"];
    steps.extend(["fork ignore TERM HUP ; hang"; MEMBERS]);
    steps.extend(["print ready", "hang"]);
    let id = bench.launch(&steps)?;
    let shown = || bench.abide.run(&["logs", &id]).stdout;
    until("all of it is there", || shown().contains("ready"));
    let pids = shown()
        .lines()
        .filter_map(|line| line.strip_prefix("forked ")?.trim().parse().ok())
        .collect::<Vec<u32>>();
    let tree: Vec<Observer> = pids.into_iter().map(Observer::of).collect();
    let began = clock::boot_micros();
    let ran = bench.abide.run(&["stop", "--grace", "200ms", &id]);
    let took = (clock::boot_micros() - began) as f64 / 1000.0;
    let left = tree.iter().filter(|one| one.lives()).count();
    writeln!(
        out,
        "stop of a program and {} more in sessions of their own, all ignoring TERM: exit code {:?} after {took:.0} ms, {left} left",
        tree.len(),
        ran.code()
    )
}
