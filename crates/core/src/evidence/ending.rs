//! How a program ended: what was observed, by whom, why, and what it left behind.

use serde::{Deserialize, Serialize};

use super::{Declared, is_false};
use crate::identity::Identity;

/// The program's end was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
    /// How many more there were than are named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_survivors: u64,
    /// The program's word at its end. None where the witness could not tell, or did not say: abide 0.1 never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
    /// In the slot, a file of its own: the session that it is the end of. Abide 0.1 did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Ended {
    /// An end of which nothing else is known.
    #[must_use]
    pub const fn of(outcome: Outcome) -> Self {
        Self { outcome, resources: None, survivors: Vec::new(), more_survivors: 0, word: None, session: None }
    }
}

/// Which word of the program counted when its end was recorded, told once more: the fact that holds it may be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// None if the program had declared nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Declared>,
    /// One that counted may be lost, and nobody could tell which was the last: then there is none here.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unclear: bool,
}

/// How the program ended, who observed it, and what is known of the cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub how: How,
    /// None where nobody observed it and nobody has sealed it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_by: Option<Observer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// How the program ended. A code and a signal are never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum How {
    Exited { code: u8 },
    Signaled { signal: u8, core: bool },
    ExecFailed { errno: i32 },
    Lost,
}

/// Who observed the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    Guard,
    Host,
    Pidfd,
    Procfs,
    Sealed,
    /// A way that a later abide knows.
    #[serde(other)]
    Other,
}

/// Why the program ended, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A stop was asked for; `stop_asked` says by whom.
    Asked,
    Oom,
    Timeout,
    Reboot,
    /// Guard and host died before they could record an end.
    HelpersDied,
    /// The guard died while it launched the program.
    LaunchBroke,
    /// The program was never ours to wait for.
    NotOurs,
    /// A cause that a later abide knows.
    #[serde(other)]
    Other,
}

/// What the program used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    pub wall_ms: u64,
    pub user_ms: u64,
    pub system_ms: u64,
    pub peak_kib: u64,
}

/// A process of the session that lived on after its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub process: Identity,
    pub command: String,
}

const fn is_zero(value: &u64) -> bool {
    *value == 0
}
