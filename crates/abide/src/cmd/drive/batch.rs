//! `abide batch`: a list of steps in one session, in one call.

mod steps;

use abide_core::failure::{Code, Failure};
use abide_engine::Session;
use abide_engine::signals::{self, Signals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use steps::Step;

use crate::cmd::{Command, Front, Verb, ended_by, run};
use crate::output::Until;
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
    after_help = "A step is a command without its ID: type, paste, keys, resize, exec, signal, mark, wait, snapshot, \
    screenshot, diff, logs, inspect or stop. It is written as for a shell, on a line of its own, or all of them are one JSON list \
    of lists of words. All are read before the first is done. \
    Each takes the sessions that its command takes, those that are over included, and is told of when it is done. A wait for conditions that does not say since when counts \
    only what was shown, or has scrolled by, since the steps that acted before it: type, paste, keys, exec, signal or resize, the first of those that stand together without a wait in between. \
    Waits without such a step in between count from the same instant, in any order; a wait before the first counts what is to be seen. Exits with 0 if every step did, else with what the first that \
    did not exited with. What one step types stays together; between two steps others may type, so that a person can always interrupt. \
    HUP, INT and TERM end this command only, with 128+signal; the step that it was at is told as interrupted, those behind it as skipped."
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
    /// What the command would have exited with; null if it was not run, or interrupted.
    exit_code: Option<u8>,
    #[serde(flatten)]
    answer: StepAnswer,
}

/// What a step answered, as its command would have.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct StepAnswer {
    /// As `abide schema` tells of that command, also if it exited with another code than 0 and answered all the same; of a
    /// line that was not seen to end, what it wrote until then. Null if there is no answer.
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
    /// A signal ended the batch in the middle of it: as much of it as was done by then is done.
    Interrupted,
    /// A step before it failed or was interrupted.
    Skipped,
}

impl Verb for Args {
    type Data = BatchView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        run::parse_duration(&self.timeout)?;
        let at = (session.id.as_str(), sessions.now().at.wall);
        let steps = steps::read(&self.steps, self.file.as_deref(), at)?;
        let signals = Signals::heeded(&[signals::HUP, signals::INT, signals::TERM])
            .map_err(|error| Failure::io("hear", &"signals", &error))?;
        let mut batch = BatchView { steps: Vec::new() };
        let (mut exit, mut baseline, mut ended) = (0, Baseline::default(), None);
        for (number, Step { words, command }) in (1..).zip(steps) {
            let manner = command.manner();
            let skipped = (Outcome::Skipped, None, StepAnswer::default());
            let (outcome, exit_code, answer) = if ended.is_some() || (exit != 0 && !self.keep_going) {
                skipped
            } else {
                // What the answer of a command that acts does not say, where it fails or as it is.
                let silent = manner == Manner::Acts { tells: false } || self.keep_going;
                let before =
                    (silent && baseline.begins_with(manner)).then(|| sessions.snapshot(&session, None));
                let before = before.and_then(Result::ok).map(|shown| shown.position);
                match perform(self.settled(command, baseline.since), front, &signals)? {
                    Performed::Done(code, answer) => {
                        let seq = answer.data.as_ref().and_then(|data| data["seq"].as_u64());
                        baseline.pass(manner, seq.or(before));
                        exit = if exit == 0 { code } else { exit };
                        (if code == 0 { Outcome::Done } else { Outcome::Failed }, Some(code), answer)
                    }
                    Performed::Signalled(signal) => {
                        ended = Some((signal, number));
                        (Outcome::Interrupted, None, StepAnswer::default())
                    }
                }
            };
            let step = StepView { step: number, words, outcome, exit_code, answer };
            if !front.output.is_json() {
                front.output.show(&step, |page| step.write(page))?;
            }
            batch.steps.push(step);
        }
        if let Some((signal, number)) = ended {
            front.output.fail_with(&interrupted(&session, signal, number), Some(Until::Batch(batch)));
            return Ok(ended_by(signal));
        }
        if front.output.is_json() {
            front.output.show(&batch, |_| {})?;
        }
        Ok(exit)
    }
}

fn interrupted(session: &Session, signal: i32, step: usize) -> Failure {
    let (id, signal) = (&session.id, signals::name(signal));
    Failure::new(Code::Interrupted, format!("{signal} ended the batch in session {id} within step {step}"))
        .hint(format!("`abide snapshot {id}` shows how far it came; the steps behind it were not done"))
        .about(id.as_str())
        .in_status(session.verdict.status)
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

/// What a step is to the waits behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// What is shown behind it may be an answer; whether it tells since when.
    Acts {
        tells: bool,
    },
    Waits,
    Looks,
}

