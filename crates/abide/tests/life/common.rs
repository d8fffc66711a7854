//! What all these tests share: a home, sessions in it, and who knows the truth about their processes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abide_testkit::agent::stream_line;
use abide_testkit::deadline::until;
use abide_testkit::observer::Doomed;
use abide_testkit::{Abide, Observer, Ran, Running, ScratchHome, bin};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::process::Signal;
use serde_json::Value;

/// A home and the binary that works in it.
pub(crate) struct World {
    pub(crate) home: ScratchHome,
    pub(crate) abide: Abide,
}

impl Drop for World {
    /// A test that fails ends everything that it started, too.
    fn drop(&mut self) {
        let failed = std::thread::panicking() && self.home.path().join("sessions").exists();
        let sessions = failed.then(|| self.in_sessions());
        for id in sessions.into_iter().flatten() {
            // One that cannot be removed is not what has failed.
            let _ = self.abide.command(&["rm", "--force", &id]).output();
        }
    }
}

/// A session that was launched for a test. Its program does not outlive this value, and so nothing of it does.
pub(crate) struct Life<'a> {
    world: &'a World,
    pub(crate) id: String,
    pub(crate) program: Doomed,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = ScratchHome::new();
        let abide = Abide::new(env!("CARGO_BIN_EXE_abide"), &home);
        Self { home, abide }
    }

    /// Waits until the helpers of a session that is over have gone: its guard goes last.
    pub(crate) fn until_nobody_serves(&self, id: &str) {
        until("its guard and host have gone", || {
            let processes = &self.inspect(id)["processes"];
            ["guard", "host"].iter().all(|who| processes[who]["liveness"] != "alive")
        });
    }

    /// A path beside the home.
    pub(crate) fn beside(&self, name: &str) -> String {
        self.home.around().join(name).to_str().expect("it is text").to_owned()
    }

    /// Launches a program in a session, detached, and gives the session's ID.
    pub(crate) fn launch(&self, options: &[&str], command: &[&str]) -> String {
        let ran = self.abide.run(&[&["run", "-d"], options, &["--"], command].concat());
        // Where a logout would end what these tests start, abide rightly says so.
        let complaints = ran.stderr.lines().filter(|line| !line.starts_with("abide: warning: a logout"));
        assert_eq!((ran.code(), complaints.count()), (Some(0), 0), "{ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    /// Launches a fake agent in a session, detached, and gives the session's ID.
    pub(crate) fn run(&self, options: &[&str], steps: &[&str]) -> String {
        self.launch(options, &[&[agent().as_str()], steps].concat())
    }

    /// Launches a fake agent that begins when the gate is opened.
    pub(crate) fn gated(&self, steps: &[&str]) -> (Life<'_>, Gate) {
        self.gated_by(&[&[agent().as_str()], steps].concat())
    }

    /// Launches a program that begins when the gate is opened.
    pub(crate) fn gated_by(&self, command: &[&str]) -> (Life<'_>, Gate) {
        let gate = Gate::new(&self.beside("gate"));
        let shell = ["sh", "-c", "read go < \"$0\"; exec \"$@\"", &self.beside("gate")];
        let id = self.launch(&[], &[&shell, command].concat());
        (self.observe(id), gate)
    }

    /// A script of bash in which `$0` is abide and `$1`, ... what is given.
    pub(crate) fn bash(&self, script: &str, given: &[&str]) -> Command {
        let command = self.abide.command(&[]);
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).arg(command.get_program()).args(given);
        shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell
    }

    /// What stands in the home beside sessions that anyone may see, and those.
    pub(crate) fn in_sessions(&self) -> Vec<String> {
        let there = fs::read_dir(self.home.path().join("sessions")).expect("there is a home").flatten();
        there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Starts a command of abide that goes on for a while; what it remarks is not heard.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::start(self.abide.command(args).stderr(Stdio::null()))
    }

    /// Runs a fake agent that goes on until it is ended.
    pub(crate) fn live(&self, steps: &[&str]) -> Life<'_> {
        let id = self.run(&[], steps);
        self.observe(id)
    }

    /// Takes hold of a session whose program lives.
    pub(crate) fn observe(&self, id: String) -> Life<'_> {
        let program = Doomed(observer(&self.inspect(&id), "program"));
        Life { world: self, id, program }
    }

    pub(crate) fn inspect(&self, id: &str) -> Value {
        data(&self.abide.run(&["inspect", "--json", id]))
    }

    /// What `wait` exits with and says of one session.
    pub(crate) fn wait(&self, id: &str) -> (Option<i32>, Value) {
        let ran = self.abide.run(&["wait", "--json", id]);
        (ran.code(), data(&ran))
    }

    /// The session's directory.
    pub(crate) fn dir(&self, id: &str) -> PathBuf {
        self.home.path().join("sessions").join(id)
    }

    /// The facts on record, as far as they can be read, in their order.
    pub(crate) fn facts(&self, id: &str) -> Vec<Value> {
        facts_in(&File::open(self.dir(id).join("evidence")).expect("there is evidence"))
    }

    /// The bodies of the facts of one name.
    pub(crate) fn told(&self, id: &str, fact: &str) -> Vec<Value> {
        self.facts(id).into_iter().filter(|told| told["fact"] == fact).map(|mut t| t["body"].take()).collect()
    }

    /// All that the session showed.
    pub(crate) fn shown(&self, id: &str) -> String {
        let ran = self.abide.run(&["logs", "--raw", id]);
        assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "logs of {id}");
        ran.stdout
    }
}

