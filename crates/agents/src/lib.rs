//! What abide knows of coding agents, one file each: how to tell their processes, what their own files and screens say
//! of their work, how to stop and resume them. Reads and copies agents' files and never writes one; decides nothing about life.

mod adapter;
mod database;
pub mod hooks;
mod known;
mod lines;
mod runner;
mod sign;
mod story;
mod tree;
mod words;

pub use adapter::{Adapter, By, Held, Kin, Place, Process, Running};
pub use database::{copy_database, is_database};
pub use sign::{Level, Sign, Source, Standing, weigh};
pub use story::{Call, How, LastTurn, Reader, Story, Tokens};

use known::{aider, claude, codex, copilot, gemini, opencode, pi, qwen};

/// Every agent that is known.
pub const ALL: &[&dyn Adapter] = &[
    &claude::Claude,
    &codex::Codex,
    &copilot::Copilot,
    &opencode::OpenCode,
    &pi::Pi,
    &gemini::Gemini,
    &qwen::Qwen,
    &aider::Aider,
];

/// The adapter of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|adapter| adapter.name() == name)
}

/// What the screen of an agent says. A question that its adapter does not know is one all the same.
#[must_use]
pub fn shown(adapter: &dyn Adapter, lines: &[String]) -> Option<Level> {
    let known = adapter.screen(lines);
    let asks = asks(lines).then_some(Level::ANSWER);
    known.filter(Level::asks).or(asks).or(known)
}

/// So many of the lowest lines are what an agent keeps repainting.
const LIVE: usize = 24;
/// What stands before the choice that Enter would take.
const PICKED: [char; 6] = ['❯', '›', '●', '>', '→', '▸'];

/// Whether a list of choices stands there, one of them picked, and no input below it: some question is to be answered
/// first, whatever it is.
#[must_use]
pub fn asks(lines: &[String]) -> bool {
    let live = &lines[lines.len().saturating_sub(LIVE)..];
    let (mut numbers, mut picked) = (Vec::new(), false);
    for line in live {
        let line = line.trim_start_matches([' ', '│', '┃', '|']);
        let rest = line.trim_start_matches(PICKED);
        let mut text = rest.trim_start().chars();
        let number = text.next().filter(char::is_ascii_digit);
        let number = number.filter(|_| matches!(text.next(), Some('.' | ')')));
        match number {
            Some(number) => {
                numbers.push(number);
                picked |= rest.len() < line.len();
            }
            // Whoever has an input below a list asks nothing by it.
            None if line.starts_with(PICKED) => (numbers, picked) = (Vec::new(), false),
            None => {}
        }
    }
    picked && numbers.contains(&'1') && numbers.contains(&'2')
}

/// Which agent a process is, or belongs to as its wrapper.
#[must_use]
pub fn recognise(process: &Process<'_>) -> Option<(&'static dyn Adapter, Kin)> {
    let wraps = |adapter: &dyn Adapter| runner::runs(process.argv, adapter).then_some(Kin::Wrapper);
    ALL.iter().find_map(|adapter| Some((*adapter, adapter.recognise(process).or_else(|| wraps(*adapter))?)))
}

/// The command line that begins a conversation under an ID that we choose, where this one can be told one: npm might take
/// it for its own.
#[must_use]
pub fn launch(adapter: &dyn Adapter, argv: &[String], conversation: &str) -> Option<Vec<String>> {
    if runner::runs(argv, adapter) { None } else { adapter.launch(argv, conversation) }
}

/// The command line that goes on with a conversation as this one began it; with a prompt, if it takes one there.
#[must_use]
pub fn resume(
    adapter: &dyn Adapter,
    argv: &[String],
    conversation: &str,
    prompt: Option<&str>,
) -> Vec<String> {
    let behind = runner::resume(argv, adapter, (conversation, prompt));
    behind.unwrap_or_else(|| adapter.resume(argv, conversation, prompt))
}
