//! `abide ls`: the sessions, what needs a person first.

use std::sync::atomic::{AtomicUsize, Ordering};

use abide_core::failure::Failure;
use abide_engine::agents::{Claim, Elsewhere};
use abide_engine::{Session, Sessions};
use schemars::JsonSchema;
use serde::Serialize;

use super::agent::agents::tell;
use super::{Faulty, Front, Verb, has_labels, schema};
use crate::show::list::agents::{self, AgentView, SourceView};
use crate::show::list::{self, Row};
use crate::show::page::Tone;
use crate::show::session::SessionView;
use crate::show::template::Template;

const EXAMPLES: &str = "Examples:
  abide ls                                        the sessions that are not over
  abide ls -a                                     also those that are over, and agents started elsewhere
  abide ls -a --label team=core                   all sessions with a label
  abide ls -aq                                    only the IDs
  abide ls --format '{{.id}} {{.outcome.code}}'   fields of the JSON form";

/// List sessions, what needs a person first
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Agents have neither label nor session ID: with --label, -q or --format they are left out. \
    `abide agents` tells more of them. What cannot be told within a second is missing, and that is said."
)]
pub(crate) struct Args {
    /// Also those that are over, and agents on this machine that are in no session
    #[arg(short, long)]
    all: bool,
    /// Only the IDs
    #[arg(short, long)]
    quiet: bool,
    /// Only those with this label; can be given several times
    #[arg(long, value_name = "KEY[=VALUE]")]
    label: Vec<String>,
    /// A line of text for each, with fields such as {{.id}} or {{.outcome.code}}
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "quiet")]
    format: Option<String>,
}

/// The sessions of a home.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "List")]
pub(crate) struct ListView<'a> {
    sessions: Vec<SessionView<'a>>,
    /// Living agents that are in none of them; null if they were not asked for.
    agents: Option<Vec<AgentView>>,
    /// Who was asked, so that a partial answer says so.
    sources: Vec<SourceView>,
}

/// Agents that take longer to be looked at are left out.
const PATIENCE_MS: u64 = 1_000;

impl Verb for Args {
    type Data = ListView<'static>;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let template = self.format.as_deref();
        let template =
            template.map(|text| Template::parse::<SessionView<'_>>(text, schema::generator())).transpose()?;
        let sessions = front.sessions()?;
        if template.is_none() && !front.output.is_json() {
            return self.tabulate(front, &sessions);
        }
        let elsewhere = self.looks_elsewhere().then(|| Elsewhere::look(PATIENCE_MS));
        let mut found = sessions.list()?;
        let claims: Vec<Claim> = found.iter().map(Claim::of).collect();
        found.retain(|session| self.wants(session));
        list::sort(&mut found);
        let view = |session| SessionView::of(&sessions, session);
        let (agents, others) = look(&sessions, elsewhere, &claims);
        let sources = [SourceView::good("sessions")].into_iter().chain(others).collect();
        let data = ListView { sessions: found.iter().map(view).collect(), agents, sources };
        let template = template.iter();
        front.output.show(&data, |page| {
            let lines = template.flat_map(|template| data.sessions.iter().map(|view| template.fill(view)));
            lines.for_each(|line| page.own_lines(&line));
        })?;
        Ok(0)
    }
}

impl Args {
    fn tabulate(&self, front: &mut Front, sessions: &Sessions) -> Result<u8, Failure> {
        let over = AtomicUsize::new(0);
        let looks = self.looks_elsewhere();
        let elsewhere = looks.then(|| Elsewhere::look(PATIENCE_MS));
        let listed = sessions.each(|session| {
            if session.verdict.status.is_terminal() {
                over.fetch_add(1, Ordering::Relaxed);
            }
            let claim = looks.then(|| Claim::of(&session));
            // Of one of which only the ID is shown nobody asks how its program stands.
            let qualifier = || (!self.quiet).then(|| sessions.qualifier(&session)).flatten();
            let row = || Row::new(&session, qualifier());
            (self.wants(&session).then(row), claim)
        })?;
        let (rows, claims): (Vec<_>, Vec<_>) = listed.into_iter().unzip();
        let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
        let claims: Vec<Claim> = claims.into_iter().flatten().collect();
        let (agents, sources) = look(sessions, elsewhere, &claims);
        let agents = agents.unwrap_or_default();
        list::sort_rows(&mut rows);
        let empty = rows.is_empty();
        if empty && !self.quiet {
            let hidden = over.into_inner() > 0 && !self.all;
            let hidden = if hidden { "; `abide ls -a` shows those that are over" } else { "" };
            front.output.remark(&format!("no sessions{hidden}"));
        }
        front.output.show(&(), |page| {
            match self.quiet {
                true => rows.iter().for_each(|row| page.own_lines(row.id())),
                false if empty => {}
                false => list::put(page, rows),
            }
            if !agents.is_empty() {
                page.end().put(Tone::Strong, "Agents elsewhere on this machine").end();
            }
            agents::put(page, &agents);
        })?;
        tell(front, &sources);
        Ok(0)
    }

    /// Agents have no label, no ID and no fields of sessions.
    fn looks_elsewhere(&self) -> bool {
        self.all && !self.quiet && self.label.is_empty() && self.format.is_none()
    }

    fn wants(&self, session: &Session) -> bool {
        (self.all || session.verdict.status.is_active()) && has_labels(session, &self.label)
    }
}

/// The agents that are in none of the sessions, and who was asked for them.
fn look(
    sessions: &Sessions,
    elsewhere: Option<Elsewhere>,
    claims: &[Claim],
) -> (Option<Vec<AgentView>>, Vec<SourceView>) {
    let Some(elsewhere) = elsewhere else { return (None, Vec::new()) };
    let (found, asked) = elsewhere.but_for(claims);
    let (agents, sources) = agents::views(sessions, found, asked);
    (Some(agents), sources)
}