impl Life<'_> {
    pub(crate) fn inspect(&self) -> Value {
        self.world.inspect(&self.id)
    }

    /// The guard or host that serves now, once the one that did before (if any) is not it.
    pub(crate) fn helper(&self, who: &str, before: Option<u32>) -> Observer {
        let mut found = None;
        until("a helper serves the session", || {
            let session = self.inspect();
            let told = &session["processes"][who];
            let pid = told["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
            let pid = pid.filter(|pid| told["liveness"] == "alive" && Some(*pid) != before);
            // One that died just now may still be told alive.
            found = pid.and_then(Observer::find).filter(Observer::lives);
            found.is_some()
        });
        found.expect("it was found")
    }

    /// Kills the guard or the host and waits for the next one.
    pub(crate) fn replace(&self, who: &str) -> Observer {
        let helper = self.helper(who, None);
        helper.signal(Signal::KILL);
        helper.await_end();
        self.helper(who, Some(helper.pid()))
    }

    /// Waits until the session has shown a text.
    pub(crate) fn until_shown(&self, text: &str) {
        until(&format!("{text:?} is shown"), || self.world.shown(&self.id).contains(text));
    }

    /// Kills guard and host so that neither can start the other again.
    pub(crate) fn kill_helpers(&self) {
        kill_at_once(&["guard", "host"].map(|who| self.helper(who, None)));
    }
}

/// What a program waits at until the test lets it go on.
pub(crate) struct Gate(String);

impl Gate {
    pub(crate) fn new(path: &str) -> Self {
        mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).expect("there is room");
        Self(path.to_owned())
    }

    /// Keeps it from ending for those who read from it.
    pub(crate) fn hold(&self) -> File {
        OpenOptions::new().read(true).write(true).open(&self.0).expect("it is there")
    }

    pub(crate) fn open(&self) {
        let gate = OpenOptions::new().write(true).open(&self.0);
        gate.and_then(|mut gate| gate.write_all(b"go\n")).expect("someone waits at the gate");
    }
}

impl Drop for Gate {
    /// Whoever still waits at it finds its end, and is not left behind.
    fn drop(&mut self) {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let _ = OpenOptions::new().write(true).custom_flags(flags).open(&self.0);
    }
}

/// Whether this kernel keeps the end of a process for those who hold a pidfd of it.
pub(crate) fn ends_are_kept() -> bool {
    let mut process = Running::start(&mut Command::new("true"));
    process.reap();
    process.observer().ending().is_some()
}

/// Kills processes so that none of them can act on the death of another.
pub(crate) fn kill_at_once(processes: &[Observer]) {
    for signal in [Signal::STOP, Signal::KILL] {
        processes.iter().for_each(|process| process.signal(signal));
    }
    processes.iter().for_each(Observer::await_end);
}

/// Whether a process waits on the end of a session.
pub(crate) fn waits(process: &Running) -> bool {
    let Ok(fds) = fs::read_dir(Path::new("/proc").join(process.pid().to_string()).join("fd")) else {
        return false;
    };
    fds.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|file| file.ends_with("alive")))
}

/// The facts in evidence that is held open, as far as they can be read, in their order.
pub(crate) fn facts_in(mut evidence: &File) -> Vec<Value> {
    evidence.rewind().expect("it is a file");
    let text = io::read_to_string(evidence).expect("it can be read");
    text.lines().filter_map(|line| serde_json::from_str(line.split_once(' ')?.1).ok()).collect()
}

/// The path of the fake agent.
pub(crate) fn agent() -> String {
    bin("fake-agent").to_str().expect("it is text").to_owned()
}

/// The pid of one of the processes that `inspect` names.
pub(crate) fn pid(session: &Value, who: &str) -> u32 {
    let pid = session["processes"][who]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    pid.unwrap_or_else(|| panic!("no {who}: {session}"))
}

/// Who knows the truth about one of the processes that `inspect` names.
pub(crate) fn observer(session: &Value, who: &str) -> Observer {
    Observer::of(pid(session, who))
}

/// The data of an answer.
pub(crate) fn data(ran: &Ran) -> Value {
    let mut answer = ran.json();
    assert_eq!(answer["ok"], true, "{ran:?}");
    answer["data"].take()
}

/// What a terminal is given of so many lines of the fake agent's stream.
pub(crate) fn streamed(lines: u64) -> String {
    (0..lines).map(|number| stream_line(number).replace('\n', "\r\n")).collect()
}

/// Status, code and signal of what `inspect` or `wait` says.
pub(crate) fn outcome(told: &Value) -> (&str, Option<i64>, Option<i64>) {
    let outcome = &told["outcome"];
    (told["status"].as_str().unwrap_or_default(), outcome["code"].as_i64(), outcome["signal"].as_i64())
}
