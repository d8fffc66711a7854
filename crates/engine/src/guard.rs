//! The guard: parent of the program, owner of its terminal, single writer of its recording, witness of its end.
//! A plain poll loop around `core::guard`; `birth` brings it up, `heed` does what the host asks for, `recorder`
//! writes.

mod again;
mod birth;
pub(crate) mod end;
pub(crate) mod handover;
mod heed;
mod keyboard;
mod link;
mod mark;
mod piece;
mod program;
mod recorder;
mod served;

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::{
    Body, Cause, Drained, How, Noted, Observer, Outcome, Resources, Signalled, StopAsked,
};
use abide_core::failure::{Code, Failure};
use abide_core::guard::{Effect, Guard, Input};
use abide_core::place::cause_of;
use abide_core::recording::Kind;
use abide_sys::cgroup::Cgroup;
use abide_sys::poll::{self, Interest, Ready};
use abide_sys::signal::{self, Caught, Signals};
use abide_sys::{clock, reap};

use crate::act::collect;
use crate::notify;
use crate::place::{self, tree};
use crate::store::{Progress, SessionDir, Writer};
use crate::truth::Truth;
use handover::held;
use link::Link;
use program::Program;
use recorder::{Recorder, Took};

/// How a process learns that it is to be a guard.
pub(crate) const ARGUMENT: &CStr = c"__guard";
/// How a guard learns that it follows another one.
const AGAIN: &CStr = c"again";
/// The guard's word to its launcher: the session is on record.
pub(crate) const PUBLISHED: &str = "published";
/// What a guard listens to.
const SIGNALS: [i32; 5] = [signal::CHLD, signal::TERM, signal::HUP, signal::INT, signal::USR1];
/// The patience of a stop that says nothing of patience.
const GRACE_MS: u64 = 10_000;
/// More than a terminal or a pipe holds: what survivors go on writing keeps no end from its record.
const READS_TO_DRAIN: u32 = 64;
/// How many reads one turn of the loop makes before it looks at anything else.
const READS_A_TURN: u32 = 16;

/// Runs a guard in this process until its session is over.
///
/// # Errors
/// If it was not started by a launcher.
pub(crate) fn main() -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::new(Code::Internal, format!("this guard cannot work: {e}"));
    let again = std::env::args_os().nth(3).is_some_and(|word| word.as_encoded_bytes() == AGAIN.to_bytes());
    let keeper = if again { again::bring_up().map(Some) } else { birth::bring_up() };
    if let Some(mut keeper) = keeper.map_err(failed)? {
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
    slave: Option<OwnedFd>,
    link: Link,
    program: Program,
    /// Who it is that learns how the program ended.
    observer: Option<Observer>,
    /// What waiters wait on, until there is nothing left to do.
    waiters: Option<File>,
    /// That we took over, as long as there was no room to say so.
    unsaid: Option<Body>,
    /// How far the evidence was read, by which others tell us of agents and results.
    told: Progress,
    /// It was told to become another version, and has yet to.
    ordered: bool,
}

/// Who has something to say.
struct Heard {
    signals: bool,
    output: bool,
    program: bool,
    cgroup: bool,
    leaving: bool,
    host: bool,
}

impl Keeper {
    fn keep(&mut self) {
        while !self.mind.is_done() {
            self.identify_again();
            self.host_it();
            let heard = self.wait();
            if heard.output {
                self.read(READS_A_TURN);
            }
            let took = heard.host && self.heed_host();
            if heard.program {
                self.see_the_end();
            }
            if heard.cgroup {
                self.watch_cgroup();
            }
            if heard.leaving {
                self.see_them_leave();
            }
            // What was typed is typed first, for its program waits. A host that is told of that looks at what is on record too.
            let told = self.write();
            if took && !told {
                self.link.nudge();
            }
            while let Some(caught) = heard.signals.then(|| self.signals.next()).flatten() {
                self.caught(caught);
            }
            if self.ordered {
                self.become_next();
            }
            self.tell(Input::Woke);
        }
    }

