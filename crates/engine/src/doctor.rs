//! What can be wrong with this machine, this home and its sessions, each with the way out.
//! Looks only; `--fix` seals, through `seal` alone, clears away what is nobody's (leftovers, names, empty cgroups), and makes
//! keyframes anew.

mod machine;
mod makeable;
mod recordings;

use std::path::Path;

use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::verdict::Rule;

use crate::act::{collect, seal};
use crate::notify::Delivering;
use crate::recording::damage::in_places;
use crate::recording::keyframes;
use crate::store::Home;
use crate::{Owner, Sealing, Session, Sessions, Truth, names, place};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub health: Health,
    pub detail: String,
    pub fix: Option<String>,
    /// The session it is about.
    pub session: Option<SessionId>,
    /// The failure behind it.
    pub code: Option<Code>,
}

/// How it stands with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Good,
    /// Works, with less certainty or less comfort.
    Weak,
    Bad,
    /// Was bad and has been mended.
    Mended,
}

impl Health {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Weak => "weak",
            Self::Bad => "bad",
            Self::Mended => "mended",
        }
    }
}

/// How to look.
#[expect(missing_debug_implementations, reason = "whoever is told cannot be shown")]
pub struct Examining<'a> {
    /// Mend what is safe to mend.
    pub fix: bool,
    /// Read every recording whole, however long that takes.
    pub thorough: bool,
    /// Delivers what there is to tell of a session and is not delivered.
    pub deliver: Delivering<'a>,
    /// Is told how much of the recordings has been read, and how much will be.
    pub progress: &'a dyn Fn(u64, u64),
}

/// Looks at everything.
///
/// # Errors
/// If the home cannot be listed.
pub fn examine(home: &Path, how: &Examining<'_>) -> Result<Vec<Check>, Failure> {
    let opened = Sessions::open(home);
    let truth = Truth::new();
    let mut checks = vec![usable(&opened)];
    checks.extend(opened.as_ref().ok().and_then(Sessions::home).and_then(machine::room));
    checks.extend(machine::checks(&truth));
    if let Ok(sessions) = &opened {
        checks.extend(each_session(sessions, how)?);
        checks.extend(leftovers(sessions, how.fix)?);
    }
    Ok(checks)
}

fn usable(opened: &Result<Sessions, Failure>) -> Check {
    match opened {
        Ok(sessions) if sessions.home().is_some() => {
            let path = sessions.path().display();
            match sessions.home().map_or(Ok(()), Home::may_change) {
                Ok(()) => good("home", format!("{path} is yours, and nobody else may write to it")),
                Err(error) => failed("home", &Failure::io("write to", &path, &error), ""),
            }
        }
        Ok(sessions) => {
            let path = sessions.path().display();
            match makeable::obstacle(sessions.path()) {
                None => good("home", format!("{path} does not exist yet; the first session makes it")),
                Some(why) => bad(
                    "home",
                    &format!("{path} does not exist and cannot be made: {why}"),
                    "choose another home with --home or ABIDE_HOME",
                ),
            }
        }
        Err(failure) => failed("home", failure, "choose another home with --home"),
    }
}

/// The cgroup of a session that is over, if it is empty and still there.
fn empty_cgroup(session: &Session, fix: bool) -> Option<Check> {
    let cgroup = place::left_by(session).filter(|cgroup| cgroup.is_populated() == Some(false))?;
    let detail =
        format!("session {} is over and its empty cgroup {} is still there", session.id, cgroup.path());
    let check = match fix.then(|| cgroup.remove()) {
        None => weak("empty cgroup", &detail, "abide doctor --fix"),
        Some(Ok(())) => {
            Check { health: Health::Mended, ..good("empty cgroup", format!("{detail}: removed")) }
        }
        Some(Err(error)) => weak("empty cgroup", &format!("{detail}: {error}"), "remove it as its owner"),
    };
    Some(check.about(&session.id))
}

fn each_session(sessions: &Sessions, how: &Examining<'_>) -> Result<Vec<Check>, Failure> {
    let all = sessions.list()?;
    let fix = how.fix;
    let mut checks = vec![good("sessions", format!("{} found", all.len()))];
    for session in &all {
        checks.extend(damage(session));
        checks.extend(unreachable(sessions, session));
        checks.extend(unhosted(session));
        if seal::is_due(session) {
            checks.push(if fix { sealed(sessions, session) } else { unsealed(session) });
        }
        checks.extend(notifications(sessions, session, how));
        if session.verdict.status.is_terminal() {
            checks.extend(empty_cgroup(session, fix));
            checks.extend(keyframes(sessions, session, fix));
        }
        let begun = session.verdict.rule == Rule::Removing || session.verdict.rule == Rule::Removed;
        if begun {
            checks.push(removal(sessions, session, "its removal began and did not end", fix));
        } else if collect::is_overdue(session) {
            checks.push(removal(sessions, session, "its guard died before it removed it, as was asked", fix));
        }
    }
    checks.extend(versions(&all));
    checks.extend(recordings::check(sessions, &all, how));
    // What is removed meanwhile is nobody's worry.
    let fine = |check: &Check| check.health == Health::Good || check.health == Health::Mended;
    let listed = |id: &SessionId| all.iter().find(|session| session.id == *id);
    let going =
        |check: &Check| check.session.as_ref().and_then(listed).is_some_and(|one| is_going(sessions, one));
    checks.retain(|check| fine(check) || !going(check));
    Ok(checks)
}

