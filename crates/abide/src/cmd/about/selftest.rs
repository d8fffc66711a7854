//! `abide selftest`: attacks this very executable with real faults in a scratch home, and fails on the first lie.

use std::io::Error;
use std::path::PathBuf;

use abide_chaos::report::Report;
use abide_chaos::schedule::Schedule;
use abide_chaos::torture::{self, Outcome, Settings, torture};
use abide_core::failure::{Code, Failure};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::show::page::{Page, Tone};

const EXAMPLES: &str = "Examples:
  abide selftest --chaos                          ten seconds of faults; exits with 1 if abide told a lie
  abide selftest --chaos --seconds 60 --seed 7    longer, and as another time
  abide selftest --chaos --schedule failed.txt    what a failing run printed as its shortest schedule";

/// How many readers ask at once, how many ms lie between two launches, and how long a failing run is shrunk.
const READERS: u64 = 2;
const PACE_MS: u64 = 250;
const SHRINK_MS: u64 = 60_000;

/// Attack abide on this machine, in a scratch home, and check every answer
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("Real programs are started, killed, stopped and flooded, and so are abide's own helpers, while \
    readers ask what is true; each answer is held against what the kernel says. Your sessions are not touched: all of \
    it happens in a scratch home, within namespaces of its own where that is permitted. What is not permitted is \
    skipped, and said.", signals_end_this!("what was started for it ends too."))
)]
pub(crate) struct Args {
    /// With faults; there is no other kind yet
    #[arg(long, required_unless_present = "inside")]
    chaos: bool,
    /// For how long faults are made; it takes a few seconds more to end it all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The number that decides what is done and asked [default: a random one, which is printed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 48))]
    seed: Option<u64>,
    /// Do what stands in this file instead
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
    /// Without namespaces, even where they are permitted
    #[arg(long)]
    bare: bool,
    /// Run the plan that lies in this directory
    #[arg(long, value_name = "DIR", hide = true)]
    inside: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Selftest")]
pub(crate) struct SelftestView {
    /// Whether no lie was told.
    held: bool,
    seed: u64,
    seconds: u64,
    sessions: u64,
    /// All checked answers.
    checked: u64,
    answers: Vec<CountView>,
    faults: Vec<CountView>,
    /// What may not be done here, and why.
    skipped: Vec<SkippedView>,
    /// The longest time that an end went unseen by a reader, and that passed between an end and its waiter's return.
    longest_unseen_ms: f64,
    longest_wait_ms: f64,
    lies: Vec<LieView>,
    /// The shortest schedule that still fails.
    schedule: Option<String>,
}

/// How often something was done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Count")]
struct CountView {
    what: String,
    times: u64,
}

/// What was not done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Skipped")]
struct SkippedView {
    what: String,
    reason: String,
}

/// One untruth.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Lie")]
struct LieView {
    kind: String,
    says: String,
}

impl Verb for Args {
    type Data = SelftestView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        if let Some(root) = &self.inside {
            let report = torture::inside(root, None).map_err(|e| failed(&e))?;
            front.output.raw(report.as_bytes())?;
            return Ok(0);
        }
        let settings = self.settings()?;
        if !front.output.is_json() {
            let again = format!("seed {}: the same again with --seed {}", settings.seed, settings.seed);
            front.output.remark(&again);
        }
        let outcome = torture(&settings, |_, _| {}).map_err(|e| failed(&e))?;
        let data = SelftestView::new(&outcome, self.seconds);
        front.output.show(&data, |page| put(page, &data, &outcome.report))?;
        Ok(if data.held { 0 } else { Code::Unhealthy.kind().exit_code() })
    }
}

impl Args {
    fn settings(&self) -> Result<Settings, Failure> {
        let exe = std::env::current_exe().map_err(|e| Failure::io("find", &"our own executable", &e))?;
        let inside = ["selftest", "--inside"].map(str::to_owned).to_vec();
        Ok(Settings {
            inside: (exe.clone(), inside),
            exe,
            seed: self.seed.map_or_else(torture::any_seed, Ok).map_err(|e| failed(&e))?,
            round_ms: self.seconds * 1000,
            answers: 0,
            readers: READERS,
            pace_ms: PACE_MS,
            bare: self.bare,
            shrink_ms: SHRINK_MS,
            schedule: self.schedule.as_ref().map(read).transpose()?,
        })
    }
}

fn read(path: &PathBuf) -> Result<Schedule, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::io("read", &path.display(), &e))?;
    Schedule::parse(&text).map_err(|line| {
        let message = format!("line {line} of {} is no step of a schedule", path.display());
        Failure::new(Code::Usage, message)
    })
}

fn failed(error: &Error) -> Failure {
    Failure::io("run", &"the self-test", error)
}

impl SelftestView {
    fn new(outcome: &Outcome, seconds: u64) -> Self {
        let report = &outcome.report;
        let count = |(what, times): (&String, &u64)| CountView { what: what.clone(), times: *times };
        let skipped =
            |(what, reason): (&String, &String)| SkippedView { what: what.clone(), reason: reason.clone() };
        let ms = |micros: u64| micros as f64 / 1000.0;
        Self {
            held: report.lies_in_all == 0,
            seed: outcome.seed,
            seconds,
            sessions: report.sessions,
            checked: report.checked(),
            answers: report.answers.iter().map(count).collect(),
            faults: report.faults.iter().map(count).collect(),
            skipped: report.skipped.iter().map(skipped).collect(),
            longest_unseen_ms: ms(report.lag.unseen),
            longest_wait_ms: ms(report.lag.waiter),
            lies: report
                .lies
                .iter()
                .map(|lie| LieView { kind: lie.kind.name().to_owned(), says: lie.says.clone() })
                .collect(),
            schedule: outcome.shortest.as_ref().map(ToString::to_string),
        }
    }
}

fn put(page: &mut Page, data: &SelftestView, report: &Report) {
    for line in report.says().lines() {
        page.plain(line).end();
    }
    if let Some(schedule) = &data.schedule {
        page.put(Tone::Strong, "the shortest schedule that still fails:").end();
        for line in schedule.lines() {
            page.plain(line).end();
        }
    }
    let (tone, verdict) = match data.held {
        true => (Tone::Good, "every answer was true"),
        false => (Tone::Bad, "abide told a lie: this is a bug, please report it with the lines above"),
    };
    page.end().put(tone, verdict).end();
}
