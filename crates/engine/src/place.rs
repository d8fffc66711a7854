//! Where sessions live: which cgroup a program is put into, what becomes of that cgroup when the session is over,
//! and what a logout does to what is started here. `core::place` decides; nothing that runs is ever moved.

use std::path::Path;

use abide_core::evidence::fold::Evidence;
use abide_core::id::SessionId;
use abide_core::place::{Decision, Facts, Paths, Place, decide};
use abide_sys::cgroup::{self, Cgroup};
use abide_sys::login;

use crate::truth::Session;

/// How long what was killed may take to leave its cgroup.
const LEAVING_MS: u64 = 1_000;

/// Where this process is; its sessions are started from here.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) decision: Decision,
    pub(crate) own: Option<Cgroup>,
    /// Whose login or manager we are part of.
    user: Option<String>,
}

/// Looks at where this process is. Files about logins are below `root`.
pub(crate) fn here(root: &Path) -> Here {
    let paths = cgroup::paths();
    let own = own(&paths);
    let unit = paths.unit();
    let named = |uid| login::user_name(root, uid).or_else(|| std::env::var("USER").ok());
    let user = unit.and_then(|unit| named(unit.uid()));
    let decision = decide(&Facts {
        unit,
        linger: user.as_deref().and_then(|user| login::lingers(root, user)),
        kills: user.as_deref().and_then(|user| login::kills_left(root, user)),
        ..about(own.as_ref())
    });
    Here { decision, own, user }
}

impl Here {
    /// What a logout does to what is started here, and the way out; none if nothing.
    pub(crate) fn warning(&self) -> Option<(String, String)> {
        self.decision.logout.warning(self.user.as_deref().unwrap_or("this user"))
    }
}

/// What to warn of before anything is started from here: one line.
#[must_use]
pub fn warning() -> Option<String> {
    here(Path::new("/")).warning().map(|(says, fix)| format!("{says}; fix: {fix}"))
}

/// Makes the cgroup for a new session; none where its program stays in the process tree alone.
pub(crate) fn make(id: &SessionId) -> Option<Cgroup> {
    let own = own(&cgroup::paths());
    match decide(&about(own.as_ref())).place {
        Place::Own => {
            let cgroup = own?.of_session(id.as_str());
            // Whatever the kernel has against it, the session can do without.
            cgroup.make().ok().map(|()| cgroup)
        }
        Place::Tree(_) => None,
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

/// Removes the cgroup of a launch that came to nothing.
pub(crate) fn discard(id: &SessionId) {
    if let Some(own) = own(&cgroup::paths()) {
        remove(&own.of_session(id.as_str()));
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

fn about(own: Option<&Cgroup>) -> Facts {
    Facts {
        cgroup: own.map(|own| own.path().to_owned()),
        delegated: own.is_some_and(Cgroup::is_delegated),
        ..Facts::default()
    }
}
