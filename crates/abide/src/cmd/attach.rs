//! `abide attach`: this terminal shows a session and types into it.

use abide_core::failure::Failure;
use abide_core::status::Column;
use abide_engine::{Left, Session, Sessions};
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
    client only, with the terminal restored and 128+signal; WINCH resizes the session, unless read-only."
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
    const TAKES: Option<Column> = Some(Column::LiveHost);

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        attach(front, &sessions, &session, self.read_only)
    }
}

/// Attaches, says how the terminal was left, and gives the exit code.
pub(crate) fn attach(
    front: &mut Front,
    sessions: &Sessions,
    session: &Session,
    read_only: bool,
) -> Result<u8, Failure> {
    let id = session.id.as_str();
    let (left, code) = match sessions.attach(session, read_only)? {
        Left::Detached => {
            front.output.remark(&format!("abide: detached from {id}; `abide attach {id}` comes back"));
            ("detached", 0)
        }
        Left::Signalled(number) => {
            ("signalled", u8::try_from(number).map_or(NO_CODE, |n| n.saturating_add(128)))
        }
        Left::Ended => {
            let ended =
                sessions.wait(std::slice::from_ref(&session.id), abide_engine::Until::All, Some(5_000));
            let code = ended.first().and_then(|session| session.verdict.codes.wait);
            front.output.remark(&format!("abide: session {id} is over"));
            ("ended", code.unwrap_or(NO_CODE))
        }
    };
    front.output.show(&AttachView { id: id.to_owned(), left }, |_| {})?;
    Ok(code)
}
