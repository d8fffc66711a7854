//! The host: follows the recording, keeps the screen, serves clients. It can go at any moment; the next one
//! rebuilds what it knew from the recording and the guard keeps everything that cannot be rebuilt.

mod clients;
mod connection;
mod exec;
mod flushing;
mod follow;
mod image;
mod line;
mod outbox;
mod passing;
mod prompt;
mod scribing;
mod succession;
mod typing;
mod view;
mod wish;

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::{Body, Hosted, Noted, Role};
use abide_core::failure::{Code, Failure};
use abide_core::identity::Lock;
use abide_core::wire::{ToGuard, ToHost};
use abide_sys::disk::PrivateDir;
use abide_sys::lock::{self, Holder};
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::{clock, heap, sock, spawn};

use crate::guard::handover::{self, Given, Handover};
use crate::recording::keyframes;
use crate::spill::Spill;
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;
use clients::Clients;
use flushing::{FLUSH_MS, Flushing};
use follow::{Follow, News, Progress};
use line::Line;
use passing::Passing;
use scribing::Scribing;
use succession::succeed;
use view::Publisher;
pub use view::View;

/// How a process learns that it is to be a host.
pub(crate) const ARGUMENT: &CStr = c"__host";

/// Runs a host in this process until it is told to go or its session is over.
///
/// # Errors
/// If it was not started by a guard.
pub(crate) fn main() -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::new(Code::Internal, format!("this host cannot work: {e}"));
    Host::bring_up().map_err(failed)?.serve();
    Ok(())
}

struct Host {
    evidence: Writer,
    signals: Signals,
    line: Line,
    listener: OwnedFd,
    bell: OwnedFd,
    dir: SessionDir,
    /// What waiters wait on, the program's outputs and the program itself: held in case the guard dies.
    held: Given,
    spill: Spill,
    generation: u32,
    follow: Follow,
    clients: Clients,
    flushing: Flushing,
    /// What it publishes for others, who follows the agent, and what is told where the guard does not.
    beside: (Publisher, Scribing, Passing),
    /// Nobody is let in before this time.
    deaf_until: Option<u64>,
    course: Course,
}

/// What a host is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    Serving,
    /// It was told to go; another takes its place.
    Going,
    /// Its session is over.
    Over,
    /// Another host serves; this one must not touch anything any more.
    Superseded,
}

/// What a guard or a host holds at most for itself and for the moment in which it starts the other. Clients get the rest.
pub(crate) const DESCRIPTORS: u64 = 48;
/// How long to wait before letting anyone in again, where there was no descriptor for it.
const DEAF_MS: u64 = 500;
/// How long what was shown is taken in before a question is answered: whoever asks waits for a second.
const CATCH_UP_MS: u64 = 400;
/// How often to look whether a guard is there again.
const LOOK_MS: u64 = 50;

/// What is told of a recording that goes on where nobody else finds it.
const UNNAMED: &str =
    "the file of the recording is gone or replaced: the screen goes on, the recording cannot be read";

impl Host {
    fn bring_up() -> io::Result<Self> {
        let mut held = Given::inherited(3)?;
        let (line, listener) = (held.must(handover::LINE)?, held.must(handover::LISTENER)?);
        let (bell, dir) = (held.must(handover::BELL)?, held.must(handover::DIR)?);
        let spill = Spill::of(held.must(handover::SPILL)?)?;
        let generation = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut dir = SessionDir::from_trusted(PrivateDir::from_trusted(dir));
        dir.keep_evidence(held.take(handover::FACTS));
        let signals = Signals::of(&[signal::TERM, signal::HUP, signal::INT])?;
        let truth = Truth::new();
        let now = truth.now();
        let mut evidence = dir.write(Role::Host, now.boot)?;
        if let Some(before) = held.take(handover::HOST) {
            succeed(&before, &line, (&dir, evidence.file()))?;
        }
        if !lock::take(evidence.file(), Holder::Host)? {
            return Err(io::Error::other("another host is alive"));
        }
        let host = truth.identify(std::process::id()).map_err(|doubt| io::Error::other(doubt.says()))?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let recording = held.copy(handover::RECORDING).map(File::from);
        let follow = match Follow::new(&dir, recording) {
            Ok(follow) => follow,
            Err(error) => {
                let text = format!("host {generation} cannot follow the recording: {error}");
                let _ = evidence.add(now.at, Body::Noted(text.into()));
                return Err(error);
            }
        };
        // The session is served whether or not there is room to say so.
        let _ = evidence.add(now.at, Body::Hosted(Hosted { host, generation, version }));
        if !follow.is_named(&dir) {
            let _ = evidence.add(now.at, Body::Noted(UNNAMED.into()));
        }
        Ok(Self {
            evidence,
            signals,
            line: Line::new(line),
            listener,
            bell,
            held,
            generation,
            clients: Clients::new(generation, spill.holder()),
            spill,
            follow,
            beside: (Publisher::new(generation), Scribing::new(truth, &dir), Passing::Lives),
            dir,
            flushing: Flushing::default(),
            deaf_until: None,
            course: Course::Serving,
        })
    }

