//! `abide attach`: this terminal shows a session and types into it.

use std::io::IsTerminal;

use abide_core::failure::{Code, Failure, admit};
use abide_core::keys::detach::DetachKey;
use abide_core::status::Column;
use abide_engine::{Attaching, Left, Session, Sessions, Until};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, NO_CODE, Verb, ended_by};
use crate::config::key::Key;
use crate::show::word::count;

const EXAMPLES: &str = "Examples:
  abide attach nightly                        show it and type into it; ctrl-\\ twice detaches
  abide attach --read-only build              only look
  abide attach --detach-key ctrl-b,d nightly  another key detaches: ctrl-b, then d";

/// Show a session in this terminal and type into it
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "The detach key, typed within a second, detaches; so does closing the terminal. A key that is typed \
    once reaches the program. Exits with 0 when detached, with the program's code when the session ended meanwhile, \
    with 5 inside the session itself, with 8 if its host does not answer. HUP, INT and TERM end this client only, \
    with the terminal restored and 128+signal; WINCH gives the session the new size, if this client drives it.\n\n\
    The session takes the size of the terminal that typed or attached last; others see what they have room for. \
    SSH_AUTH_SOCK of the program leads to the agent of whoever attached last, if it had one at its launch. Other \
    variables (DISPLAY, ...) stay as they were, for nothing can change them in a running program."
)]
pub(crate) struct Args {
    /// Look, without typing or resizing
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    key: KeyArgs,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// What detaches.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// What detaches: a key that is typed twice (ctrl-b), keys in turn (ctrl-b,d), or none
    #[arg(long, value_name = "KEY")]
    detach_key: Option<String>,
}

impl KeyArgs {
    /// # Errors
    /// If it is no key, or one that everyday typing would type.
    pub(crate) fn parse(&self, front: &Front) -> Result<DetachKey, Failure> {
        let text = front.value(Key::Detach, self.detach_key.clone());
        DetachKey::parse(&text).ok_or_else(|| {
            Failure::new(Code::Usage, format!("`{text}` cannot be the detach key")).hint(
                "a key is given as ctrl-b, alt-x or ctrl-alt-x, keys in turn as ctrl-b,d; the first needs ctrl or alt; \
                 `none` for no key at all",
            )
        })
    }
}

/// How the terminal was left.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Attach")]
pub(crate) struct AttachView {
    id: String,
    #[schemars(extend("enum" = ["detached", "ended", "signalled"]))]
    left: &'static str,
    /// What `wait` exits with, if it ended meanwhile.
    wait_code: Option<u8>,
}

impl Verb for Args {
    type Data = AttachView;
    const TAKES: Option<Column> = Some(Column::LiveHost);

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let how =
            Attaching { read_only: self.read_only, detach_key: self.key.parse(front)?, launched: false };
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        attach(front, &sessions, &session, how)
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
    how: Attaching,
) -> Result<u8, Failure> {
    let id = session.id.as_str();
    let mut waiting = sessions.watch(std::slice::from_ref(session));
    let left = sessions.attach(session, how).map_err(|failure| way_out(session, failure))?;
    let (left, code, wait_code) = match left {
        Left::Detached { untaken } => {
            front.output.remark(&format!("abide: detached from {id}; `abide attach {id}` comes back"));
            if untaken > 0 {
                let lost = count(untaken, "byte");
                front
                    .output
                    .remark(&format!("abide: the program takes no input; {lost} of what was typed are lost"));
            }
            ("detached", 0, None)
        }
        Left::Signalled(number) => ("signalled", ended_by(number), None),
        Left::Ended => {
            let ended = waiting.wait(Until::All, Some(5_000));
            if let Some(session) = ended.first().filter(|session| !session.is_over()) {
                // Its guard and its host died, and left the program behind.
                admit(id, session.verdict.status, Column::LiveHost)?;
                return Err(Failure::new(Code::NoAnswer, format!("nobody serves session {id} any more"))
                    .hint(format!("`abide why {id}` shows what is known of it"))
                    .about(id)
                    .in_status(session.verdict.status));
            }
            let code = ended.first().and_then(|session| session.verdict.codes.wait);
            let outcome = ended.first().and_then(|session| session.verdict.outcome.as_ref());
            let how = outcome.map_or_else(String::new, |outcome| format!(": {}", outcome.says()));
            front.output.remark(&format!("abide: session {id} is over{how}"));
            ("ended", code.unwrap_or(NO_CODE), code)
        }
    };
    front.output.show(&AttachView { id: id.to_owned(), left, wait_code }, |_| {})?;
    Ok(code)
}

/// What can still be seen of a session that is over.
fn way_out(session: &Session, failure: Failure) -> Failure {
    let id = &session.id;
    if failure.code == Code::Column(Column::LiveHost) && session.verdict.status.is_terminal() {
        return failure
            .hint(format!("`abide logs {id}` shows what it said, `abide snapshot {id}` its last screen"));
    }
    failure
}
