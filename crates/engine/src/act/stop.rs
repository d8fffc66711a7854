//! Stopping and signalling: asked of the guard where one lives, done here where none does.
//! What is about to be done is on record before it is done, and only a proved process is signalled.

use std::fs::File;
use std::iter;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use abide_core::evidence::{Body, Role, Signalled, StopAsked, Survivor};
use abide_core::failure::{Code, Failure};
use abide_core::identity::{Identity, Liveness};
use abide_core::status::Column;
use abide_core::verdict::{Rule, actor_of};
use abide_sys::cgroup::Cgroup;
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, signal};

use crate::Sessions;
use crate::act::seal;
use crate::agents;
use crate::place;
use crate::place::stray::Strays;
use crate::place::tree::{self, Marks};
use crate::session;
use crate::store::{Home, Writer};
use crate::truth::{Session, Truth};
use crate::wait::Waiting;

/// How long a guard may take beyond the patience it was asked for.
const SLACK_MS: u64 = 10_000;
/// How long the kernel may take to remove a killed process.
const DEATH_MS: u64 = 5_000;
/// How long a host may take to raise the next guard, and that one to record an end.
const RAISE_MS: u64 = 5_000;
/// How often to look whether a guard is there again.
const LOOK_MS: u64 = 50;

/// More at once would be no faster.
const AT_ONCE: u64 = 64;
/// No stop holds more descriptors at once.
const DESCRIPTORS: u64 = 16;

impl Sessions {
    /// Ends several sessions, as many at once as there are descriptors for. What becomes of one changes nothing for the
    /// others; the answers come in the order of the sessions.
    #[must_use]
    pub fn stop_all(&self, sessions: &[Session], grace_ms: u64) -> Vec<Result<Session, Failure>> {
        let at_once = (poll::descriptors_allowed() / DESCRIPTORS).saturating_sub(1).clamp(1, AT_ONCE);
        let at_once = usize::try_from(at_once).unwrap_or(1).min(sessions.len());
        let next = AtomicUsize::new(0);
        // Whoever is done takes the next: nobody waits for one that takes long.
        let stop = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            sessions.get(at).map(|session| (at, self.stop(session, grace_ms)))
        };
        let mut stopped = thread::scope(|scope| {
            let work = || iter::from_fn(stop).collect::<Vec<_>>();
            let working: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
            let join = |one: ScopedJoinHandle<'_, _>| one.join().unwrap_or_else(|panic| resume_unwind(panic));
            working.into_iter().flat_map(join).collect::<Vec<_>>()
        });
        stopped.sort_by_key(|(at, _)| *at);
        stopped.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// Ends a session. Returns once the death of its program is proved and on record, whoever does it: a guard that dies over
/// it is followed by the next one, and where none comes it is done here.
pub(crate) fn stop(truth: &Truth, home: &Home, session: &Session, grace_ms: u64) -> Result<Session, Failure> {
    session.admits_stop()?;
    let mut waiting = Waiting::new(truth, Some(home), std::slice::from_ref(session));
    let patience = grace_ms.saturating_mul(2).saturating_add(SLACK_MS);
    let mut stop = Stop {
        truth,
        home,
        grace_ms,
        held: home.session(&session.id).ok().and_then(|dir| dir.waiting().ok()),
        asked: None,
        until: clock::now().boot.saturating_add(patience),
        raised_by: None,
        done_here: false,
    };
    let mut session = session.clone();
    while stop.goes_on(&session)? {
        session = waiting.look().pop().unwrap_or_else(|| truth.of(home, &session.id));
    }
    stop.complete(&session)?;
    Ok(session)
}

/// A stop that is under way.
struct Stop<'a> {
    truth: &'a Truth,
    home: &'a Home,
    grace_ms: u64,
    /// Hung up when nothing is left to do.
    held: Option<File>,
    /// The guard that was asked.
    asked: Option<Identity>,
    /// How long others may take.
    until: u64,
    /// How long there may be no guard.
    raised_by: Option<u64>,
    /// It was done here: what is left is its record.
    done_here: bool,
}

/// Who is to end a session.
enum Doer {
    Guard(Identity, OwnedFd),
    /// The guard is dead, and somebody lives who raises the next one.
    NextGuard,
    Nobody,
}

