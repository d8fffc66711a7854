//! `sys-drill`: puts itself into an awkward position (another user, a hidden `/proc`, a full disk, another boot),
//! asks `abide_sys` from there, and says each answer as one line. The steps are its arguments: see `steps`.

mod steps;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::process::{Child, ExitCode};

use abide_core::identity::Identity;
use abide_sys::probe::{Means, Probe};

use crate::deadline::until;

/// The names of the means that a probe can be left with.
pub const MEANS: [(&str, Means); 3] = [
    ("all", Means { pidfd: true, pidfs: true }),
    ("no-pidfs", Means { pidfd: true, pidfs: false }),
    ("no-pidfd", Means { pidfd: false, pidfs: false }),
];

/// The identity of a process, taken when it has outlived the tick of its birth, so that ticks alone prove sameness.
///
/// # Panics
/// If it has none.
#[must_use]
pub fn identify(pid: u32) -> Identity {
    let take =
        || Probe::new().identify(pid).unwrap_or_else(|doubt| panic!("{pid} has no identity: {doubt:?}"));
    let mut identity = take();
    until("the process is older than a tick", || {
        identity = take();
        identity.seen_ticks > identity.start_ticks
    });
    identity
}

/// The step that asks about a process.
///
/// # Panics
/// Never: an identity can be written.
#[must_use]
pub fn ask(identity: &Identity) -> String {
    format!("ask {}", serde_json::to_string(identity).expect("an identity can be written"))
}

/// An identity that `sys-drill` has said.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn said(line: &str) -> Identity {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("not an identity ({error}): {line}"))
}

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
    /// The identity that was said last.
    last: Option<Identity>,
}

impl Drill {
    /// A probe is made anew for each question, for where we are changes with the steps.
    fn probe(&self) -> Probe {
        self.made.get(&self.means).cloned().unwrap_or_else(|| Probe::with(MEANS[self.means].1))
    }
}
