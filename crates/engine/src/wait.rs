//! Waiting for the end of sessions: on what guard and host hold while they live, and on the program itself
//! when neither does. Any number of waiters; nobody is asked and nobody is disturbed.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::id::SessionId;
use abide_core::verdict::actor_of;
use abide_sys::{clock, poll};

use crate::store::Home;
use crate::truth::{Session, Truth};

/// How many of several sessions must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    All,
    Any,
}

/// Everything is looked at again after this long, whatever was or was not signalled.
const RESCAN_MS: u64 = 2_000;

/// Waits until the sessions have ended or so many ms have passed, and says how each stands.
pub(crate) fn wait(
    truth: &Truth,
    home: &Home,
    ids: &[SessionId],
    until: Until,
    cap_ms: Option<u64>,
) -> Vec<Session> {
    // Each session that is waited for takes a descriptor or two.
    poll::make_room_for_descriptors();
    let deadline = cap_ms.map(|ms| clock::now().boot.saturating_add(ms));
    let mut watches: Vec<Watch> = ids.iter().map(|id| Watch::new(truth, home, id)).collect();
    loop {
        let over = watches.iter().filter(|watch| watch.is_over()).count();
        let enough = match until {
            Until::All => over == watches.len(),
            Until::Any => over > 0,
        };
        let now = clock::now().boot;
        let left = deadline.map_or(RESCAN_MS, |at| at.saturating_sub(now).min(RESCAN_MS));
        if enough || deadline.is_some_and(|at| at <= now) {
            return watches.into_iter().map(|watch| watch.session).collect();
        }
        let waiting: Vec<_> = watches.iter_mut().filter(|watch| !watch.is_over()).collect();
        let fds: Vec<BorrowedFd<'_>> = waiting.iter().flat_map(|watch| watch.fds()).collect();
        let counts: Vec<usize> = waiting.iter().map(|watch| watch.fds().count()).collect();
        let ready = poll::readable(&fds, Some(left));
        drop(fds);
        let rescan = !ready.contains(&true);
        let mut at = 0;
        for (watch, count) in waiting.into_iter().zip(counts) {
            if rescan || ready[at..at + count].contains(&true) {
                *watch = Watch::new(truth, home, &watch.session.id);
            }
            at += count;
        }
    }
}

struct Watch {
    session: Session,
    /// Readable once the end is on record, hung up when guard and host are gone.
    held: Option<File>,
    /// The program itself, where nobody serves it.
    program: Option<OwnedFd>,
}

impl Watch {
    fn new(truth: &Truth, home: &Home, id: &SessionId) -> Self {
        // Opened before the question: what happens after the answer is not missed.
        let held = home.session(id).ok().and_then(|dir| dir.waiting().ok());
        let session = truth.of(home, id);
        let served = session.seen.guard.is_alive() || session.seen.host.is_alive();
        let program = actor_of(session.verdict.rule, &session.evidence).filter(|_| !served);
        let program = program.and_then(|identity| truth.hold(identity).ok());
        Self { session, held, program }
    }

    /// The session has ended, or nothing that could happen would tell how.
    fn is_over(&self) -> bool {
        self.session.is_over()
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let held = self.held.iter().map(AsFd::as_fd);
        held.chain(self.program.iter().map(AsFd::as_fd))
    }
}