/// Sessions that another version of abide serves.
fn versions(all: &[Session]) -> Option<Check> {
    let other = |session: &&Session| {
        let helpers = &session.evidence.helpers;
        let guard = helpers.guarded.as_ref().map(|told| told.body.version.as_str());
        let host = helpers.hosted.as_ref().map(|told| told.body.version.as_str());
        let served = session.verdict.status.has_live_host();
        served && guard.into_iter().chain(host).any(|version| version != env!("CARGO_PKG_VERSION"))
    };
    let count = all.iter().filter(other).count();
    let detail = format!("{count} run as another version than this one, {}", env!("CARGO_PKG_VERSION"));
    (count > 0).then(|| weak("versions", &detail, "abide upgrade"))
}

/// A session that is served where nobody finds its host.
fn unreachable(sessions: &Sessions, session: &Session) -> Option<Check> {
    let id = &session.id;
    // Whom nobody ever served has none.
    let served = session.verdict.status.has_live_host() && session.evidence.helpers.guarded.is_some();
    let dir = sessions.home().filter(|_| served)?.session(id).ok()?;
    let detail = format!("the socket of session {id} is gone: nobody can attach to it or type into it");
    let fix = format!("`abide upgrade {id}` has its guard listen anew");
    (!dir.has_socket()).then(|| bad("socket", &detail, &fix).about(id))
}

/// A session whose guard has started no other host for the one that is gone.
fn unhosted(session: &Session) -> Option<Check> {
    let id = &session.id;
    let detail = format!(
        "session {id} has no host now: nobody can attach to it or type into it until its guard can start one"
    );
    let fix = format!("`abide events {id}` says why none could be started");
    session.awaits_host().then(|| bad("host", &detail, &fix).about(id))
}

/// Whether a session is gone since it was listed, or about to be.
fn is_going(sessions: &Sessions, listed: &Session) -> bool {
    let session = sessions.home().and_then(|home| sessions.truth().of_listed(home, &listed.id));
    let removed = |one: &Session| one.verdict.rule == Rule::Removed;
    session.is_none_or(|now| collect::is_removed_now(&now) || (removed(&now) && !removed(listed)))
}

/// Keyframes that are missing or damaged: without them, instants of a long recording are found slowly.
fn keyframes(sessions: &Sessions, session: &Session, fix: bool) -> Option<Check> {
    let (name, id) = ("keyframes", &session.id);
    // A host that is still there is still at it.
    let dir = sessions.home().filter(|_| !session.seen.host.is_alive())?.session(id).ok()?;
    if keyframes::are_whole(&dir).unwrap_or(true) {
        return None;
    }
    let detail = format!("the keyframes of session {id} are missing or damaged: its past is shown slowly");
    let check = match fix.then(|| keyframes::rebuild(&dir, session)) {
        None => weak(name, &detail, "abide doctor --fix"),
        Some(Ok(())) => {
            Check { health: Health::Mended, ..good(name, format!("those of session {id} were made anew")) }
        }
        Some(Err(error)) => weak(name, &format!("{detail}: {error}"), "make room, then `abide doctor --fix`"),
    };
    Some(check.about(id))
}

/// What there is to tell of a session, is not delivered, and nobody is at.
fn notifications(sessions: &Sessions, session: &Session, how: &Examining<'_>) -> Option<Check> {
    let (name, id) = ("notifications", &session.id);
    let (count, last) = sessions.undelivered(id)?;
    let why = |why: Option<&str>| why.map_or_else(String::new, |why| format!(": {why}"));
    let detail = format!("{count} of session {id} not delivered");
    let check = match how.fix.then(|| (how.deliver)(sessions, id)) {
        None => weak(name, &format!("{detail}{}", why(last.as_deref())), "abide doctor --fix"),
        Some(Ok(tries)) => match tries.iter().find_map(|tried| tried.failure.as_deref()) {
            None => Check {
                health: Health::Mended,
                ..good(name, format!("{} of session {id} delivered", tries.len()))
            },
            Some(failure) => weak(
                name,
                &format!("{detail}{}", why(Some(failure))),
                &format!("mend what is told, then `abide notify {id}`"),
            ),
        },
        Some(Err(failure)) => failed(name, &failure, "abide doctor --fix"),
    };
    Some(check.about(id))
}