    fn serve(&mut self) {
        self.follow_on();
        self.beside.1.hint(&mut self.evidence);
        loop {
            self.serve_on();
            if self.course == Course::Superseded {
                return;
            }
            self.finish_keyframes();
            self.beside.0.finish(self.follow.screen(), &self.dir);
            self.follow.keep(&self.dir, keyframes::AT_THE_END, &mut self.evidence);
            self.flush();
            // A guard that died while the disk took its time has nobody but us.
            if self.course == Course::Over || !self.line.is_broken() {
                return;
            }
            self.course = Course::Serving;
        }
    }

    fn serve_on(&mut self) {
        while self.course == Course::Serving {
            let mut interests = vec![
                Interest::reading(self.signals.as_fd()),
                self.line.interest().unwrap_or(Interest::news(self.bell.as_fd())),
                Interest::reading(self.bell.as_fd()),
                // Who cannot be let in for want of descriptors would be heard without end.
                Interest { fd: self.listener.as_fd(), read: self.deaf_until.is_none(), write: false },
                self.beside.2.awaits(&self.held).map_or(Interest::news(self.bell.as_fd()), Interest::reading),
            ];
            interests.extend(self.clients.interests());
            let now = clock::now().boot;
            let times = [
                self.flushing.at,
                self.beside.0.wake_at(),
                self.line.wake_at(),
                self.clients.wake_at(),
                self.deaf_until,
                self.beside.1.wake_at(),
                self.follow.wake_at(),
                self.beside.2.wake_at(),
            ];
            let wake_at = times.into_iter().flatten().min();
            let timeout = if self.follow.lags() { Some(0) } else { wake_at.map(|at| at.saturating_sub(now)) };
            if timeout.is_none_or(|ms| ms > FLUSH_MS) && std::mem::take(&mut self.flushing.loose) {
                heap::give_back();
            }
            let ready = poll::wait(&interests, timeout);
            self.deaf_until.take_if(|at| *at <= clock::now().boot);
            let (ours, theirs) = ready.split_at(5);
            let theirs = theirs.to_vec();
            if ours[0].read {
                self.heed_signals();
            }
            if ours[1].read {
                self.heed_guard();
            }
            if self.line.wants_guard(clock::now().boot) {
                self.raise_guard();
            }
            self.line.send_on();
            // Where only clients have said something, what one of them wants is not kept waiting: who wants to see what is on
            // record by now has us catch up.
            let others = ours.iter().any(|ready| ready.read || ready.write) || self.follow.lags();
            let overdue = self.follow.wake_at().is_some_and(|at| at <= clock::now().boot);
            if others || overdue || !theirs.iter().any(|ready| ready.read || ready.write) {
                sock::hush(&self.bell);
                self.follow_on();
            }
            // A fact may have been written of which the recording knows nothing.
            if ours[2].read && self.flushing.at.is_none() {
                self.flushing.at = Some(clock::now().boot.saturating_add(FLUSH_MS));
            }
            for wish in self.clients.heed(&theirs, &self.line, clock::now().boot) {
                self.grant(wish);
            }
            if ours[3].read {
                self.beside.1.visited(clock::now().boot);
                let full = self.clients.let_in(&self.listener).is_err();
                self.deaf_until = full.then(|| clock::now().boot.saturating_add(DEAF_MS));
            }
            if ours[4].read && self.beside.2.awaits(&self.held).is_some() {
                self.beside.2.see();
            }
            self.beside.2.tell_if_due(&self.dir, &mut self.evidence);
            self.flush_if_due();
            self.beside.1.ensure(clock::now().boot, &self.dir, &mut self.evidence);
            self.beside.0.publish(clock::now().boot, self.follow.screen(), &self.dir);
        }
    }

