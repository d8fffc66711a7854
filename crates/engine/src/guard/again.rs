//! A guard that follows another one. Either the host started it because the guard died: then it takes the
//! lifetime lock before its first read, so there are never two readers, and follows a program that is not its own.
//! Or the guard became it in place, as another version: then it has never stopped being lock holder and parent.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::body_from_line;
use abide_core::evidence::{Observer, Role, StopAsked, Witness};
use abide_core::guard::{Guard, Input, Orders, Timeout};
use abide_core::identity::Identity;
use abide_core::recording::Kind;
use abide_core::verdict::program_of;
use abide_core::wire::ANSWERS;
use abide_sys::disk::PrivateDir;
use abide_sys::signal::Signals;
use abide_sys::{pty, reap, tty};

use super::birth::{guarded, take_lock};
use super::handover::{self, Given, Handover};
use super::link::Link;
use super::recorder::Recorder;
use super::{Keeper, Program, SIGNALS};
use crate::spill::Spill;
use crate::store::{Progress, SessionDir, Writer};
use crate::truth::Truth;
use crate::{agents, place};

/// A guard that takes over may fail at nothing but what it cannot do without: for its program it is the last one.
pub(super) fn bring_up() -> io::Result<Keeper> {
    let mut given = Given::inherited(2)?;
    let mut bytes = Vec::new();
    File::from(given.must(handover::PARCEL)?).read_to_end(&mut bytes)?;
    let mut handover: Handover = body_from_line(&bytes)?;
    let mut dir = SessionDir::from_trusted(PrivateDir::from_trusted(given.must(handover::DIR)?));
    dir.keep_evidence(given.take(handover::FACTS));
    let signals = Signals::of(&SIGNALS)?;
    reap::become_subreaper()?;
    let truth = Truth::new();
    let ours = handover.parent;
    let evidence = match handover.facts {
        // The same process, pen and lock; only the version is another.
        Some(facts) => {
            let witness = Witness { role: Role::Guard, pid: std::process::id(), boot: truth.now().boot };
            Writer::new(File::from(given.must(handover::EVIDENCE)?), witness, facts)
        }
        None => take_lock(&truth, &dir)?,
    };
    let known = dir.read().evidence();
    let (identity, pidfd, moved) =
        followed(&truth, &known, handover.program, given.must(handover::PROGRAM)?)?;
    let started = known.beginning.started.as_ref().map(|told| told.at.boot);
    // Ticks are hundredths of a second.
    let started_boot = started.or(identity.start_ticks.map(|ticks| ticks.saturating_mul(10))).unwrap_or(0);
    let (outputs, slave) = outputs(&mut given)?;
    let spill = given.take(handover::SPILL).and_then(|fd| Spill::of(fd).ok());
    let spill = spill.map_or_else(Spill::new, Ok)?;
    handover.answered = handover.answered.max(answered_before(&spill));
    let recording = given.take(handover::RECORDING).map(File::from);
    let recording = recording.map_or_else(|| dir.append_recording(), Ok)?;
    let link = Link::resume(&mut given, &handover, &spill)?;
    let recorder = Recorder::resume(recording, spill, &known, &handover);
    let mut keeper = Keeper {
        unsaid: guarded(&truth, evidence.file()).ok(),
        told: Progress::default(),
        ordered: false,
        truth,
        mind: Guard::new(orders(&known, started_boot)),
        recorder,
        dir,
        evidence,
        signals,
        outputs,
        slave,
        link,
        program: Program {
            started_boot,
            session: known.beginning.launched.as_ref().map(|told| told.body.id.clone()),
            ..Program::new(identity, pidfd, ours, place::recorded(&known))
        },
        observer: ours.then_some(Observer::Guard),
        waiters: given.take(handover::WAITERS).map(File::from),
    };
    keeper.say_unsaid();
    if handover.facts.is_some() || moved {
        // Until now the host of the version before stood by, in case that this one could not work; or it holds another.
        keeper.replace_host();
    }
    // A stop that was asked of the guard before is completed by this one, and an end that came meanwhile is seen.
    if let Some(asked) = &known.closing.stop_asked {
        let StopAsked { grace_ms, time_is_up, .. } = asked.body;
        keeper.tell(if time_is_up { Input::TimeWasUp { grace_ms } } else { Input::StopAsked { grace_ms } });
    }
    keeper.reap();
    Ok(keeper)
}

/// Whom this guard follows: the one that the guard before did. That may be the wrapper of an agent which is on record as
/// the program; once it is dead, the agent itself is taken hold of if it lives, and true is told.
fn followed(
    truth: &Truth,
    known: &Evidence,
    told: Option<Identity>,
    pidfd: OwnedFd,
) -> io::Result<(Identity, OwnedFd, bool)> {
    // Also where the record of it is damaged, the process itself is known.
    if let Some(identity) = told.or_else(|| truth.identify_held(&pidfd)) {
        return Ok((identity, pidfd, false));
    }
    let program = *program_of(known).ok_or(io::ErrorKind::NotFound)?;
    match truth.hold(&program) {
        Ok(held) => Ok((program, held, true)),
        Err(_) => Ok((program, pidfd, false)),
    }
}

/// Up to where queries were answered. One whose answer was begun is still owed the rest of it.
fn answered_before(spill: &Spill) -> u64 {
    let ((whose, position), _) = spill.last_typed();
    let answered = spill.answered();
    if whose == ANSWERS && position == answered { answered.saturating_sub(1) } else { answered }
}

fn orders(known: &Evidence, started_boot: u64) -> Orders {
    let launched = known.beginning.launched.as_ref().map(|told| &*told.body);
    let terms = launched.map(|launched| launched.terms).unwrap_or_default();
    let asking = agents::asking(launched.and_then(|launched| launched.agent.as_deref()), launched);
    Orders { asking, timeout: Timeout::of(&terms, started_boot), remove: terms.remove }
}

type Outputs = (Vec<(Kind, File)>, Option<OwnedFd>);

/// What is still open of what the program writes to, and the terminal's other side if it is one.
fn outputs(given: &mut Given) -> io::Result<Outputs> {
    let open = [(Kind::Output, given.take(handover::OUTPUT)), (Kind::Errors, given.take(handover::ERRORS))];
    let handed = given.take(handover::SLAVE);
    let terminal = open[0].1.as_ref().filter(|output| tty::is_terminal(output));
    let slave = terminal.map(|terminal| handed.map_or_else(|| pty::slave_of(terminal), Ok)).transpose()?;
    let files = open.into_iter().filter_map(|(kind, fd)| Some((kind, File::from(fd?))));
    Ok((files.collect(), slave))
}
