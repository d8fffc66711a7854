//! What an agent's transcript says, folded as it grows. A transcript is the agent's word: where a living process or its
//! death says otherwise, that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use abide_core::verdict::Attention;

/// So many files are kept by name.
const FILES: usize = 1_000;

/// All that matters of one conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Story {
    pub conversation: Option<String>,
    /// The version of the agent that wrote last.
    pub version: Option<String>,
    pub model: Option<String>,
    pub cwd: Option<PathBuf>,
    /// How the latest turn stands.
    pub turn: Option<LastTurn>,
    /// Tool calls that no result answers, of the branch that the agent goes on with.
    pub unanswered: Vec<Call>,
    /// What it asks a person for, where the transcript tells.
    pub wants: Option<Attention>,
    pub tokens: Tokens,
    pub prompts: u64,
    /// Turns that were closed.
    pub turns: u64,
    /// How often each tool was called.
    pub tools: BTreeMap<String, u64>,
    /// Files that its tools wrote to.
    pub files: BTreeSet<String>,
    /// When it was first and last written to, by its own clock: ms of wall time.
    pub first_at: Option<i64>,
    pub last_at: Option<i64>,
    /// Lines or rows that make no sense.
    pub unreadable: u64,
}

/// How a turn stands, by the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastTurn {
    /// The agent's own name for it, if it has one.
    pub id: Option<String>,
    /// When it was opened, in ms of wall time.
    pub opened_at: Option<i64>,
    /// When and how it was closed.
    pub closed: Option<(i64, How)>,
}

/// How a turn was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Answered,
    Interrupted,
    Failed,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: String,
    pub tool: String,
    /// What it was called with, cut.
    pub with: String,
    pub at: Option<i64>,
}

/// What a conversation took, as the agent counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    /// Of the input, read from or written to a cache.
    pub cached: u64,
}

/// Reads a transcript as it grows.
pub trait Reader {
    /// Takes in what was written since. True if the story changed.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read.
    fn read_on(&mut self) -> io::Result<bool>;

    fn story(&self) -> &Story;
}

impl Story {
    /// Notes a file that a tool wrote to.
    pub(crate) fn touched(&mut self, file: &str) {
        if self.files.len() < FILES {
            self.files.insert(file.to_owned());
        }
    }

    /// Notes when something was written.
    pub(crate) fn written(&mut self, at: Option<i64>) {
        self.first_at = self.first_at.or(at);
        self.last_at = self.last_at.max(at);
    }
}

impl Tokens {
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
        }
    }
}

impl How {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// The longest text of a call that is kept.
const WITH: usize = 200;

impl Call {
    pub(crate) fn new(id: &str, tool: &str, with: &str, at: Option<i64>) -> Self {
        let with = with[..with.floor_char_boundary(WITH)].to_owned();
        Self { id: id.to_owned(), tool: tool.to_owned(), with, at }
    }
}

/// Ms of wall time out of `2026-11-16T23:00:00.123Z`.
pub(crate) fn moment(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}
