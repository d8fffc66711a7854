//! A bare session: the files, processes and bells of one of ours, from its launch to the end of who waits for it. What is
//! written is as long as ours, and says nothing; no cgroup is made, and nothing is asked twice.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio as With};

use abide_core::evidence::Size;
use abide_sys::disk::{PrivateDir, Untrusted};
use abide_sys::lock::{self, Holder};
use abide_sys::poll;
use abide_sys::pty::Pty;
use abide_sys::sock;
use abide_sys::spawn::{Image, Stdio, gated};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::processes::await_end;

/// How long what the guard writes is: ours of a session of `cat FIFO` with few variables.
const GUARDED: usize = 468;
const LAUNCHED: usize = 1546;
const STARTED: usize = 467;
const EXITING: usize = 124;
const OUTCOME: usize = 291;
const ENDED: usize = 270;
/// The head of a recording, and the room that is kept for facts.
const HEAD: usize = 141;
const ROOM: u64 = 8192;

/// Who is there beside the guard.
#[derive(Debug, Clone, Copy)]
pub enum Helpers {
    Host,
    Nobody,
}

/// One that was launched.
pub struct Session {
    dir: PathBuf,
    guard: u32,
    /// As `prove` is told of it.
    pub told: String,
}

impl Session {
    /// By a process that ends when the program has been exec'd.
    pub fn launch(home: &Path, id: &str, helpers: Helpers, program: &[&str]) -> io::Result<Self> {
        let home = home.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let helpers = format!("{helpers:?}");
        let ran = super::command(&[&["launch", home, id, &helpers], program].concat())?
            .stdin(With::null())
            .stderr(With::inherit())
            .output()?;
        let said = String::from_utf8_lossy(&ran.stdout);
        let (guard, program) =
            said.trim().split_once(' ').ok_or_else(|| io::Error::other("no bare session"))?;
        let guard = guard.parse().map_err(io::Error::other)?;
        Ok(Self { dir: sessions(home).join(id), guard, told: format!("{id}:{program}") })
    }

    /// Waits for its end, once.
    pub fn waiting(&self) -> io::Result<Command> {
        super::command(&["wait", &self.dir.display().to_string()])
    }

    /// Once its program has ended: until nothing is left of it.
    pub fn gone(self) -> io::Result<()> {
        await_end(self.guard);
        fs::remove_dir_all(&self.dir)
    }
}

pub fn sessions(home: &str) -> PathBuf {
    Path::new(home).join("sessions")
}

/// Starts the guard, claims a name and makes the directory with what must have room while that comes up, and has it go on.
pub fn launch(home: &str, id: &str, helpers: &str, program: &[&str]) -> io::Result<()> {
    let mut guard = super::command(&[&["guard", home, id, helpers], program].concat())?;
    let mut guard = guard.stdin(With::piped()).stdout(With::piped()).spawn()?;
    let names = PrivateDir::ensure(&Path::new(home).join("names")).map_err(untrusted)?;
    let turn = names.ensure_log(".lock")?;
    lock::take_in_turn(&turn, Holder::Sealer)?;
    names.set_link_text(id, id)?;
    let sessions = PrivateDir::ensure(&sessions(home)).map_err(untrusted)?;
    let dir = sessions.ensure_below(&draft(id)).map_err(untrusted)?;
    dir.create_slot("outcome")?;
    dir.create_log("evidence", ROOM)?;
    dir.create_fifo("alive")?;
    drop(guard.stdin.take());
    let mut said = [0; 16];
    let length = guard.stdout.take().map_or(Ok(0), |mut from| from.read(&mut said))?;
    writeln!(io::stdout(), "{} {}", guard.id(), String::from_utf8_lossy(&said[..length]))
}

