//! `abide resume`: go on with an agent's conversation in a new session.

use std::collections::BTreeMap;
use std::ffi::OsString;

use abide_core::evidence::{Survivor, Terms};
use abide_core::failure::{Code, Failure};
use abide_engine::agents::{Ahead, Place, RESUMES, Resumable, Since, Writer};
use abide_engine::launch::{self, Input};
use abide_engine::{Attaching, Request};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Front, Verb, attach, run};
use crate::config::key::Key;
use crate::show::secret;
use crate::show::time::Time;

const EXAMPLES: &str = "Examples:
  abide resume                          the last conversation in this directory, attached
  abide resume -d fix                   that of a session, by its ID or name
  abide resume -d fix 'go on'           with a prompt
  abide resume --as-is fix              also if a checkpoint has more than its transcript";

/// Go on with an agent's conversation in a new session
///
/// Uses the agent's own way to resume. Refused while a living process is at the conversation, and where the last
/// checkpoint has what the transcript has not: it was deleted or cut short. Says which tool calls nothing answered and what of
/// the old session still runs; nothing of the agent's files is changed.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The session whose conversation it is: ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// A prompt to go on with
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// Print the ID and return once the conversation is back
    #[arg(short, long)]
    detach: bool,
    /// Also while a living process is at it: both write to the same conversation
    #[arg(long)]
    force: bool,
    /// Also if a checkpoint has more than the transcript: go on without that
    #[arg(long)]
    as_is: bool,
    #[command(flatten)]
    key: attach::KeyArgs,
}

/// A conversation that goes on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Resumed")]
pub(crate) struct ResumedView {
    id: String,
    agent: &'static str,
    conversation: String,
    /// The session that it was last in.
    from: Option<String>,
    /// Whether the agent is at this very conversation, by its own list, the file that it holds, or what it wrote; null if that
    /// could not be told in time.
    came_back: Option<bool>,
    /// Tool calls that nothing answered; their effects may be there or not.
    unanswered: Vec<String>,
    /// Processes of the old session that still live.
    survivors: Vec<String>,
}

/// How long an agent may take to say which conversation it is at.
const PATIENCE_MS: u64 = 20_000;

impl Verb for Args {
    type Data = ResumedView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let mut sessions = front.sessions()?;
        let session = self.session.as_deref().map(|wanted| sessions.find(wanted)).transpose()?;
        let turn = sessions.in_turn_to_resume()?;
        let found = sessions.resumable(session.as_ref(), &here()?, self.prompt.as_deref())?;
        if !self.force {
            nobody_writes(&found)?;
        }
        if let Some(ahead) = found.ahead.as_ref().filter(|_| !self.as_is) {
            return Err(behind(&found, ahead));
        }
        if !self.detach {
            attach::needs_terminal()?;
        }
        let how = Attaching { read_only: false, detach_key: self.key.parse(front)?, launched: true };
        tell_left(front, &found);
        if let Some(from) = &found.from {
            let _ = sessions.sealed_first(&sessions.find(from.as_str())?);
        }
        let resumed = sessions.run(request(front, &found)?)?;
        // Whoever comes next sees the session, if not its agent.
        drop(turn);
        if !self.detach {
            return attach::attach(front, &sessions, &resumed, how);
        }
        let came_back = sessions.came_back(&resumed, &found, PATIENCE_MS)?;
        if came_back == Some(false) {
            let id = &resumed.id;
            let message =
                format!("the agent of session {id} is at another conversation than {}", found.conversation);
            return Err(Failure::new(Code::AnotherConversation, message)
                .hint(format!("`abide snapshot {id}` shows what it says"))
                .about(id.as_str())
                .in_status(resumed.verdict.status));
        }
        let data = ResumedView {
            id: resumed.id.to_string(),
            agent: found.adapter.name(),
            conversation: found.conversation.clone(),
            from: found.from.as_ref().map(ToString::to_string),
            came_back,
            unanswered: found.unanswered.clone(),
            survivors: survivors(&found),
        };
        front.output.show(&data, |page| {
            page.plain(&data.id).end();
        })?;
        if came_back.is_none() {
            let hint = format!("`abide snapshot {}` shows what it says", data.id);
            let is_over = sessions.find(&data.id)?.is_over();
            let ended = "the agent ended before it was seen at the conversation";
            let silent = "the agent has not said yet which conversation it is at";
            front.output.warn(if is_over { ended } else { silent }, Some(&hint));
        }
        Ok(0)
    }
}

