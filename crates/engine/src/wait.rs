//! Waiting for the end of sessions: on what guard and host hold while they live, and on the program itself
//! when neither does. Any number of waiters; nobody is asked and nobody is disturbed.

pub(crate) mod conditions;

use std::borrow::Cow;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::fold::Evidence;
use abide_core::id::SessionId;
use abide_core::identity::Lock;
use abide_core::verdict::actor_of;
use abide_sys::disk::Slot;
use abide_sys::lock::{self, Holder};
use abide_sys::{clock, poll};

use crate::Sessions;
use crate::store::{self, Home, Progress, SessionDir};
use crate::truth::{Session, Truth};

/// How many of several sessions must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    All,
    Any,
}

/// Everything is looked at again after this long, whatever was or was not signalled.
const RESCAN_MS: u64 = 2_000;
/// Where nothing can be held of some for want of descriptors, all are looked at this often, less often the more they are.
const CROWDED_MS: u64 = 100;
/// How many descriptors each session takes at most that is waited for.
const HELD: u64 = 3;
/// How many descriptors it takes to look at a session.
const TO_LOOK: u64 = 12;

/// Sessions that are waited for. From when this is made, the end of none of them is missed, not even if it is removed
/// at once: the evidence is held open.
#[derive(Debug)]
pub struct Waiting<'a> {
    truth: &'a Truth,
    home: Option<&'a Home>,
    watches: Vec<Ending>,
}

impl Sessions {
    /// Waits for the end of sessions that were found, for so many ms at most, and says how each stands then.
    #[must_use]
    pub fn wait(&self, found: &[Session], until: Until, cap_ms: Option<u64>) -> Vec<Session> {
        self.watch(found).wait(until, cap_ms)
    }

    /// Begins to wait for sessions that were found: from now on the end of none of them is missed, and of one that was
    /// launched here none was before.
    #[must_use]
    pub fn watch(&self, found: &[Session]) -> Waiting<'_> {
        let mut waiting = Waiting::new(&self.truth, self.home.as_ref(), found);
        if let (Some((id, evidence)), Some(home)) = (&self.launched, &self.home)
            && let Some(ours) = waiting.watches.iter_mut().find(|watch| watch.session.id == *id)
        {
            let held = evidence.try_clone().ok().map(Held::new);
            *ours = Ending::look(&self.truth, home, id, Hold::Evidence(held), false);
        }
        waiting
    }
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(truth: &'a Truth, home: Option<&'a Home>, found: &[Session]) -> Self {
        poll::make_room_for_descriptors();
        let left = poll::descriptors_left().unwrap_or(0).saturating_sub(TO_LOOK);
        // One alone takes room from nobody.
        let room = usize::try_from(left / HELD).unwrap_or(usize::MAX).max(usize::from(found.len() == 1));
        let watch = |home, (number, session): (usize, &Session)| match number < room {
            true => Ending::of_found(truth, home, session),
            false => Ending::look(truth, home, &session.id, Hold::Nothing, false),
        };
        let watches = home.map_or_else(Vec::new, |home| {
            found.iter().enumerate().map(|numbered| watch(home, numbered)).collect()
        });
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
        let crowded = waiting.iter().any(|watch| watch.is_unheard());
        let often = CROWDED_MS.max(2 * waiting.len() as u64);
        let left_ms = if crowded { left_ms.min(often) } else { left_ms };
        let fds: Vec<BorrowedFd<'_>> = waiting.iter().flat_map(|watch| watch.fds()).collect();
        let counts: Vec<usize> = waiting.iter().map(|watch| watch.fds().count()).collect();
        let ready = poll::readable(&fds, Some(left_ms));
        drop(fds);
        let rescan = !ready.contains(&true);
        let mut at = 0;
        for (watch, count) in waiting.into_iter().zip(counts) {
            if ready[at..at + count].contains(&true) {
                watch.hear(self.truth, home);
            } else if rescan || watch.is_unheard() {
                watch.look_again(self.truth, home);
            }
            at += count;
        }
    }
}

/// One session that is waited for.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) session: Session,
    held: Hold,
    /// Readable once the end is on record, hung up when guard and host are gone.
    bell: Option<File>,
    /// The program itself, where nobody else would tell of its end.
    program: Option<OwnedFd>,
}

/// What is held of a session while it is waited for.
#[derive(Debug)]
enum Hold {
    /// Its evidence, if it could be opened: it can be read to its end even when it has been removed.
    Evidence(Option<Box<Held>>),
    /// There are not enough descriptors for it: it is looked at again and again.
    Nothing,
}

/// Evidence that stays open, and how far it was read.
#[derive(Debug)]
struct Held {
    file: File,
    progress: Progress,
}

impl Held {
    fn new(file: File) -> Box<Self> {
        Box::new(Self { file, progress: Progress::default() })
    }

    /// What it says now.
    fn evidence(&mut self) -> Cow<'_, Evidence> {
        self.progress.up_to_now(&self.file)
    }

    /// Neither it nor the slot tells an end, and somebody is there afterwards who rings when they do.
    fn goes_on(&mut self, dir: &SessionDir) -> bool {
        let is_blank = |slot: &[u8]| slot.iter().all(|byte| *byte == b'\n');
        let in_slot = !dir.slot(&mut [0; Slot::SIZE]).is_ok_and(is_blank);
        let tells_none = !in_slot && !self.evidence().is_closed();
        let is_held = |holder| lock::ask(&self.file, holder) == Lock::Held;
        tells_none && [Holder::Guard, Holder::Host].into_iter().any(is_held)
    }
}

