//! `abide result set`: a program's own word on its work.

use abide_core::failure::{Code, Failure};
use abide_engine::declared::declared;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::nearest;
use crate::cmd::{Faulty, Front, Verb};
use crate::environment::Variable;
use crate::show::shell;

const EXAMPLES: &str = "Examples:
  abide result set success --summary 'all tests pass'   from within the session
  abide result set failure --exit-code 3 --session k3v9q2zr";

/// Declare the result of a session's work
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("The declared result outranks the exit status in `wait`; where the two differ, both are shown. \
    A result of a session that is over would change what `wait` has told: it does not count, and is refused \
    with 5, also if the end came while it was being declared. \
    A program may also leave a `result.toml` with status, exit_code and summary in $ABIDE_SESSION_DIR; \
    what is no result there is not taken, and a fact says why; one that is there at the end outranks what was set.", signals_end_this!("what was declared stays declared."))
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
    /// `success`, `failure`, or with --exit-code a word of your own
    #[arg(value_name = "RESULT")]
    status: String,
    /// What `wait` exits with [default: 0 for success, 1 for failure]
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
        let word = declared(set.status.clone(), set.exit_code, set.summary);
        let word = word.map_err(|why| unclear(&set.status, why))?;
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

/// The words that stand for a code by themselves, and those that people say instead.
const WORDS: [(&str, &[&str]); 2] = [
    ("success", &["ok", "done", "pass", "passed", "succeeded", "successful", "good", "true"]),
    ("failure", &["fail", "failed", "error", "bad", "false"]),
];

/// A word of one's own says nothing of the code, and a slip must not pass for a failure.
fn unclear(status: &str, why: String) -> Failure {
    let known = WORDS.map(|(word, _)| word);
    let lower = status.to_lowercase();
    let said = WORDS.iter().find(|(_, others)| others.contains(&lower.as_str())).map(|(word, _)| *word);
    let meant = said.or_else(|| nearest::nearest(&lower, &known));
    let own = format!("`abide result set {} --exit-code CODE`", shell::word(status));
    let hint = match meant {
        Some(meant) if meant == status => {
            format!("`{meant}` alone exits with 1; for a word of your own: {own}")
        }
        Some(meant) => format!("did you mean `{meant}`? For a word of your own: {own}"),
        None => format!("say `success` or `failure`; for a word of your own: {own}"),
    };
    Failure::new(Code::Usage, why).hint(hint)
}
