//! System calls, watched and interfered with: a command under `strace`, which can also fail a call or signal its caller.

pub mod points;

use std::path::Path;
use std::process::Command;

use crate::observer::Observer;
use crate::running::{Ran, Running};
use crate::tools::need;

/// The same command under `strace` with these options, everything it starts included; what is seen goes to a file.
#[must_use]
pub fn traced(command: &Command, options: &[&str], log: &Path) -> Command {
    let mut tracer = Command::new(need("strace"));
    tracer.args(["-f", "-qq", "-y", "-ttt", "-s", "2000", "-o"]).arg(log).args(options);
    tracer.arg(command.get_program()).args(command.get_args());
    tracer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    tracer
}

/// One system call, as it was begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// When, in seconds.
    pub at: f64,
    pub text: String,
}

/// Runs a traced command to its end, and the end of everything it started, and gives the calls in their order.
///
/// # Panics
/// If there is no `strace`, or what it wrote cannot be read.
#[must_use]
pub fn calls(command: &Command, options: &[&str], log: &Path) -> (Ran, Vec<Call>) {
    (Ran::of(&mut traced(command, options, log)), seen(log))
}

/// The calls that were seen so far.
///
/// # Panics
/// If there is no `strace`, or what it wrote cannot be read.
#[must_use]
pub fn seen(log: &Path) -> Vec<Call> {
    let text = std::fs::read_to_string(log).expect("strace is needed, and writes what it sees");
    let call = |line: &str| {
        let (_, rest) = line.split_once(' ')?;
        let (at, text) = rest.trim_start().split_once(' ')?;
        Some(Call { at: at.parse().ok()?, text: text.to_owned() })
    };
    text.lines().filter_map(call).collect()
}

/// What a tracer started first.
///
/// # Panics
/// If it has started nothing.
#[must_use]
pub fn first_of(tracer: &Running) -> Observer {
    let started =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", tracer.pid())).expect("procfs");
    Observer::of(started.split_whitespace().next().expect("it started one").parse().expect("a pid"))
}

/// Whether something that is traced has been stopped: only its tracer knows.
#[must_use]
pub fn is_stopped(log: &Path) -> bool {
    std::fs::read_to_string(log).is_ok_and(|calls| calls.contains("stopped by SIGSTOP"))
}
