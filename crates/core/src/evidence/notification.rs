//! Notifications: which facts of a session its user is told of, what of that was delivered, and what is due when. All of it is
//! derived from the facts, so the evidence is the outbox: what is to be told is on record before anyone tries, and each try is
//! a fact. Delivers nothing.

use serde::{Deserialize, Serialize};

use super::fold::Evidence;
use super::{Body, Fact, How, Notified, Wants};
use crate::moment::Moment;
use crate::verdict::Now;

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// The agent wants something of a person.
    Attention,
    /// The agent is done with a request.
    Turn,
    /// The session is over.
    End,
}

impl Matter {
    pub const ALL: &'static [Self] = &[Self::Attention, Self::Turn, Self::End];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Turn => "turn",
            Self::End => "end",
        }
    }

    /// The matter of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|matter| matter.name() == name)
    }
}

/// Whom notifications go to, each in order and on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    Command,
    Webhook,
}

impl Receiver {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Webhook => "webhook",
        }
    }
}

/// Something to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The same at each try, and no other notification's.
    pub key: String,
    pub matter: Matter,
    pub at: Moment,
    /// What was told of it at the time.
    pub text: Option<String>,
}

/// A try that failed is made again after so long, in ms; after the last of these nobody tries any more by itself.
pub const DELAYS_MS: [u64; 5] = [1_000, 5_000, 30_000, 120_000, 600_000];

/// What is to be done for one whom notifications go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due<'a> {
    Nothing,
    /// This one, which was tried so often before.
    Now(&'a Notification, usize),
    /// Nothing before this instant of boot time.
    At(u64),
}

/// Whether delays and the end of patience are heeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    Heeded,
    /// Somebody asks for it now.
    Ignored,
}

/// All notifications of one session, in order, and every try.
#[derive(Debug, Default)]
pub struct Notifications {
    id: String,
    all: Vec<Notification>,
    tries: Vec<(Notified, Moment, u32)>,
    /// The turn that is open.
    turn: Option<String>,
}

impl Notifications {
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Takes the next fact.
    pub fn add(&mut self, fact: Fact) {
        let Fact { witness, seq, at, body } = fact;
        let key = || format!("{}/{witness}/{seq}", self.id);
        match body {
            Body::TurnOpened(opened) => self.turn = Some(opened.turn),
            Body::TurnClosed(closed) if self.turn.as_ref() == Some(&closed.turn) => {
                let (key, text) = (key(), Some(closed.reason));
                self.turn = None;
                self.all.push(Notification { key, matter: Matter::Turn, at, text });
            }
            Body::Attention(attention) if attention.wants != Wants::None => {
                let (key, text) = (key(), attention.text);
                self.all.push(Notification { key, matter: Matter::Attention, at, text });
            }
            Body::Ended(ended) if ended.outcome.how != How::Lost || !self.has_end() => self.end("ended", at),
            Body::ExecFailed(_) => self.end("ended", at),
            Body::Sealed(_) if !self.has_end() => self.end("sealed", at),
            Body::Notified(notified) => self.tries.push((*notified, at, witness.boot)),
            Body::Launched(_)
            | Body::Guarded(_)
            | Body::Hosted(_)
            | Body::Started(_)
            | Body::StopAsked(_)
            | Body::Signalled(_)
            | Body::Ended(_)
            | Body::Cut(_)
            | Body::Drained(_)
            | Body::Declared(_)
            | Body::TurnClosed(_)
            | Body::Attention(_)
            | Body::Marked(_)
            | Body::Checkpointed(_)
            | Body::Adopted(_)
            | Body::Watched(_)
            | Body::ImageChanged(_)
            | Body::Noted(_)
            | Body::Summary(_)
            | Body::Sealed(_)
            | Body::Removing(_)
            | Body::Removed(_)
            | Body::Other { .. } => {}
        }
    }

    /// Takes an end that found room in the slot alone.
    pub fn add_slot(&mut self, evidence: &Evidence) {
        let closing = &evidence.closing;
        let ended = closing.ended.as_ref().map(|told| told.at);
        if let Some(at) = ended.or(closing.exec_failed.as_ref().map(|told| told.at))
            && !self.has_end()
        {
            self.end("ended", at);
        }
    }

    fn has_end(&self) -> bool {
        self.all.iter().any(|one| one.matter == Matter::End)
    }

    /// An end that was observed is told also after one that was sealed, and each once.
    fn end(&mut self, how: &str, at: Moment) {
        let key = format!("{}/{how}", self.id);
        if !self.all.iter().any(|one| one.key == key) {
            self.all.push(Notification { key, matter: Matter::End, at, text: None });
        }
    }

    /// What is to be done for whom, who wants to hear of these matters. One after the other: what is still tried keeps back
    /// what comes after it, and what was given up does not.
    #[must_use]
    pub fn due(&self, to: &str, on: &[Matter], now: Now, patience: Patience) -> Due<'_> {
        for one in self.all.iter().filter(|one| on.contains(&one.matter)) {
            let tries: Vec<_> =
                self.tries.iter().filter(|(tried, ..)| tried.key == one.key && tried.to == to).collect();
            if tries.iter().any(|(tried, ..)| tried.delivered) {
                continue;
            }
            let Some((_, at, boot)) = tries.last().filter(|_| patience == Patience::Heeded) else {
                return Due::Now(one, tries.len());
            };
            let Some(delay) = DELAYS_MS.get(tries.len() - 1) else { continue };
            let next = at.boot.saturating_add(*delay);
            if *boot == now.boot && next > now.at.boot {
                return Due::At(next);
            }
            return Due::Now(one, tries.len());
        }
        Due::Nothing
    }

    /// What is not delivered to whom, and why the last try failed.
    #[must_use]
    pub fn undelivered(&self, to: &str, on: &[Matter]) -> (usize, Option<&str>) {
        let delivered = |one: &Notification| {
            self.tries.iter().any(|(tried, ..)| tried.key == one.key && tried.to == to && tried.delivered)
        };
        let left: Vec<&Notification> =
            self.all.iter().filter(|one| on.contains(&one.matter) && !delivered(one)).collect();
        let failed = |tried: &Notified| tried.to == to && left.iter().any(|one| one.key == tried.key);
        let why = self.tries.iter().rev().find(|(tried, ..)| failed(tried));
        (left.len(), why.and_then(|(tried, ..)| tried.detail.as_deref()))
    }
}