impl Command {
    const fn manner(&self) -> Manner {
        let tells = matches!(self, Self::Type(_) | Self::Paste(_) | Self::Keys(_) | Self::Exec(_));
        if tells || matches!(self, Self::Signal(_) | Self::Resize(_)) {
            return Manner::Acts { tells };
        }
        if matches!(self, Self::Wait(_)) { Manner::Waits } else { Manner::Looks }
    }
}

/// Since when what is shown counts for a wait.
#[derive(Debug, Default)]
struct Baseline {
    since: Option<u64>,
    /// A wait came since: the next step that acts begins anew.
    is_used: bool,
}

impl Baseline {
    /// Whether a step of this manner is the first that counts.
    fn begins_with(&self, manner: Manner) -> bool {
        matches!(manner, Manner::Acts { .. }) && (self.is_used || self.since.is_none())
    }

    /// Takes a step that was done, before which so much had been shown.
    fn pass(&mut self, manner: Manner, position: Option<u64>) {
        if self.begins_with(manner) {
            *self = Self { since: position.or(self.since), is_used: false };
        }
        self.is_used |= manner == Manner::Waits;
    }
}

/// What became of a command.
enum Performed {
    /// Its exit code, and what it answered.
    Done(u8, StepAnswer),
    /// A signal came before.
    Signalled(i32),
}

/// Runs a command, until a signal comes.
fn perform(command: Command, front: &Front, signals: &Signals) -> Result<Performed, Failure> {
    let name = command.name();
    let mut within = front.within(name);
    let performed = signals
        .before(move || (command.run(&mut within), within.output.kept()))
        .map_err(|error| Failure::io("begin", &format!("the step `{name}`"), &error))?;
    let (code, said) = match performed {
        Ok(done) => done,
        Err(caught) => return Ok(Performed::Signalled(caught.number)),
    };
    let answer = serde_json::from_slice(&said).map_err(|_| {
        Failure::new(Code::Internal, format!("the step `{name}` gave no answer"))
            .hint(format!("`abide {name} --help` shows examples"))
    })?;
    Ok(Performed::Done(code, answer))
}

impl StepView {
    fn write(&self, page: &mut Page) {
        let (tone, word) = match self.outcome {
            Outcome::Done => (Tone::Good, "done   "),
            Outcome::Failed => (Tone::Bad, "failed "),
            Outcome::Interrupted => (Tone::Bad, "interrupted"),
            Outcome::Skipped => (Tone::Faint, "skipped"),
        };
        let words = shell::line(self.words.iter().map(String::as_str));
        page.plain(&format!("{:>3}  ", self.step)).put(tone, word).plain("  ").plain(&words).end();
        for line in self.said() {
            page.plain("     ").plain(line).end();
        }
        if let Some(code) = self.exit_code.filter(|code| *code != 0 && self.is_of_a_line()) {
            page.plain("     ").put(Tone::Bad, &format!("its code is {code}")).end();
        }
    }

    /// Of an `exec` whose line has ended.
    fn is_of_a_line(&self) -> bool {
        self.answer.error.is_none() && self.words.first().is_some_and(|word| word == "exec")
    }

    /// What people want to read of the answer: what a line wrote, what is shown, what failed.
    fn said(&self) -> Vec<&str> {
        let waited =
            matches!(self.outcome, Outcome::Failed) && self.words.first().is_some_and(|w| w == "wait");
        let error = self.answer.error.as_ref();
        if let Some(error) = error {
            let hint = error["hint"].as_str();
            return error["message"].as_str().into_iter().chain(hint).collect();
        }
        let Some(data) = &self.answer.data else {
            return Vec::new();
        };
        if waited {
            return why_unmet(data).into_iter().chain(data["hint"].as_str()).collect();
        }
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

/// Why a wait did not come to what it waited for, where its code does not say so.
fn why_unmet(waited: &Value) -> Option<&'static str> {
    match (waited["met"].as_bool(), waited["ended"].as_bool()) {
        (Some(false), Some(true)) => Some("the session ended before"),
        (Some(false), _) => Some("not met when the time was up"),
        (_, Some(true)) => Some("the session ended with another code than 0"),
        (_, _) => None,
    }
}
