//! What an agent did and wants: its turns, its attention, and at the end all of it in short.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::identity::Identity;

/// An agent took up a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnOpened {
    pub turn: String,
    /// The adapter that knows the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The agent's process; none if it could not be resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Identity>,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// The agent is done with a request; with no name, it waits for its first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnClosed {
    pub turn: String,
    pub reason: String,
    /// Its agent ended in the middle of it: nobody was done with anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken_off: bool,
}

/// What the agent wants of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    pub wants: Wants,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The kinds of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    None,
    Approval,
    Answer,
    /// A kind that a later abide knows.
    #[serde(other)]
    Other,
}

/// What an agent did in the session, as far as its own files tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    #[serde(default)]
    pub prompts: u64,
    /// Turns that were closed.
    #[serde(default)]
    pub turns: u64,
    /// How often each tool was called.
    #[serde(default)]
    pub tools: BTreeMap<String, u64>,
    /// Files that its tools wrote to.
    #[serde(default)]
    pub files: Vec<String>,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    /// Tool calls that nothing answered, each with what it was called with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// From the first prompt to the last word, in ms.
    #[serde(default)]
    pub duration_ms: u64,
}
