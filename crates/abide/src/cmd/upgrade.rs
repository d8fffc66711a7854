//! `abide upgrade`: every running session goes on as this version.

use abide_core::failure::{Failure, admit};
use abide_core::status::Column;
use abide_engine::Became;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb};
use crate::show::meter::{Meter, Unit};
use crate::show::session::failed::FailedView;
use crate::show::word::count;

const EXAMPLES: &str = "Examples:
  abide upgrade              all running sessions become this version; no program notices
  abide upgrade k3v9q2zr     only this one";

/// Make running sessions go on as this version of abide
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("Guards become this executable in place, keeping terminal, lock and program; hosts are \
    replaced. Open waits and attached terminals go on. Exits with 1 if a session goes on as it was, with 5 if one \
    that was named does not run.", signals_end_this!("an upgrade that was begun goes on."))
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
    /// Sessions that were this very executable before.
    already: Vec<String>,
    /// Sessions that ended meanwhile.
    ended: Vec<String>,
    /// Sessions that go on as they were.
    failed: Vec<FailedView>,
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
        // None is touched if one that was named cannot be.
        for session in &wanted {
            admit(session.id.as_str(), session.verdict.status, Column::Commandable)?;
        }
        let version = env!("CARGO_PKG_VERSION");
        let mut data = UpgradeView {
            version,
            upgraded: Vec::new(),
            already: Vec::new(),
            ended: Vec::new(),
            failed: Vec::new(),
        };
        let mut failures = Vec::new();
        let meter = Meter::new(!front.output.is_json(), "upgrading", Unit::Sessions);
        let upgraded = sessions.upgrade(&wanted, &|done, all| meter.tell(done, all));
        meter.clear();
        for done in upgraded? {
            match done.became {
                Ok(Became::New) => data.upgraded.push(done.id),
                Ok(Became::Already) => data.already.push(done.id),
                Ok(Became::Over) => data.ended.push(done.id),
                Err(failure) => failures.push((done.id, failure)),
            }
        }
        data.failed =
            failures.iter().map(|(id, failure)| FailedView::new(id, failure, &front.output)).collect();
        front.output.show(&data, |page| {
            for (ids, says) in [(&data.upgraded, "now run"), (&data.already, "ran already")] {
                if !ids.is_empty() {
                    let sessions = count(ids.len(), "session");
                    page.plain(&format!("{sessions} {says} as abide {version}: {}", ids.join(" "))).end();
                }
            }
            if !data.ended.is_empty() {
                let sessions = count(data.ended.len(), "session");
                page.plain(&format!("{sessions} ended meanwhile: {}", data.ended.join(" "))).end();
            }
            if wanted.is_empty() {
                page.plain("no session runs").end();
            }
        })?;
        if !front.output.is_json() {
            failures.iter().for_each(|(_, failure)| front.output.fail(failure));
        }
        Ok(u8::from(!data.failed.is_empty()))
    }
}
