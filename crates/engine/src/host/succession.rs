//! One host after another, where both live: the next one takes the place once it holds all that the one before holds.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::identity::Lock;
use abide_sys::lock::{self, Holder};
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, signal};

use super::LOOK_MS;

/// How long a host may take to go before it is ended: there is nothing it has that the next one has not.
const GO_MS: u64 = 3_000;

/// Takes the place of the host before: asks it to go, now that all that it holds is held here too. Should the guard die
/// meanwhile, the one that is still there goes on, and this one is not needed.
pub(super) fn succeed(before: &OwnedFd, line: &OwnedFd, evidence: &File) -> io::Result<()> {
    // One that is gone already needs no asking.
    let _ = signal::send(before, signal::TERM);
    let mut kill_at = Some(clock::now().boot.saturating_add(GO_MS));
    loop {
        let left = kill_at.map(|at| at.saturating_sub(clock::now().boot));
        let ready = poll::wait(&[Interest::reading(before.as_fd()), Interest::news(line.as_fd())], left);
        if ready[0].read {
            return Ok(());
        }
        if ready[1].read {
            return outlive(before, evidence);
        }
        if kill_at.take_if(|at| *at <= clock::now().boot).is_some() {
            let _ = signal::send(before, signal::KILL);
        }
    }
}

/// There is no guard: either the host before raises one and goes on, or it is gone, and that is ours to do.
fn outlive(before: &OwnedFd, evidence: &File) -> io::Result<()> {
    while !poll::readable(&[before.as_fd()], Some(LOOK_MS))[0] {
        if lock::ask(evidence, Holder::Guard) == Lock::Held {
            return Err(io::Error::other("another host is alive"));
        }
    }
    Ok(())
}