    /// Waits for whatever comes first.
    fn wait(&self) -> Heard {
        let pending = self.link.has_pending() && self.slave.is_some();
        let mut interests = vec![Interest::reading(self.signals.as_fd())];
        interests.extend(self.outputs.iter().map(|(_, fd)| Interest {
            fd: fd.as_fd(),
            read: true,
            write: pending,
        }));
        let watches = !self.program.ours && !self.mind.is_ending();
        interests.extend(watches.then(|| Interest::reading(self.program.pidfd.as_fd())));
        let changes = &self.program.changes;
        interests.extend(changes.as_ref().map(|changes| Interest::news(changes.as_fd())));
        interests.extend(self.program.leaving.iter().map(|one| Interest::reading(one.as_fd())));
        interests.extend(self.link.interest());
        // Nobody starts a host at the end: who came back for that would come back at once, for ever.
        let link_at = self.link.wake_at(!self.mind.is_ending());
        let times = [self.mind.wake_at(), link_at, self.program.identify_at];
        let wake_at = times.into_iter().flatten().min();
        let timeout = wake_at.map(|at| at.saturating_sub(clock::now().boot));
        let ready = poll::wait(&interests, timeout);
        let (outputs, rest) = ready[1..].split_at(self.outputs.len());
        let (program, rest) = rest.split_at(usize::from(watches));
        let (cgroup, rest) = rest.split_at(usize::from(changes.is_some()));
        let (leaving, host) = rest.split_at(self.program.leaving.len());
        let any = |ready: &[Ready]| ready.iter().any(|ready| ready.read);
        Heard {
            signals: ready[0].read,
            output: any(outputs),
            program: any(program),
            cgroup: any(cgroup),
            leaving: any(leaving),
            host: host.iter().any(|ready| ready.read || ready.write),
        }
    }

    /// Sees to it that there is a host as long as there is a program.
    fn host_it(&mut self) {
        if self.mind.is_ending() {
            return;
        }
        // Told here and not by `held`, so that the link can be changed meanwhile.
        let Self { link, dir, waiters, program, recorder, outputs, .. } = self;
        if let Some(failure) = link.ensure(dir, &held(waiters.as_ref(), program, recorder, outputs)) {
            self.note(failure);
        }
    }

    /// Has the next host go on: as our own version, with what we hold now.
    fn replace_host(&mut self) {
        let Self { link, dir, waiters, program, recorder, outputs, .. } = self;
        link.replace_host(dir, &held(waiters.as_ref(), program, recorder, outputs));
    }

