//! `abide keys`: press keys in a session.

use abide_core::failure::{Code, Failure};
use abide_core::keys::press::Press;
use abide_core::status::Column;

use super::{Patience, TypedView, drive};
use crate::cmd::{Front, Verb};

const EXAMPLES: &str = "Examples:
  abide keys build Ctrl-C                        a chord
  abide keys editor Escape : w q Enter           one after the other
  abide keys menu Down Down Space Enter
  abide keys browser click:4,20 wheel-down:4,20  the mouse, at a row and a column of the snapshot";

/// Press keys in a session
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "A key is a character, Enter, Tab, BackTab, Backspace, Escape, Space, Minus, Plus, Up, Down, Left, Right, \
    Home, End, PageUp, PageDown, Insert, Delete or F1 to F20, with Ctrl-, Alt- and Shift- before it, in any case of \
    letters; or click, middle-click, right-click, wheel-up, wheel-down, with :ROW,COL counted from 0. Each is encoded as the program asked \
    for: application cursor keys, modifyOtherKeys, the kitty keyboard protocol, the mouse. What no terminal could send \
    now is refused, and nothing is sent. \
    HUP, INT and TERM end this command only, with 128+signal; what is not in the terminal by then is withdrawn, and how much is there is told."
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    /// The keys, in their order
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
    #[command(flatten)]
    patience: Patience,
}

impl Verb for Args {
    type Data = TypedView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.patience.ms().and_then(|_| self.presses()).map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let session = front.sessions()?.find(&self.session)?;
        let patience = self.patience.ms()?;
        let presses = self.presses()?;
        drive(front, &session, |driver| driver.press(&presses, patience))
    }
}

impl Args {
    fn presses(&self) -> Result<Vec<(&str, Press)>, Failure> {
        self.keys.iter().map(|name| parse(name)).collect()
    }
}

fn parse(name: &str) -> Result<(&str, Press), Failure> {
    Press::parse(name).map(|key| (name, key)).map_err(|_| {
        Failure::new(Code::BadKey, format!("`{name}` is no key"))
            .hint("`abide keys --help` names them; `abide type` takes text")
    })
}
