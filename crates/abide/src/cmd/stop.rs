//! `abide stop`: end sessions, politely first.

use std::io::IsTerminal;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use abide_core::failure::Failure;
use abide_core::status::Column;
use abide_engine::{Session, Sessions, signals};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb, run};
use crate::config::key::Key;
use crate::show::page::Page;
use crate::show::session::failed::FailedView;
use crate::show::session::{OutcomeView, SurvivorView};
use crate::show::time;
use crate::show::word::StatusName;

const EXAMPLES: &str = "Examples:
  abide stop nightly              asks; after ten seconds insists
  abide stop --grace 1m k3v9q2zr  with more patience
  abide stop --grace 0s @last     without any
  abide stop build lint           both at once";

/// End sessions: their programs and everything they started
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "The program is sent SIGTERM, and SIGKILL if it does not end of that; an agent that ends in order on another signal is sent that one first, and a shell at its prompt SIGHUP. A program that stands still (SIGSTOP) is let go on, so that it hears what it is asked, and so is its guard. Exits with 0 once the death of the program is proved and nothing of it is left, else \
    with 1, naming what is. Several are asked at once, whatever becomes of the others. HUP, INT and TERM end this command only, as they end any program; a stop \
    that was asked for is completed."
)]
pub(crate) struct Args {
    #[arg(long, value_name = "DURATION", help = Key::Grace.help("How long it may take its time at each step"))]
    grace: Option<String>,
    /// IDs, names, unique prefixes or @last
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

/// One session, or several below `sessions`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Stop")]
pub(crate) enum StopView {
    One(StoppedView),
    Several { sessions: Vec<StoppedView>, failed: Vec<FailedView> },
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Stopped")]
pub(crate) struct StoppedView {
    id: String,
    status: StatusName,
    outcome: Option<OutcomeView>,
    /// Processes of the session that are still alive.
    survivors: Vec<SurvivorView>,
}

impl Verb for Args {
    type Data = StopView;
    const TAKES: Option<Column> = Some(Column::Stoppable);

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.grace.as_deref().map(run::parse_duration).transpose().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let grace_ms = run::parse_duration(&front.value(Key::Grace, self.grace))?;
        let sessions = front.sessions()?;
        // All are found before the first is asked.
        let mut found: Vec<Session> = Vec::new();
        for wanted in &self.sessions {
            let session = sessions.find(wanted)?;
            if !found.iter().any(|known| known.id == session.id) {
                found.push(session);
            }
        }
        let (mut stopped, mut views, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for (session, became) in found.iter().zip(stop(front, &sessions, &found, grace_ms)) {
            match became {
                Ok(session) => {
                    views.push(StoppedView::new(&sessions, &session));
                    stopped.push(session);
                }
                Err(failure) if found.len() == 1 => return Err(failure),
                Err(failure) => failures.push((session.id.to_string(), failure)),
            }
        }
        let done =
            |(session, view): (&Session, &StoppedView)| session.is_proved_dead() && view.survivors.is_empty();
        let all_done = stopped.iter().zip(&views).all(done);
        let failed = failures.first().map(|(_, failure)| failure.code.kind().exit_code());
        let failures_shown = failures.iter().map(|(id, failure)| FailedView::new(id, failure, &front.output));
        let data = StopView::new(views, failures_shown.collect(), found.len());
        front.output.show(&data, |page| {
            data.views().iter().zip(&stopped).for_each(|(view, session)| view.put(page, session));
        })?;
        if !front.output.is_json() {
            failures.iter().for_each(|(_, failure)| front.output.fail(failure));
        }
        for session in &stopped {
            if let Some((pid, conversation)) = sessions.goes_on(session) {
                let note = format!("note: process {pid} goes on with conversation {conversation}");
                front.output.remark(&note);
            }
            if let Some(way_on) = session.way_on() {
                front.output.remark(&format!("hint: {way_on}"));
            }
        }
        Ok(failed.unwrap_or(u8::from(!all_done)))
    }
}

impl StopView {
    fn new(mut views: Vec<StoppedView>, failed: Vec<FailedView>, asked: usize) -> Self {
        match views.pop() {
            Some(one) if asked == 1 => Self::One(one),
            last => {
                views.extend(last);
                Self::Several { sessions: views, failed }
            }
        }
    }

    fn views(&self) -> &[StoppedView] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several { sessions, .. } => sessions,
        }
    }
}

impl StoppedView {
    fn new(sessions: &Sessions, stopped: &Session) -> Self {
        Self {
            id: stopped.id.to_string(),
            status: StatusName(stopped.verdict.status),
            outcome: stopped.verdict.outcome.as_ref().map(OutcomeView::new),
            survivors: sessions.left_behind(stopped).iter().map(SurvivorView::new).collect(),
        }
    }

    fn put(&self, page: &mut Page, stopped: &Session) {
        let how = stopped.verdict.outcome.as_ref().map(|outcome| outcome.says());
        let how = how.unwrap_or_else(|| stopped.verdict.rule.says().to_owned());
        page.plain(&format!("{} is {}: {how}", self.id, stopped.verdict.status.name())).end();
        for survivor in &self.survivors {
            page.plain(&format!("still alive: {} {}", survivor.pid, survivor.command)).end();
        }
    }
}

/// Who watches hears what is waited for if it takes longer than this.
const QUIET_MS: u64 = 1_000;

fn stop(front: &Front, sessions: &Sessions, all: &[Session], grace_ms: u64) -> Vec<Result<Session, Failure>> {
    let asking: Vec<Vec<i32>> = all.iter().map(Session::asking).collect();
    let steps = asking.iter().map(Vec::len).max().unwrap_or(0);
    let left = grace_ms.saturating_mul(steps as u64).saturating_sub(QUIET_MS);
    let (going_on, hear) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(move || {
            let stopped = sessions.stop_all(all, grace_ms);
            drop(going_on);
            stopped
        });
        let watched = left > 0 && std::io::stderr().is_terminal();
        let quiet = Duration::from_millis(QUIET_MS);
        if watched && hear.recv_timeout(quiet) == Err(RecvTimeoutError::Timeout) {
            let left = time::span(left);
            let says = match asking.as_slice() {
                [asked] => {
                    let asked: Vec<String> = asked.iter().copied().map(signals::name).collect();
                    format!("asked to end with {}; SIGKILL in {left}", asked.join(", then "))
                }
                several => format!("{} sessions are asked to end; SIGKILL in {left}", several.len()),
            };
            front.output.remark(&format!("abide: {says}"));
        }
        stopping.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
