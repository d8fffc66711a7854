//! The keeper: everything that a run starts is below it, whatever detaches. It lets nothing outlive the run, however that
//! ends: it is the one to whom orphans are given, it holds the scratch directory, and it heeds the signals.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode};

use abide_core::evidence::How;
use abide_sys::signal::{CHLD, HUP, INT, Signals, TERM};
use abide_sys::{poll, reap};
use abide_testkit::{Observer, ScratchDir};
use rustix::process::Signal;

use crate::processes;

/// The first word of the run below it.
pub const INSIDE: &str = "--inside";

/// Starts the run, passes on its code, and ends what is left.
pub fn keep(words: &[&str]) -> io::Result<ExitCode> {
    reap::become_subreaper()?;
    let dir = ScratchDir::new();
    let run = Command::new(std::env::current_exe()?)
        .args([INSIDE].iter().chain(words))
        .env("TMPDIR", dir.path())
        .env_remove::<&OsStr>("TMUX".as_ref())
        .spawn()?;
    // Not before: what is blocked here would be so for all below.
    let signals = Signals::of(&[CHLD, HUP, INT, TERM])?;
    let code = code_of(run.id(), &signals);
    let left = end_all(&signals);
    if !left.is_empty() {
        writeln!(io::stderr(), "bench: left, and killed: {}", left.join(", "))?;
    }
    Ok(ExitCode::from(code))
}

/// The code of the run; that of a signal that came first.
fn code_of(run: u32, signals: &Signals) -> u8 {
    loop {
        while let Some(reaped) = reap::reap() {
            if reaped.pid == run {
                return match reaped.how {
                    How::Exited { code } => code,
                    _ => 1,
                };
            }
        }
        let _ = poll::readable(&[signals.as_fd()], None);
        while let Some(caught) = signals.next() {
            if caught.number != CHLD {
                return u8::try_from(128 + caught.number).unwrap_or(1);
            }
        }
    }
}

/// Stops everything first, so that nothing starts another one; then kills it. Names what there was.
fn end_all(signals: &Signals) -> Vec<String> {
    let own = std::process::id();
    let (mut stopped, mut names) = (Vec::new(), Vec::new());
    loop {
        while reap::reap().is_some() {}
        let new = processes::below(own).into_iter().filter(|pid| !stopped.contains(pid));
        let new: Vec<u32> = new.collect();
        if new.is_empty() {
            break;
        }
        signal_all(&new, Signal::STOP);
        names.extend(new.iter().map(|pid| format!("{} {pid}", processes::name(*pid))));
        stopped.extend(new);
    }
    loop {
        while reap::reap().is_some() {}
        let left = processes::below(own);
        if left.is_empty() {
            return names;
        }
        signal_all(&left, Signal::KILL);
        let _ = poll::readable(&[signals.as_fd()], Some(100));
        while signals.next().is_some() {}
    }
}

fn signal_all(pids: &[u32], signal: Signal) {
    let found: Vec<Observer> = pids.iter().filter_map(|pid| Observer::find(*pid)).collect();
    // Looked at again while it is held: a number that was given to a stranger meanwhile is not below us.
    let below = processes::below(std::process::id());
    found.iter().filter(|one| below.contains(&one.pid())).for_each(|one| one.signal(signal));
}
