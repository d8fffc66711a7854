//! `abide play`: a recording again, in this terminal.

use abide_core::failure::{Code, Failure};
use abide_core::recording::player::{FASTEST, SLOWEST};
use abide_engine::Playing;
use schemars::JsonSchema;
use serde::Serialize;

use super::duration;
use crate::cmd::{Faulty, Front, Verb, ended_by};
use crate::when;

const EXAMPLES: &str = "Examples:
  abide play nightly                          from the start; space pauses, the arrow keys go back and forth
  abide play --at -10m nightly                what it showed in the last ten minutes
  abide play --speed 4 --idle-limit 1s @last  four times as fast, and without long pauses";

/// Show a session's recording again in this terminal
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Keys: space pauses, and at the end begins again; left and right go 5 seconds back and forth; + and - or up and down change the speed; \
    [ and ] go to the mark before and the next one; . shows the next entry; Home and End; q or ctrl-c leaves. Without keys it \
    ends at the end. The terminal shows pictures only: nothing that was recorded can act on it, and it is given back as \
    it was. HUP, INT and TERM end it with 128+signal. A session that runs is played up to now; `attach` shows it live."
)]
pub(crate) struct Args {
    /// Begin at this instant, given as for `snapshot` [default: the start]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,
    /// How many times as fast, from 0.0625 to 256
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,
    /// Shorten pauses that are longer than this
    #[arg(long, value_name = "DURATION")]
    idle_limit: Option<String>,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// How the terminal was left.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Play")]
pub(crate) struct PlayView {
    id: String,
    #[schemars(extend("enum" = ["left", "signalled"]))]
    left: &'static str,
}

impl Verb for Args {
    type Data = PlayView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        if !(SLOWEST..=FASTEST).contains(&self.speed) {
            return Err(Failure::new(
                Code::Usage,
                format!("nothing can be played {} times as fast", self.speed),
            )
            .hint(format!("a speed is given as 0.5, 1 or 4, from {SLOWEST} to {FASTEST}")));
        }
        let now = sessions.now().at.wall;
        let how = Playing {
            from: self.at.as_deref().map(|text| when::at(text, now)).transpose()?,
            speed: self.speed,
            idle_limit: self.idle_limit.as_deref().map(duration).transpose()?,
        };
        let (left, code) = match sessions.play(&session, &how)? {
            None => ("left", 0),
            Some(number) => ("signalled", ended_by(number)),
        };
        front.output.show(&PlayView { id: session.id.to_string(), left }, |_| {})?;
        Ok(code)
    }
}
