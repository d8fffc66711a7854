//! `abide rm`: remove sessions that are over.

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb, run};
use crate::config::key::Key;

const EXAMPLES: &str = "Examples:
  abide rm k3v9q2zr           a session that is over, with its recording
  abide rm --force nightly    stop it first if it runs; also one whose record is damaged";

/// Remove sessions and everything that is known of them
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Stop it first if it runs; remove it even if its record is damaged
    #[arg(long)]
    force: bool,
    /// IDs, names, unique prefixes or @last
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

/// What was removed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Remove")]
pub(crate) struct RemoveView {
    removed: Vec<String>,
}

impl Verb for Args {
    type Data = RemoveView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let grace_ms = run::parse_duration(&front.value(Key::Grace, None))?;
        let sessions = front.sessions()?;
        // All are found before the first is removed.
        let found =
            self.sessions.iter().map(|wanted| sessions.find(wanted)).collect::<Result<Vec<_>, _>>()?;
        let mut removed = Vec::new();
        for mut session in found {
            if self.force && session.verdict.status.is_stoppable() {
                session = sessions.stop(&session, grace_ms)?;
            }
            sessions.remove(&session, self.force)?;
            removed.push(session.id.to_string());
        }
        let data = RemoveView { removed };
        front.output.show(&data, |page| {
            for id in &data.removed {
                page.plain(id).end();
            }
        })?;
        Ok(0)
    }
}
