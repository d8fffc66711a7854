//! A guard that follows another one. Either the host started it because the guard died: then it takes the
//! lifetime lock before its first read, so there are never two readers, and follows a program that is not its own.
//! Or the guard became it in place, as another version: then it has never stopped being lock holder and parent.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::body_from_line;
use abide_core::evidence::{Body, Guarded, Noted, Observer, Role, Witness};
use abide_core::guard::{Guard, Input, Orders};
use abide_core::recording::Kind;
use abide_core::verdict::program_of;
use abide_sys::disk::{self, PrivateDir};
use abide_sys::signal::{self, Signals};
use abide_sys::{pty, reap};

use super::birth::guard_it;
use super::handover::{self, Given, Handover};
use super::link::Link;
use super::recorder::Recorder;
use super::{Keeper, Program, SIGNALS};
use crate::place;
use crate::spill::Spill;
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;

pub(super) fn bring_up() -> io::Result<Keeper> {
    let mut given = Given::inherited()?;
    let mut bytes = Vec::new();
    File::from(given.must(handover::PARCEL)?).read_to_end(&mut bytes)?;
    let handover: Handover = body_from_line(&bytes)?;
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(given.must(handover::DIR)?));
    let signals = Signals::of(&SIGNALS)?;
    reap::become_subreaper()?;
    let truth = Truth::new();
    let ours = handover.facts.is_some();
    let evidence = match handover.facts {
        Some(facts) => go_on(&truth, File::from(given.must(handover::EVIDENCE)?), facts)?,
        None => guard_it(&truth, &dir)?,
    };
    let known = dir.read().evidence();
    let identity = *program_of(&known).ok_or(io::ErrorKind::NotFound)?;
    let started_boot = known.beginning.started.as_ref().map_or(0, |told| told.at.boot);
    let (outputs, slave) = outputs(&known, given.must(handover::OUTPUT)?, given.must(handover::ERRORS)?)?;
    let spill = given.take(handover::SPILL).map_or_else(Spill::new, Spill::of)?;
    let (recorder, died_reading) = Recorder::resume(dir.append_recording()?, spill, &handover);
    let (listener, bell) = (given.must(handover::LISTENER)?, given.must(handover::BELL)?);
    let pidfd = given.must(handover::PROGRAM)?;
    let mut keeper = Keeper {
        truth,
        mind: Guard::new(orders(&known, started_boot)),
        recorder,
        dir,
        evidence,
        signals,
        outputs,
        slave,
        link: Link::resume(listener, bell, given.take(handover::LINE), &handover),
        program: Program { started_boot, ..Program::new(identity, pidfd, ours, place::recorded(&known)) },
        observer: ours.then_some(Observer::Guard),
        waiters: File::from(given.must(handover::WAITERS)?),
        next_image: None,
    };
    if died_reading {
        let text =
            "the guard before this one died in the middle of a read; what that brought is not on record";
        keeper.note(Body::Noted(Noted { text: text.to_owned() }));
    }
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
