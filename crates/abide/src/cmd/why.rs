//! `abide why`: the proof of what abide says of a session, now or at an instant.

use abide_core::failure::Failure;

use super::{Faulty, Front, Verb};
use crate::show::why::WhyView;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide why k3v9q2zr               what the status of a session rests on
  abide why --at 14:03 nightly     what could be proved at that time
  abide why --at '10m ago' @last   ten minutes ago";

/// Show what the status of a session rests on
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// At an instant: RFC 3339, `YYYY-MM-DD HH:MM[:SS]`, `HH:MM[:SS]`, `-10m` or `10m ago`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

impl Verb for Args {
    type Data = WhyView<'static>;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let at = self.at.map(|text| when::instant(&text, sessions.now().at.wall)).transpose()?;
        let session = match at {
            Some(wall) => sessions.find_at(&self.session, wall)?,
            None => sessions.find(&self.session)?,
        };
        let data = WhyView::new(&session, at);
        front.output.show(&data, |page| data.put(page, &session))?;
        Ok(0)
    }
}
