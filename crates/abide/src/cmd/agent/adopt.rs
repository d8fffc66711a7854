//! `abide adopt`: follow a process that was started elsewhere.

use abide_core::failure::Failure;
use abide_engine::agents::Adoption;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Front, Verb, run};
use crate::show::secret;
use crate::show::word::StatusName;

const EXAMPLES: &str = "Examples:
  abide adopt 4711                a process by its pid, an agent or not
  abide adopt claude              the only Claude Code that is in no session
  abide adopt --name fix 0a1b2c   the agent that is at this conversation, as `fix`";

/// Follow a process that was started elsewhere
///
/// Makes a session of it, prints the ID, and has a watcher record its end: the exact code where the kernel keeps it (Linux
/// 6.15 and later), and the turns of an agent. The session is `unattended` while the process lives: `wait`, `stop` and
/// `inspect` work, what needs a terminal does not. Its terminal stays where it is, because no running process can be given
/// another one safely; once an agent has ended, `abide resume` goes on with its conversation in a session that has one.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Refused for what belongs to another user, is one of abide's own, is the first process or a part of the kernel, or is followed already. A session \
    whose watcher died is followed again under the same ID. TERM at the watcher lets go of the process and leaves it alone."
)]
pub(crate) struct Args {
    /// Name it, so that it can be found by that
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A pid; or a living agent by its conversation, a unique prefix of that, or its kind
    #[arg(value_name = "PROCESS")]
    process: String,
}

/// A process that is followed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Adopted")]
pub(crate) struct AdoptedView {
    id: String,
    status: StatusName,
    pid: u32,
    /// What it was recognised as; null if it is no agent that is known.
    agent: Option<&'static str>,
    /// The conversation that it is at, if that can be told.
    conversation: Option<String>,
    /// Arguments that look like secrets are masked.
    argv: Vec<String>,
    /// The process that was named, where that one only starts the agent.
    wrapper: Option<u32>,
    /// The session was there before, and nobody followed its program any more.
    again: bool,
    /// Always false: the terminal of a running process is never taken.
    terminal: bool,
}

impl Verb for Args {
    type Data = AdoptedView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let name = self.name.as_deref().map(run::parse_name).transpose()?;
        let adoption = front.sessions()?.adopt(&self.process, name.as_ref(), front.told().as_ref())?;
        let data = AdoptedView::new(&adoption);
        front.output.show(&data, |page| {
            page.plain(&data.id).end();
        })?;
        front.output.remark(&recognised(&adoption, &data));
        front.output.remark(&terminal(&adoption));
        Ok(0)
    }
}

impl AdoptedView {
    fn new(adoption: &Adoption) -> Self {
        Self {
            id: adoption.session.id.to_string(),
            status: StatusName(adoption.session.verdict.status),
            pid: adoption.pid,
            agent: adoption.agent,
            conversation: adoption.conversation.clone(),
            argv: secret::mask(&adoption.argv).into_iter().map(|word| word.into_owned()).collect(),
            wrapper: adoption.wrapper,
            again: adoption.again,
            terminal: false,
        }
    }
}

/// What is followed.
fn recognised(adoption: &Adoption, data: &AdoptedView) -> String {
    let what = match (adoption.agent, &adoption.conversation) {
        (Some(agent), Some(conversation)) => format!("{agent}, conversation {conversation}"),
        (Some(agent), None) => format!("{agent}, at no conversation yet"),
        (None, _) => format!("no agent that is known: {}", data.argv.join(" ")),
    };
    let wrapper = adoption.wrapper.map_or_else(String::new, |pid| format!(", which {pid} only starts"));
    let again = if adoption.again { " again" } else { "" };
    format!("following {}{again}{wrapper}: {what}", adoption.pid)
}

/// Why it cannot be typed into, and what can.
fn terminal(adoption: &Adoption) -> String {
    let id = &adoption.session.id;
    let stays = match adoption.has_terminal {
        true => "its terminal stays where it is",
        false => "it has no terminal",
    };
    match adoption.agent {
        Some(_) => format!("{stays}; once it has ended, `abide resume {id}` goes on in a session with one"),
        None => format!("{stays}; only what `abide run` starts has one of abide's"),
    }
}
