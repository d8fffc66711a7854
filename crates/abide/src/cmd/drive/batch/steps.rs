//! The steps of a batch, as they are written: a line each, or one JSON list.

use abide_core::failure::{Code, Failure};

use super::super::read_text;
use crate::args;
use crate::cmd::Command;

/// What can be a step: what is about one session, and comes to an end.
const STEPS: [&str; 14] = [
    "type",
    "paste",
    "keys",
    "resize",
    "exec",
    "signal",
    "mark",
    "wait",
    "snapshot",
    "screenshot",
    "diff",
    "logs",
    "inspect",
    "stop",
];

/// A step that makes sense.
#[derive(Debug)]
pub(super) struct Step {
    /// As it was written.
    pub(super) words: Vec<String>,
    pub(super) command: Command,
}

/// The steps that were given as arguments, in a file or on standard input, for this session at this wall time.
///
/// # Errors
/// If there are none, or one of them makes no sense.
pub(super) fn read(given: &[String], file: Option<&str>, at: (&str, i64)) -> Result<Vec<Step>, Failure> {
    let text = if given.is_empty() { text_of(file.unwrap_or("-"))? } else { given.join("\n") };
    let steps = if text.trim_start().starts_with('[') { from_json(&text)? } else { from_lines(&text)? };
    if steps.is_empty() {
        return Err(Failure::new(Code::Usage, "there is no step").hint("`abide batch --help` shows examples"));
    }
    (1..).zip(steps).map(|(number, words)| step(number, words, at)).collect()
}

fn text_of(file: &str) -> Result<String, Failure> {
    String::from_utf8(read_text(file)?).map_err(|_| Failure::new(Code::Usage, "the steps are not UTF-8"))
}

fn from_json(text: &str) -> Result<Vec<Vec<String>>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(Code::Usage, format!("the steps are no list of lists of words: {error}"))
            .hint("for example [[\"type\",\"ls\",\"--enter\"],[\"snapshot\"]]")
    })
}

fn from_lines(text: &str) -> Result<Vec<Vec<String>>, Failure> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let steps = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    steps
        .map(|(number, line)| {
            shlex::split(line).ok_or_else(|| {
                Failure::new(
                    Code::Usage,
                    format!("line {number} of the steps has a quote that is not closed"),
                )
                .hint("text with quotes and new lines goes well into the JSON form")
            })
        })
        .collect()
}

fn step(number: usize, words: Vec<String>, (session, now): (&str, i64)) -> Result<Step, Failure> {
    let wrong = |message: &str, hint: String| {
        Failure::new(Code::Usage, format!("step {number}: {message}")).hint(hint)
    };
    let verb = words.first().map_or("", String::as_str);
    if !STEPS.contains(&verb) {
        return Err(wrong(&format!("`{verb}` is no step"), format!("a step is one of {}", STEPS.join(", "))));
    }
    let given = words[1..].iter().map(String::as_str);
    let argv: Vec<&str> = match verb {
        // Its ID comes last, where there is a signal before it.
        "signal" => {
            ["abide", verb].into_iter().chain(given).chain((words.len() > 1).then_some(session)).collect()
        }
        _ => ["abide", verb, session].into_iter().chain(given).collect(),
    };
    let told = |failure: Failure| wrong(&failure.message, failure.hint.unwrap_or_default());
    let cli = args::parse(argv.into_iter().map(Into::into)).map_err(|refused| told(refused.failure()))?;
    cli.command.check(now).map_err(told)?;
    if cli.home.is_some() {
        return Err(wrong("--home is not for a step", "`abide --home DIR batch` sets it for all".to_owned()));
    }
    if let Command::Logs(logs) = &cli.command
        && logs.is_stream()
    {
        let hint = format!("a step gives one answer, and ends; `abide logs {session}` has both flags");
        return Err(wrong("--follow and --raw are not for a step", hint));
    }
    Ok(Step { words, command: cli.command })
}
