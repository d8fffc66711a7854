//! The tags of `exec` in a recording, and the sequences that the shell writes for it: what the veil goes by.

use serde::{Deserialize, Serialize};

use crate::evidence::frame::{body_from_line, body_to_line};
use crate::recording::typed;

/// The private number of our sequences.
const NUMBER: &str = "7717";

/// What `exec` is about to do, as the recording has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    pub phase: Phase,
    /// Tells one `exec` from every other.
    pub nonce: String,
    /// What it is to run.
    #[serde(default)]
    pub line: String,
    /// What is typed for it, if the shell echoes just that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub typed: String,
}

/// What a tag says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// What follows is the echo of what is typed now, up to the sequence that says that the line runs.
    Begin,
    /// More of it is typed.
    More,
    /// It will not come: what was kept back is shown.
    Cancel,
}

impl Tag {
    /// Of no line yet.
    #[must_use]
    pub const fn begin() -> Self {
        Self { phase: Phase::Begin, nonce: String::new(), line: String::new(), typed: String::new() }
    }

    /// The tag of an entry: behind who typed it and its number.
    #[must_use]
    pub fn of(payload: &[u8]) -> Option<Self> {
        body_from_line(typed(payload)).ok()
    }

    /// As it is recorded.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        body_to_line(self).unwrap_or_default()
    }

    /// What somebody would have typed to the same effect.
    #[must_use]
    pub fn keys(&self) -> Vec<u8> {
        match self.phase {
            Phase::Begin => format!("{}\r", self.line).into_bytes(),
            Phase::More | Phase::Cancel => Vec::new(),
        }
    }
}

/// The sequence that the shell is to write when the line begins to run.
#[must_use]
pub fn begins(nonce: &str) -> String {
    format!("\x1b]{NUMBER};abide;{nonce};B\x07")
}

/// The sequence that the shell is to write before that if nothing of its own is shown meanwhile, such as a trap's.
#[must_use]
pub fn quiet(nonce: &str) -> String {
    format!("\x1b]{NUMBER};abide;{nonce};Q\x07")
}

/// The sequence that the shell is to write at its end: what comes before the code. BEL follows it.
#[must_use]
pub fn ends(nonce: &str) -> String {
    format!("\x1b]{NUMBER};abide;{nonce};E;")
}

/// Where a shell last told the end of a line, whichever it was.
#[must_use]
pub fn end_told(output: &[u8]) -> Option<usize> {
    let begins = format!("\x1b]{NUMBER};abide;");
    memchr::memmem::rfind_iter(output, begins.as_bytes()).find(|at| {
        let rest = &output[at + begins.len()..];
        rest.splitn(3, |byte| *byte == b';').nth(1) == Some(b"E")
    })
}
