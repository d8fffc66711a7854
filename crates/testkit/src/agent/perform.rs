//! Does the steps of a script, one after the other.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use abide_sys::{clock, drill};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};
use serde_json::json;

use super::{DAEMON, OWN_SESSION, Step, again, typing};
use crate::deadline::until;
use crate::running::start_ticks;

/// Does all steps. The exit code is the script's, 0 at its end.
pub(super) fn perform(steps: Vec<Step>) -> io::Result<u8> {
    let mut steps = steps.into_iter();
    while let Some(step) = steps.next() {
        match step {
            Step::Exit(code) => return Ok(code),
            Step::LeaderExit => go_on_without_leader(steps.collect()),
            Step::Exec(words) => {
                let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
                return Err(Command::new(program).args(args).exec());
            }
            Step::Hang => hang(),
            Step::Die(signal) => die(signal)?,
            Step::AbortCore => {
                let maximum = getrlimit(Resource::Core).maximum;
                setrlimit(Resource::Core, Rlimit { current: maximum, maximum })?;
                die(Signal::ABORT)?;
            }
            Step::Print(text) => say(&text)?,
            Step::WaitLine => wait_line()?,
            Step::Ignore(signals) => {
                signals.into_iter().try_for_each(|signal| drill::ignore(signal.as_raw()))?;
            }
            Step::TrapExit(signal, code) => drill::exit_on(signal.as_raw(), code)?,
            Step::Fork(steps) => say(&format!("forked {}", again(&[OWN_SESSION], &steps)?.id()))?,
            Step::Daemon(steps) => drop(again(&[DAEMON], &steps)?.wait()?),
            Step::CloseTty => close_tty()?,
            Step::Flood(bytes) => flood(bytes)?,
            Step::Stream(until, said) => stream(&until, &said)?,
            Step::AskCursor(times) => typing::ask_cursor(times)?,
            Step::KeepKeys(file) => typing::keep_keys(&file)?,
            Step::TellSize => typing::tell_size()?,
            Step::Connect(variable, text) => {
                let path = std::env::var_os(variable).ok_or(io::ErrorKind::NotFound)?;
                UnixStream::connect(path)?.write_all(text.as_bytes())?;
            }
            Step::StopSelf => kill_process(getpid(), Signal::STOP)?,
            Step::Write(file, text) => write(&file, &text)?,
            Step::Append(file, text) => append(&file, &text)?,
            Step::Registry(file, status) => write(&file, &registry(&status))?,
            Step::Transcript(file, entries) => (0..entries).try_for_each(|n| append(&file, &entry(n)))?,
        }
    }
    Ok(0)
}

/// Says a line, at once.
pub(super) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Lets another thread do the rest, once this one, the first, is gone.
fn go_on_without_leader(rest: Vec<Step>) -> ! {
    std::thread::spawn(move || {
        until("the first thread is gone", || {
            let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, fields)| fields.starts_with(" Z"))
        });
        exit(perform(rest).unwrap_or(3));
    });
    drill::leave_thread()
}

#[expect(clippy::disallowed_methods, reason = "main is gone and cannot return the code")]
fn exit(code: u8) -> ! {
    std::process::exit(code.into())
}

fn hang() -> ! {
    loop {
        rustix::event::pause();
    }
}

fn die(signal: Signal) -> io::Result<()> {
    if signal != Signal::KILL {
        drill::restore(signal.as_raw())?;
    }
    kill_process(getpid(), signal)?;
    Ok(())
}

fn wait_line() -> io::Result<()> {
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line)?;
    if length == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

fn close_tty() -> io::Result<()> {
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

fn flood(bytes: u64) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut left = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut number = 0_u64;
    while left > 0 {
        let line = format!("{number:063}\n");
        let length = left.min(line.len());
        out.write_all(&line.as_bytes()[..length])?;
        (left, number) = (left - length, number + 1);
    }
    out.flush()
}

fn stream(until: &Path, said: &Path) -> io::Result<()> {
    const BURST: u64 = 64;
    let moment = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let mut lines = 0;
    while !until.exists() {
        for _ in 0..BURST {
            io::stdout().lock().write_all(super::stream_line(lines).as_bytes())?;
            lines += 1;
        }
        poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&moment))?;
    }
    write(said, &lines.to_string())
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    File::create(file)?.write_all(text.as_bytes())
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(format!("{text}\n").as_bytes())
}

fn registry(status: &str) -> String {
    let pid = std::process::id();
    let now = clock::now().wall;
    json!({
        "pid": pid,
        "sessionId": format!("00000000-0000-4000-8000-{pid:012}"),
        "cwd": std::env::current_dir().unwrap_or_default(),
        "startedAt": now,
        "procStart": start_ticks(pid).map(|ticks| ticks.to_string()),
        "version": "0.0.0",
        "kind": "interactive",
        "status": status,
        "updatedAt": now,
        "statusUpdatedAt": now,
    })
    .to_string()
}

/// Requests and answers in turn: an even number of entries ends with an answer.
fn entry(number: u64) -> String {
    let kind = if number.is_multiple_of(2) { "user" } else { "assistant" };
    let reason = if number.is_multiple_of(2) { None } else { Some("end_turn") };
    json!({
        "type": kind,
        "uuid": format!("00000000-0000-4000-8000-{number:012}"),
        "message": { "role": kind, "content": format!("entry {number}"), "stop_reason": reason },
    })
    .to_string()
}
