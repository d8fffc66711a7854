//! Faults on purpose, for the demo and for self-tests: only processes of a given session, only proved ones.

use abide_core::evidence::fold::Evidence;
use abide_core::identity::Identity;
use abide_core::verdict::program_of;
use abide_sys::{poll, signal};
use std::os::fd::AsFd;

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

/// Kills one process of a session without any warning. True once its death is proved.
pub(crate) fn kill(truth: &Truth, session: &Session, target: Target) -> bool {
    let Some(identity) = identity(&session.evidence, target) else {
        return false;
    };
    let Ok(held) = truth.hold(&identity) else {
        return false;
    };
    let sent = signal::send(&held, signal::KILL).is_ok();
    sent && poll::readable(&[held.as_fd()], Some(DEATH_MS)).contains(&true)
}

fn identity(evidence: &Evidence, target: Target) -> Option<Identity> {
    match target {
        Target::Guard => evidence.helpers.guarded.as_ref().map(|told| told.body.guard),
        Target::Host => evidence.helpers.hosted.as_ref().map(|told| told.body.host),
        Target::Program => program_of(evidence).copied(),
    }
}
