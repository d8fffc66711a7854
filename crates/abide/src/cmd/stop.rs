//! `abide stop`: end a session, politely first.

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
use crate::show::session::{OutcomeView, SurvivorView};
use crate::show::time;
use crate::show::word::StatusName;

const EXAMPLES: &str = "Examples:
  abide stop nightly              asks; after ten seconds insists
  abide stop --grace 1m k3v9q2zr  with more patience
  abide stop --grace 0s @last     without any";

/// End a session: its program and everything it started
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "The program is sent SIGTERM, and SIGKILL if it does not end of that; an agent that ends in order on another signal is sent that one first, and a shell at its prompt SIGHUP. A program that stands still (SIGSTOP) is let go on, so that it hears what it is asked, and so is its guard. Exits with 0 once the death of the program is proved and nothing of it is left, else \
    with 1, naming what is. HUP, INT and TERM end this command only, as they end any program; a stop \
    that was asked for is completed."
)]
pub(crate) struct Args {
    #[arg(long, value_name = "DURATION", help = Key::Grace.help("How long it may take its time at each step"))]
    grace: Option<String>,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Stop")]
pub(crate) struct StopView {
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
        let stopped = stop(front, &sessions, &sessions.find(&self.session)?, grace_ms)?;
        let survivors: Vec<_> = sessions.left_behind(&stopped).iter().map(SurvivorView::new).collect();
        let done = stopped.is_proved_dead() && survivors.is_empty();
        let data = StopView {
            id: stopped.id.to_string(),
            status: StatusName(stopped.verdict.status),
            outcome: stopped.verdict.outcome.as_ref().map(OutcomeView::new),
            survivors,
        };
        front.output.show(&data, |page| {
            let how = stopped.verdict.outcome.as_ref().map(|outcome| outcome.says());
            let how = how.unwrap_or_else(|| stopped.verdict.rule.says().to_owned());
            page.plain(&format!("{} is {}: {how}", data.id, stopped.verdict.status.name())).end();
            for survivor in &data.survivors {
                page.plain(&format!("still alive: {} {}", survivor.pid, survivor.command)).end();
            }
        })?;
        if let Some((pid, conversation)) = sessions.goes_on(&stopped) {
            front.output.remark(&format!("note: process {pid} goes on with conversation {conversation}"));
        }
        if let Some(way_on) = stopped.way_on() {
            front.output.remark(&format!("hint: {way_on}"));
        }
        Ok(u8::from(!done))
    }
}

/// Who watches hears what is waited for if it takes longer than this.
const QUIET_MS: u64 = 1_000;

fn stop(front: &Front, sessions: &Sessions, session: &Session, grace_ms: u64) -> Result<Session, Failure> {
    let asking = session.asking();
    let left = grace_ms.saturating_mul(asking.len() as u64).saturating_sub(QUIET_MS);
    if left == 0 || !std::io::stderr().is_terminal() {
        return sessions.stop(session, grace_ms);
    }
    let (going_on, hear) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(move || {
            let stopped = sessions.stop(session, grace_ms);
            drop(going_on);
            stopped
        });
        if hear.recv_timeout(Duration::from_millis(QUIET_MS)) == Err(RecvTimeoutError::Timeout) {
            let asked: Vec<String> = asking.into_iter().map(signals::name).collect();
            let (asked, left) = (asked.join(", then "), time::span(left));
            front.output.remark(&format!("abide: asked to end with {asked}; SIGKILL in {left}"));
        }
        stopping.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
