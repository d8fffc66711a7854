//! Turns: several ways to do the same, one after the other and again, so that all of them meet the same machine.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use abide_sys::{clock, poll};
use abide_testkit::bench::Figures;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::figure::Figure;

/// A way to do the work: does it once, in the round of this number, and gives what that took in us.
pub struct Way<'a> {
    pub name: &'static str,
    act: Box<dyn FnMut(usize) -> io::Result<u64> + 'a>,
}

impl<'a> Way<'a> {
    pub fn new(name: &'static str, act: impl FnMut(usize) -> io::Result<u64> + 'a) -> Self {
        Self { name, act: Box::new(act) }
    }

    /// A command that must exit with 0.
    pub fn command(name: &'static str, mut command: Command) -> Self {
        Self::new(name, move |_| timed(&mut command))
    }
}

/// What each way took.
pub struct Turns(Vec<(&'static str, Figures)>);

impl Turns {
    pub fn take(rounds: usize, mut ways: Vec<Way<'_>>) -> io::Result<Self> {
        let mut took: Vec<_> = ways.iter().map(|way| (way.name, Figures::default())).collect();
        for round in 0..rounds {
            for turn in 0..ways.len() {
                // Whoever is first pays for what the round before left behind: everyone in turn.
                let at = (turn + round) % ways.len();
                let micros = (ways[at].act)(round)
                    .map_err(|error| io::Error::other(format!("{}: {error}", ways[at].name)))?;
                took[at].1.add(micros);
            }
        }
        Ok(Self(took))
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }

    pub fn of_hundred(&self, name: &str, percent: usize) -> Option<Figure> {
        let took = self.0.iter().find(|way| way.0 == name)?;
        Some(Figure::micros(took.1.of_hundred(percent)))
    }

    pub fn median(&self, name: &str) -> Option<Figure> {
        self.of_hundred(name, 50)
    }

    /// Of a way that was certainly taken.
    pub fn p(&self, name: &str, percent: usize) -> Figure {
        self.of_hundred(name, percent).unwrap_or(Figure::micros(0))
    }
}

/// How long a command takes from its start until it is reaped, in us.
pub fn timed(command: &mut Command) -> io::Result<u64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = clock::boot_micros();
    let status = command.spawn()?.wait()?;
    let took = clock::boot_micros() - began;
    if status.success() { Ok(took) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// The same, but for so many ms at most: none if it takes longer, and it is ended then.
pub fn timed_within(command: &mut Command, most_ms: u64) -> io::Result<Option<u64>> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = clock::boot_micros();
    let mut process = command.spawn()?;
    let pidfd = pidfd_open(Pid::from_child(&process), PidfdFlags::empty())?;
    let ended = poll::readable(&[pidfd.as_fd()], Some(most_ms))[0];
    let took = clock::boot_micros() - began;
    if !ended {
        process.kill()?;
    }
    process.wait()?;
    Ok(ended.then_some(took))
}

/// What a command says, whatever its code.
pub fn told(command: &mut Command) -> io::Result<String> {
    let ran = command.stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
