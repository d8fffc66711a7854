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
    let texts = if given.is_empty() { vec![text_of(file.unwrap_or("-"))?] } else { given.to_vec() };
    let steps = match texts.first().filter(|text| text.trim_start().starts_with('[')) {
        Some(_) => from_json(&texts.join("\n"))?,
        None => from_lines(&texts)?,
    };
    if steps.is_empty() {
        return Err(Failure::new(Code::Usage, "there is no step").hint("`abide batch --help` shows examples"));
    }
    (1..).zip(steps).map(|(number, words)| step(number, words, at)).collect()
}

fn text_of(file: &str) -> Result<String, Failure> {
    String::from_utf8(read_text(file)?).map_err(|_| {
        Failure::new(Code::Usage, "the steps are not UTF-8")
            .hint("write them as UTF-8; `paste --file` takes any bytes")
    })
}

fn from_json(text: &str) -> Result<Vec<Vec<String>>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(Code::Usage, format!("the steps are no list of lists of words: {error}"))
            .hint("for example [[\"type\",\"ls\",\"--enter\"],[\"snapshot\"]]")
    })
}

/// A step a line. One with a quote that is not closed at its end goes on in the next line of the same text.
fn from_lines(texts: &[String]) -> Result<Vec<Vec<String>>, Failure> {
    let mut steps = Vec::new();
    let mut number = 0;
    for text in texts {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            number += 1;
            let begun = line.trim();
            if begun.is_empty() || begun.starts_with('#') {
                continue;
            }
            let (first, mut step) = (number, begun.to_owned());
            let words = loop {
                if let Some(words) = shlex::split(&step) {
                    break words;
                }
                let more = lines.next().ok_or_else(|| unclosed(first))?;
                step.extend(["\n", more]);
                number += 1;
            };
            steps.push(words);
        }
    }
    Ok(steps)
}

fn unclosed(line: usize) -> Failure {
    Failure::new(Code::Usage, format!("line {line} of the steps has a quote that is not closed"))
        .hint("text with quotes and new lines goes well into the JSON form")
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
    // As its command refuses it.
    let told =
        |failure: Failure| Failure { message: format!("step {number}: {}", failure.message), ..failure };
    let cli =
        args::parse(argv.into_iter().map(Into::into)).map_err(|refused| match refused.asks_for_help() {
            true => wrong("--help is not for a step", format!("`abide {verb} --help` shows it")),
            false => told(refused.failure()),
        })?;
    cli.command.check(now).map_err(told)?;
    if cli.everywhere.home.is_some() {
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
