//! Waiting for the end of sessions: on what guard and host hold while they live, and on the program itself
//! when neither does. Any number of waiters; nobody is asked and nobody is disturbed.

pub(crate) mod conditions;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::fold::Evidence;
use abide_core::id::SessionId;
use abide_core::verdict::actor_of;
use abide_sys::{clock, poll};

use crate::store::{self, Home};
use crate::truth::{Session, Truth};

/// How many of several sessions must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    All,
    Any,
}

/// Everything is looked at again after this long, whatever was or was not signalled.
const RESCAN_MS: u64 = 2_000;

/// Sessions that are waited for. From when this is made, the end of none of them is missed, not even if it is removed
/// at once: the evidence is held open.
#[derive(Debug)]
pub struct Waiting<'a> {
    truth: &'a Truth,
    home: Option<&'a Home>,
    watches: Vec<Watch>,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(truth: &'a Truth, home: Option<&'a Home>, ids: &[SessionId]) -> Self {
        // Each session that is waited for takes a descriptor or three.
        poll::make_room_for_descriptors();
        let watches =
            home.map_or_else(Vec::new, |home| ids.iter().map(|id| Watch::new(truth, home, id)).collect());
        Self { truth, home, watches }
    }

    /// Waits until the sessions have ended or so many ms have passed, and says how each stands. One of which nothing can
    /// be told any more ends the wait, whatever the others do.
    #[must_use]
    pub fn wait(&mut self, until: Until, cap_ms: Option<u64>) -> Vec<Session> {
        let deadline = cap_ms.map(|ms| clock::now().boot.saturating_add(ms));
        loop {
            let ended = self.watches.iter().filter(|watch| watch.session.has_ended()).count();
            let enough = match until {
                Until::All => ended == self.watches.len(),
                Until::Any => ended > 0,
            };
            let hopeless = self.watches.iter().any(|watch| watch.is_over() && !watch.session.has_ended());
            let now = clock::now().boot;
            let left = deadline.map_or(RESCAN_MS, |at| at.saturating_sub(now).min(RESCAN_MS));
            if enough && until == Until::Any {
                // One that ended before may not have been looked at since.
                return self.look();
            }
            if enough || hopeless || self.watches.is_empty() || deadline.is_some_and(|at| at <= now) {
                return self.watches.iter().map(|watch| watch.session.clone()).collect();
            }
            self.pause(left);
        }
    }

    /// How each of them stands now.
    pub(crate) fn look(&mut self) -> Vec<Session> {
        if let Some(home) = self.home {
            self.watches.iter_mut().for_each(|watch| watch.look_again(self.truth, home));
        }
        self.watches.iter().map(|watch| watch.session.clone()).collect()
    }

    /// Waits until something happens to one of them, for so many ms at most, and looks at it.
    fn pause(&mut self, left_ms: u64) {
        let Some(home) = self.home else {
            return;
        };
        let waiting: Vec<_> = self.watches.iter_mut().filter(|watch| !watch.is_over()).collect();
        let fds: Vec<BorrowedFd<'_>> = waiting.iter().flat_map(|watch| watch.fds()).collect();
        let counts: Vec<usize> = waiting.iter().map(|watch| watch.fds().count()).collect();
        let ready = poll::readable(&fds, Some(left_ms));
        drop(fds);
        let rescan = !ready.contains(&true);
        let mut at = 0;
        for (watch, count) in waiting.into_iter().zip(counts) {
            if rescan || ready[at..at + count].contains(&true) {
                watch.look_again(self.truth, home);
            }
            at += count;
        }
    }
}

/// One session that is waited for.
#[derive(Debug)]
struct Watch {
    session: Session,
    /// Its evidence, which can be read to its end even when it has been removed.
    evidence: Option<File>,
    /// Readable once the end is on record, hung up when guard and host are gone.
    held: Option<File>,
    /// The program itself, where nobody serves it.
    program: Option<OwnedFd>,
}

impl Watch {
    fn new(truth: &Truth, home: &Home, id: &SessionId) -> Self {
        // Opened before the question: what happens after the answer is not missed.
        let evidence = home.session(id).ok().and_then(|dir| dir.evidence().ok());
        // Nobody waits for the end of what was removed before.
        let removed = |file: &File| store::read_evidence(file).closing.removing.is_some();
        Self::look(truth, home, id, evidence.filter(|file| !removed(file)))
    }

    /// Looks at the session, of which this evidence was opened when nobody had begun to remove it.
    fn look(truth: &Truth, home: &Home, id: &SessionId, evidence: Option<File>) -> Self {
        let held = home.session(id).ok().and_then(|dir| dir.waiting().ok());
        let mut session = truth.of(home, id);
        let gone = session.evidence.is_damaged() || session.evidence.closing.removing.is_some();
        if let Some(known) = evidence.as_ref().filter(|_| gone).and_then(ended_before_removal) {
            session = truth.of_held(id, known, None);
        }
        let program = program_to_watch(truth, &session);
        Self { session, evidence, held, program }
    }

    fn look_again(&mut self, truth: &Truth, home: &Home) {
        *self = Self::look(truth, home, &self.session.id, self.evidence.take());
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

/// The program, where nobody else would tell of its end.
fn program_to_watch(truth: &Truth, session: &Session) -> Option<OwnedFd> {
    let served = session.seen.guard.is_alive() || session.seen.host.is_alive();
    let program = actor_of(session.verdict.rule, &session.evidence).filter(|_| !served);
    program.and_then(|identity| truth.hold(identity).ok())
}

/// What was on record before the removal, if that is an end: who waited for it waited for that.
fn ended_before_removal(file: &File) -> Option<Evidence> {
    let mut evidence = store::read_evidence(file);
    let closing = &mut evidence.closing;
    let removed = closing.removing.take().is_some();
    closing.removed = None;
    (removed && (closing.ended.is_some() || closing.exec_failed.is_some())).then_some(evidence)
}
