//! A list of sessions against the truth: each entry, and who is missing or there twice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Asked, Kind, Lie, lag, statement};
use crate::truth::Truth;

/// What a session is called.
#[must_use]
pub fn name(tag: u32) -> String {
    format!("t{tag}")
}

/// What a list holds: all sessions, or those that are not over; and whether it says of itself that it is not whole.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    pub all: bool,
    pub partial: bool,
}

/// Judges a list. Gives the lies, and how late the latest entry was.
#[must_use]
pub fn listing(asked: Asked, truths: &[&Truth], entries: &[Value], scope: Scope) -> (Vec<Lie>, u64) {
    let (mut lies, mut late) = (Vec::new(), 0);
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    for entry in entries {
        let Some(truth) = whose(truths, entry) else { continue };
        *seen.entry(truth.tag).or_default() += 1;
        lies.extend(statement(asked, truth, entry));
        late = late.max(lag(asked, truth, entry));
    }
    for (tag, times) in &seen {
        if *times > 1 {
            lies.push(Kind::Contradiction.about(*tag, format!("listed {times} times")));
        }
    }
    let missing = |truth: &&&Truth| {
        let there = truth.launched.is_some_and(|since| since < asked.call);
        let due = scope.all || truth.born.is_some() && truth.dead.is_none() && truth.alive_at > asked.back;
        there && due && truth.removal.is_none() && !truth.harm.evidence && !seen.contains_key(&truth.tag)
    };
    for truth in truths.iter().filter(missing).filter(|_| !scope.partial) {
        lies.push(
            Kind::LostSession
                .about(truth.tag, format!("{} is not listed among {}", name(truth.tag), entries.len())),
        );
    }
    (lies, late)
}

fn whose<'a>(truths: &[&'a Truth], entry: &Value) -> Option<&'a Truth> {
    let text = |part: &str| entry.get(part).and_then(Value::as_str);
    let tag = text("name").and_then(|name| name.strip_prefix('t')).and_then(|tag| tag.parse::<u32>().ok());
    let by_tag = truths.iter().find(|truth| Some(truth.tag) == tag);
    let by_id = || truths.iter().find(|truth| truth.id.is_some() && truth.id.as_deref() == text("id"));
    by_tag.or_else(by_id).copied()
}
