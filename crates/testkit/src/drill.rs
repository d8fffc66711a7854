//! `sys-drill`: puts itself into an awkward position (another user, a hidden `/proc`, a full disk, another boot),
//! asks `abide_sys` from there, and says each answer as one line. The steps are its arguments.

mod steps;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::process::{Child, ExitCode};

use abide_sys::probe::{Means, Probe};

/// The names of the means that a probe can be left with.
pub const MEANS: [(&str, Means); 3] = [
    ("all", Means { pidfd: true, pidfs: true }),
    ("no-pidfs", Means { pidfd: true, pidfs: false }),
    ("no-pidfd", Means { pidfd: false, pidfs: false }),
];

/// The `main` of `sys-drill`: 0 if every step could be done, whatever was answered.
#[must_use]
pub fn main(args: &[String]) -> ExitCode {
    let mut drill = Drill::default();
    for step in args {
        if let Err(error) = drill.step(step) {
            let _ =
                io::Write::write_all(&mut io::stderr(), format!("sys-drill: {step}: {error}\n").as_bytes());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What earlier steps have left.
#[derive(Default)]
struct Drill {
    /// Index into `MEANS`.
    means: usize,
    /// Probes that were made while files could still be opened.
    made: BTreeMap<usize, Probe>,
    /// Files whose locks are held until the end.
    held: Vec<File>,
    started: Vec<Child>,
}

impl Drill {
    /// A probe is made anew for each question, for where we are changes with the steps.
    fn probe(&self) -> Probe {
        self.made.get(&self.means).cloned().unwrap_or_else(|| Probe::with(MEANS[self.means].1))
    }
}
