//! `abide batch`: a list of steps in one session, in one call.

mod steps;

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use steps::Step;

use crate::cmd::{Command, Front, Verb, duration};
use crate::show::page::{Page, Tone};
use crate::show::shell;

const EXAMPLES: &str = "Examples:
  abide batch editor 'keys i' 'type hello' 'keys Escape : w q Enter' wait
  abide batch repl --file steps.txt       one step a line; # begins a remark
  abide batch menu --keep-going < steps   go on after a step that fails
  abide batch --json repl '[[\"type\",\"1+1\",\"--enter\"],[\"wait\",\"--text\",\"2\"],[\"snapshot\"]]'";

/// Do a list of steps in a session
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("A step is a command without its ID: type, paste, keys, resize, exec, signal, mark, wait, snapshot, \
    screenshot, diff, logs, inspect or stop. It is written as for a shell, on a line of its own, or all of them are one JSON list \
    of lists of words. All are read before the first is done. A wait for conditions that does not say since when counts \
    only what was shown after the first step that typed since the wait before it. Exits with 0 if every step did, else with what the first that \
    did not exited with. What one step types stays together; between two steps others may type, so that a person can always interrupt.", signals_end_this!("the session goes on."))
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    /// The steps, in their order [default: those of standard input]
    #[arg(value_name = "STEP", conflicts_with = "file")]
    steps: Vec<String>,
    /// Take the steps from this file; `-` for standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<String>,
    /// Go on after a step that fails
    #[arg(short, long)]
    keep_going: bool,
    /// How long a step that waits for something shown, or for a line's end, may take, where it does not say so itself
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    timeout: String,
}

/// What became of the steps.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Batch")]
pub(crate) struct BatchView {
    /// One for each step, in their order.
    steps: Vec<StepView>,
}

/// What became of a step.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
struct StepView {
    /// Its number, from 1.
    step: usize,
    words: Vec<String>,
    outcome: Outcome,
    /// What the command would have exited with; null if it was not run.
    exit_code: Option<u8>,
    #[serde(flatten)]
    answer: StepAnswer,
}

/// What a step answered, as its command would have.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct StepAnswer {
    /// As `abide schema` tells of that command; null if it failed or was not run.
    data: Option<Value>,
    /// As of every failure; null if there was none.
    error: Option<Value>,
    /// There only if there is something to warn of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Outcome {
    Done,
    Failed,
    /// A step before it failed.
    Skipped,
}

impl Verb for Args {
    type Data = BatchView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        duration(&self.timeout)?;
        let session = front.sessions()?.find(&self.session)?;
        let steps = steps::read(&self.steps, self.file.as_deref(), session.id.as_str())?;
        let (mut exit, mut since) = (0, None);
        for (number, step) in (1..).zip(steps) {
            let Step { words, command } = step;
            let (types, waits) = (command.types(), matches!(command, Command::Wait(_)));
            let view = if exit == 0 || self.keep_going {
                let command = self.settled(command, since);
                let (exit_code, answer) = perform(command, front, session.id.as_str())?;
                let seq = answer.data.as_ref().and_then(|data| data["seq"].as_u64());
                since = if waits { None } else { since.or(seq.filter(|_| types)) };
                exit = if exit == 0 { exit_code } else { exit };
                let outcome = if exit_code == 0 { Outcome::Done } else { Outcome::Failed };
                StepView { step: number, words, outcome, exit_code: Some(exit_code), answer }
            } else {
                let (outcome, answer) = (Outcome::Skipped, StepAnswer::default());
                StepView { step: number, words, outcome, exit_code: None, answer }
            };
            front.output.item("steps", &view, |page| view.write(page))?;
        }
        front.output.end_items("steps")?;
        Ok(exit)
    }
}

impl Args {
    /// The command with what the batch says where it does not.
    fn settled(&self, mut command: Command, since: Option<u64>) -> Command {
        if let Command::Wait(wait) = &mut command {
            wait.or_else(since, &self.timeout);
        }
        if let Command::Exec(exec) = &mut command {
            exec.or_timeout(&self.timeout);
        }
        command
    }
}

impl Command {
    /// Whether it types something.
    const fn types(&self) -> bool {
        matches!(self, Self::Type(_) | Self::Paste(_) | Self::Keys(_) | Self::Exec(_))
    }
}

/// Runs a command, and gives its exit code and what it answered.
fn perform(command: Command, front: &mut Front, session: &str) -> Result<(u8, StepAnswer), Failure> {
    let name = command.name();
    let within = front.output.within(name);
    let own = std::mem::replace(&mut front.output, within);
    let code = command.run(front);
    let said = std::mem::replace(&mut front.output, own).kept();
    let answer = serde_json::from_slice(&said).map_err(|_| {
        Failure::new(Code::Internal, format!("the step `{name}` gave no answer"))
            .hint(format!("`abide {name} --help` shows examples"))
            .about(session)
    })?;
    Ok((code, answer))
}

impl StepView {
    fn write(&self, page: &mut Page) {
        let (tone, word) = match self.outcome {
            Outcome::Done => (Tone::Good, "done   "),
            Outcome::Failed => (Tone::Bad, "failed "),
            Outcome::Skipped => (Tone::Faint, "skipped"),
        };
        let words = shell::line(self.words.iter().map(String::as_str));
        page.plain(&format!("{:>3}  ", self.step)).put(tone, word).plain("  ").plain(&words).end();
        for line in self.said() {
            page.plain("     ").plain(line).end();
        }
    }

    /// What people want to read of the answer: what a line wrote, what is shown, what failed.
    fn said(&self) -> Vec<&str> {
        let error = self.answer.error.as_ref();
        if let Some(error) = error {
            let hint = error["hint"].as_str();
            return error["message"].as_str().into_iter().chain(hint).collect();
        }
        let Some(data) = &self.answer.data else {
            return Vec::new();
        };
        let mut said: Vec<&str> = match (&data["output"], &data["lines"]) {
            (Value::String(output), _) => output.lines().collect(),
            (_, Value::Array(lines)) => {
                lines.iter().filter_map(|line| line.as_str().or_else(|| line["text"].as_str())).collect()
            }
            _ => Vec::new(),
        };
        said.truncate(said.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
        said
    }
}