fn request(front: &Front, found: &Resumable) -> Result<Request, Failure> {
    let size = run::parse_size(&front.value(Key::Size, None))?;
    let mut labels = BTreeMap::new();
    labels.extend(found.from.as_ref().map(|id| (RESUMES.to_owned(), id.to_string())));
    Ok(Request {
        argv: found.argv.iter().map(OsString::from).collect(),
        env: launch::environment_on(found.had_terminal),
        cwd: found.place.cwd.clone(),
        name: None,
        labels,
        size: found.had_terminal.then_some(size),
        input: Input::Nothing,
        begins: false,
        terms: Terms { checkpoint_ms: run::checkpoint_ms(front)?, ..Terms::default() },
        told: front.told(),
    })
}

/// Where this command was called, with the variables that say where agents keep their files.
fn here() -> Result<Place, Failure> {
    let cwd = std::env::current_dir().map_err(|e| Failure::io("find", &"the working directory", &e))?;
    let text = |value: OsString| value.into_string().ok();
    let all = launch::environment().into_iter();
    Ok(Place { cwd, variables: all.filter_map(|(key, value)| Some((text(key)?, text(value)?))).collect() })
}

fn nobody_writes(found: &Resumable) -> Result<(), Failure> {
    let (agent, conversation) = (found.adapter.name(), &found.conversation);
    let (message, hint) = match &found.writer {
        Writer::Nobody => return Ok(()),
        Writer::Process(pid) => (
            format!("process {pid} of {agent} is at conversation {conversation}"),
            "two that write to one conversation spoil it: end that one first, or --force",
        ),
        Writer::Unknown(why) => (
            format!("whether a process of {agent} is at conversation {conversation} cannot be told: {why}"),
            "`abide agents` shows who was asked; try again, or --force if you know that none is",
        ),
    };
    let failure = Failure::new(Code::ConversationInUse, message).hint(hint);
    Err(match &found.from {
        Some(id) => failure.about(id.as_str()),
        None => failure,
    })
}

fn behind(found: &Resumable, ahead: &Ahead) -> Failure {
    let checkpoint = &ahead.checkpoint;
    let what = match ahead.since {
        Since::Gone => "is gone",
        Since::Shrunk => "was cut short",
        Since::Rewritten | Since::Same | Since::Grown | Since::Unreadable => "tells less than it did",
    };
    let id = found.from.as_ref().map(ToString::to_string).unwrap_or_default();
    let (number, at) = (checkpoint.number, Time(checkpoint.at.wall).local());
    let message = format!(
        "the transcript of conversation {} {what}; checkpoint {number} of {at} has more",
        found.conversation
    );
    let restore = format!("abide checkpoint restore {} -n {number}", ahead.session);
    let way_out = match (ahead.since, ahead.is_database) {
        (Since::Gone, _) => format!("`{restore}` puts it back"),
        (_, false) => format!("`{restore} --force` puts it back"),
        // Other conversations are in it, and some of them may be newer.
        (_, true) => format!("`{restore} --to PATH` gives back the database as it was, as a file of its own"),
    };
    Failure::new(Code::CheckpointNewer, message)
        .hint(format!("{way_out}; `abide resume --as-is {id}` goes on without it"))
        .about(id)
}

fn survivors(found: &Resumable) -> Vec<String> {
    let named = |one: &Survivor| format!("{} {}", one.process.pid, secret::mask_words(&one.command));
    found.survivors.iter().map(named).collect()
}

/// What the agent itself mostly does not know.
fn tell_left(front: &mut Front, found: &Resumable) {
    for call in &found.unanswered {
        front.output.warn(
            &format!("nothing answered {call}: what it does may be done, half done or not begun"),
            None,
        );
    }
    for survivor in survivors(found) {
        front.output.warn(&format!("still alive: {survivor}"), None);
    }
}
