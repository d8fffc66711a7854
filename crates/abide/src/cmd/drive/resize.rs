//! `abide resize`: give a session's terminal another size.

use abide_core::failure::Failure;
use abide_core::status::Column;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::run::parse_size;
use crate::cmd::{Front, Verb};

const EXAMPLES: &str = "Examples:
  abide resize build 120x40   120 columns, 40 rows";

/// Give a session's terminal another size
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("Returns once the terminal has it. Whoever types at an attached terminal next gives it that terminal's size \
    again.", signals_end_this!("a size that was asked for is given all the same."))
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    /// COLSxROWS
    #[arg(value_name = "SIZE")]
    size: String,
}

/// The size that it has now.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Resized")]
pub(crate) struct ResizedView {
    id: String,
    cols: u16,
    rows: u16,
}

impl Verb for Args {
    type Data = ResizedView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn check(&self, _now: i64) -> Result<(), Failure> {
        parse_size(&self.size).map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let size = parse_size(&self.size)?;
        sessions.driver(&session)?.resize(size)?;
        let data = ResizedView { id: session.id.to_string(), cols: size.cols, rows: size.rows };
        front.output.show(&data, |page| {
            page.plain(&format!("{} has {} columns and {} rows", data.id, data.cols, data.rows)).end();
        })?;
        Ok(0)
    }
}
