//! `abide mark`: give this instant of a session a name.

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Front, Verb};
use crate::show::recorded::instant::InstantView;

const EXAMPLES: &str = "Examples:
  abide mark nightly 'before the deploy'   name this instant, to come back to it later
  abide mark --json build half-way         for programs, with all the names it has now";

/// Longer names are refused.
const LONGEST: usize = 200;

/// Give this instant of a session a name
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("A mark stands in the recording and in the evidence. `snapshot`, `diff`, `export` and \
    `play` take its name for an instant; of several with one name the last is meant. `abide marks ID` lists them.", signals_end_this!("a mark that was asked for is made all the same."))
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
}

/// The mark that was set.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Mark")]
pub(crate) struct MarkView {
    id: String,
    name: String,
    instant: InstantView,
}

impl Verb for Args {
    type Data = MarkView;
    const TAKES: Option<Column> = Some(Column::LiveHost);

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.trimmed().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let name = self.trimmed()?;
        let instant = sessions.mark(&session, name)?;
        let data = MarkView {
            id: session.id.to_string(),
            name: name.to_owned(),
            instant: InstantView::new(instant),
        };
        front.output.show(&data, |page| {
            page.plain(&format!("marked {} at {} as {name}", data.id, data.instant.since)).end();
        })?;
        Ok(0)
    }
}

impl Args {
    fn trimmed(&self) -> Result<&str, Failure> {
        let name = self.name.trim();
        if name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) {
            return Err(Failure::new(Code::Usage, format!("`{name}` cannot be the name of a mark"))
                .hint(format!("a name has 1 to {LONGEST} bytes, and no control characters")));
        }
        Ok(name)
    }
}
