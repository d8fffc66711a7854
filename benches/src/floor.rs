//! Floors: what a row cannot do without, done by this very executable as plainly as it can be written, and nothing beside it.
//! `bench --floor WORD...` is one process of a floor; the rows start them, in turns with abide and its peers.

mod answer;
mod proof;
mod relay;
mod session;

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

pub use answer::Answerer;
pub use session::{Helpers, Session};

/// The first word of each of these processes.
pub const WORD: &str = "--floor";

/// The process that these words name.
pub fn run(words: &[&str]) -> io::Result<ExitCode> {
    match *words {
        ["prove", threads, dir, ref sessions @ ..] => {
            proof::of_all(threads.parse().unwrap_or(1), Path::new(dir), sessions)
        }
        ["ends", threads, dir] => proof::of_ends(threads.parse().unwrap_or(1), Path::new(dir)),
        ["relay", count, ref program @ ..] => relay::chain(count.parse().unwrap_or(1), program),
        ["launch", home, id, helpers, ref program @ ..] => session::launch(home, id, helpers, program),
        ["guard", home, id, helpers, ref program @ ..] => session::guard(home, id, helpers, program),
        ["host"] => session::host(),
        ["nothing"] => Ok(()),
        ["wait", dir] => session::wait(Path::new(dir)),
        ["ask", socket] => answer::ask(Path::new(socket)),
        _ => Err(io::Error::other(format!("there is no floor {words:?}"))),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// One of them, to be started.
pub fn command(words: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(WORD).args(words);
    Ok(command)
}

/// Proves of each of these sessions (`ID:PID`) in a directory that it lives.
pub fn proving(dir: &Path, sessions: &[String]) -> io::Result<Command> {
    let threads =
        std::thread::available_parallelism()?.min(sessions.len().try_into().map_err(io::Error::other)?);
    let mut command = command(&["prove", &threads.to_string()])?;
    command.arg(dir).args(sessions);
    Ok(command)
}

/// Reads of each session in a directory that it is over.
pub fn ended(dir: &Path) -> io::Result<Command> {
    let mut command = command(&["ends", &std::thread::available_parallelism()?.to_string()])?;
    command.arg(dir);
    Ok(command)
}

/// A program at the end of so many relays.
pub fn relayed(count: usize, program: &[&str]) -> io::Result<Command> {
    command(&[&["relay", &count.to_string()], program].concat())
}
