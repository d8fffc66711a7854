//! `abide inspect`: everything about sessions.

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb};
use crate::show::inspect;
use crate::show::session::SessionView;

const EXAMPLES: &str = "Examples:
  abide inspect k3v9q2zr         everything about a session
  abide inspect @last --json     the latest one, for programs
  abide inspect build lint       two at once, by their names";

/// Show everything about sessions
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// IDs, names, unique prefixes or @last
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

/// One session, or several below `sessions`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Inspect")]
pub(crate) enum InspectView<'a> {
    One(Box<SessionView<'a>>),
    Several { sessions: Vec<SessionView<'a>> },
}

impl Verb for Args {
    type Data = InspectView<'static>;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let found =
            self.sessions.iter().map(|wanted| sessions.find(wanted)).collect::<Result<Vec<_>, _>>()?;
        let view = |session| SessionView::new(&sessions, session);
        let data = match found.as_slice() {
            [one] => InspectView::One(Box::new(view(one))),
            several => InspectView::Several { sessions: several.iter().map(view).collect() },
        };
        front.output.show(&data, |page| {
            for (at, (session, view)) in found.iter().zip(data.views()).enumerate() {
                if at > 0 {
                    page.end();
                }
                inspect::put(page, session, view);
            }
        })?;
        Ok(0)
    }
}

impl<'a> InspectView<'a> {
    fn views(&self) -> &[SessionView<'a>] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several { sessions } => sessions,
        }
    }
}
