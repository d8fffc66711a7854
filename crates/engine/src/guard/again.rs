//! A guard that follows another one: started by the host when the guard died. It takes the lifetime lock before
//! its first read, so there are never two readers, and follows a program that it is not the parent of.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use abide_core::evidence::frame::body_from_line;
use abide_core::guard::{Guard, Input, Orders};
use abide_core::recording::Kind;
use abide_core::verdict::program_of;
use abide_sys::disk::PrivateDir;
use abide_sys::signal::{self, Signals};
use abide_sys::{pty, spawn};

use super::birth::guard_it;
use super::handover::Handover;
use super::link::Link;
use super::recorder::Recorder;
use super::{Keeper, Program};
use crate::store::SessionDir;
use crate::truth::Truth;

pub(super) fn bring_up() -> io::Result<Keeper> {
    let fds = spawn::inherited(9)?;
    let Ok([parcel, line, listener, bell, dir, waiters, first, last, pidfd]) = <[OwnedFd; 9]>::try_from(fds)
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut bytes = Vec::new();
    File::from(parcel).read_to_end(&mut bytes)?;
    let handover: Handover = body_from_line(&bytes)?;
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(dir));
    let signals = Signals::of(&[signal::CHLD, signal::TERM, signal::HUP, signal::INT])?;
    spawn::become_subreaper()?;
    let truth = Truth::new();
    let evidence = guard_it(&truth, &dir)?;
    let known = dir.read().evidence();
    let identity = *program_of(&known).ok_or(io::ErrorKind::NotFound)?;
    let started = known.beginning.started.as_ref().map_or(0, |told| told.at.boot);
    let launched = known.beginning.launched.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let timeout_at = launched.body.timeout_ms.map(|ms| started.saturating_add(ms));
    let (outputs, slave) = match launched.body.size {
        Some(_) => (vec![(Kind::Output, File::from(first))], None),
        None => (vec![(Kind::Output, File::from(first)), (Kind::Errors, File::from(last))], None::<OwnedFd>),
    };
    let slave = match (&launched.body.size, outputs.first()) {
        (Some(_), Some((_, master))) => Some(pty::slave_of(master)?),
        (_, _) => slave,
    };
    let mut keeper = Keeper {
        truth,
        mind: Guard::new(Orders { asking: vec![signal::TERM], timeout_at }),
        recorder: Recorder::resume(dir.append_recording()?, handover.position),
        dir,
        evidence,
        signals,
        outputs,
        slave,
        link: Link::resume(listener, bell, line, &handover),
        program: Program { identity, pidfd, started_boot: started, ours: false },
        observer: None,
        waiters: File::from(waiters),
    };
    // A stop that was asked of the guard before is completed by this one.
    if let Some(asked) = &known.closing.stop_asked {
        keeper.tell(Input::StopAsked { grace_ms: asked.body.grace_ms });
    }
    Ok(keeper)
}