    /// Asked to become another version: the same process goes on as it. If that fails, it goes on as it is; should
    /// the other version fail, the host that stands by starts a guard of its own version.
    fn become_next(&mut self) {
        self.ordered = self.link.changes_host();
        if self.ordered {
            return;
        }
        // An end that has begun is ours to record: nobody becomes another then.
        let Some(path) = self.dir.take_next_image().filter(|_| self.mind.is_running()) else {
            return;
        };
        let (handover, mut named) = self.link.hand_over(&self.recorder, &self.program, self.evidence.seq());
        named.extend(held(self.waiters.as_ref(), &self.program, &self.recorder, &self.outputs));
        named.extend([
            (handover::EVIDENCE, self.evidence.file().as_fd()),
            (handover::DIR, self.dir.dir().as_fd()),
        ]);
        named.extend(self.dir.kept_evidence().map(|facts| (handover::FACTS, facts)));
        named.extend(self.slave.as_ref().map(|slave| (handover::SLAVE, slave.as_fd())));
        let error = handover::become_next(&handover, &path, &named);
        self.note(Body::Noted(format!("the guard could not become {path}: {error}").into()));
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
            Effect::RecordTimeUp { grace_ms } => {
                let by = "its time limit".to_owned();
                self.note(Body::StopAsked(StopAsked { by, grace_ms, time_is_up: true }));
                None
            }
            Effect::SignalProgram(number) => {
                self.signal_program(number);
                None
            }
            Effect::SignalTree(number) => {
                self.signal_tree(number);
                None
            }
            Effect::CountTree => self.nobody_left().then_some(Input::TreeEmpty),
            Effect::Drain => {
                self.read(READS_TO_DRAIN);
                self.recorder.finish();
                // No nudge: the host is told of the end itself, and whoever waits for that comes first.
                self.say_unsaid();
                let drained = Body::Drained(Drained { bytes: self.recorder.position() });
                let _ = self.evidence.add(clock::now(), drained);
                Some(Input::Drained)
            }
            Effect::RecordEnd { how, resources, cause } => {
                let lost = (how == How::Lost).then_some(Cause::HelpersDied);
                let oom = || cause_of(how, || self.program.cgroup.as_ref().and_then(Cgroup::oom_kills));
                let outcome = Outcome { how, observed_by: self.observer, cause: cause.or(lost).or_else(oom) };
                let done = self.record_end(outcome, resources);
                if let (true, Some(waiters)) = (done, &mut self.waiters) {
                    // A byte that nobody takes away wakes every waiter, those that come late included.
                    let _ = waiters.write(b"!");
                    // They come first, and one of them may wait for our processor.
                    std::thread::yield_now();
                }
                Some(Input::EndRecorded { done })
            }
            Effect::WakeAt(_) => None,
            Effect::Finish => {
                self.link.tell_ended();
                self.leave_cgroup();
                // Hung up by us, and by the host when it goes: whoever asked for a stop knows that all is done.
                self.waiters = None;
                notify::call(&self.dir);
                // Nobody waits for this, and no host may be there to do it.
                let _ = self.dir.flush();
                None
            }
            Effect::Remove => {
                if let Err(failure) = collect::remove_kept(&self.truth, &self.dir) {
                    self.note(Body::Noted(failure.message.into()));
                }
                None
            }
        }
    }

    fn signal_tree(&mut self, number: i32) {
        let left = self.left();
        let cgroup = self.program.cgroup.as_ref();
        self.program.changes = cgroup.and_then(|cgroup| cgroup.changes().ok());
        if !left.is_empty() || (number == signal::KILL && tree::holds_some(&self.truth, cgroup)) {
            self.note_signal(number, left.iter().map(|survivor| survivor.process.pid).collect());
            tree::signal_all(&self.truth, &left, self.program.cgroup.as_ref(), number);
        }
        if !self.program.ours {
            let held = left.iter().filter_map(|one| self.truth.hold(&one.process).ok());
            self.program.leaving = held.collect();
        }
    }

    fn caught(&mut self, caught: Caught) {
        match caught.number {
            signal::CHLD => self.reap(),
            signal::USR1 => self.ordered = true,
            signal::HUP => {
                let text = format!("hangup from pid {}; going on", caught.pid);
                self.note(Body::Noted(Noted { text, heard: Some(caught.number), gone: None }));
            }
            _ => {
                let grace_ms = caught.value.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(GRACE_MS);
                let by = format!("pid {} of uid {}", caught.pid, caught.uid);
                self.note(Body::StopAsked(StopAsked { by, grace_ms, time_is_up: false }));
                self.tell(Input::StopAsked { grace_ms });
            }
        }
    }

    fn reap(&mut self) {
        let mut others = false;
        while let Some(reaped) = reap::reap() {
            if reaped.pid == self.program.identity.pid {
                if self.moves_on(reaped.how) {
                    continue;
                }
                let wall_ms = clock::now().boot.saturating_sub(self.program.started_boot);
                let resources = Some(Resources { wall_ms, ..reaped.resources });
                self.tell(Input::ProgramEnded { how: reaped.how, resources });
            } else {
                self.link.reaped(reaped.pid, reaped.how);
                others = true;
            }
        }
        if others && self.mind.is_sweeping() && self.nobody_left() {
            self.tell(Input::TreeEmpty);
        }
    }

    /// Reads what the program wrote, for so many reads at most, and puts it on record.
    fn read(&mut self, at_most: u32) {
        let recorder = &mut self.recorder;
        let before = recorder.position();
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
        // Before anyone looks: whoever finds that something is missing finds why.
        self.note_cut();
        if self.recorder.position() > before {
            self.link.nudge();
        }
    }

    fn note_cut(&mut self) {
        if let Some(cut) = self.recorder.newly_cut() {
            self.note(Body::Cut(cut));
        }
    }

    /// Removes the cgroup, unless somebody lives on in it.
    fn leave_cgroup(&self) {
        if let Some(cgroup) = self.program.cgroup.as_ref().filter(|cgroup| cgroup.members().is_empty()) {
            place::remove(cgroup);
        }
    }

    fn note_signal(&mut self, number: i32, pids: Vec<u32>) {
        self.note(Body::Signalled(Signalled { signal: number, pids, by: "guard".to_owned() }));
    }

    /// Says that we took over, once there is room to.
    fn say_unsaid(&mut self) {
        self.unsaid.take_if(|unsaid| self.evidence.add(clock::now(), unsaid.clone()).is_ok());
    }

    /// A fact that may be missed: if it cannot be written, the session goes on all the same. The host flushes it.
    fn note(&mut self, body: Body) {
        self.say_unsaid();
        let _ = self.evidence.add(clock::now(), body);
        self.link.nudge();
    }
}