    /// A flood may have ended long before it was taken in. Nobody waits for this any more; but without it, whoever looks
    /// at the end of the recording replays all of the flood.
    fn finish_keyframes(&mut self) {
        let over = self.course == Course::Over;
        while over && self.follow.lags() && self.follow.is_kept() && self.signals.next().is_none() {
            self.follow_on();
        }
    }

    fn heed_signals(&mut self) {
        while let Some(caught) = self.signals.next() {
            let going = caught.number != signal::HUP;
            let what = if going { "an order to go" } else { "a hangup" };
            let text = format!("host heard {what} from pid {}; the session goes on", caught.pid);
            let heard = Some(caught.number);
            let _ = self.evidence.add(clock::now(), Body::Noted(Noted { text, heard, gone: None }));
            self.course = if going { Course::Going } else { self.course };
        }
    }

    fn heed_guard(&mut self) {
        while let Some(word) = self.line.hear() {
            match word {
                ToHost::Applied { client, seq } => {
                    self.typed(client, seq);
                    self.clients.applied(client, seq, clock::now().boot);
                }
                ToHost::Answered { position } => self.follow.answered(position),
                ToHost::Withdrawn { client, written } => {
                    self.taken_back(Some(client));
                    self.clients.withdrawn(client, written);
                }
                ToHost::Unmarked => self.clients.unmarked(),
                ToHost::Ended => {
                    self.follow_on();
                    self.end();
                    return;
                }
            }
        }
        // A guard that died after it said so becomes nobody: it needs us.
        if !self.line.has_guard() {
            self.course = Course::Serving;
        }
    }

    /// The session is over.
    fn end(&mut self) {
        self.clients.say_ended();
        self.course = Course::Over;
        self.beside.1.see_off(&self.dir, &self.evidence);
    }

    /// The guard is dead, and with it nobody reads the terminal: the next one goes on where it stopped.
    fn raise_guard(&mut self) {
        self.follow_on();
        while self.follow.lags() {
            self.follow_on();
        }
        // Where no guard comes up, its program needs none once it is dead. As long as it lives, its terminal is held here.
        let hopeless = self.line.is_hopeless() && self.program_is_dead() && !self.line.tries_the_last();
        if self.dir.read().evidence().is_closed() || hopeless {
            self.end();
            return;
        }
        if lock::ask(self.evidence.file(), Holder::Guard) == Lock::Held {
            self.make_way();
            return;
        }
        let handover = Handover {
            position: self.follow.position(),
            recorded: self.follow.recorded(),
            torn: self.follow.torn(),
            entries: Some(self.follow.entries()),
            answered: self.line.answered(),
            generation: self.generation,
            taken: self.follow.taken().to_vec(),
            pending: Vec::new(),
            owed: Vec::new(),
            program: None,
            parent: false,
            facts: None,
            hosts: Vec::new(),
        };
        let mut given = vec![
            (handover::LISTENER, self.listener.as_fd()),
            (handover::BELL, self.bell.as_fd()),
            (handover::DIR, self.dir.dir().as_fd()),
            (handover::SPILL, self.spill.as_fd()),
        ];
        given.extend(self.dir.kept_evidence().map(|facts| (handover::FACTS, facts)));
        let host = spawn::ourselves().ok();
        given.extend(host.as_ref().map(|host| (handover::HOST, host.as_fd())));
        given.extend(self.held.rest());
        // One that cannot be started is tried again later.
        self.line.renew(handover::start_again(&handover, &given).ok());
        // That one is gone may have been said to the guard that died.
        if let Some(stale) = self.spill.holder().filter(|holder| !self.clients.is_held_by(*holder)) {
            self.line.withdraw(stale);
        }
        self.taken_back(None);
    }

