//! Removing sessions: one by one, or by age, number and size. Only what is provably over is ever collected.

use std::fs::File;
use std::io;

use abide_core::evidence::{Body, How, Role};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::verdict::Rule;
use abide_sys::disk::Untrusted;
use abide_sys::lock::{self, Holder};
use abide_sys::{clock, poll, signal};

use crate::act::seal;
use crate::store::{Home, SessionDir, Writer};
use crate::truth::{Session, Truth};
use crate::{find, names, place};

/// How long whoever closes, packs or removes a session may take before somebody else is told to try again.
const TURN_MS: u64 = 2_000;
/// How often to look whether it has been done.
const LOOK_MS: u64 = 20;

/// What `gc` takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Sessions that ended longer ago than this, in ms.
    pub older_ms: Option<u64>,
    /// All but the latest so many.
    pub keep: Option<usize>,
    /// The oldest, until the rest takes no more room than this.
    pub max_bytes: Option<u64>,
}

/// A session that was or would be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    pub id: String,
    pub bytes: u64,
    pub failure: Option<Failure>,
}

/// Removes one session with everything that is known of it. With `force`, also one whose status is unknown.
pub(crate) fn remove(truth: &Truth, home: &Home, session: &Session, force: bool) -> Result<(), Failure> {
    let (id, status) = (&session.id, session.verdict.status);
    session.admits_removal(force)?;
    let failed = |e: io::Error| Failure::io("remove session", id, &e).about(id.as_str()).in_status(status);
    can_remove(home, session)?;
    let dir = match home.session(id) {
        // Nobody's record stands behind a link: it goes itself, and what it leads to stays.
        Err(Untrusted::NotADirectory) => return home.erase(id).map_err(failed),
        Err(Untrusted::NotThere) => return Err(find::nothing(id.as_str())),
        Err(untrusted) => {
            let failure = failed(io::Error::other(untrusted.says()));
            return Err(match session.way_in() {
                Some(way_in) => failure.hint(way_in),
                None => failure,
            });
        }
        Ok(dir) => dir,
    };
    // Should the removal be broken off, it is known all the same how the session ended.
    let session = &seal::first(truth, home, session);
    let removes_itself =
        session.evidence.beginning.launched.as_ref().is_some_and(|told| told.body.terms.remove);
    let guard = session.evidence.helpers.guarded.as_ref().filter(|_| removes_itself);
    let guard = guard.filter(|told| told.body.guard.pid != std::process::id());
    let guard = guard.and_then(|told| truth.hold(&told.body.guard).ok());
    if let Ok(mut pen) = dir.write(Role::Client, truth.now().boot) {
        take_turn(home, session, pen.file())?;
        let by = format!("by pid {}", std::process::id());
        tell(&mut pen, truth, Body::Removing(by.as_str().into())).map_err(failed)?;
        if let Some(cgroup) = place::left_by(session) {
            // One in which somebody lives on stays until `gc` or `doctor --fix` finds it empty.
            let _ = cgroup.remove();
        }
        dir.remove_bulk().map_err(failed)?;
        tell(&mut pen, truth, Body::Removed(by.into())).map_err(failed)?;
    }
    if let Some(name) = session.name() {
        names::release(home, name, id);
    }
    home.erase(id).map_err(|e| if home.has(id) { failed(e) } else { find::nothing(id.as_str()) })?;
    if let Some(guard) = guard {
        // It lingers only for what is done now; one that is gone meanwhile need not be told.
        let _ = signal::send(&guard, signal::TERM);
    }
    Ok(())
}

/// Puts a step of a removal on record. It is what makes room on a disk that is full, so it does not fail for want of room.
fn tell(pen: &mut Writer, truth: &Truth, step: Body) -> io::Result<()> {
    match pen.add(truth.now().at, step) {
        Err(error) if [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind()) => {
            Ok(())
        }
        told => told,
    }
}

/// Takes the sealers' lock in turn. Whoever had it before may have removed the session: then there is none.
fn take_turn(home: &Home, session: &Session, evidence: &File) -> Result<(), Failure> {
    let until = clock::now().boot.saturating_add(TURN_MS);
    while !lock::take(evidence, Holder::Sealer).map_err(|e| Failure::io("remove session", &session.id, &e))? {
        if clock::now().boot >= until {
            return Err(busy(session));
        }
        let _ = poll::readable(&[], Some(LOOK_MS));
    }
    if home.has(&session.id) { Ok(()) } else { Err(find::nothing(session.id.as_str())) }
}

/// A session that was found, once nobody is about to remove it any more, or after a while.
///
/// # Errors
/// If it is gone then.
pub(crate) fn settled(truth: &Truth, home: &Home, session: &Session) -> Result<Session, Failure> {
    let until = clock::now().boot.saturating_add(TURN_MS);
    let mut session = session.clone();
    while is_removed_now(&session) && clock::now().boot < until {
        let _ = poll::readable(&[], Some(LOOK_MS));
        session = truth.of_listed(home, &session.id).ok_or_else(|| find::nothing(session.id.as_str()))?;
    }
    Ok(session)
}

/// Somebody is about to remove it.
pub(crate) fn is_removed_now(session: &Session) -> bool {
    session.verdict.rule == Rule::Removing && !session.half_removed
}

