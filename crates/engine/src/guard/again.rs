//! A guard that follows another one. Either the host started it because the guard died: then it takes the
//! lifetime lock before its first read, so there are never two readers, and follows a program that is not its own.
//! Or the guard became it in place, as another version: then it has never stopped being lock holder and parent.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::body_from_line;
use abide_core::evidence::{Body, Guarded, Observer, Role, Witness};
use abide_core::guard::{Guard, Input, Orders};
use abide_core::recording::Kind;
use abide_core::verdict::program_of;
use abide_sys::disk::{self, PrivateDir};
use abide_sys::signal::{self, Signals};
use abide_sys::{pty, reap, spawn};

use super::birth::guard_it;
use super::handover::Handover;
use super::link::Link;
use super::recorder::Recorder;
use super::{Keeper, Program, SIGNALS};
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;

pub(super) fn bring_up() -> io::Result<Keeper> {
    let fds = spawn::inherited(9)?;
    let Ok([parcel, first_given, listener, bell, dir, waiters, output, errors, pidfd]) =
        <[OwnedFd; 9]>::try_from(fds)
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut bytes = Vec::new();
    File::from(parcel).read_to_end(&mut bytes)?;
    let handover: Handover = body_from_line(&bytes)?;
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(dir));
    let signals = Signals::of(&SIGNALS)?;
    reap::become_subreaper()?;
    let truth = Truth::new();
    let ours = handover.facts.is_some();
    // What is handed over first is the evidence with its lock, or the line to the host that started us.
    let (evidence, line) = match handover.facts {
        Some(facts) => (go_on(&truth, File::from(first_given), facts)?, None),
        None => (guard_it(&truth, &dir)?, Some(first_given)),
    };
    let known = dir.read().evidence();
    let identity = *program_of(&known).ok_or(io::ErrorKind::NotFound)?;
    let started_boot = known.beginning.started.as_ref().map_or(0, |told| told.at.boot);
    let (outputs, slave) = outputs(&known, output, errors)?;
    let mut keeper = Keeper {
        truth,
        mind: Guard::new(orders(&known, started_boot)),
        recorder: Recorder::resume(dir.append_recording()?, handover.position),
        dir,
        evidence,
        signals,
        outputs,
        slave,
        link: Link::resume(listener, bell, line, &handover),
        program: Program { identity, pidfd, started_boot, ours },
        observer: ours.then_some(Observer::Guard),
        waiters: File::from(waiters),
        next_image: None,
    };
    // A stop that was asked of the guard before is completed by this one, and an end that came meanwhile is seen.
    if let Some(asked) = &known.closing.stop_asked {
        keeper.tell(Input::StopAsked { grace_ms: asked.body.grace_ms });
    }
    keeper.reap();
    Ok(keeper)
}

/// The same process, pen and lock; only the version is another.
fn go_on(truth: &Truth, file: File, facts: u64) -> io::Result<Writer> {
    let now = truth.now();
    let lock = disk::file_id(&file)?;
    let witness = Witness { role: Role::Guard, pid: std::process::id(), boot: now.boot };
    let mut evidence = Writer::new(file, witness, facts);
    let guard = truth.identify(std::process::id()).map_err(|doubt| io::Error::other(doubt.says()))?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    evidence.add(now.at, Body::Guarded(Guarded { guard, lock, version }))?;
    Ok(evidence)
}

fn orders(known: &Evidence, started_boot: u64) -> Orders {
    let launched = known.beginning.launched.as_ref().map(|told| &told.body);
    let timeout_ms = launched.and_then(|launched| launched.timeout_ms);
    let timeout_at = timeout_ms.map(|ms| started_boot.saturating_add(ms));
    let remove = launched.is_some_and(|launched| launched.remove);
    Orders { asking: vec![signal::TERM], timeout_at, remove }
}

type Outputs = (Vec<(Kind, File)>, Option<OwnedFd>);

fn outputs(known: &Evidence, output: OwnedFd, errors: OwnedFd) -> io::Result<Outputs> {
    let launched = known.beginning.launched.as_ref().ok_or(io::ErrorKind::NotFound)?;
    if launched.body.size.is_some() {
        let slave = pty::slave_of(&output)?;
        return Ok((vec![(Kind::Output, File::from(output))], Some(slave)));
    }
    Ok((vec![(Kind::Output, File::from(output)), (Kind::Errors, File::from(errors))], None))
}
