//! Stopping and signalling: asked of the guard where one lives, done here where none does.
//! What is about to be done is on record before it is done, and only a proved process is signalled.

use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::{Body, Role, Signalled, StopAsked, Survivor};
use abide_core::failure::{Code, Failure};
use abide_core::identity::{Identity, Liveness};
use abide_core::verdict::actor_of;
use abide_sys::cgroup::Cgroup;
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, signal};

use crate::act::seal;
use crate::place;
use crate::place::tree;
use crate::store::{Home, Writer};
use crate::truth::{Session, Truth};
use crate::wait::Waiting;

/// How long a guard may take beyond the patience it was asked for.
const SLACK_MS: u64 = 10_000;
/// How long the kernel may take to remove a killed process.
const DEATH_MS: u64 = 5_000;

/// Ends a session. Returns once the death of its program is proved.
pub(crate) fn stop(truth: &Truth, home: &Home, session: &Session, grace_ms: u64) -> Result<Session, Failure> {
    session.admits_stop()?;
    let mut waiting = Waiting::new(truth, Some(home), std::slice::from_ref(&session.id));
    match held_guard(truth, session) {
        Some(guard) => {
            // Hung up when nothing is left to do.
            let done = home.session(&session.id).ok().and_then(|dir| dir.waiting().ok());
            let value = i32::try_from(grace_ms).unwrap_or(i32::MAX);
            signal::send_with(&guard, signal::TERM, value)
                .map_err(|e| refused(session, "ask the guard of session", &e))?;
            let patience = grace_ms.saturating_mul(2).saturating_add(SLACK_MS);
            // Or the guard has gone, which it does not before all is done.
            let mut signs = vec![Interest::reading(guard.as_fd())];
            signs.extend(done.as_ref().map(|done| Interest::news(done.as_fd())));
            let over =
                comes_within(&signs, patience) || truth.of(home, &session.id).verdict.status.is_terminal();
            if !over {
                end_it_here(truth, home, session, 0)?;
            }
        }
        None => end_it_here(truth, home, session, grace_ms)?,
    }
    let stopped = waiting.look().pop().unwrap_or_else(|| truth.of(home, &session.id));
    let abandoned = !stopped.seen.guard.is_alive() && !stopped.seen.host.is_alive();
    if stopped.verdict.status.is_stoppable() && abandoned {
        // Whoever was to do it has died over it.
        end_it_here(truth, home, &stopped, grace_ms)?;
        return Ok(truth.of(home, &session.id));
    }
    Ok(stopped)
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

/// The processes of the session that outlived its program and are alive now.
pub(crate) fn survivors(truth: &Truth, session: &Session) -> Vec<Survivor> {
    if !session.verdict.status.is_terminal() {
        return Vec::new();
    }
    let ended = session.evidence.closing.ended.as_ref();
    let recorded = ended.map(|told| told.body.survivors.as_slice()).unwrap_or_default();
    let alive = |survivor: &&Survivor| truth.is_alive(&survivor.process).is_alive();
    let mut alive: Vec<Survivor> = recorded.iter().filter(alive).cloned().collect();
    // Those that nobody recorded are known to the cgroup.
    for survivor in tree::left(truth, None, place::recorded(&session.evidence).as_ref(), &[]) {
        if !alive.iter().any(|known| known.process.pid == survivor.process.pid) {
            alive.push(survivor);
        }
    }
    alive
}

fn held_guard(truth: &Truth, session: &Session) -> Option<OwnedFd> {
    let guard = session.evidence.helpers.guarded.as_ref()?;
    truth.hold(&guard.body.guard).ok()
}

fn held_program(truth: &Truth, session: &Session) -> Result<(Identity, OwnedFd), Failure> {
    let unproved = |why: String| {
        Failure::new(Code::NoAnswer, format!("the program of session {} {why}", session.id))
            .about(session.id.as_str())
            .in_status(session.verdict.status)
            .hint(format!("`abide why {}` shows what is known", session.id))
    };
    let actor = actor_of(session.verdict.rule, &session.evidence);
    let program = actor.ok_or_else(|| unproved("is not on record".to_owned()))?;
    let pidfd = truth.hold(program).map_err(|liveness| match liveness {
        Liveness::Alive(_) => unproved("is alive and cannot be taken hold of".to_owned()),
        Liveness::Dead(_) | Liveness::Unknown(_) => unproved(liveness.says()),
    })?;
    Ok((*program, pidfd))
}

/// No guard will do it: the program and everything below it, politely first.
fn end_it_here(truth: &Truth, home: &Home, session: &Session, grace_ms: u64) -> Result<(), Failure> {
    let (program, pidfd) = held_program(truth, session)?;
    let cgroup = place::recorded(&session.evidence);
    let mut below = tree::left(truth, Some(program.pid), cgroup.as_ref(), &[]);
    let mut pen = pen(truth, home, session)?;
    let by = format!("pid {}", std::process::id());
    note(&mut pen, session, Body::StopAsked(StopAsked { by, grace_ms }))?;
    for (number, patience) in [(signal::TERM, grace_ms), (signal::KILL, DEATH_MS)] {
        note_signal(&mut pen, session, number, &program)?;
        // Whatever the answer, what counts is whether it ends.
        let _ = signal::send(&pidfd, number);
        if ends_within(&pidfd, patience) {
            break;
        }
    }
    // What was started meanwhile is known to the cgroup.
    below.extend(tree::left(truth, None, cgroup.as_ref(), &[]));
    let held: Vec<_> = below.iter().filter_map(|one| truth.hold(&one.process).ok()).collect();
    if !held.is_empty() || tree::holds_some(truth, cgroup.as_ref()) {
        let pids = below.iter().map(|survivor| survivor.process.pid).collect();
        note_signals(&mut pen, session, signal::KILL, pids)?;
        tree::signal_all(truth, &below, cgroup.as_ref(), signal::KILL);
        for pidfd in &held {
            // Whoever lives on is named as a survivor.
            let _ = ends_within(pidfd, DEATH_MS);
        }
        let alone = cgroup.as_ref().filter(|cgroup| tree::holds_some(truth, Some(cgroup)));
        if let Some(Ok(mut changes)) = alone.map(Cgroup::changes) {
            changes.await_empty(DEATH_MS);
        }
    }
    seal::seal(truth, home, &session.id).map(|_| ())
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
