//! `abide ls`: the sessions, what needs a person first.

use std::sync::atomic::{AtomicUsize, Ordering};

use abide_core::failure::Failure;
use abide_engine::{Session, Sessions};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb, has_labels, schema};
use crate::show::list::{self, Row};
use crate::show::session::SessionView;
use crate::show::template::Template;

const EXAMPLES: &str = "Examples:
  abide ls                                        the sessions that are not over
  abide ls -a --label team=core                   all sessions with a label
  abide ls -aq                                    only the IDs
  abide ls --format '{{.id}} {{.outcome.code}}'   fields of the JSON form";

/// List sessions, what needs a person first
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Also those that are over
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
    /// Where they come from, so that a partial answer says so.
    sources: Vec<SourceView>,
}

/// A place where sessions were looked for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
struct SourceView {
    name: &'static str,
    #[serde(rename = "state")]
    #[schemars(extend("enum" = ["ok", "failed"]))]
    health: &'static str,
    detail: Option<String>,
}

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
        let mut found = sessions.list()?;
        found.retain(|session| self.wants(session));
        list::sort(&mut found);
        let view = |session| SessionView::of(&sessions, session);
        let sources = vec![SourceView { name: "sessions", health: "ok", detail: None }];
        let data = ListView { sessions: found.iter().map(view).collect(), sources };
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
        let listed = sessions.each(|session| {
            if session.verdict.status.is_terminal() {
                over.fetch_add(1, Ordering::Relaxed);
            }
            self.wants(&session).then(|| Row::new(&session))
        })?;
        let mut rows: Vec<Row> = listed.into_iter().flatten().collect();
        list::sort_rows(&mut rows);
        let empty = rows.is_empty();
        front.output.show(&(), |page| match self.quiet {
            true => rows.iter().for_each(|row| page.own_lines(row.id())),
            false if empty => {}
            false => list::put(page, rows),
        })?;
        if empty && !self.quiet {
            let hidden = over.into_inner() > 0 && !self.all;
            let hidden = if hidden { "; `abide ls -a` shows those that are over" } else { "" };
            front.output.remark(&format!("no sessions{hidden}"));
        }
        Ok(0)
    }

    fn wants(&self, session: &Session) -> bool {
        (self.all || session.verdict.status.is_active()) && has_labels(session, &self.label)
    }
}
