//! `abide prompt`: submit a request to the agent in a session, and prove that a turn opened.

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;
use abide_engine::Prompting;
use schemars::JsonSchema;
use serde::Serialize;

use super::Text;
use crate::cmd::{Front, Verb, run};

const EXAMPLES: &str = "Examples:
  abide prompt claude 'run the tests and fix what fails'
  abide prompt claude -f prompt.md --wait    until it is done or wants something
  abide prompt codex --queue 'then commit'   also in the middle of a turn";

/// Submit a request to the agent in a session, and prove that a turn opened
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("The text is pasted into the agent's input, once that is there, and submitted. It returns once the agent's own files, its title or \
    its screen show that a turn has opened, and says what is shown instead if none does. An agent that waits for a person \
    is not prompted: answer it first. What stands in its input already is submitted with it. With --queue in the middle of a \
    turn nothing is proved but that the text was typed and submitted.", signals_end_this!("what was submitted goes on."))
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    #[command(flatten)]
    text: Text,
    /// Give up when no turn has opened after so long
    #[arg(long, value_name = "DURATION", default_value = "20s")]
    timeout: String,
    /// Also in the middle of a turn; most agents keep the request for later
    #[arg(long)]
    queue: bool,
    /// Wait until the turn is over or the agent wants a person
    #[arg(long)]
    wait: bool,
    /// Wait for so long at most
    #[arg(long, value_name = "DURATION", requires = "wait")]
    cap: Option<String>,
}

/// A turn that was opened.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Prompted")]
pub(crate) struct PromptedView {
    id: String,
    agent: String,
    /// The agent's own name of the turn, or ours if it has none.
    turn_id: String,
    conversation: Option<String>,
    /// How much the program had shown before: a baseline for `wait --since`.
    seq: u64,
    turn: &'static str,
    attention: &'static str,
    /// A turn was open, so that none is proved to have opened: the agent has the text for later or for that turn.
    queued: bool,
}

impl Verb for Args {
    type Data = PromptedView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let patience_ms = run::parse_duration(&self.timeout)?;
        let cap_ms = self.cap.as_deref().map(run::parse_duration).transpose()?;
        let text = String::from_utf8(self.text.bytes()?).map_err(|_| {
            Failure::new(Code::Usage, "the text is no UTF-8").hint("an agent takes text; nothing was sent")
        })?;
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let mut driver = sessions.driver(&session)?;
        let prompted = driver.prompt(&text, Prompting { patience_ms, queue: self.queue })?;
        let standing = match self.wait {
            true => driver.wait_for_answer(cap_ms)?,
            false => prompted.standing,
        };
        let data = PromptedView {
            id: session.id.to_string(),
            agent: prompted.agent,
            turn_id: prompted.turn,
            conversation: prompted.conversation,
            seq: prompted.position,
            turn: standing.0.name(),
            attention: standing.1.name(),
            queued: prompted.queued,
        };
        front.output.show(&data, |page| {
            let stands = format!("turn {}, attention {}", data.turn, data.attention);
            let took = if data.queued { "was given it" } else { "took it" };
            page.plain(&format!("{} of {} {took}: {stands}, since seq {}", data.agent, data.id, data.seq))
                .end();
        })?;
        Ok(0)
    }
}