/// Once its launcher has made the directory, owns the terminal and the files, publishes the session before its program is let
/// go, and tells its end.
pub fn guard(home: &str, id: &str, helpers: &str, program: &[&str]) -> io::Result<()> {
    io::stdin().read_to_end(&mut Vec::new())?;
    let sessions = PrivateDir::open(&sessions(home)).map_err(untrusted)?;
    let dir = sessions.open_below(&draft(id)).map_err(untrusted)?;
    let mut evidence = dir.append("evidence")?;
    lock::take(&evidence, Holder::Guard)?;
    evidence.write_all(&fact(GUARDED))?;
    let mut recording = dir.create_log("recording", 0)?;
    recording.write_all(&[0; HEAD])?;
    let mut alive = dir.hold_fifo("alive")?;
    let _socket = sock::listen_below(&dir, "socket")?;
    let pty = Pty::open(Size { cols: 80, rows: 24 })?;
    let gated = gated(&image(program)?, Stdio::Terminal(pty.slave.as_fd()), None)?;
    let (pid, pidfd) = (gated.pid, gated.pidfd.try_clone()?);
    evidence.write_all(&fact(LAUNCHED))?;
    sessions.publish(&draft(id), id)?;
    gated.open().map_err(|(errno, _)| io::Error::from_raw_os_error(errno))?;
    evidence.write_all(&fact(STARTED))?;
    let mut out = io::stdout();
    write!(out, "{pid}")?;
    out.flush()?;
    let host = match helpers {
        "Host" => Some(super::command(&["host"])?.stdin(With::piped()).spawn()?),
        _ => None,
    };
    follow(File::from(pty.master), &pidfd, &mut recording)?;
    waitpid(i32::try_from(pid).ok().and_then(Pid::from_raw), WaitOptions::empty())?;
    evidence.write_all(&fact(EXITING))?;
    ask_who_is_left()?;
    hear_the_last_word(&dir, &evidence)?;
    dir.open_slot("outcome")?.fill(&fact(OUTCOME))?;
    evidence.write_all(&fact(ENDED))?;
    lock::give_back(&evidence, Holder::Declarer);
    alive.write_all(b"!")?;
    // It ends when its input does.
    host.map_or(Ok(()), |host| host.wait_with_output().map(drop))
}

/// Records what is shown until the program has ended.
fn follow(mut master: File, program: &impl AsFd, recording: &mut File) -> io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let ready = poll::readable(&[master.as_fd(), program.as_fd()], None);
        // It reads without waiting: nothing may be there any more.
        if ready[0]
            && let Ok(length) = master.read(&mut bytes)
        {
            recording.write_all(&bytes[..length])?;
        } else if ready[1] {
            return Ok(());
        }
    }
}

/// Lists its children, of whom none but the host is left.
fn ask_who_is_left() -> io::Result<()> {
    let own = std::process::id();
    File::open(format!("/proc/{own}/task/{own}/children"))?.read(&mut [0; 256]).map(drop)
}

/// Lets nobody declare a result any more, and looks for one where it may have been: in the log, beside it, and in a file.
fn hear_the_last_word(dir: &PrivateDir, evidence: &File) -> io::Result<()> {
    lock::take_in_turn(evidence, Holder::Declarer)?;
    evidence.read_at(&mut [0; 16384], 0)?;
    // There is none.
    let _ = (dir.read("result.toml"), dir.read("declared"));
    Ok(())
}

/// Stands by until its guard lets it go.
pub fn host() -> io::Result<()> {
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

/// Is woken by the bell, and reads the proof.
pub fn wait(dir: &Path) -> io::Result<()> {
    let dir = PrivateDir::open(dir).map_err(untrusted)?;
    let (mut evidence, alive) = (dir.read("evidence")?, dir.wait_on_fifo("alive")?);
    let _ = poll::readable(&[alive.as_fd()], None);
    let length = evidence.read(&mut [0; 16384])?;
    let whole = GUARDED + LAUNCHED + STARTED + EXITING + ENDED;
    if length == whole { Ok(()) } else { Err(io::Error::other("it was woken before the end was told")) }
}

fn draft(id: &str) -> String {
    format!(".new-{id}")
}

fn fact(length: usize) -> Vec<u8> {
    vec![b'.'; length]
}

fn image(program: &[&str]) -> io::Result<Image> {
    let words = program.iter().map(|word| CString::new(*word));
    let argv = words.collect::<Result<Vec<_>, _>>()?;
    Ok(Image { paths: argv[..1].to_vec(), argv, env: Vec::new(), cwd: c"/".to_owned() })
}

fn untrusted(why: Untrusted) -> io::Error {
    io::Error::other(why.says())
}
