//! `abide ls`: the sessions, what needs a person first.

use abide_core::failure::Failure;
use abide_engine::Session;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb, schema};
use crate::show::list;
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

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let template = self.format.as_deref();
        let template =
            template.map(|text| Template::parse::<SessionView<'_>>(text, schema::generator())).transpose()?;
        let sessions = front.sessions()?;
        let mut found = sessions.list()?;
        let over = found.iter().filter(|session| session.verdict.status.is_terminal()).count();
        found.retain(|session| self.wants(session));
        list::sort(&mut found);
        // The table does not show it, and asking costs as much as all else.
        let recorded = template.is_some() || front.output.is_json();
        let views = found.iter().map(|session| match recorded {
            true => SessionView::new(session, sessions.recording(&session.id)),
            false => SessionView::brief(session, None),
        });
        let sources = vec![SourceView { name: "sessions", health: "ok", detail: None }];
        let data = ListView { sessions: views.collect(), sources };
        front.output.show(&data, |page| {
            if let Some(template) = &template {
                data.sessions.iter().for_each(|view| page.own_lines(&template.fill(view)));
            } else if self.quiet {
                found.iter().for_each(|session| page.own_lines(session.id.as_str()));
            } else if !found.is_empty() {
                list::put(page, &found, &data.sessions);
            }
        })?;
        if found.is_empty() && !self.quiet && template.is_none() {
            let hidden = if over > 0 && !self.all { "; `abide ls -a` shows those that are over" } else { "" };
            front.output.remark(&format!("no sessions{hidden}"));
        }
        Ok(0)
    }
}

impl Args {
    fn wants(&self, session: &Session) -> bool {
        let shown = self.all || session.verdict.status.is_active();
        let launched = session.evidence.beginning.launched.as_ref();
        shown
            && self.label.iter().all(|label| {
                let (key, value) =
                    label.split_once('=').map_or((label.as_str(), None), |(key, value)| (key, Some(value)));
                let has = launched.and_then(|told| told.body.labels.get(key));
                has.is_some_and(|has| value.is_none_or(|value| value == has))
            })
    }
}
