//! Liveness as evidence proves it where the kernel does not say. In the past: who wrote or is alive after an instant was
//! alive at that instant, and death is proved only by what was recorded up to then. From elsewhere: what a host saw.

use super::{Seen, program_of};
use crate::evidence::fold::Evidence;
use crate::evidence::{Role, Witness};
use crate::identity::{Death, Doubt, Identity, Liveness, Qualifier};

/// What can be said now of the processes at an instant. `past` holds the facts up to it, `full` all facts, and
/// `now` what the kernel says now of the processes that `full` names.
#[must_use]
pub fn hindsight(past: &Evidence, full: &Evidence, now: &Seen) -> Seen {
    let guard = past.helpers.guarded.as_ref().map(|told| told.body.guard);
    let host = past.helpers.hosted.as_ref().map(|told| told.body.host);
    let watcher = past.helpers.watched.as_ref().map(|told| told.body.watcher);
    let latest_watcher = full.helpers.watched.as_ref().map(|told| told.body.watcher);
    let latest_guard = full.helpers.guarded.as_ref().map(|told| told.body.guard);
    let latest_host = full.helpers.hosted.as_ref().map(|told| told.body.host);
    let owner = |e: &Evidence| e.work.turn.as_ref().and_then(|told| told.body.owner);
    let program = program_of(past).copied();
    let wrote_later = |role, who: &Identity| {
        let witness = Witness { role, pid: who.pid, boot: who.boot.short() };
        full.last_seq(&witness) > past.last_seq(&witness)
    };
    Seen {
        guard: match guard.is_some_and(|guard| wrote_later(Role::Guard, &guard)) {
            true => Liveness::Alive(None),
            false => lived(guard, latest_guard, now.guard),
        },
        host: match host.is_some_and(|host| wrote_later(Role::Host, &host)) {
            true => Liveness::Alive(None),
            false => lived(host, latest_host, now.host),
        },
        // That its end was recorded later does not say when it died: a guard that was stopped records late.
        program: witnessed(past, lived(program, program_of(full).copied(), now.program)),
        owner: lived(owner(past), owner(full), now.owner),
        watcher: match watcher.is_some_and(|watcher| wrote_later(Role::Watcher, &watcher)) {
            true => Liveness::Alive(None),
            false => lived(watcher, latest_watcher, now.watcher),
        },
    }
}

/// What is known of the program: where it cannot be seen, what its host recorded. A host that is asked to look has it in
/// sight, and says so only of one that is dead.
#[must_use]
pub fn witnessed(evidence: &Evidence, program: Liveness) -> Liveness {
    let gone = evidence.helpers.gone.as_ref().map(|told| &told.body);
    let itself = program_of(evidence).zip(gone).is_some_and(|(program, gone)| program.is(gone));
    match program {
        Liveness::Unknown(_) if itself => Liveness::Dead(Death::Witnessed),
        Liveness::Unknown(_) | Liveness::Alive(_) | Liveness::Dead(_) => program,
    }
}

/// Who is alive now was alive then, if it is the same process.
fn lived(then: Option<Identity>, latest: Option<Identity>, liveness: Liveness) -> Liveness {
    let Some(then) = then else {
        return Liveness::Unknown(Doubt::NoIdentity);
    };
    let marks = |who: Identity| (who.boot, who.pid, who.start_ticks, who.pidfs);
    // A successor that has not said who it is was not there then.
    let itself = liveness.is_alive() && liveness != Liveness::Alive(Some(Qualifier::Restarting));
    if itself && latest.is_some_and(|latest| marks(latest) == marks(then)) {
        return Liveness::Alive(None);
    }
    Liveness::Unknown(Doubt::NoWitness)
}

impl Seen {
    /// Nobody was looked at.
    pub const NOBODY: Self = {
        let unseen = Liveness::Unknown(Doubt::NoWitness);
        Self { guard: unseen, host: unseen, program: unseen, owner: unseen, watcher: unseen }
    };
}
