//! The guard: parent of the program, owner of its terminal, single writer of its recording, witness of its end.
//! A plain poll loop around `core::guard`; `birth` brings it up, `recorder` writes, `tree` finds what is left.

mod birth;
mod recorder;
mod tree;

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::{Body, Drained, Ended, Noted, Observer, Outcome, Resources, Signalled, StopAsked};
use abide_core::failure::{Code, Failure};
use abide_core::guard::{Effect, Guard, Input};
use abide_core::identity::Identity;
use abide_core::recording::Kind;
use abide_sys::signal::{self, Caught, Signals};
use abide_sys::{clock, poll, spawn};

use crate::store::{SessionDir, Writer};
use crate::truth::Truth;
use recorder::{Recorder, Took};

/// How a process learns that it is to be a guard.
pub(crate) const ARGUMENT: &CStr = c"__guard";
/// The guard's word to its launcher: the session is on record.
pub(crate) const PUBLISHED: &str = "published";
/// The patience of a stop that says nothing of patience.
const GRACE_MS: u64 = 10_000;
/// How many reads one turn of the loop makes before it looks at anything else.
const READS_A_TURN: u32 = 16;

/// Runs a guard in this process until its session is over.
///
/// # Errors
/// If it was not started by a launcher.
pub(crate) fn main() -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::new(Code::Internal, format!("this guard cannot work: {e}"));
    if let Some(mut keeper) = birth::bring_up().map_err(failed)? {
        keeper.keep();
    }
    Ok(())
}

/// Everything the guard holds.
struct Keeper {
    truth: Truth,
    mind: Guard,
    dir: SessionDir,
    evidence: Writer,
    recorder: Recorder,
    signals: Signals,
    /// What the program writes to: a terminal, or a pipe for output and one for errors.
    outputs: Vec<(Kind, File)>,
    /// The terminal's other side, so that a program that closes its own does not end it.
    _slave: Option<OwnedFd>,
    program: Program,
    /// What waiters wait on.
    waiters: File,
}

struct Program {
    identity: Identity,
    pidfd: OwnedFd,
    started_boot: u64,
}

impl Keeper {
    fn keep(&mut self) {
        while !self.mind.is_done() {
            let timeout = self.mind.wake_at().map(|at| at.saturating_sub(clock::now().boot));
            let mut fds = vec![self.signals.as_fd()];
            fds.extend(self.outputs.iter().map(|(_, fd)| fd.as_fd()));
            let ready = poll::readable(&fds, timeout);
            if ready.iter().skip(1).any(|&ready| ready) {
                self.read(READS_A_TURN);
            }
            while let Some(caught) = self.signals.next() {
                self.caught(caught);
            }
            self.tell(Input::Woke);
        }
    }

    /// Lets the mind decide and obeys, until nothing is left to do.
    fn tell(&mut self, input: Input) {
        let mut effects = self.mind.handle(clock::now().boot, input);
        while !effects.is_empty() {
            let answers: Vec<Input> = effects.drain(..).filter_map(|effect| self.perform(effect)).collect();
            let now = clock::now().boot;
            effects = answers.into_iter().flat_map(|answer| self.mind.handle(now, answer)).collect();
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::SignalProgram(number) => {
                self.note_signal(number, vec![self.program.identity.pid]);
                // A program that is gone needs no signal; its end is reported by the kernel.
                let _ = signal::send(&self.program.pidfd, number);
                None
            }
            Effect::SignalTree(number) => {
                let left = tree::left(&self.truth);
                if !left.is_empty() {
                    self.note_signal(number, left.iter().map(|survivor| survivor.process.pid).collect());
                    tree::signal_all(&self.truth, &left, number);
                }
                None
            }
            Effect::CountTree => tree::left(&self.truth).is_empty().then_some(Input::TreeEmpty),
            Effect::Drain => {
                self.read(u32::MAX);
                self.note(Body::Drained(Drained { bytes: self.recorder.position() }));
                Some(Input::Drained)
            }
            Effect::RecordEnd { how, resources, cause } => {
                let outcome = Outcome { how, observed_by: Some(Observer::Guard), cause };
                Some(Input::EndRecorded { done: self.record_end(outcome, resources) })
            }
            Effect::WakeAt(_) => None,
            Effect::Finish => {
                // A byte that nobody takes away wakes every waiter, those that come late included.
                let _ = self.waiters.write(b"!");
                None
            }
        }
    }

    fn caught(&mut self, caught: Caught) {
        match caught.number {
            signal::CHLD => self.reap(),
            signal::HUP => {
                self.note(Body::Noted(Noted { text: format!("hangup from pid {}; going on", caught.pid) }));
            }
            _ => {
                let grace_ms = caught.value.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(GRACE_MS);
                let by = format!("pid {} of uid {}", caught.pid, caught.uid);
                self.note(Body::StopAsked(StopAsked { by, grace_ms }));
                self.tell(Input::StopAsked { grace_ms });
            }
        }
    }

    fn reap(&mut self) {
        let mut others = false;
        while let Some(reaped) = spawn::reap() {
            if reaped.pid == self.program.identity.pid {
                let wall_ms = clock::now().boot.saturating_sub(self.program.started_boot);
                let resources = Resources { wall_ms, ..reaped.resources };
                self.tell(Input::ProgramEnded { how: reaped.how, resources });
            } else {
                others = true;
            }
        }
        if others && tree::left(&self.truth).is_empty() {
            self.tell(Input::TreeEmpty);
        }
    }

    /// Reads what the program wrote, for so many reads at most, and puts it on record.
    fn read(&mut self, at_most: u32) {
        let recorder = &mut self.recorder;
        self.outputs.retain(|(kind, from)| {
            let mut took = Took::Some;
            for _ in 0..at_most {
                took = recorder.take(*kind, from);
                if took != Took::Some {
                    break;
                }
            }
            took != Took::Closed
        });
        if let Some(cut) = self.recorder.newly_cut() {
            self.note(Body::Cut(cut));
        }
    }

    /// The slot first: it has room when nothing else has. True once the outcome is on record somewhere.
    fn record_end(&mut self, outcome: Outcome, resources: Resources) -> bool {
        let survivors = tree::left(&self.truth);
        let ended = Ended { outcome, resources: Some(resources), survivors };
        let fact = self.evidence.draft(clock::now(), Body::Ended(Box::new(ended)));
        let in_slot = self.dir.fill_slot(&fact).is_ok();
        let in_log = self.evidence.add(fact.at, fact.body).is_ok();
        in_slot || in_log
    }

    fn note_signal(&mut self, number: i32, pids: Vec<u32>) {
        self.note(Body::Signalled(Signalled { signal: number, pids, by: "guard".to_owned() }));
    }

    /// A fact that may be missed: if it cannot be written, the session goes on all the same.
    fn note(&mut self, body: Body) {
        let _ = self.evidence.add(clock::now(), body);
    }
}