    /// A guard is alive that has no line to us. One that dies just now holds its lock for an instant longer; any other
    /// starts hosts of its own, and those can serve only when we do not.
    fn make_way(&mut self) {
        if self.line.is_overtaken() {
            let alone = self.stand_aside();
            self.course = if alone { Course::Serving } else { Course::Superseded };
        }
    }

    /// Leaves the session to that guard and its host. True if both are gone again before there was such a host: then
    /// nobody is left but us.
    fn stand_aside(&mut self) -> bool {
        let evidence = self.evidence.file();
        self.clients = Clients::new(self.generation, None);
        lock::give_back(evidence, Holder::Host);
        loop {
            let _ = poll::readable(&[self.signals.as_fd()], Some(LOOK_MS));
            while self.signals.next().is_some() {}
            if lock::ask(evidence, Holder::Host) == Lock::Held {
                return false;
            }
            if lock::ask(evidence, Holder::Guard) != Lock::Held {
                return lock::take(evidence, Holder::Host).unwrap_or(false);
            }
        }
    }

    fn program_is_dead(&self) -> bool {
        Passing::Lives.awaits(&self.held).is_some_and(|pidfd| poll::readable(&[pidfd], Some(0))[0])
    }

    /// Takes in what was recorded since, shows it, and answers what the program asked.
    fn follow_on(&mut self) {
        let (clients, dir) = (&mut self.clients, &self.dir);
        let mut answers = Vec::new();
        let mut tell = |news| match news {
            News::Shown(passed) => clients.show(&passed),
            News::Resized(size) => clients.resized(size),
            News::Marked(name, position) => clients.marked(&name, position),
            News::Executed { nonce, progress } => {
                clients.executed(&nonce, progress != Progress::Runs);
                if progress == Progress::Over {
                    dir.remove_exec(&nonce);
                }
            }
        };
        let read = self.follow.on(&self.spill, &mut tell, &mut |position, bytes| {
            answers.push(ToGuard::Answer { position, bytes });
        });
        for answer in &answers {
            self.line.tell(answer);
        }
        self.follow.keep(&self.dir, keyframes::EVERY, &mut self.evidence);
        if read && self.flushing.at.is_none() {
            self.flushing.at = Some(clock::now().boot.saturating_add(FLUSH_MS));
        }
    }

    /// Everything that was on record when the question came is taken in before it is answered; of a flood that goes on, as much
    /// as whoever asks has time for. How much of the recording is left then.
    fn catch_up(&mut self) -> u64 {
        let (asked, until) = (self.follow.length(), clock::now().boot.saturating_add(CATCH_UP_MS));
        self.follow_on();
        let has_time = |follow: &Follow| clock::now().boot < until || follow.length() == asked;
        while self.follow.lags() && self.follow.offset() < asked && has_time(&self.follow) {
            self.follow_on();
        }
        if self.follow.lags() { asked.saturating_sub(self.follow.offset()) } else { 0 }
    }

    fn flush_if_due(&mut self) {
        if !self.flushing.is_due(clock::now().boot) {
            return;
        }
        // In a flood there is much to flush, and others who ask meanwhile.
        let files = [self.follow.recording(), self.evidence.file()];
        if !(self.follow.lags() && self.flushing.begin(files)) {
            self.flush();
        }
        self.beside.1.hint(&mut self.evidence);
    }

    /// Waits until what was shown is on the disk. One that fails is met again by the guard's next write.
    fn flush(&mut self) {
        let _ = self.follow.recording().sync_data();
        if self.flushing.settled {
            // The evidence is small; what it waits for is the same disk.
            let _ = self.evidence.sync();
        } else {
            self.flushing.settled = self.dir.flush().is_ok();
        }
    }
}
