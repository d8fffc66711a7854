//! `abide signal`: send a signal to a session's program.

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;
use abide_engine::signals;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Front, Verb};

const EXAMPLES: &str = "Examples:
  abide signal INT nightly     as Ctrl-C would, to the program alone
  abide signal USR1 k3v9q2zr   by name, with or without SIG, or by number; the session may come first";

/// Send a signal to a session's program
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = concat!("The signal is on record before it is sent, and goes only to the proved process.", signals_end_this!("what was sent was sent.")))]
pub(crate) struct Args {
    /// The signal's name or number
    #[arg(value_name = "SIGNAL")]
    signal: String,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// What was sent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Signal")]
pub(crate) struct SignalView {
    id: String,
    signal: i32,
    name: String,
}

impl Verb for Args {
    type Data = SignalView;
    const TAKES: Option<Column> = Some(Column::Stoppable);

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.meant().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let meant = self.meant();
        let session = sessions.find(meant.as_ref().map_or(&self.session, |(_, session)| session))?;
        let (number, _) = meant?;
        sessions.signal(&session, number)?;
        let data = SignalView { id: session.id.to_string(), signal: number, name: signals::name(number) };
        front.output.show(&data, |page| {
            page.plain(&format!("{} sent to {}", data.name, data.id)).end();
        })?;
        Ok(0)
    }
}

impl Args {
    /// Which signal to which session. Most verbs take the session first, so it may stand first here too.
    fn meant(&self) -> Result<(i32, &str), Failure> {
        let orders = [(&self.signal, &self.session), (&self.session, &self.signal)];
        let meant = orders.into_iter().find_map(|(signal, session)| Some((signals::parse(signal)?, session)));
        meant.map(|(number, session)| (number, session.as_str())).ok_or_else(|| {
            Failure::new(Code::Usage, format!("`{}` is no signal", self.signal))
                .hint("a signal is given as TERM, SIGTERM or 15")
        })
    }
}
