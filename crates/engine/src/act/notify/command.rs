//! A command of the user's: its arguments as they are, no shell in between, the message as its input, and so long and no longer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use abide_sys::{poll, signal, spawn};

use crate::{Sessions, launch};

/// So long it may take.
const WITHIN_MS: u64 = 10_000;
/// So much of its complaints is kept.
const KEPT: u64 = 300;

/// Runs it. Done if it exits with 0.
pub(super) fn run(
    sessions: &Sessions,
    argv: &[String],
    env: &BTreeMap<String, String>,
    message: &[u8],
) -> Result<(), String> {
    let (name, arguments) = argv.split_first().ok_or("there is no command")?;
    // Memory in place of pipes: who reads nothing, or complains without end, hangs nobody.
    let memory = |bytes: &[u8]| spawn::parcel(bytes).map(File::from).map_err(|e| e.to_string());
    let (input, mut complaints) = (memory(message)?, memory(b"")?);
    let errors = complaints.try_clone().map_err(|e| e.to_string())?;
    let mut command = Command::new(name);
    command.args(arguments).env_clear().envs(env).env("ABIDE_HOME", sessions.path()).current_dir("/");
    // Whatever it leaves behind is no session's.
    command.env(launch::BORN_IN, "");
    command.stdin(input).stdout(Stdio::null()).stderr(errors).process_group(0);
    let mut process = command.spawn().map_err(|e| format!("{name} cannot be run: {e}"))?;
    let in_time = ends_in_time(sessions, &process);
    if !in_time {
        kill(sessions, &process);
    }
    let status = process.wait().map_err(|e| e.to_string())?;
    if !in_time {
        return Err(format!("{name} took longer than {} s", WITHIN_MS / 1000));
    }
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    // What it said is a help, and missing where it cannot be read.
    let _ = complaints.rewind().and_then(|()| complaints.take(KEPT).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing");
    Err(format!("{name}: {status}: {said}"))
}

/// It is ours and not reaped, so its number is its own.
fn ends_in_time(sessions: &Sessions, process: &Child) -> bool {
    let truth = sessions.truth();
    let held = truth.identify(process.id()).ok().and_then(|identity| truth.hold(&identity).ok());
    held.is_none_or(|held| poll::readable(&[held.as_fd()], Some(WITHIN_MS)).contains(&true))
}

/// Ends it with everything that it started.
fn kill(sessions: &Sessions, process: &Child) {
    let truth = sessions.truth();
    let below = truth.descendants(process.id()).into_iter().map(|one| one.pid);
    for pid in std::iter::once(process.id()).chain(below) {
        let held = truth.identify(pid).ok().and_then(|identity| truth.hold(&identity).ok());
        // Who is gone by now need not be ended.
        let _ = held.map(|held| signal::send(&held, signal::KILL));
    }
}
