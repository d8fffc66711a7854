//! Liveness in the past, as later evidence proves it: who wrote, or was reaped, or is alive after an instant
//! was alive at that instant. Death is proved only by what was recorded up to then.

use super::{Seen, program_of};
use crate::evidence::fold::Evidence;
use crate::identity::{Doubt, Identity, Liveness};

/// What can be said now of the processes at an instant. `past` holds the facts up to it, `full` all facts, and
/// `now` what the kernel says now of the processes that `full` names.
#[must_use]
pub fn hindsight(past: &Evidence, full: &Evidence, now: &Seen) -> Seen {
    let guard = past.helpers.guarded.as_ref().map(|told| told.body.guard);
    let host = past.helpers.hosted.as_ref().map(|told| told.body.host);
    let latest_guard = full.helpers.guarded.as_ref().map(|told| told.body.guard);
    let latest_host = full.helpers.hosted.as_ref().map(|told| told.body.host);
    let owner = |e: &Evidence| e.work.turn.as_ref().and_then(|told| told.body.owner);
    // Only what the later record adds speaks of the time after the instant.
    let end_recorded_later = past.closing.ended.is_none() && full.closing.ended.is_some();
    let program = program_of(past).copied();
    Seen {
        guard: lived(full, past, guard, (latest_guard, now.guard)),
        host: lived(full, past, host, (latest_host, now.host)),
        program: match end_recorded_later && program.is_some() {
            true => Liveness::Alive(None),
            false => lived(full, past, program, (program_of(full).copied(), now.program)),
        },
        owner: lived(full, past, owner(past), (owner(full), now.owner)),
    }
}

fn lived(
    full: &Evidence,
    past: &Evidence,
    then: Option<Identity>,
    (latest, liveness): (Option<Identity>, Liveness),
) -> Liveness {
    let Some(then) = then else {
        return Liveness::Unknown(Doubt::NoIdentity);
    };
    let same = latest.is_some_and(|latest| latest.pid == then.pid && latest.start_ticks == then.start_ticks);
    if full.wrote_later(past, then.pid) || (same && liveness.is_alive()) {
        return Liveness::Alive(None);
    }
    Liveness::Unknown(Doubt::NoWitness)
}
