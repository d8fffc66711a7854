//! Processes that a test starts: talked to line by line, killed and reaped by their own handle when dropped.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use abide_sys::drill::with_defaults;
use rustix::process::Signal;

use crate::deadline::Deadline;
use crate::observer::{Ending, Observer};

/// A process that was started here and does not outlive this value.
#[derive(Debug)]
pub struct Running {
    process: Child,
    observer: Observer,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What it has said, and how much of that was given out.
    said: Vec<u8>,
    given: usize,
    ended: Option<Ending>,
}

impl Running {
    /// Starts a program with our ends of its input and output.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let spawned = with_defaults(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = spawned.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let observer = Observer::of(process.id());
        let (input, output) = (process.stdin.take(), process.stdout.take().expect("its output is piped"));
        Self { process, observer, input, output, said: Vec::new(), given: 0, ended: None }
    }

    /// Starts a fake agent with this script.
    #[must_use]
    pub fn agent(steps: &[&str]) -> Self {
        Self::start(Command::new(crate::bin("fake-agent")).args(steps))
    }

    /// Waits until it says `ready`; what it said before is passed over.
    #[must_use]
    pub fn ready(mut self) -> Self {
        self.until("ready");
        self
    }

    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.observer.pid()
    }

    /// Who knows the truth about it.
    #[must_use]
    pub const fn observer(&self) -> &Observer {
        &self.observer
    }

    /// The next line it says.
    ///
    /// # Panics
    /// If it says none.
    pub fn line(&mut self) -> String {
        self.until("")
    }

    /// The next line that contains a text; lines before it are passed over.
    ///
    /// # Panics
    /// If it says none.
    pub fn until(&mut self, text: &str) -> String {
        let deadline = Deadline::start();
        loop {
            while let Some(length) = self.said[self.given..].iter().position(|&byte| byte == b'\n') {
                let line = String::from_utf8_lossy(&self.said[self.given..self.given + length]).into_owned();
                self.given += length + 1;
                if line.contains(text) {
                    return line;
                }
            }
            let more = deadline.readable(self.output.as_fd()) && read_piece(&mut self.output, &mut self.said);
            let pid = self.pid();
            assert!(more, "{pid} never said {text:?}, only {:?}", String::from_utf8_lossy(&self.said));
        }
    }

    /// Gives it a line of input.
    ///
    /// # Panics
    /// If it does not take any more.
    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("it reads its input");
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.observer.signal(signal);
    }

    /// Waits for its end and reaps it. What it had not said yet is lost.
    ///
    /// # Panics
    /// If it does not end.
    pub fn reap(&mut self) -> Ending {
        if let Some(ended) = self.ended {
            return ended;
        }
        self.observer.await_end();
        let status = self.process.wait().expect("it is ours to reap");
        let ending = Ending::from_wait_status(status.into_raw());
        self.ended = Some(ending);
        ending
    }

    /// Kills and reaps it.
    pub fn kill(&mut self) -> Ending {
        self.signal(Signal::KILL);
        self.reap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// What a program said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Runs a program to its end, without input.
    ///
    /// # Panics
    /// If it cannot be started or does not end, or if someone keeps its output open.
    #[must_use]
    pub fn of(command: &mut Command) -> Self {
        let mut running = Running::start(command.stderr(Stdio::piped()));
        running.input = None;
        let stdout = running.output.as_fd().try_clone_to_owned().expect("a descriptor is left");
        let stderr = running.process.stderr.take().expect("its errors are piped");
        let mut open = vec![(File::from(stdout), 0), (File::from(OwnedFd::from(stderr)), 1)];
        let mut said = [Vec::new(), Vec::new()];
        let deadline = Deadline::start();
        while !open.is_empty() {
            let fds: Vec<_> = open.iter().map(|(file, _)| file.as_fd()).collect();
            let ready = deadline.first_readable(&fds);
            let ready = ready.unwrap_or_else(|| panic!("{command:?} keeps its output open"));
            let (file, place) = &mut open[ready];
            if !read_piece(file, &mut said[*place]) {
                open.remove(ready);
            }
        }
        let ending = running.reap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { ending, stdout: text(&said[0]), stderr: text(&said[1]) }
    }

    /// The exit code, if it exited.
    #[must_use]
    pub const fn code(&self) -> Option<i32> {
        match self.ending {
            Ending::Exited(code) => Some(code),
            Ending::Signaled { .. } => None,
        }
    }

    /// What it said on stdout, as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }
}

/// Reads what is there. False at the end.
fn read_piece(from: &mut impl Read, to: &mut Vec<u8>) -> bool {
    let mut piece = [0; 4096];
    let length = from.read(&mut piece).unwrap_or(0);
    to.extend_from_slice(&piece[..length]);
    length > 0
}

/// Field 22 of `/proc/PID/stat`: birth in clock ticks. Together with the pid what many take for an identity.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let text = String::from_utf8_lossy(&stat);
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Fields 14 and 15 of `/proc/PID/stat`: the processor time that a living process has used, in clock ticks.
///
/// # Panics
/// If there is no such process.
#[must_use]
pub fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    let stat = stat.unwrap_or_else(|error| panic!("cannot look at {pid}: {error}"));
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
