//! Torture from outside: prepares scratch directories, starts runs within walls, adds up what they find, and makes a
//! failing schedule shorter.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abide_sys::clock;

use crate::judge::Kind;
use crate::ledger::ExitOf;
use crate::report::Report;
use crate::run::{self, Plan};
use crate::schedule::{Likes, Schedule, generate};
use crate::shrink::shrink;
use crate::walls::Walls;

const PLAN: &str = "plan.json";
/// How often a shorter schedule is tried before it counts as one that does not fail.
const TRIES: u32 = 2;

/// How to torture.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The abide that is asked.
    pub exe: PathBuf,
    /// What runs a plan: a program and the arguments before the directory.
    pub inside: (PathBuf, Vec<String>),
    pub seed: u64,
    /// How long one round is.
    pub round_ms: u64,
    /// Rounds are added until so many answers were checked, or a lie was found.
    pub answers: u64,
    pub readers: u64,
    pub pace_ms: u64,
    /// Not within walls, even where that is permitted.
    pub bare: bool,
    /// How long a failing schedule may be shrunk.
    pub shrink_ms: u64,
    /// This schedule instead of those that the seed makes.
    pub schedule: Option<Schedule>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub report: Report,
    pub rounds: u64,
    /// The seed of the last round: the one that failed, if one did.
    pub seed: u64,
    /// The shortest schedule that still fails.
    pub shortest: Option<Schedule>,
}

/// Tortures, and tells of each round when it is over.
///
/// # Errors
/// If a run cannot be done at all.
pub fn torture(settings: &Settings, mut tell: impl FnMut(&Report, u64)) -> io::Result<Outcome> {
    let mut outcome = Outcome { report: Report::default(), rounds: 0, seed: settings.seed, shortest: None };
    loop {
        let seed = settings.seed + outcome.rounds;
        let schedule = settings.schedule.clone();
        let likes = Likes { walled: !settings.bare, pace_ms: settings.pace_ms };
        let schedule = schedule.unwrap_or_else(|| generate(seed, settings.round_ms, &likes));
        let report = round(settings, seed, &schedule)?;
        let kinds: Vec<Kind> = report.lies.iter().map(|lie| lie.kind).collect();
        outcome.report.add(report);
        outcome.rounds += 1;
        outcome.seed = seed;
        tell(&outcome.report, seed);
        if !kinds.is_empty() && settings.shrink_ms > 0 {
            outcome.shortest = Some(shortest(settings, seed, &schedule, &kinds));
        }
        if !kinds.is_empty() || outcome.report.checked() >= settings.answers {
            return Ok(outcome);
        }
    }
}

/// Shrinks a schedule as long as it still brings about one of these lies.
fn shortest(settings: &Settings, seed: u64, schedule: &Schedule, kinds: &[Kind]) -> Schedule {
    let deadline = clock::now().boot + settings.shrink_ms;
    shrink(schedule, |tried| {
        let again = |_| {
            let in_time = clock::now().boot < deadline && !tried.0.is_empty();
            in_time
                && round(settings, seed, tried)
                    .is_ok_and(|report| report.lies.iter().any(|lie| kinds.contains(&lie.kind)))
        };
        (0..TRIES).any(again)
    })
}

/// One run in a scratch directory of its own.
fn round(settings: &Settings, seed: u64, schedule: &Schedule) -> io::Result<Report> {
    let scratch = Scratch::new()?;
    let home = scratch.0.join("home");
    DirBuilder::new().mode(0o700).create(&home)?;
    let walls = if settings.bare { Err("not asked for".to_owned()) } else { Walls::find(&home) };
    let plan = Plan {
        exe: settings.exe.clone(),
        seed,
        readers: settings.readers,
        walled: walls.is_ok(),
        schedule: schedule.to_string(),
    };
    File::create(scratch.0.join(PLAN))?.write_all(&serde_json::to_vec(&plan)?)?;
    let (program, args) = &settings.inside;
    let mut command = match &walls {
        Ok(walls) => walls.around(&home, program),
        Err(_) => Command::new(program),
    };
    let output = command.args(args).arg(&scratch.0).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let mut report: Report = serde_json::from_slice(&output.stdout)
        .map_err(|error| io::Error::other(format!("the run did not report ({}): {error}", output.status)))?;
    if let Err(why) = walls {
        report.skipped.insert("walls".to_owned(), why);
    }
    Ok(report)
}

/// A seed that nobody chose.
///
/// # Errors
/// If the kernel has no random bytes.
pub fn any_seed() -> io::Result<u64> {
    Ok(u64::from_ne_bytes(clock::random_bytes()?) % 1_000_000)
}

/// Runs the plan that lies in a directory, and gives the report as JSON: what `inside` must do.
///
/// # Errors
/// If it cannot be run.
pub fn inside(root: &Path, exit_of: Option<ExitOf>) -> io::Result<String> {
    let plan: Plan = serde_json::from_slice(&fs::read(root.join(PLAN))?)?;
    let report = run::run(root, &plan, exit_of)?;
    Ok(serde_json::to_string(&report)?)
}

/// A directory that goes with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let name = u64::from_ne_bytes(clock::random_bytes()?);
        let path = std::env::temp_dir().join(format!("abide-chaos-{name:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
