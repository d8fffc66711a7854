//! `abide paste`: paste into a session.

use abide_core::failure::Failure;
use abide_core::status::Column;

use super::{Patience, Text, TypedView, drive};
use crate::cmd::{Front, Verb};

const EXAMPLES: &str = "Examples:
  abide paste claude --file prompt.md    what stands in a file, as one paste
  git diff | abide paste review -f -     what a command wrote
  abide paste editor 'two words'";

/// Paste text into a session
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "The text is put in brackets if the program asked for that, as a terminal does; then it is not taken for \
    keys. Returns once all of it is in the program's terminal, at the program's own pace, whatever its size. \
    Whatever is not there when the time is up is withdrawn, and how much is there is told. \
    HUP, INT and TERM end this command only, with 128+signal; what is not in the terminal by then is withdrawn, and how much is there is told."
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    #[command(flatten)]
    text: Text,
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
        let text = self.text.bytes()?;
        drive(front, &session, |driver| driver.paste(&text, patience))
    }
}
