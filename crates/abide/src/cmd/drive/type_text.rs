//! `abide type`: type text into a session.

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;

use super::{Patience, Text, TypedView, drive};
use crate::cmd::{Front, Verb};

const EXAMPLES: &str = "Examples:
  abide type build 'make test' --enter   type a line
  abide type @last y                     a key that has a character
  abide type repl --file snippet.py      what stands in a file, key by key
  abide type --json build ls --enter     for programs: its seq is the baseline for a wait";

/// Type text into a session
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Returns once all of it is in the program's terminal. A new line in the text is the Enter key. What one \
    command types stays together, whoever else types; what is not there when the time is up is withdrawn, and how much is there is told. \
    HUP, INT and TERM end this command only, with 128+signal; what is not in the terminal by then is withdrawn, and how much is there is told."
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    #[command(flatten)]
    text: Text,
    /// Press Enter behind it
    #[arg(short, long)]
    enter: bool,
    #[command(flatten)]
    patience: Patience,
}

impl Verb for Args {
    type Data = TypedView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.patience.ms().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let session = front.sessions()?.find(&self.session)?;
        let patience = self.patience.ms()?;
        let mut text = String::from_utf8(self.text.bytes()?).map_err(|_| {
            Failure::new(Code::Usage, "the text is not UTF-8")
                .hint("keys have characters; `abide paste` takes any bytes")
        })?;
        text.extend(self.enter.then_some('\n'));
        drive(front, &session, |driver| driver.type_text(&text, patience))
    }
}
