//! How long `abide ls -a` takes, and how much memory, in homes with ever more finished sessions; and beside
//! `tmux list-sessions` with as many sessions as the first home, the sessions alone: `ls -a` looks at every process of the
//! machine too, for agents that are in no session, and tmux started one a session. Fails if abide is not the faster one.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use abide_core::evidence::How;
use abide_core::identity::Identity;
use abide_sys::{clock, reap};
use abide_testkit::bench::built;
use abide_testkit::scene::{Scene, dead, launch};
use abide_testkit::{Observer, ScratchDir, ScratchHome};

/// How many sessions the homes have. The first is held against tmux.
const SIZES: [usize; 5] = [500, 1000, 2000, 5000, 10_000];
const RUNS: usize = 41;
/// What all of them have.
const LABEL: (&str, &str) = ("team", "core");

fn main() -> ExitCode {
    match bench() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "bench-ls: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let abide = built()?;
    let home = ScratchHome::new();
    let process = dead();
    let list = |home: &Path| {
        let mut command = Command::new(&abide);
        command.args(["ls", "-a", "--home"]).arg(home);
        command
    };
    tell(&home.path(), 0..SIZES[0], &process);
    let (ours, theirs) = against_tmux(list(&home.path()).args(["--label", LABEL.0]))?;
    writeln!(out, "{:>9} {:>10} {:>12} {:>10}", "sessions", "median ms", "us/session", "peak MiB")?;
    let mut there = SIZES[0];
    for size in SIZES {
        tell(&home.path(), there..size, &process);
        there = size;
        let found = measure(RUNS, &mut list(&home.path()))?;
        let each = found.micros as f64 / size as f64;
        let peak = found.peak_kib as f64 / 1024.0;
        writeln!(out, "{size:>9} {:>10.2} {each:>12.2} {peak:>10.1}", found.millis())?;
    }
    writeln!(out)?;
    let Some(theirs) = theirs else {
        writeln!(out, "no tmux here: nothing to compare with")?;
        return Ok(ExitCode::SUCCESS);
    };
    let (ours, theirs) = (ours.millis(), theirs.millis());
    writeln!(
        out,
        "{} sessions, side by side: abide ls -a --label {} {ours:.2} ms, tmux list-sessions {theirs:.2} ms",
        SIZES[0], LABEL.0
    )?;
    if ours < theirs {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "abide is not the faster one")?;
    Ok(ExitCode::FAILURE)
}

/// Adds finished sessions to a home.
fn tell(home: &Path, numbers: std::ops::Range<usize>, process: &Identity) {
    for number in numbers {
        let id = format!("{number:08}");
        let mut launched = launch(&id, process);
        launched.name = Some(format!("nightly-{number}"));
        launched.labels = [(LABEL.0.to_owned(), LABEL.1.to_owned())].into();
        let scene = Scene::new(home, &id).guarded(process).launched_as(launched).hosted(process);
        drop(scene.started(process).ended(How::Exited { code: 0 }));
    }
}

struct Found {
    micros: u64,
    peak_kib: u64,
}

impl Found {
    fn millis(&self) -> f64 {
        self.micros as f64 / 1000.0
    }
}

/// The median time of some runs, and the most memory that any of them used.
fn measure(runs: usize, command: &mut Command) -> io::Result<Found> {
    let mut found = (0..runs).map(|_| once(command)).collect::<io::Result<Vec<_>>>()?;
    found.sort_by_key(|run| run.micros);
    let peak_kib = found.iter().map(|run| run.peak_kib).max().unwrap_or(0);
    Ok(Found { micros: found[runs / 2].micros, peak_kib })
}

fn once(command: &mut Command) -> io::Result<Found> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = clock::boot_micros();
    let started = command.spawn()?;
    Observer::of(started.id()).await_end();
    let micros = clock::boot_micros() - began;
    let reaped = reap::reap().filter(|reaped| reaped.pid == started.id());
    let reaped = reaped.ok_or_else(|| io::Error::other("another process of ours ended"))?;
    if reaped.how != (How::Exited { code: 0 }) {
        return Err(io::Error::other(format!("{command:?} ended with {:?}", reaped.how)));
    }
    Ok(Found { micros, peak_kib: reaped.resources.peak_kib })
}

/// Our medians and tmux's, in turns so that both meet the same machine.
fn against_tmux(ours: &mut Command) -> io::Result<(Found, Option<Found>)> {
    let Some(tmux) = Tmux::start()? else {
        return Ok((measure(RUNS, ours)?, None));
    };
    let mut theirs = tmux.command(&["list-sessions"]);
    let (mut us, mut them) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        us.push(once(ours)?);
        them.push(once(&mut theirs)?);
    }
    let median = |mut found: Vec<Found>| {
        found.sort_by_key(|run| run.micros);
        found.swap_remove(RUNS / 2)
    };
    Ok((median(us), Some(median(them))))
}

/// A tmux of our own with as many sessions as the first home; ended with this value.
struct Tmux {
    socket: String,
    /// Where the socket is: tmux leaves it behind.
    dir: ScratchDir,
}

impl Tmux {
    fn start() -> io::Result<Option<Self>> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            return Ok(None);
        }
        let name = u64::from_ne_bytes(clock::random_bytes()?);
        let tmux = Self { socket: format!("abide-bench-{name:016x}"), dir: ScratchDir::new() };
        for number in 0..SIZES[0] {
            let session = format!("nightly-{number}");
            let status = tmux.command(&["new-session", "-d", "-s", &session, "cat"]).status()?;
            if !status.success() {
                return Err(io::Error::other("tmux makes no more sessions"));
            }
        }
        Ok(Some(tmux))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket, "-f", "/dev/null"]).args(args).env_remove("TMUX");
        command.env("TMUX_TMPDIR", self.dir.path());
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.command(&["kill-server"]).status();
    }
}