impl Stop<'_> {
    /// Does the next step, or waits for whoever does it. False once nothing is left to do for a session that stands like this.
    fn goes_on(&mut self, session: &Session) -> Result<bool, Failure> {
        let (status, now) = (session.verdict.status, clock::now().boot);
        let doer = doer(self.truth, session);
        let finishing = session.verdict.rule == Rule::Finishing;
        let swept = match &doer {
            Doer::Guard(..) => self.is_hung_up(),
            Doer::NextGuard | Doer::Nobody => true,
        };
        if status.is_terminal() && swept || !(status.is_terminal() || status.is_stoppable() || finishing) {
            return Ok(false);
        }
        let stands_still = session.way_on().is_some();
        if self.done_here && (status.is_stoppable() || stands_still)
            || now >= self.until && !status.is_stoppable()
        {
            return Ok(false);
        }
        match doer {
            Doer::Guard(guard, pidfd) if now < self.until => {
                self.raised_by = None;
                if status.is_stoppable() && self.asked != Some(guard) {
                    self.ask(session, &pidfd)?;
                    self.asked = Some(guard);
                }
                self.pause(Some(&pidfd), self.until.saturating_sub(now));
            }
            Doer::NextGuard if now < *self.raised_by.get_or_insert(now.saturating_add(RAISE_MS)) => {
                self.pause(None, LOOK_MS);
            }
            Doer::NextGuard | Doer::Nobody if !status.is_stoppable() => self.pause(None, LOOK_MS),
            Doer::Guard(..) => self.do_here(session, 0)?,
            Doer::NextGuard | Doer::Nobody => self.do_here(session, self.grace_ms)?,
        }
        Ok(true)
    }

    /// A guard that was killed when it had recorded the end leaves the rest of the tree to us.
    fn complete(&self, session: &Session) -> Result<(), Failure> {
        let served = matches!(doer(self.truth, session), Doer::Guard(..));
        let left = survivors(self.truth, session);
        if served || left.is_empty() || !session.verdict.status.is_terminal() {
            return Ok(());
        }
        kill_rest(self.truth, &mut pen(self.truth, self.home, session)?, session, &left)
    }

    fn ask(&self, session: &Session, guard: &OwnedFd) -> Result<(), Failure> {
        let value = i32::try_from(self.grace_ms).unwrap_or(i32::MAX);
        let asked = signal::send_with(guard, signal::TERM, value);
        // One that stands still hears nothing until it is let go on.
        let _ = signal::send(guard, signal::CONT);
        match asked {
            // One that died just now is followed by another.
            Err(error) if !ends_within(guard, 0) => Err(refused(session, "ask the guard of session", &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits until this guard is gone or all is done, for so many ms at most.
    fn pause(&self, guard: Option<&OwnedFd>, ms: u64) {
        // What is hung up and not all done would be heard without end.
        let held = self.held.as_ref().filter(|_| !self.is_hung_up());
        let signs = guard.map(|guard| Interest::reading(guard.as_fd()));
        let signs: Vec<_> = signs.into_iter().chain(held.map(|held| Interest::news(held.as_fd()))).collect();
        comes_within(&signs, if self.is_hung_up() { ms.min(LOOK_MS) } else { ms });
    }

    fn is_hung_up(&self) -> bool {
        self.held.as_ref().is_some_and(|held| comes_within(&[Interest::news(held.as_fd())], 0))
    }

    fn do_here(&mut self, session: &Session, grace_ms: u64) -> Result<(), Failure> {
        let done = end_it_here(self.truth, self.home, session, grace_ms);
        // It may have ended before it was taken hold of.
        if self.truth.of(self.home, &session.id).verdict.status.is_stoppable() {
            done?;
        }
        self.done_here = true;
        self.until = clock::now().boot.saturating_add(RAISE_MS);
        Ok(())
    }
}

fn doer(truth: &Truth, session: &Session) -> Doer {
    let Some(told) = session.evidence.helpers.guarded.as_ref() else {
        return Doer::Nobody;
    };
    let guard = told.body.guard;
    let served = session.seen.guard.is_alive() || session.seen.host.is_alive();
    match truth.hold(&guard) {
        Ok(pidfd) => Doer::Guard(guard, pidfd),
        Err(Liveness::Dead(_)) if served => Doer::NextGuard,
        Err(Liveness::Dead(_) | Liveness::Alive(_) | Liveness::Unknown(_)) => Doer::Nobody,
    }
}

/// Sends a signal to the program, and records it first.
pub(crate) fn send(truth: &Truth, home: &Home, session: &Session, number: i32) -> Result<(), Failure> {
    session.admits_stop()?;
    let program = held_program(truth, session)?;
    let mut pen = pen(truth, home, session)?;
    note_signal(&mut pen, session, number, &program.0)?;
    signal::send(&program.1, number).map_err(|e| refused(session, "signal the program of session", &e))?;
    pen.sync().map_err(|e| refused(session, "write to the record of session", &e))
}

/// The signals that ask it to end, politest first.
pub(crate) fn asking(session: &Session) -> Vec<i32> {
    let launched = session.evidence.beginning.launched.as_ref().map(|told| &*told.body);
    agents::asking(agents::name_of(session), launched)
}

/// A refusal with a way out that works also where not even the guard is on record: whoever holds the directory is asked.
pub(crate) fn with_way_out(truth: &Truth, home: &Home, session: &Session, refusal: Failure) -> Failure {
    let unread = session.is_out_of_reach() && session.evidence.helpers.guarded.is_none();
    let dir = home.session(&session.id).ok().filter(|_| unread);
    match dir.and_then(|dir| truth.guard_of(&dir)) {
        Some(guard) => {
            let kill = session::kill_guard(guard.pid);
            refusal.hint(format!("{kill}; `abide rm --force {}` removes it then", session.id))
        }
        None => refusal,
    }
}

/// The processes of the session that outlived its program and are alive now.
pub(crate) fn survivors(truth: &Truth, session: &Session) -> Vec<Survivor> {
    // A program that is dead leaves them also where its end is not on record yet.
    let finishing = session.verdict.rule == Rule::Finishing;
    if !session.verdict.status.is_terminal() && !finishing {
        return Vec::new();
    }
    let guard = session.evidence.helpers.guarded.as_ref().map(|told| told.body.guard);
    let top = guard.filter(|guard| finishing && truth.hold(guard).is_ok()).map(|guard| guard.pid);
    let ended = session.evidence.closing.ended.as_ref();
    let recorded = ended.map(|told| told.body.survivors.as_slice()).unwrap_or_default();
    let alive = |survivor: &&Survivor| truth.is_alive(&survivor.process).is_alive();
    let mut alive: Vec<Survivor> = recorded.iter().filter(alive).cloned().collect();
    // Those that nobody recorded are known to the cgroup, and to a guard that still lives by their descent.
    let cgroup = place::recorded(&session.evidence);
    add(&mut alive, tree::left(truth, marks(session, cgroup.as_ref()), top, &[], &[]));
    alive
}

/// The same, and where no guard knew them all, whoever may be one of them.
pub(crate) fn left_behind(truth: &Truth, session: &Session) -> Vec<Survivor> {
    let mut left = survivors(truth, session);
    let witness = session.evidence.closing.ended.as_ref().map(|told| told.witness);
    let first = session.evidence.beginning.launched.as_ref().map(|told| told.witness);
    // The guard that started the program is the parent of all that lose theirs; and a cgroup forgets nobody.
    let placed = session.evidence.beginning.started.as_ref().is_some_and(|told| told.body.cgroup.is_some());
    let known = witness.is_some() && witness == first || placed;
    let strays = Strays::like(truth, &session.evidence, std::process::id()).filter(|_| !known);
    add(&mut left, strays.map(|strays| strays.may_be(truth)).unwrap_or_default());
    left
}

fn marks<'a>(session: &'a Session, cgroup: Option<&'a Cgroup>) -> Marks<'a> {
    Marks { session: Some(session.id.as_str()), cgroup }
}

fn add(known: &mut Vec<Survivor>, others: Vec<Survivor>) {
    for other in others {
        if known.iter().all(|known| known.process.pid != other.process.pid) {
            known.push(other);
        }
    }
}

/// The same of a session of which nobody can tell whether it is over: those whom its cgroup knows, wherever that is.
pub(crate) fn may_survive(truth: &Truth, session: &Session) -> Vec<Survivor> {
    tree::left(truth, marks(session, place::named_for(session).as_ref()), None, &[], &[])
}

fn held_program(truth: &Truth, session: &Session) -> Result<(Identity, OwnedFd), Failure> {
    let unproved = |why: String| {
        let (id, status) = (&session.id, session.verdict.status);
        let message = format!("session {id} is {}, and its program {why}", status.name());
        Failure::new(Code::Column(Column::Stoppable), message)
            .about(id.as_str())
            .in_status(status)
            .hint(format!("`abide why {}` shows what is known", session.id))
    };
    let actor = actor_of(session.verdict.rule, &session.evidence);
    let program = actor.ok_or_else(|| unproved("is not on record".to_owned()))?;
    let pidfd = truth.hold(program).map_err(|liveness| match liveness {
        Liveness::Alive(_) => unproved("is alive and cannot be taken hold of".to_owned()),
        Liveness::Dead(_) => unproved(liveness.says()),
        Liveness::Unknown(doubt) => match doubt.elsewhere() {
            Some(whence) => unproved(liveness.says()).hint(session::ask_elsewhere(whence)),
            None => unproved(liveness.says()),
        },
    })?;
    Ok((*program, pidfd))
}

/// No guard will do it: the program and everything below it, politely first.
fn end_it_here(truth: &Truth, home: &Home, session: &Session, grace_ms: u64) -> Result<(), Failure> {
    let (program, pidfd) = held_program(truth, session)?;
    let cgroup = place::recorded(&session.evidence);
    let strays = Strays::like(truth, &session.evidence, program.pid).filter(|_| cgroup.is_none());
    let kin = || strays.as_ref().map(|strays| strays.find(truth)).unwrap_or_default();
    let left = |top| tree::left(truth, marks(session, cgroup.as_ref()), top, &kin(), &[]);
    let mut below = left(Some(program.pid));
    let mut pen = pen(truth, home, session)?;
    let by = format!("pid {}", std::process::id());
    note(&mut pen, session, Body::StopAsked(StopAsked { by, grace_ms, time_is_up: false }))?;
    let asking = asking(session).into_iter().map(|number| (number, grace_ms));
    for (number, patience) in asking.chain([(signal::KILL, DEATH_MS)]) {
        note_signal(&mut pen, session, number, &program)?;
        // Whatever the answer, what counts is whether it ends.
        let _ = signal::send(&pidfd, number);
        if number != signal::KILL {
            // What stands still hears nothing but the kill.
            note_signal(&mut pen, session, signal::CONT, &program)?;
            let _ = signal::send(&pidfd, signal::CONT);
        }
        if ends_within(&pidfd, patience) {
            break;
        }
    }
    // Nobody else knows what was started meanwhile.
    add(&mut below, left(None));
    kill_rest(truth, &mut pen, session, &below)?;
    seal::seal(truth, home, &session.id).map(|_| ())
}

/// Ends what is left of a session whose program is dead.
fn kill_rest(truth: &Truth, pen: &mut Writer, session: &Session, below: &[Survivor]) -> Result<(), Failure> {
    let cgroup = place::recorded(&session.evidence);
    let held: Vec<_> = below.iter().filter_map(|one| truth.hold(&one.process).ok()).collect();
    if held.is_empty() && !tree::holds_some(truth, cgroup.as_ref()) {
        return Ok(());
    }
    let pids = below.iter().map(|survivor| survivor.process.pid).collect();
    note_signals(pen, session, signal::KILL, pids)?;
    tree::signal_all(truth, below, cgroup.as_ref(), signal::KILL);
    for pidfd in &held {
        // Whoever lives on is named as a survivor.
        let _ = ends_within(pidfd, DEATH_MS);
    }
    let alone = cgroup.as_ref().filter(|cgroup| tree::holds_some(truth, Some(cgroup)));
    if let Some(Ok(mut changes)) = alone.map(Cgroup::changes) {
        changes.await_empty(DEATH_MS);
    }
    Ok(())
}

fn ends_within(pidfd: &OwnedFd, ms: u64) -> bool {
    comes_within(&[Interest::reading(pidfd.as_fd())], ms)
}

fn comes_within(signs: &[Interest<'_>], ms: u64) -> bool {
    let deadline = clock::now().boot.saturating_add(ms);
    loop {
        let left = deadline.saturating_sub(clock::now().boot);
        if poll::wait(signs, Some(left)).iter().any(|ready| ready.read) {
            return true;
        }
        if left == 0 {
            return false;
        }
    }
}

fn pen(truth: &Truth, home: &Home, session: &Session) -> Result<Writer, Failure> {
    let dir = home.session(&session.id);
    let dir = dir
        .map_err(|u| refused(session, "write to the record of session", &std::io::Error::other(u.says())))?;
    dir.write(Role::Client, truth.now().boot)
        .map_err(|e| refused(session, "write to the record of session", &e))
}

fn note_signal(pen: &mut Writer, session: &Session, number: i32, to: &Identity) -> Result<(), Failure> {
    note_signals(pen, session, number, vec![to.pid])
}

fn note_signals(pen: &mut Writer, session: &Session, number: i32, pids: Vec<u32>) -> Result<(), Failure> {
    let by = format!("pid {}", std::process::id());
    note(pen, session, Body::Signalled(Signalled { signal: number, pids, by }))
}

fn note(pen: &mut Writer, session: &Session, body: Body) -> Result<(), Failure> {
    pen.add(clock::now(), body).map_err(|e| refused(session, "write to the record of session", &e))
}

fn refused(session: &Session, act: &str, error: &std::io::Error) -> Failure {
    Failure::io(act, &session.id, error).about(session.id.as_str()).in_status(session.verdict.status)
}
