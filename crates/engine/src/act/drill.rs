//! Faults on purpose, for the demo and for self-tests: only processes of a given session, only proved ones.

use abide_core::evidence::fold::Evidence;
use abide_core::identity::Identity;
use abide_core::verdict::program_of;
use abide_sys::{poll, signal};
use std::os::fd::{AsFd, OwnedFd};

use crate::truth::{Session, Truth};

/// Whom to hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Guard,
    Host,
    Program,
}

/// How long the kernel may take to remove a killed process.
const DEATH_MS: u64 = 5_000;

/// Kills processes of a session without any warning, and at once: each is stopped before the first is killed, so
/// that none can start another again. True once all their deaths are proved.
pub(crate) fn kill(truth: &Truth, session: &Session, targets: &[Target]) -> bool {
    let hold = |&target| truth.hold(&identity(&session.evidence, target)?).ok();
    let Some(held) = targets.iter().map(hold).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let send = |number| held.iter().all(|pidfd| signal::send(pidfd, number).is_ok());
    let gone = |pidfd: &OwnedFd| poll::readable(&[pidfd.as_fd()], Some(DEATH_MS)).contains(&true);
    send(signal::STOP) && send(signal::KILL) && held.iter().all(gone)
}

fn identity(evidence: &Evidence, target: Target) -> Option<Identity> {
    match target {
        Target::Guard => evidence.helpers.guarded.as_ref().map(|told| told.body.guard),
        Target::Host => evidence.helpers.hosted.as_ref().map(|told| told.body.host),
        Target::Program => program_of(evidence).copied(),
    }
}
