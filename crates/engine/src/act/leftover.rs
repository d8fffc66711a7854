//! What killed launches and removals left behind: whose it is, and clearing what is provably nobody's.

use abide_core::failure::Failure;
use abide_core::id::SessionId;
use abide_core::identity::Lock;
use abide_sys::disk::Untrusted;
use abide_sys::lock::{self, Holder};

use crate::act::collect::Collected;
use crate::place;
use crate::store::{self, Home, Leftover, SessionDir};
use crate::truth::Truth;

/// Whose a leftover is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Provably nobody's, and why.
    Nobody(&'static str),
    /// A launch that goes on.
    Somebody,
    /// That cannot be told, and why.
    Unclear(&'static str),
}

/// Looks at everything that is left behind.
pub(crate) fn list(truth: &Truth, home: &Home) -> Result<Vec<(Leftover, Owner)>, Failure> {
    let judged = |leftover: Leftover| {
        let owner = match home.leftover(&leftover) {
            Ok(dir) => judge(truth, &leftover, &dir),
            Err(untrusted) => judge_untrusted(&untrusted)?,
        };
        Some((leftover, owner))
    };
    Ok(home.leftovers()?.into_iter().filter_map(judged).collect())
}

/// Removes what is nobody's; with `dry`, only says what it would remove.
pub(crate) fn clear(truth: &Truth, home: &Home, dry: bool) -> Result<Vec<Collected>, Failure> {
    let mut cleared = Vec::new();
    if !dry {
        place::clear_abandoned();
    }
    for leftover in home.leftovers()? {
        let dir = home.leftover(&leftover);
        // Held from the judgement to the removal: nobody can begin to use it in between.
        let owner = match &dir {
            Ok(dir) => Some(judge(truth, &leftover, dir)),
            Err(untrusted) => judge_untrusted(untrusted),
        };
        let Some(Owner::Nobody(_)) = owner else {
            continue;
        };
        let (name, bytes) = (leftover.name(), dir.as_ref().map_or(0, SessionDir::bytes));
        let done = if dry { Ok(()) } else { home.clear(&leftover) };
        let failure = done.err().map(|e| Failure::io("remove", &name, &e));
        cleared.push(Collected { id: name, bytes, failure });
    }
    Ok(cleared)
}

/// What was not opened; none if it is gone meanwhile. A link goes itself, and what it leads to stays.
const fn judge_untrusted(untrusted: &Untrusted) -> Option<Owner> {
    match untrusted {
        Untrusted::NotThere => None,
        Untrusted::NotADirectory => Some(Owner::Nobody("it is a link or a file, and abide makes none there")),
        Untrusted::Foreign(_) => Some(Owner::Unclear("it belongs to another user")),
        Untrusted::Open(_) => Some(Owner::Unclear("others may write to it")),
        Untrusted::Io(_) => Some(Owner::Unclear("it cannot be opened")),
    }
}

fn judge(truth: &Truth, leftover: &Leftover, dir: &SessionDir) -> Owner {
    match leftover {
        // Whoever removes it is at it.
        Leftover::Gone(_)
            if dir.evidence().is_ok_and(|file| lock::ask(&file, Holder::Sealer) == Lock::Held) =>
        {
            Owner::Somebody
        }
        Leftover::Gone(_) => Owner::Nobody("its removal was on record before it got this name"),
        Leftover::Draft(id) => judge_draft(truth, id, dir),
    }
}

/// Launcher, guard and host hold a draft from its first moment, and a session gets its own name before its program runs.
fn judge_draft(truth: &Truth, id: &SessionId, dir: &SessionDir) -> Owner {
    if !dir.dir().hold_if_free() {
        return Owner::Somebody;
    }
    let file = match dir.evidence() {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Owner::Nobody("its launcher died before there was anything to record");
        }
        Err(_) => return Owner::Unclear("its evidence cannot be read"),
    };
    let session = truth.of_held(id, store::read_evidence(&file), Some(&file));
    let (rule, record) = (session.verdict.rule, &session.evidence.record);
    if record.facts == 0 && !session.evidence.is_damaged() {
        return Owner::Nobody("its launcher died before a guard took over");
    }
    if session.evidence.beginning.adopted.is_some() {
        return Owner::Nobody("its watcher died before anyone could see it");
    }
    match rule.closing() {
        Some(_) => Owner::Nobody(rule.says()),
        // Whoever wrote it died over it, or it would be held.
        None if session.evidence.is_damaged() && !session.seen.guard.is_alive() => {
            Owner::Nobody("nobody holds it, and what it recorded is torn")
        }
        None => Owner::Unclear(rule.says()),
    }
}