impl Ending {
    /// The evidence, if it is held.
    fn evidence(&self) -> Option<&File> {
        match &self.held {
            Hold::Evidence(held) => held.as_ref().map(|held| &held.file),
            Hold::Nothing => None,
        }
    }

    pub(crate) fn new(truth: &Truth, home: &Home, id: &SessionId) -> Self {
        // Opened before the question: what happens after the answer is not missed.
        let held = home.session(id).ok().and_then(|dir| held(&dir));
        Self::look(truth, home, id, Hold::Evidence(held), false)
    }

    /// Of one that was found: where it goes on and is served now that we hold what wakes us, its end will.
    fn of_found(truth: &Truth, home: &Home, found: &Session) -> Self {
        if found.has_ended() {
            return Self { session: found.clone(), held: Hold::Nothing, bell: None, program: None };
        }
        let opened = home.session(&found.id).ok().filter(|_| found.is_readable()).and_then(|dir| {
            let (bell, mut held) = (dir.waiting().ok()?, held(&dir)?);
            held.goes_on(&dir).then_some((bell, held))
        });
        match opened {
            Some((bell, held)) => Self {
                session: found.clone(),
                held: Hold::Evidence(Some(held)),
                bell: Some(bell),
                program: None,
            },
            None => Self::new(truth, home, &found.id),
        }
    }

    /// Looks at the session, of which this evidence was opened when nobody had begun to remove it. A bell that rang before is
    /// not held again: whoever is there still may be on the way out, and one that is opened anew would be silent about them.
    fn look(truth: &Truth, home: &Home, id: &SessionId, held: Hold, rang: bool) -> Self {
        let (bell, evidence) = match &held {
            Hold::Evidence(held) => {
                let bell = home.session(id).ok().and_then(|dir| dir.waiting().ok());
                (bell, held.as_ref().map(|held| &held.file))
            }
            Hold::Nothing => (None, None),
        };
        let rang = rang || has_rung(bell.as_ref());
        let session = of_watched(truth, home, id, evidence);
        match held {
            Hold::Evidence(_) if session.is_readable() => {
                // An end that is on record and not believed would be heard without end, too.
                let bell = bell.filter(|_| !rang || session.has_ended());
                let program = program_to_watch(truth, &session, bell.is_some());
                Self { session, held, bell, program }
            }
            // What cannot be read just now would be heard without end, and what is held of it may be what is lacking.
            Hold::Evidence(_) | Hold::Nothing => {
                Self { session, held: Hold::Nothing, bell: None, program: None }
            }
        }
    }

    /// Looks at it because it was heard. Where what is held tells its end, nobody else is asked, nor anything found by a name.
    fn hear(&mut self, truth: &Truth, home: &Home) {
        let ended = match &mut self.held {
            Hold::Evidence(Some(held)) => {
                let evidence = held.evidence().into_owned();
                truth.end_of_held(&self.session.id, evidence, &held.file)
            }
            Hold::Evidence(None) | Hold::Nothing => None,
        };
        match ended {
            Some(session) => self.session = session,
            None => self.look_again(truth, home),
        }
    }

    pub(crate) fn look_again(&mut self, truth: &Truth, home: &Home) {
        let held = std::mem::replace(&mut self.held, Hold::Nothing);
        let seen = Self::look(truth, home, &self.session.id, held, has_rung(self.bell.as_ref()));
        if self.session.has_ended() && !seen.session.has_ended() {
            // It was removed meanwhile, or cannot be read just now. An end that is known stands.
            self.held = seen.held;
        } else {
            *self = seen;
        }
    }

    /// The session has ended, or nothing that could happen would tell how.
    fn is_over(&self) -> bool {
        self.session.is_over()
    }

    /// Nothing would wake us at its end.
    fn is_unheard(&self) -> bool {
        self.fds().next().is_none()
    }

    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let bell = self.bell.iter().map(AsFd::as_fd);
        bell.chain(self.program.iter().map(AsFd::as_fd))
    }
}

/// Whether the end is on record, or guard and host are gone.
fn has_rung(bell: Option<&File>) -> bool {
    bell.is_some_and(|bell| poll::readable(&[bell.as_fd()], Some(0))[0])
}

/// The evidence of a session, to be held; none of one whose removal has begun, for whose end nobody waits.
fn held(dir: &SessionDir) -> Option<Box<Held>> {
    let mut held = Held::new(dir.evidence().ok()?);
    let removed = held.evidence().closing.removing.is_some();
    (!removed).then_some(held)
}

/// The program, where nobody else would tell of its end.
fn program_to_watch(truth: &Truth, session: &Session, rings: bool) -> Option<OwnedFd> {
    let served = session.seen.guard.is_alive() || session.seen.host.is_alive();
    let program = actor_of(session.verdict.rule, &session.evidence).filter(|_| !(served && rings));
    program.and_then(|identity| truth.hold(identity).ok())
}

/// What is true of a session whose evidence was opened before: of one that has been removed since, how it ended.
pub(crate) fn of_watched(truth: &Truth, home: &Home, id: &SessionId, evidence: Option<&File>) -> Session {
    let session = truth.of(home, id);
    let gone = session.evidence.is_damaged() || session.evidence.closing.removing.is_some();
    match evidence.filter(|_| gone).and_then(ended_before_removal) {
        Some(known) => truth.of_held(id, known, None),
        None => session,
    }
}

/// What was on record before the removal, if that is an end: who waited for it waited for that.
fn ended_before_removal(file: &File) -> Option<Evidence> {
    let mut evidence = store::read_evidence(file);
    let closing = &mut evidence.closing;
    let removed = closing.removing.take().is_some();
    closing.removed = None;
    (removed && (closing.ended.is_some() || closing.exec_failed.is_some())).then_some(evidence)
}
