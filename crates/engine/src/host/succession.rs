//! One host after another, where both live: the next one takes the place once it holds all that the one before holds.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::identity::Lock;
use abide_sys::lock::{self, Holder};
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, signal};

use super::LOOK_MS;
use crate::store::SessionDir;

/// How long a host may take to go before it is ended: there is nothing it has that the next one has not.
const GO_MS: u64 = 3_000;
/// A guard and a host that are found at each look for so long go on. One that dies holds its lock for an instant longer
/// than its line, and a host that was asked to go may do so yet.
const SURE_MS: u64 = 2_000;

/// Takes the place of the host before: asks it to go, now that all that it holds is held here too. Should the guard die
/// meanwhile, the one that is still there goes on, and this one is not needed.
pub(super) fn succeed(
    before: &OwnedFd,
    line: &OwnedFd,
    (dir, evidence): (&SessionDir, &File),
) -> io::Result<()> {
    let mut kill_at = None;
    loop {
        let left = kill_at.map_or(0, |at: u64| at.saturating_sub(clock::now().boot));
        let ready =
            poll::wait(&[Interest::reading(before.as_fd()), Interest::news(line.as_fd())], Some(left));
        if ready[0].read {
            return Ok(());
        }
        if ready[1].read {
            return outlive(dir, evidence);
        }
        let now = clock::now().boot;
        match kill_at {
            // One that is gone already needs no asking.
            None => {
                kill_at = Some(now.saturating_add(GO_MS));
                let _ = signal::send(before, signal::TERM);
            }
            Some(at) if at <= now => {
                kill_at = Some(u64::MAX);
                let _ = signal::send(before, signal::KILL);
            }
            Some(_) => {}
        }
    }
}

/// The guard is dead: the host before raises one and goes on, or goes, and then that is ours to do. Nobody is in anybody's
/// way here, so this one leaves only once it is sure of the others.
fn outlive(dir: &SessionDir, evidence: &File) -> io::Result<()> {
    let mut sure_at = None;
    loop {
        if dir.read().evidence().is_closed() {
            return Err(io::Error::other("the session is over"));
        }
        let [guarded, hosted] =
            [Holder::Guard, Holder::Host].map(|who| lock::ask(evidence, who) == Lock::Held);
        if !guarded && lock::take(evidence, Holder::Host)? {
            return Ok(());
        }
        let now = clock::now().boot;
        sure_at = (guarded && hosted).then(|| sure_at.unwrap_or(now.saturating_add(SURE_MS)));
        if sure_at.is_some_and(|at| at <= now) {
            return Err(io::Error::other("another host is alive"));
        }
        let _ = poll::readable(&[], Some(LOOK_MS));
    }
}
