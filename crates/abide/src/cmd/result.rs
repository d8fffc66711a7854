//! `abide result set`: a program's own word on its work.

use abide_core::failure::{Code, Failure};
use abide_engine::declared::declared;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb};
use crate::environment::Variable;

const EXAMPLES: &str = "Examples:
  abide result set success --summary 'all tests pass'   from within the session
  abide result set failure --exit-code 3 --session k3v9q2zr";

/// Declare the result of a session's work
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "The declared result outranks the exit status in `wait`; where the two differ, both are shown. \
    A program may also leave a `result.toml` with status, exit_code and summary in $ABIDE_SESSION_DIR."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Declare it
    Set(Set),
}

#[derive(Debug, clap::Args)]
struct Set {
    /// `success`, `failure`, or a word of your own
    status: String,
    /// What `wait` exits with [default: 0 for success, else 1]
    #[arg(long, value_name = "CODE")]
    exit_code: Option<u8>,
    /// A line for people
    #[arg(long)]
    summary: Option<String>,
    /// The session [default: the one this runs in]
    #[arg(long, value_name = "ID", env = Variable::Session.name())]
    session: Option<String>,
}

/// What was declared.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Result")]
pub(crate) struct ResultView {
    id: String,
    status: String,
    exit_code: u8,
    summary: Option<String>,
}

impl Verb for Args {
    type Data = ResultView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let Act::Set(set) = self.act;
        let wanted = set.session.ok_or_else(|| {
            Failure::new(Code::Usage, "this does not run in a session").hint("name one with --session ID")
        })?;
        let sessions = front.sessions()?;
        let session = sessions.find(&wanted)?;
        let word = declared(set.status, set.exit_code, set.summary);
        sessions.declare(&session, word.clone())?;
        let data = ResultView {
            id: session.id.to_string(),
            status: word.status,
            exit_code: word.exit_code,
            summary: word.summary,
        };
        front.output.show(&data, |page| {
            page.plain(&format!("{}: declared {}, exit code {}", data.id, data.status, data.exit_code)).end();
        })?;
        Ok(0)
    }
}