/// Whether the home can be written to at all: known before anything is stopped or taken away.
pub(crate) fn can_remove(home: &Home, session: &Session) -> Result<(), Failure> {
    home.may_change().map_err(|e| {
        let failure = Failure::io("remove session", &session.id, &e);
        failure.about(session.id.as_str()).in_status(session.verdict.status)
    })
}

/// Another closes, packs or removes it right now.
pub(super) fn busy(session: &Session) -> Failure {
    let id = &session.id;
    Failure::new(Code::Busy, format!("session {id} is being sealed, packed or removed by another"))
        .about(id.as_str())
        .in_status(session.verdict.status)
        .hint("try again")
}

/// Removes a session whose outcome is on record; whatever else it is, it is kept. One that is gone is fine too.
pub(crate) fn remove_ended(truth: &Truth, home: &Home, id: &SessionId) -> Result<(), Failure> {
    let Some(session) = truth.of_listed(home, id) else {
        return Ok(());
    };
    if !has_outcome(&session) {
        return Ok(());
    }
    match remove(truth, home, &session, false) {
        // Another was faster.
        Err(_) if !home.has(id) => Ok(()),
        done => done,
    }
}

/// Somebody observed how it ended, or that it never ran.
fn has_outcome(session: &Session) -> bool {
    let closing = &session.evidence.closing;
    let observed = closing.ended.as_ref().is_some_and(|told| told.body.outcome.how != How::Lost);
    observed || closing.exec_failed.is_some()
}

/// It was to be removed at its end, and its guard died before it came to that.
pub(crate) fn is_overdue(session: &Session) -> bool {
    let launched = session.evidence.beginning.launched.as_ref();
    let was_to_go = launched.is_some_and(|told| told.body.terms.remove);
    let deserted = session.seen.guard.is_dead() && !session.seen.host.is_alive();
    was_to_go && deserted && session.verdict.status.is_collectable() && has_outcome(session)
}

/// Removes the session that a guard kept, as it was ordered to, if its directory is still where it was.
pub(crate) fn remove_kept(truth: &Truth, dir: &SessionDir) -> Result<(), Failure> {
    let evidence = dir.read().evidence();
    let Some(id) = evidence.beginning.launched.as_ref().and_then(|told| SessionId::parse(&told.body.id))
    else {
        return Ok(());
    };
    match Home::around(dir, &id) {
        Ok(home) => remove_ended(truth, &home, &id),
        // Somebody else has removed it.
        Err(_) => Ok(()),
    }
}

/// Work on many sessions.
#[derive(Clone, Copy)]
pub struct Doing<'a> {
    /// Only say what would be done.
    pub dry: bool,
    /// Is told how much of how much is done.
    pub tell: &'a dyn Fn(u64, u64),
}

impl std::fmt::Debug for Doing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doing").field("dry", &self.dry).finish_non_exhaustive()
    }
}

/// Removes what the limits leave no room for, the oldest first, and what was to be removed long since. With `dry`, only says what it would remove.
pub(crate) fn collect(
    truth: &Truth,
    home: &Home,
    sessions: Vec<Session>,
    limits: Limits,
    doing: &Doing<'_>,
) -> Vec<Collected> {
    let now = truth.now().at.wall;
    let mut over: Vec<(Session, u64)> = sessions
        .into_iter()
        .filter(|session| session.verdict.status.is_collectable())
        .map(|session| {
            let bytes = home.session(&session.id).map_or(0, |dir| dir.bytes());
            (session, bytes)
        })
        .collect();
    // The latest first, as they came; what is left over of room and number goes to them.
    over.sort_by_key(|(session, _)| std::cmp::Reverse(session.ended_at()));
    let (mut room, mut is_full) = (limits.max_bytes, false);
    let (mut collected, all) = (Vec::new(), over.len());
    for (index, (session, bytes)) in over.into_iter().enumerate() {
        (doing.tell)(index as u64, all as u64);
        let age = u64::try_from(now.saturating_sub(session.ended_at())).unwrap_or(0);
        let too_old = limits.older_ms.is_some_and(|older| age > older);
        let too_many = limits.keep.is_some_and(|keep| index >= keep);
        let left = room.map(|room| room.checked_sub(bytes));
        let too_much = is_full || left == Some(None);
        // What is older than the first that does not fit goes too, however small it is: the oldest go first.
        is_full = too_much;
        if !(too_old || too_many || too_much || is_overdue(&session)) {
            room = left.flatten();
            continue;
        }
        let failure = (!doing.dry).then(|| remove_listed(truth, home, &session).err()).flatten();
        if failure.as_ref().is_some_and(|failure| failure.code == Code::NoSuchSession) {
            // Another was faster.
            continue;
        }
        collected.push(Collected { id: session.id.to_string(), bytes, failure });
    }
    collected
}

/// Removes a session that was listed, if what was true of it then is true now.
fn remove_listed(truth: &Truth, home: &Home, session: &Session) -> Result<(), Failure> {
    let session = truth.of_listed(home, &session.id).ok_or_else(|| find::nothing(session.id.as_str()))?;
    remove(truth, home, &settled(truth, home, &session)?, false)
}
