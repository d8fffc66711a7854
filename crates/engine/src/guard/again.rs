//! A guard that follows another one. Either the host started it because the guard died: then it takes the
//! lifetime lock before its first read, so there are never two readers, and follows a program that is not its own.
//! Or the guard became it in place, as another version: then it has never stopped being lock holder and parent.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::body_from_line;
use abide_core::evidence::{Observer, Role, Witness};
use abide_core::guard::{Guard, Input, Orders, Timeout};
use abide_core::recording::Kind;
use abide_core::verdict::program_of;
use abide_core::wire::ANSWERS;
use abide_sys::disk::PrivateDir;
use abide_sys::signal::{self, Signals};
use abide_sys::{pty, reap, tty};

use super::birth::{guarded, take_lock};
use super::handover::{self, Given, Handover};
use super::link::Link;
use super::recorder::Recorder;
use super::{Keeper, Program, SIGNALS};
use crate::place;
use crate::spill::Spill;
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;

/// A guard that takes over may fail at nothing but what it cannot do without: for its program it is the last one.
pub(super) fn bring_up() -> io::Result<Keeper> {
    let mut given = Given::inherited(2)?;
    let mut bytes = Vec::new();
    File::from(given.must(handover::PARCEL)?).read_to_end(&mut bytes)?;
    let mut handover: Handover = body_from_line(&bytes)?;
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(given.must(handover::DIR)?));
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
    let pidfd = given.must(handover::PROGRAM)?;
    // Where the record of it is damaged, the process itself is still known.
    let living = || truth.identify_held(&pidfd);
    let identity = program_of(&known).copied().or_else(living).ok_or(io::ErrorKind::NotFound)?;
    let started = known.beginning.started.as_ref().map(|told| told.at.boot);
    // Ticks are hundredths of a second.
    let started_boot = started.or(identity.start_ticks.map(|ticks| ticks.saturating_mul(10))).unwrap_or(0);
    let (outputs, slave) = outputs(&mut given)?;
    let spill = given.take(handover::SPILL).and_then(|fd| Spill::of(fd).ok());
    let spill = spill.map_or_else(Spill::new, Ok)?;
    let begun = spill.last_typed();
    handover.answered = handover.answered.max(answered_before(begun, &spill));
    let recording = given.take(handover::RECORDING).map(File::from);
    let recording = recording.map_or_else(|| dir.append_recording(), Ok)?;
    let recorder = Recorder::resume(recording, spill, &known, &handover);
    let mut keeper = Keeper {
        unsaid: guarded(&truth, evidence.file()).ok(),
        ordered: false,
        truth,
        mind: Guard::new(orders(&known, started_boot)),
        recorder,
        dir,
        evidence,
        signals,
        outputs,
        slave,
        link: Link::resume(&mut given, &handover, begun)?,
        program: Program { started_boot, ..Program::new(identity, pidfd, ours, place::recorded(&known)) },
        observer: ours.then_some(Observer::Guard),
        waiters: given.take(handover::WAITERS).map(File::from),
    };
    keeper.say_unsaid();
    if handover.facts.is_some() {
        // Until now the host of the version before stood by, in case that this one could not work.
        keeper.replace_host();
    }
    // A stop that was asked of the guard before is completed by this one, and an end that came meanwhile is seen.
    if let Some(asked) = &known.closing.stop_asked {
        keeper.tell(Input::StopAsked { grace_ms: asked.body.grace_ms });
    }
    keeper.reap();
    Ok(keeper)
}

/// Up to where queries were answered. One whose answer was begun is still owed the rest of it.
fn answered_before(((whose, position), _): ((u64, u64), usize), spill: &Spill) -> u64 {
    let answered = spill.answered();
    if whose == ANSWERS && position == answered { answered.saturating_sub(1) } else { answered }
}

fn orders(known: &Evidence, started_boot: u64) -> Orders {
    let terms = known.beginning.launched.as_ref().map(|told| told.body.terms).unwrap_or_default();
    let timeout = Timeout::of(&terms, started_boot);
    Orders { asking: vec![signal::TERM], timeout, remove: terms.remove }
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