/// A removal that began and did not end, or was asked for and did not begin; its remover may still be at it.
fn removal(sessions: &Sessions, session: &Session, why: &str, fix: bool) -> Check {
    let (name, id) = ("removal", &session.id);
    let check = match fix.then(|| sessions.remove(session, true)) {
        None => weak(name, &format!("session {id} is to go: {why}"), "abide doctor --fix"),
        Some(Ok(())) => {
            Check { health: Health::Mended, ..good(name, format!("session {id} removed: {why}")) }
        }
        Some(Err(failure)) if failure.code == Code::Busy => {
            good(name, format!("session {id} is being removed by another"))
        }
        Some(Err(failure)) => failed(name, &failure, "abide doctor --fix"),
    };
    check.about(id)
}

fn damage(session: &Session) -> Option<Check> {
    let record = &session.evidence.record;
    let first = record.damage.first()?;
    let count = record.damage.len() as u64 + record.more_damage;
    let (id, status) = (&session.id, session.verdict.status.name());
    if let Some(way_in) = session.way_in() {
        let detail = format!("session {id} is {status}: {}", first.says());
        return Some(bad("evidence", &detail, &way_in).about(id));
    }
    let detail = format!(
        "session {id} is {status}: its evidence is damaged {}, first: {}",
        in_places(count),
        first.says()
    );
    let fix = format!("`abide why {}` shows what is still proved", session.id);
    Some(bad("evidence", &detail, &fix).about(&session.id))
}

fn unsealed(session: &Session) -> Check {
    let (id, rule) = (&session.id, session.verdict.rule);
    let detail = match rule.closing() {
        Some(_) => format!("session {id} is over and not sealed: {}", rule.says()),
        None => format!("the agent of session {id} is dead, and its turn is not closed"),
    };
    weak("seal", &detail, "abide doctor --fix").about(&session.id)
}

fn sealed(sessions: &Sessions, session: &Session) -> Check {
    let id = &session.id;
    let check = match sessions.seal(id) {
        Ok(Sealing::Sealed) => {
            let detail = format!("session {id} sealed: {}", session.verdict.rule.says());
            Check { health: Health::Mended, ..good("seal", detail) }
        }
        Ok(Sealing::TurnClosed) => {
            let detail = format!("the turn of session {id} is closed: its agent is dead");
            Check { health: Health::Mended, ..good("seal", detail) }
        }
        Ok(Sealing::WasClosed) => good("seal", format!("session {id} was closed by another meanwhile")),
        Ok(Sealing::Busy) => good("seal", format!("session {id} is being sealed by another")),
        Ok(Sealing::NotOver(status)) => {
            good("seal", format!("session {id} is {} after all, and was left alone", status.name()))
        }
        Err(failure) => failed("seal", &failure, "abide doctor --fix"),
    };
    check.about(id)
}

/// What killed launches and removals left behind.
fn leftovers(sessions: &Sessions, fix: bool) -> Result<Vec<Check>, Failure> {
    let name = "leftover";
    let mut checks = Vec::new();
    if fix {
        checks.extend(sessions.clear_leftovers()?.into_iter().map(|cleared| match cleared.failure {
            None => Check {
                health: Health::Mended,
                ..good(name, format!("{} removed: it was nobody's", cleared.id))
            },
            Some(failure) => failed(name, &failure, "abide doctor --fix"),
        }));
    }
    checks.extend(names(sessions, fix));
    let unclear = "it stays until that can be told; look again after a reboot";
    checks.extend(sessions.leftovers()?.into_iter().filter_map(|(leftover, owner)| match owner {
        Owner::Nobody(why) => {
            Some(weak(name, &format!("{leftover} is nobody's: {why}"), "abide doctor --fix"))
        }
        Owner::Unclear(why) => Some(weak(name, &format!("{leftover} may be somebody's: {why}"), unclear)),
        Owner::Somebody => None,
    }));
    Ok(checks)
}

/// Names that lead to no session: harmless, and nobody's.
fn names(sessions: &Sessions, fix: bool) -> Vec<Check> {
    let Some(home) = sessions.home() else { return Vec::new() };
    let freed = if fix { names::clear_dangling(home) } else { Vec::new() };
    let freed = freed.into_iter().map(|name| Check {
        health: Health::Mended,
        ..good("name", format!("{name} is free: it led to no session"))
    });
    let left = names::dangling(home).into_iter();
    let left = left.map(|name| weak("name", &format!("{name} leads to no session"), "abide doctor --fix"));
    freed.chain(left).collect()
}

impl Check {
    fn about(self, id: &SessionId) -> Self {
        Self { session: Some(id.clone()), ..self }
    }
}

const fn good(name: &'static str, detail: String) -> Check {
    Check { name, health: Health::Good, detail, fix: None, session: None, code: None }
}

fn weak(name: &'static str, detail: &str, fix: &str) -> Check {
    Check { health: Health::Weak, fix: Some(fix.to_owned()), ..good(name, detail.to_owned()) }
}

fn bad(name: &'static str, detail: &str, fix: &str) -> Check {
    Check { health: Health::Bad, ..weak(name, detail, fix) }
}

fn failed(name: &'static str, failure: &Failure, way_out: &str) -> Check {
    let fix = failure.hint.as_deref().unwrap_or(way_out);
    Check { code: Some(failure.code), ..bad(name, &failure.message, fix) }
}
