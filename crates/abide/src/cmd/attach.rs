//! `abide attach`: this terminal shows a session and types into it.

use std::io::IsTerminal;

use abide_core::failure::{Code, Failure};
use abide_engine::{Left, Session, Sessions, Until};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, NO_CODE, Verb};

const EXAMPLES: &str = "Examples:
  abide attach nightly              show it and type into it; ctrl-\\ twice detaches
  abide attach --read-only build    only look";

/// Show a session in this terminal and type into it
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "ctrl-\\ typed twice within a second detaches; so does closing the terminal. Exits with 0 \
    when detached, with the program's code when the session ended meanwhile. HUP, INT and TERM end this \
    client only, with 128+signal."
)]
pub(crate) struct Args {
    /// Look, without typing or resizing
    #[arg(long)]
    read_only: bool,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// How the terminal was left.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Attach")]
pub(crate) struct AttachView {
    id: String,
    #[schemars(extend("enum" = ["detached", "ended", "signalled"]))]
    left: &'static str,
}

impl Verb for Args {
    type Data = AttachView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        attach(front, &sessions, &session, self.read_only)
    }
}

/// Refuses before anything is started that could not be shown here.
pub(crate) fn needs_terminal() -> Result<(), Failure> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::new(Code::Usage, "attaching needs a terminal, and here is none; nothing was started")
        .hint("run it with -d, with --wait, or with --no-tty to pass on what it says"))
}

/// Attaches, says how the terminal was left, and gives the exit code.
pub(crate) fn attach(
    front: &mut Front,
    sessions: &Sessions,
    session: &Session,
    read_only: bool,
) -> Result<u8, Failure> {
    let id = session.id.as_str();
    let mut waiting = sessions.watch(std::slice::from_ref(&session.id));
    let (left, code) = match sessions.attach(session, read_only)? {
        Left::Detached => {
            front.output.remark(&format!("abide: detached from {id}; `abide attach {id}` comes back"));
            ("detached", 0)
        }
        Left::Signalled(number) => {
            ("signalled", u8::try_from(number).map_or(NO_CODE, |n| n.saturating_add(128)))
        }
        Left::Ended => {
            let ended = waiting.wait(Until::All, Some(5_000));
            let code = ended.first().and_then(|session| session.verdict.codes.wait);
            front.output.remark(&format!("abide: session {id} is over"));
            ("ended", code.unwrap_or(NO_CODE))
        }
    };
    front.output.show(&AttachView { id: id.to_owned(), left }, |_| {})?;
    Ok(code)
}
