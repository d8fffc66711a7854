//! Recordings that are not what their evidence says they are: each is read whole, the shortest first, as long as there
//! is patience for it.

use abide_core::failure::{Code, Failure};
use abide_core::instant::Span;

use super::{Check, Examining, bad, failed, weak};
use crate::recording::damage::in_places;
use crate::recording::{shed, whole};
use crate::{Gap, Session, Sessions, What};

const NAME: &str = "recording";
/// So many bytes are read in all, unless all are to be.
const PATIENCE: u64 = 4 << 30;

/// What reading a recording whole came to.
#[derive(Default)]
struct Read {
    /// Places that cannot be read, and output that is gone although it was recorded.
    lost: Vec<Gap>,
    /// Output that was not kept.
    cut: Vec<Gap>,
}

pub(super) fn check(sessions: &Sessions, all: &[Session], how: &Examining<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    let length = |session: &Session| {
        let dir = sessions.home()?.session(&session.id).ok()?;
        let recording = dir.recording().ok()?;
        Some(recording.length().ok()?.saturating_sub(shed::begins(&recording)))
    };
    let mut lengths: Vec<(u64, &Session)> =
        all.iter().map(|session| (length(session).unwrap_or(0), session)).collect();
    lengths.sort_by_key(|(length, _)| *length);
    let patience = if how.thorough { u64::MAX } else { PATIENCE };
    let mut sum: u64 = 0;
    let (now, later): (Vec<_>, Vec<_>) = lengths.into_iter().partition(|(length, _)| {
        sum = sum.saturating_add(*length);
        sum <= patience
    });
    let bytes = now.iter().map(|(length, _)| length).sum();
    let mut done = 0;
    for (length, session) in &now {
        if length > &0 || whole::is_expected(session) {
            let read = read(sessions, session, &mut |left| {
                (how.progress)(done + length.saturating_sub(left), bytes);
            });
            checks.extend(told(session, read));
        }
        done += length;
    }
    checks.extend(later.iter().filter_map(|(_, session)| {
        let lacks = sessions.is_complete(session) == Some(false);
        lacks.then(|| not_complete(session, "does not end as its evidence says"))
    }));
    if !later.is_empty() {
        let (read, unread) = (now.len(), later.len());
        let detail = format!("{read} read whole, {unread} too long for that: only their ends were looked at");
        checks.push(weak(NAME, &detail, "abide doctor --thorough"));
    }
    checks
}

/// Reads a recording from its beginning to its end, and tells how much is left.
fn read(sessions: &Sessions, session: &Session, progress: &mut impl FnMut(u64)) -> Result<Read, Failure> {
    let mut replay = sessions.replay(session, &Span::default(), false)?.without_screen();
    let mut read = Read::default();
    while let Some(step) = replay.next()? {
        let gaps = match step.what {
            What::Begin(gaps) => gaps.to_vec(),
            What::Gap(gap) => vec![gap],
            What::Entry(..) | What::Screen | What::LetGo | What::CaughtUp => Vec::new(),
        };
        for gap in gaps {
            match gap {
                Gap::Damage { .. } | Gap::Screen(_) | Gap::Missing(_) | Gap::Beginning(_) => {
                    read.lost.push(gap);
                }
                Gap::Cut(_) => read.cut.push(gap),
            }
        }
        if let Some((offset, end)) = replay.progress() {
            progress(end.saturating_sub(offset));
        }
    }
    Ok(read)
}

fn told(session: &Session, read: Result<Read, Failure>) -> Option<Check> {
    let id = &session.id;
    let check = match read {
        Err(failure) if failure.code == Code::Damaged && !whole::is_expected(session) => return None,
        Err(failure) => failed(NAME, &failure, "look at the file").about(id),
        Ok(Read { lost, .. }) if !lost.is_empty() => {
            let first = lost.first().map_or_else(String::new, Gap::says);
            not_complete(session, &format!("is damaged {}: first, {first}", in_places(lost.len() as u64)))
        }
        Ok(Read { cut, .. }) => {
            let first = cut.first()?.says();
            let detail = format!("that of session {id} lacks output that was not kept: {first}");
            weak(NAME, &detail, &format!("`abide inspect {id}` shows how much there is")).about(id)
        }
    };
    Some(check)
}

fn not_complete(session: &Session, why: &str) -> Check {
    let id = &session.id;
    let detail = format!("that of session {id} {why}");
    bad(NAME, &detail, &format!("`abide logs {id}` shows what is still there, and what is not")).about(id)
}
