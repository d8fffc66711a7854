//! `abide upgrade`: every running session goes on as this version.

use abide_core::failure::Failure;
use abide_core::status::Column;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb};

const EXAMPLES: &str = "Examples:
  abide upgrade              all running sessions become this version; no program notices
  abide upgrade k3v9q2zr     only this one";

/// Make running sessions go on as this version of abide
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Guards become this executable in place, keeping terminal, lock and program; hosts are \
    replaced. Open waits and attached terminals go on. Exits with 1 if a session goes on as it was."
)]
pub(crate) struct Args {
    /// IDs, names, unique prefixes or @last [default: every session that runs]
    #[arg(value_name = "ID")]
    sessions: Vec<String>,
}

/// What became of them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Upgrade")]
pub(crate) struct UpgradeView {
    version: &'static str,
    upgraded: Vec<String>,
    failed: Vec<FailedView>,
}

/// A session that goes on as it was.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotUpgraded")]
struct FailedView {
    id: String,
    reason: String,
}

impl Verb for Args {
    type Data = UpgradeView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let wanted = match self.sessions.is_empty() {
            true => sessions.list()?.into_iter().filter(|s| s.verdict.status.is_commandable()).collect(),
            false => {
                self.sessions.iter().map(|wanted| sessions.find(wanted)).collect::<Result<Vec<_>, _>>()?
            }
        };
        let mut data =
            UpgradeView { version: env!("CARGO_PKG_VERSION"), upgraded: Vec::new(), failed: Vec::new() };
        for done in sessions.upgrade(&wanted)? {
            match done.failure {
                None => data.upgraded.push(done.id),
                Some(failure) => data.failed.push(FailedView { id: done.id, reason: failure.message }),
            }
        }
        front.output.show(&data, |page| {
            page.plain(&format!("{} sessions run as abide {}", data.upgraded.len(), data.version)).end();
            for failed in &data.failed {
                page.plain(&failed.reason).end();
            }
        })?;
        Ok(u8::from(!data.failed.is_empty()))
    }
}
