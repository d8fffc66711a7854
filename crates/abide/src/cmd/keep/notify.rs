//! `abide notify`: deliver what there is to tell of sessions.

use abide_core::evidence::notification::Notification;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_engine::notify::{Delivery, Trying};
use abide_engine::{Session, Sessions};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::cmd::{Faulty, Front, Verb};
use crate::output::SCHEMA;
use crate::show::page::Tone;
use crate::show::session::SessionView;
use crate::show::time::Time;

const EXAMPLES: &str = "Examples:
  abide notify            deliver everything that is not delivered yet
  abide notify nightly    what there is to tell of one session";

/// Deliver what there is to tell of sessions, now
///
/// With `notify.command` or `notify.webhook` in the config file, sessions that are made from then on tell of what their agents
/// want, of each turn's end and of their own end. This happens by itself, with ever longer delays where it fails, until
/// nobody tries any more after a quarter of an hour; this command tries once more at once. What is told is one JSON object
/// (`abide schema notification`), on the command's standard input or as the body of a POST. It is told at least once; its
/// `key` is the same each time.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Exits with 1 if something could not be delivered. The end of what is told is its receiver's: 0 from \
    the command within ten seconds, or an answer of 200 to 299."
)]
pub(crate) struct Args {
    /// Go on trying, with delays; one that does so is enough for a session
    #[arg(long, hide = true)]
    keep_trying: bool,
    /// IDs, names, unique prefixes or @last; without any, all sessions
    #[arg(value_name = "ID")]
    sessions: Vec<String>,
}

/// What was tried.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Notify")]
pub(crate) struct NotifyView {
    tries: Vec<TryView>,
}

/// One try to tell something.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Try")]
struct TryView {
    session: String,
    key: String,
    #[schemars(extend("enum" = ["attention", "turn", "end"]))]
    matter: &'static str,
    #[schemars(extend("enum" = ["command", "webhook"]))]
    to: &'static str,
    delivered: bool,
    /// Why it was not delivered.
    detail: Option<String>,
}

/// Something that is told.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Notification")]
pub(crate) struct NotificationView<'a> {
    /// The same each time that this is told, and no other's: what was told already has a key that is known.
    key: &'a str,
    #[schemars(extend("enum" = ["attention", "turn", "end"]))]
    matter: &'static str,
    /// When it happened.
    at: Time,
    /// How often it was tried before to tell it.
    tries: usize,
    /// What was said of it then: what is wanted, or how the turn was closed.
    text: Option<&'a str>,
    /// How the session stands when this is told, as `abide inspect` shows it.
    session: SessionView<'a>,
}

impl<'a> NotificationView<'a> {
    fn new(sessions: &Sessions, session: &'a Session, one: &'a Notification, tries: usize) -> Self {
        Self {
            key: &one.key,
            matter: one.matter.name(),
            at: Time(one.at.wall),
            tries,
            text: one.text.as_deref(),
            session: SessionView::of(sessions, session),
        }
    }
}

impl Verb for Args {
    type Data = NotifyView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let trying = if self.keep_trying { Trying::On } else { Trying::Once };
        let ids: Vec<SessionId> = match self.sessions.as_slice() {
            [] => sessions.each(|session| session.id)?,
            named => named.iter().map(|one| Ok(sessions.find(one)?.id)).collect::<Result<_, Failure>>()?,
        };
        let mut data = NotifyView { tries: Vec::new() };
        for id in &ids {
            let tries = deliver(&sessions, id, trying)?;
            data.tries.extend(tries.into_iter().map(|tried| TryView::new(id, tried)));
        }
        let failed = data.tries.iter().any(|tried| !tried.delivered);
        front.output.show(&data, |page| {
            for tried in &data.tries {
                let (tone, word) =
                    if tried.delivered { (Tone::Plain, "told") } else { (Tone::Warn, "not told") };
                page.put(tone, word).plain(&format!(" {} of {} ({})", tried.to, tried.key, tried.matter));
                page.plain(&tried.detail.as_ref().map_or_else(String::new, |why| format!(": {why}"))).end();
            }
        })?;
        if data.tries.is_empty() {
            front.output.remark("nothing to tell");
        }
        Ok(if failed { Code::Unhealthy.kind().exit_code() } else { 0 })
    }
}

impl TryView {
    fn new(id: &SessionId, tried: Delivery) -> Self {
        Self {
            session: id.to_string(),
            key: tried.key,
            matter: tried.matter.name(),
            to: tried.to,
            delivered: tried.failure.is_none(),
            detail: tried.failure,
        }
    }
}

/// Delivers what there is to tell of a session.
///
/// # Errors
/// If there is no such session, or a try cannot be put on record.
pub(super) fn deliver(sessions: &Sessions, id: &SessionId, trying: Trying) -> Result<Vec<Delivery>, Failure> {
    let message = |session: &Session, one: &Notification, tries: usize| {
        let view = NotificationView::new(sessions, session, one, tries);
        let mut line = json!({ "schema": SCHEMA, "notification": view }).to_string().into_bytes();
        line.push(b'\n');
        line
    };
    sessions.deliver(id, trying, &message)
}
