//! Which session a person means: an ID, a name, a unique prefix of either, or `@last`.

use abide_core::failure::{Code, Failure};
use abide_core::id::{SessionId, SessionName};

use crate::{Session, Sessions, names};

const LAST: &str = "@last";
const CANDIDATES_SHOWN: usize = 10;

pub(crate) fn find(sessions: &Sessions, wanted: &str) -> Result<Session, Failure> {
    if let Some(session) = by_id(sessions, wanted) {
        return Ok(session);
    }
    let mut all = sessions.list()?;
    if wanted == LAST {
        return all.into_iter().next().ok_or_else(|| nothing(wanted));
    }
    // A name is free again once its session is over, so an active one is meant first, then the latest.
    let named = |s: &Session| s.name() == Some(wanted);
    let active = all.iter().position(|s| named(s) && s.verdict.status.is_active());
    if let Some(index) = active.or_else(|| all.iter().position(named)) {
        return Ok(all.swap_remove(index));
    }
    let starts = |text: &str| !wanted.is_empty() && text.starts_with(wanted);
    let like = alike(&all, wanted);
    all.retain(|s| starts(s.id.as_str()) || s.name().is_some_and(starts));
    match all.len() {
        // One whose own word for its name cannot be read is still in the index.
        0 => by_index(sessions, wanted).ok_or_else(|| nothing_but(wanted, like)),
        1 => Ok(all.swap_remove(0)),
        _ => Err(ambiguous(wanted, &all)),
    }
}

/// How like a name or an ID must be to what was typed, from 0 to 1.
const ALIKE: f64 = 0.8;

/// The name or the ID that was perhaps meant.
fn alike(all: &[Session], wanted: &str) -> Option<String> {
    let words = all.iter().flat_map(|s| s.name().into_iter().chain([s.id.as_str()])).chain(["@last"]);
    let near = words.map(|word| (strsim::jaro(word, wanted), word)).filter(|(near, _)| *near > ALIKE);
    near.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, word)| word.to_owned())
}

/// The whole ID needs no look at any other session.
fn by_id(sessions: &Sessions, wanted: &str) -> Option<Session> {
    let id = SessionId::parse(wanted)?;
    let home = sessions.home()?;
    sessions.truth().of_listed(home, &id)
}

fn by_index(sessions: &Sessions, wanted: &str) -> Option<Session> {
    let home = sessions.home()?;
    let id = names::holder(home, SessionName::parse(wanted)?.as_str())?;
    sessions.truth().of_listed(home, &id).filter(|session| session.evidence.is_damaged())
}

pub(crate) fn nothing(wanted: &str) -> Failure {
    nothing_but(wanted, None)
}

fn nothing_but(wanted: &str, like: Option<String>) -> Failure {
    let meant = like.map_or_else(String::new, |like| format!("did you mean `{like}`? "));
    Failure::new(Code::NoSuchSession, format!("no session `{wanted}`"))
        .hint(format!("{meant}`abide ls -a` lists all sessions"))
        .about(wanted)
}

pub(crate) fn not_yet(session: &Session) -> Failure {
    Failure::new(Code::BadTime, format!("session {} did not exist at that time", session.id))
        .hint(format!("`abide why {}` shows when it was launched", session.id))
        .about(session.id.as_str())
        .in_status(session.verdict.status)
}

fn ambiguous(wanted: &str, candidates: &[Session]) -> Failure {
    let shown = candidates.iter().take(CANDIDATES_SHOWN).map(|s| match s.name() {
        Some(name) => format!("{} ({name})", s.id),
        None => s.id.to_string(),
    });
    let mut list = shown.collect::<Vec<_>>().join(", ");
    if candidates.len() > CANDIDATES_SHOWN {
        list.push_str(&format!(" and {} more", candidates.len() - CANDIDATES_SHOWN));
    }
    Failure::new(Code::Ambiguous, format!("`{wanted}` can mean {} sessions: {list}", candidates.len()))
        .hint("give more letters, or the whole ID")
        .about(wanted)
}
