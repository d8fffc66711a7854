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
        return (Turn::Unknown, None);
    };
    let without_owner = turn.body.owner.is_none() && seen.program.is_dead();
    if evidence.work.turn_closed || status.is_terminal() || without_owner {
        return (Turn::Settled, None);
    }
    match seen.owner {
        Liveness::Alive(_) => (Turn::Working, None),
        Liveness::Dead(_) => (Turn::Settled, None),
        Liveness::Unknown(_) => {
            let opened = Some((turn.witness, turn.at));
            let heard = evidence.record.last.as_ref().map(|last| (last.witness, last.at));
            let signs = [opened, heard].into_iter().flatten();
            let latest = signs.map(|(by, at)| (quiet_ms(by.boot, at, now), at)).min_by_key(|sign| sign.0);
            match latest {
                Some((quiet, since)) if quiet >= STUCK_AFTER_MS => (Turn::Unknown, Some(since)),
                Some(_) | None => (Turn::Working, None),
            }
        }
    }
}

/// The boot-time clock measures within one boot; across boots only wall time is left.
fn quiet_ms(boot: u32, last: Moment, now: Now) -> u64 {
    if boot == now.boot {
        now.at.since(last)
    } else {
        u64::try_from(now.at.wall.saturating_sub(last.wall)).unwrap_or(0)
    }
}

pub(super) fn attention(evidence: &Evidence, turn: Turn, status: Status) -> Attention {
    if status.is_terminal() || turn == Turn::Settled {
        return Attention::None;
    }
    let Some(told) = &evidence.work.attention else {
        return Attention::Unknown;
    };
    match told.body.wants {
        Wants::None => Attention::None,
        Wants::Approval => Attention::Approval,
        Wants::Answer => Attention::Answer,
        Wants::Other => Attention::Unknown,
    }
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
