//! From the end of a program to the return of whoever waits for it: `abide wait` beside a parent's own `waitpid`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abide_sys::{clock, poll, reap};
use rustix::fs::{CWD, Mode, mkfifoat};

use super::{Bench, Figures};
use crate::deadline::until;

const ROUNDS: usize = 200;
const CROWD: usize = 1_000;
const CROWDS: usize = 3;

/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let gate = bench.beside("gate");
    mkfifoat(CWD, &gate, Mode::RUSR | Mode::WUSR)?;
    let (mut bare, mut ours) = (Figures::default(), Figures::default());
    for _ in 0..ROUNDS {
        let parent = Command::new("cat").arg(&gate).stdout(Stdio::null()).spawn()?;
        bare.add(first_end(vec![parent], &gate)?[0]);
        ours.add(waited(&bench, &gate, 1)?[0]);
    }
    writeln!(out, "{ROUNDS} ends, waitpid of a parent:  {}", bare.says())?;
    writeln!(out, "{ROUNDS} ends, one abide wait:       {}", ours.says())?;
    let ratio = ours.of_hundred(50) as f64 / bare.of_hundred(50) as f64;
    writeln!(out, "ratio of the medians: {ratio:.2}")?;
    let mut crowd = Figures::default();
    for _ in 0..CROWDS {
        waited(&bench, &gate, CROWD)?.into_iter().for_each(|micros| crowd.add(micros));
    }
    writeln!(out, "{CROWDS} ends, {CROWD} waiters at once: {}", crowd.says())
}

/// How long after the end of a session each of so many waiters was gone.
fn waited(bench: &Bench, gate: &str, waiters: usize) -> io::Result<Vec<u64>> {
    let id = bench.launch(&["cat", gate])?;
    let start = |_| bench.abide.command(&["wait", &id]).stderr(Stdio::null()).stdin(Stdio::null()).spawn();
    let started = (0..waiters).map(start).collect::<io::Result<Vec<_>>>()?;
    for waiter in &started {
        until("it waits", || waits(waiter.id()));
    }
    first_end(started, gate)
}

/// Whether a process waits on the end of a session.
fn waits(pid: u32) -> bool {
    let fds = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd"));
    let files = fds.into_iter().flatten().flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
    files.into_iter().any(|file| file.ends_with("alive"))
}

/// Lets the program at the gate end, and says when each of these processes was reaped, in us after that.
fn first_end(mut started: Vec<Child>, gate: &str) -> io::Result<Vec<u64>> {
    let open: File = OpenOptions::new().write(true).open(gate)?;
    let began = clock::boot_micros();
    drop(open);
    let mut took = Vec::new();
    if let [one] = started.as_mut_slice() {
        one.wait()?;
        return Ok(vec![clock::boot_micros() - began]);
    }
    let signals = abide_sys::signal::Signals::of(&[abide_sys::signal::CHLD])?;
    while took.len() < started.len() {
        while reap::reap().is_some() {
            took.push(clock::boot_micros() - began);
        }
        if took.len() < started.len() {
            let _ = poll::readable(&[signals.as_fd()], Some(100));
            while signals.next().is_some() {}
        }
    }
    Ok(took)
}
