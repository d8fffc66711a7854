//! What abide knows of coding agents, one file each: how to tell their processes, what their own files and screens say
//! of their work, how to stop and resume them. Reads agents' files and never writes one; decides nothing about life.

mod adapter;
mod database;
pub mod hooks;
mod known;
mod lines;
mod sign;
mod story;
mod tree;
mod words;

pub use adapter::{Adapter, By, Held, Kin, Place, Process, Running};
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

/// Which agent a process is, or belongs to as its wrapper.
#[must_use]
pub fn recognise(process: &Process<'_>) -> Option<(&'static dyn Adapter, Kin)> {
    ALL.iter().find_map(|adapter| Some((*adapter, adapter.recognise(process)?)))
}
