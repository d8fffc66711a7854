//! Where sessions live: which cgroup a program is put into, what becomes of that cgroup when the session is over,
//! and what a logout does to what is started here. `core::place` decides; nothing that runs is ever moved.

pub(crate) mod stray;
pub(crate) mod tree;
pub(crate) mod used;

use std::path::Path;

use abide_core::evidence::fold::Evidence;
use abide_core::id::SessionId;
use abide_core::place::{Facts, Paths, Place, decide};
use abide_sys::cgroup::{self, Cgroup};
use abide_sys::login;

use crate::truth::Session;

/// How long what was killed may take to leave its cgroup.
const LEAVING_MS: u64 = 1_000;
/// An empty cgroup that is older is that of no session that is about to start.
const ABANDONED_SECS: i64 = 60;

/// What a logout does to what is started from here, and the way out; none if nothing. Files about logins are below
/// `root`.
pub(crate) fn logout(root: &Path) -> Option<(String, String)> {
    let unit = cgroup::paths().unit()?;
    let user = login::user_name(root, unit.uid()).or_else(|| std::env::var("USER").ok());
    let facts = Facts {
        unit: Some(unit),
        linger: user.as_deref().and_then(|user| login::lingers(root, user)),
        kills: user.as_deref().and_then(|user| login::kills_left(root, user)),
        ..Facts::default()
    };
    decide(&facts).logout.warning(user.as_deref().unwrap_or("this user"))
}

/// What to warn of when something is started from here: one line.
#[must_use]
pub fn warning() -> Option<String> {
    logout(Path::new("/")).map(|(says, fix)| format!("{says}; fix: {fix}"))
}

/// Where the programs of sessions started from here go, and the cgroup that we are in.
pub(crate) fn here() -> (Place, Option<Cgroup>) {
    let own = own(&cgroup::paths());
    let facts = Facts {
        cgroup: own.as_ref().map(|own| own.path().to_owned()),
        delegated: own.as_ref().is_some_and(Cgroup::is_delegated),
        ..Facts::default()
    };
    (decide(&facts).place, own)
}

/// Makes the cgroup for a new session; none where its program stays in the process tree alone.
pub(crate) fn make(id: &SessionId) -> Option<Cgroup> {
    match here() {
        (Place::Own, own) => {
            let cgroup = own?.of_session(id.as_str());
            // Whatever the kernel has against it, the session can do without.
            cgroup.make().ok().map(|()| cgroup)
        }
        (Place::Tree(_), _) => None,
    }
}

/// The cgroup that a session's program was put into, if it is still there and can be reached from here.
pub(crate) fn recorded(evidence: &Evidence) -> Option<Cgroup> {
    let beginning = &evidence.beginning;
    let path = beginning.started.as_ref()?.body.cgroup.as_deref()?;
    let id = &beginning.launched.as_ref()?.body.id;
    // Only one that was made for this session is believed: all that is in it is taken for the session's.
    Cgroup::at(path).filter(|cgroup| cgroup.is_of_session(id))
}

/// The cgroup that a session left, whether or not it came to record it.
pub(crate) fn left_by(session: &Session) -> Option<Cgroup> {
    let unrecorded = || {
        let own = own(&cgroup::paths())?;
        Some(own.of_session(session.id.as_str())).filter(Cgroup::exists)
    };
    recorded(&session.evidence).or_else(unrecorded)
}

/// The cgroup of a session of which nothing else may be left, wherever it is: asked of the kernel by its name, which takes
/// a while.
pub(crate) fn named_for(session: &Session) -> Option<Cgroup> {
    left_by(session).or_else(|| Cgroup::find_session(session.id.as_str()))
}

/// Removes the cgroup of a launch that came to nothing.
pub(crate) fn discard(id: &SessionId) {
    if let Some(own) = own(&cgroup::paths()) {
        remove(&own.of_session(id.as_str()));
    }
}

/// Removes the cgroups below ours that sessions left when they were removed before the last of their processes ended. One that
/// a session of another home is about to use is younger; and should it not be, that session does without.
pub(crate) fn clear_abandoned() {
    let all = own(&cgroup::paths()).map(|own| own.sessions()).unwrap_or_default();
    let is_old = |cgroup: &&Cgroup| cgroup.age_secs().is_some_and(|age| age > ABANDONED_SECS);
    for cgroup in all.iter().filter(is_old).filter(|cgroup| cgroup.is_populated() == Some(false)) {
        // Another may be faster, and somebody may have come into it.
        let _ = cgroup.remove();
    }
}

/// Removes a cgroup whose last process is gone or going. One that stays populated stays.
pub(crate) fn remove(cgroup: &Cgroup) {
    if cgroup.changes().is_ok_and(|mut changes| changes.await_empty(LEAVING_MS)) {
        let _ = cgroup.remove();
    }
}

fn own(paths: &Paths) -> Option<Cgroup> {
    paths.unified.as_deref().and_then(Cgroup::at)
}
