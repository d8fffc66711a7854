//! Turn and attention: what an agent is doing and what it wants. Absence of evidence is unknown, never idle.

use super::{Now, Seen};
use crate::evidence::Wants;
use crate::evidence::fold::Evidence;
use crate::identity::Liveness;
use crate::moment::Moment;
use crate::status::Status;

/// How long an open turn without any evidence and without a judgeable owner goes unlabelled.
pub const STUCK_AFTER_MS: u64 = 3_600_000;

/// Whether the agent works on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Working,
    Settled,
    Unknown,
}

/// What the agent wants of a person now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    None,
    Approval,
    Answer,
    Unknown,
}

pub(super) fn turn(evidence: &Evidence, seen: &Seen, status: Status, now: Now) -> (Turn, Option<Moment>) {
    let Some(turn) = &evidence.work.turn else {
        // One that was seen to wait for its first request, and lives to take it.
        let waits = evidence.work.turn_closed && !status.is_terminal() && seen.program.is_alive();
        return (if waits { Turn::Settled } else { Turn::Unknown }, None);
    };
    // Where nobody knows whose turn it is, the program stands for its agent.
    let agent = if turn.body.owner.is_some() { seen.owner } else { seen.program };
    let over = turn.body.owner.is_none() && status.is_terminal();
    if evidence.work.turn_closed || over {
        return (Turn::Settled, None);
    }
    match agent {
        Liveness::Alive(_) => (Turn::Working, None),
        Liveness::Dead(_) => (Turn::Settled, None),
        // The program ended, and nobody can tell whether its agent did.
        Liveness::Unknown(_) if status.is_terminal() => (Turn::Unknown, None),
        Liveness::Unknown(_) => {
            let opened = (now.ms_since(evidence, turn), turn.at);
            let heard = evidence.record.last.as_ref().map(|last| (now.ms_since(evidence, last), last.at));
            match heard.into_iter().chain([opened]).min_by_key(|sign| sign.0) {
                Some((quiet, since)) if quiet >= STUCK_AFTER_MS => (Turn::Unknown, Some(since)),
                Some(_) | None => (Turn::Working, None),
            }
        }
    }
}

pub(super) fn attention(evidence: &Evidence, turn: Turn, status: Status) -> Attention {
    if turn == Turn::Settled || (status.is_terminal() && turn != Turn::Working) {
        return Attention::None;
    }
    let Some(told) = &evidence.work.attention else {
        return Attention::Unknown;
    };
    Attention::of(told.body.wants)
}

impl Turn {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Settled => "settled",
            Self::Unknown => "unknown",
        }
    }
}

impl Attention {
    /// What was told.
    #[must_use]
    pub const fn of(wants: Wants) -> Self {
        match wants {
            Wants::None => Self::None,
            Wants::Approval => Self::Approval,
            Wants::Answer => Self::Answer,
            Wants::Other => Self::Unknown,
        }
    }

    /// How it is told; none where there is nothing to tell.
    #[must_use]
    pub const fn wants(self) -> Option<Wants> {
        match self {
            Self::None => Some(Wants::None),
            Self::Approval => Some(Wants::Approval),
            Self::Answer => Some(Wants::Answer),
            Self::Unknown => None,
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Approval => "approval",
            Self::Answer => "answer",
            Self::Unknown => "unknown",
        }
    }
}
