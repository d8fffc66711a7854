//! `abide top`: what sessions use, now and again.

use std::io::{self, IsTerminal};

use abide_core::failure::{Code, Failure, admit};
use abide_core::status::Column;
use abide_engine::{Sessions, pause, watch};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb, ended_by, run};
use crate::show::list::used::{self, Measured, Sample, UseView};
use crate::show::page::Page;

const EXAMPLES: &str = "Examples:
  abide top                what each session uses, the busiest first, until q is typed
  abide top nightly        the processes of one session
  abide top --once         measured once, as it is without a terminal
  abide top --json @last   for programs, with every process";

/// Show what sessions use, the busiest first
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Of each session whose program is proved alive: how much of a processor its processes took between two \
    looks (100% is one processor), their time on processors since they began, the memory that they hold (what they \
    share counts in each of them), and how many they are. Guard and host are not counted. Keys: q or ctrl-c leaves. \
    HUP, INT and TERM end it with 128+signal; the sessions go on."
)]
pub(crate) struct Args {
    /// Look twice within half a second, say what was seen, and return
    #[arg(short = '1', long)]
    once: bool,
    /// How long from one look to the next
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    every: String,
    /// IDs, names, unique prefixes or @last: their processes [default: all sessions that run]
    #[arg(value_name = "ID")]
    sessions: Vec<String>,
}

/// What sessions use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Top")]
pub(crate) struct TopView {
    /// From the first look to the second.
    over_ms: u64,
    /// The busiest first.
    sessions: Vec<UseView>,
}

/// How long the first look is from the second.
const FIRST_MS: u64 = 500;

impl Verb for Args {
    type Data = TopView;
    const TAKES: Option<Column> = Some(Column::Stoppable);

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let every = run::parse_duration(&self.every)?;
        if every < used::LEAST_MS {
            return Err(Failure::new(
                Code::Usage,
                format!("`{}` is too short to measure anything", self.every),
            )
            .hint(format!("`--every {}ms` is the least", used::LEAST_MS)));
        }
        let sessions = front.sessions()?;
        for wanted in &self.sessions {
            let session = sessions.find(wanted)?;
            admit(session.id.as_str(), session.verdict.status, Column::Stoppable)?;
        }
        let before = self.sample(&sessions)?;
        let looks_on = io::stdin().is_terminal() && io::stdout().is_terminal();
        if self.once || front.output.is_json() || !looks_on {
            pause(FIRST_MS);
            return self.once(front, &before, &self.sample(&sessions)?);
        }
        let mut measured = Measured::new(before);
        let left = watch(FIRST_MS, every, &mut || {
            measured.take(self.sample(&sessions)?);
            let mut page = front.output.page();
            used::put_head(&mut page, measured.views());
            self.put(&mut page, measured.views());
            Ok(page.text().to_owned())
        })?;
        Ok(left.map_or(0, ended_by))
    }
}

impl Args {
    fn sample(&self, sessions: &Sessions) -> Result<Sample, Failure> {
        let found = match self.sessions.as_slice() {
            [] => sessions.list()?,
            named => named.iter().map(|wanted| sessions.find(wanted)).collect::<Result<_, _>>()?,
        };
        let runs = found.into_iter().filter(|session| session.verdict.status.is_stoppable());
        let at = sessions.now().at.boot;
        Ok(Sample { at, used: runs.map(|session| (sessions.used(&session), session)).collect() })
    }

    fn once(&self, front: &mut Front, before: &Sample, now: &Sample) -> Result<u8, Failure> {
        let data = TopView { over_ms: now.at.saturating_sub(before.at), sessions: now.since(before) };
        if data.sessions.is_empty() {
            front.output.remark("no session runs");
        }
        front.output.show(&data, |page| self.put(page, &data.sessions))?;
        Ok(0)
    }

    fn put(&self, page: &mut Page, views: &[UseView]) {
        match self.sessions.is_empty() {
            true => used::put(page, views),
            false => used::put_processes(page, views),
        }
    }
}
