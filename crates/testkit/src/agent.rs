//! The fake agent: a program that does what its script says, as real agents do it. The script is its arguments, a
//! step each, or the lines of `--script FILE`; an unknown step is refused before the first one is done.

mod claude;
mod perform;
mod script;
#[cfg(test)]
mod tests;
mod typing;

use std::io;
use std::process::{Command, ExitCode};

pub use script::{Step, parse};

/// The `main` of `fake-agent`: 0 at the end of the script, 2 if it cannot be read, 3 if a step fails.
#[must_use]
pub fn main(args: &[String]) -> ExitCode {
    if std::env::args().next().is_some_and(|name| name.rsplit('/').next() == Some("claude")) {
        return claude::main(args);
    }
    let (head, rest) = args.split_at(usize::from(args.first().is_some_and(|first| first.starts_with("--"))));
    let (begun, lines) = match (head.first().map(String::as_str), rest) {
        (Some("--script"), [file]) => match std::fs::read_to_string(file) {
            Ok(text) => (Ok(()), text.lines().map(str::to_owned).collect()),
            Err(error) => return refuse(2, &format!("{file}: {error}")),
        },
        (Some(OWN_SESSION), steps) => (rustix::process::setsid().map(drop), steps.to_vec()),
        (Some(DAEMON), steps) => return daemon(steps),
        (None, steps) => (Ok(()), steps.to_vec()),
        (Some(option), _) => return refuse(2, &format!("no such option: {option}")),
    };
    let steps: Result<Vec<Step>, String> = lines.iter().map(|line| parse(line)).collect();
    match (begun, steps) {
        (Ok(()), Ok(steps)) => match perform::perform(steps) {
            Ok(code) => ExitCode::from(code),
            Err(error) => refuse(3, &error.to_string()),
        },
        (Err(errno), _) => refuse(3, &errno.to_string()),
        (_, Err(reason)) => refuse(2, &reason),
    }
}

/// Begins a session of its own, then does the steps behind it.
const OWN_SESSION: &str = "--own-session";
/// Begins a session of its own, starts one more agent for the steps behind it, says its pid and ends.
const DAEMON: &str = "--daemon";

/// One line of `stream`, with its newline.
#[must_use]
pub fn stream_line(number: u64) -> String {
    format!("{number:015}\n")
}

fn daemon(steps: &[String]) -> ExitCode {
    let started: io::Result<_> =
        rustix::process::setsid().map_err(io::Error::from).and_then(|_| again(&[], steps));
    match started.and_then(|agent| perform::say(&format!("daemon {}", agent.id()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(3, &error.to_string()),
    }
}

/// One more of us.
fn again(options: &[&str], steps: &[String]) -> io::Result<std::process::Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(options).args(steps).stdin(std::process::Stdio::null()).spawn()
}

fn refuse(code: u8, reason: &str) -> ExitCode {
    let _ = io::Write::write_all(&mut io::stderr(), format!("fake-agent: {reason}\n").as_bytes());
    ExitCode::from(code)
}
