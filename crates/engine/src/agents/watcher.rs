//! The watcher: follows a program that neither guard nor host serves, mostly one that was started elsewhere, by a pidfd that
//! was opened while it was proved to be the one meant. It records the program's end, keeps a scribe for an agent, and knows
//! nothing of terminals and clients. It can go at any moment: the program does not notice, and another may follow it.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::frame::{body_from_line, body_to_line};
use abide_core::evidence::{Adopted, Body, Cause, Ended, How, Outcome, Role, Watched};
use abide_core::id::SessionId;
use abide_core::identity::Identity;
use abide_sys::disk::{self, PrivateDir};
use abide_sys::lock::{self, Holder};
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::spawn::{self, Image};
use abide_sys::{clock, reap};
use serde::{Deserialize, Serialize};

use super::{is_kin, scribe};
use crate::guard::end;
use crate::notify;
use crate::store::{Home, Progress, SessionDir, Writer};
use crate::truth::Truth;

/// How a process learns that it is to be a watcher.
pub(crate) const ARGUMENT: &CStr = c"__watcher";
/// What a watcher says once it follows its program, for everyone to see.
const UP: &str = "up";

/// For so long the one whose program it was may take to learn of its end, where nobody else may look closely before.
const REAPED_MS: u64 = 1_000;
/// An end that could not be recorded is tried again after this long.
const AGAIN_MS: u64 = 1_000;
/// Scribes follow one another no faster than this.
const APART_MS: u64 = 2_000;

/// Whom to follow, and as what.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) program: Identity,
    /// The beginning of a session that is yet to be made known.
    pub(crate) adopted: Option<Adopted>,
}

/// Starts a watcher for a session, and returns once it follows the program that is held. `turn` stays locked until then,
/// whatever becomes of us.
///
/// # Errors
/// Why it does not follow it.
pub(crate) fn start(
    home: &Home,
    dir: &SessionDir,
    order: &Order,
    (program, turn): (&OwnedFd, &File),
) -> io::Result<()> {
    let parcel = spawn::parcel(&body_to_line(order)?)?;
    let (answer, report) = spawn::pipe()?;
    let image = Image {
        paths: vec![c"/proc/self/exe".to_owned()],
        argv: vec![c"abide".to_owned(), ARGUMENT.to_owned(), CString::new(order.id.as_str())?],
        env: Vec::new(),
        cwd: c"/".to_owned(),
    };
    let sessions = home.sessions_dir().as_fd();
    let fds = [parcel.as_fd(), report.as_fd(), sessions, dir.dir().as_fd(), program.as_fd(), turn.as_fd()];
    spawn::detached(&image, &fds)?;
    drop(report);
    let mut said = String::new();
    File::from(answer).read_to_string(&mut said)?;
    match said.as_str() {
        UP => Ok(()),
        "" => Err(io::Error::other("its watcher died before it could say why")),
        why => Err(io::Error::other(why.to_owned())),
    }
}

/// Runs a watcher in this process until the program is over.
///
/// # Errors
/// If it was not started by `start`.
pub(crate) fn main() -> io::Result<()> {
    let fds = spawn::inherited(6)?;
    let Ok([parcel, report, sessions, dir, program, turn]) = <[OwnedFd; 6]>::try_from(fds) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut report = File::from(report);
    let home = Home::from_trusted(PrivateDir::from_trusted(sessions));
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(dir));
    match bring_up(File::from(parcel), &home, dir, program) {
        Ok(mut watcher) => {
            // One that died meanwhile need not be told: the session is known, and its program followed.
            let _ = report.write_all(UP.as_bytes());
            drop((report, turn));
            watcher.follow();
            Ok(())
        }
        Err(error) => report.write_all(error.to_string().as_bytes()),
    }
}

struct Watcher {
    truth: Truth,
    id: SessionId,
    dir: SessionDir,
    pen: Writer,
    signals: Signals,
    identity: Identity,
    program: OwnedFd,
    /// What waiters wait on.
    bell: File,
    scribe: Option<OwnedFd>,
    /// When the next scribe may be started; none where there is no agent.
    scribe_at: Option<u64>,
}

/// Lock, record, then a name that everyone sees: who is seen to be followed is.
fn bring_up(mut parcel: File, home: &Home, dir: SessionDir, program: OwnedFd) -> io::Result<Watcher> {
    let mut bytes = Vec::new();
    parcel.read_to_end(&mut bytes)?;
    let Order { id, program: identity, adopted } = body_from_line(&bytes)?;
    let id = SessionId::parse(&id).ok_or(io::ErrorKind::InvalidInput)?;
    let signals = Signals::of(&[signal::TERM, signal::INT, signal::HUP])?;
    let truth = Truth::new();
    let mut pen = dir.write(Role::Watcher, truth.now().boot)?;
    if !lock::take(pen.file(), Holder::Watcher)? {
        return Err(io::Error::other("another watcher follows it"));
    }
    let is_new = adopted.is_some();
    if let Some(adopted) = adopted {
        pen.add(clock::now(), Body::Adopted(Box::new(adopted)))?;
    }
    let watcher = truth.identify(std::process::id()).map_err(|doubt| io::Error::other(doubt.says()))?;
    let watched =
        Watched { watcher, lock: disk::file_id(pen.file())?, version: env!("CARGO_PKG_VERSION").to_owned() };
    pen.add(clock::now(), Body::Watched(watched))?;
    let bell = dir.hold()?;
    if is_new {
        home.publish(&id)?;
    }
    // The one that was held until it had a name stands for a guard.
    drop(dir);
    let dir = home.session(&id).map_err(|untrusted| io::Error::other(untrusted.says()))?;
    let is_agent = truth.process(identity.pid).is_some_and(|process| is_kin(&truth, &process));
    let scribe_at = is_agent.then_some(0);
    Ok(Watcher { truth, id, dir, pen, signals, identity, program, bell, scribe: None, scribe_at })
}

impl Watcher {
    fn follow(&mut self) {
        loop {
            self.ensure_scribe();
            let mut fds: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd(), self.program.as_fd()];
            fds.extend(self.scribe.as_ref().map(AsFd::as_fd));
            let due = self.scribe_at.filter(|_| self.scribe.is_none());
            let ready = poll::readable(&fds, due.map(|at| at.saturating_sub(clock::now().boot)));
            let (ended, scribe_gone) = (ready[1], ready.get(2) == Some(&true));
            if self.is_told_to_go() {
                return;
            }
            if scribe_gone {
                self.scribe = None;
                self.scribe_at = Some(clock::now().boot.saturating_add(APART_MS));
            }
            if ended {
                break;
            }
        }
        self.record_end();
    }

    fn ensure_scribe(&mut self) {
        while reap::reap().is_some() {}
        let now = clock::now().boot;
        if self.scribe.is_none() && self.scribe_at.is_some_and(|at| at <= now) {
            self.scribe_at = Some(now.saturating_add(APART_MS));
            // Without one nothing is written down; the next time tries again.
            self.scribe = scribe::start_held(&self.dir, &self.id).ok();
        }
    }

    /// Told to end, it lets go of a program that is not its own. A hang-up is nothing to it.
    fn is_told_to_go(&mut self) -> bool {
        while let Some(caught) = self.signals.next() {
            if caught.number != signal::HUP {
                let text = "its watcher was told to go, and nobody follows the program any more".to_owned();
                self.note(text);
                return true;
            }
        }
        false
    }

    fn record_end(&mut self) {
        let seen = self.how_it_ended();
        let how = seen.map_or(How::Lost, |(how, _)| how);
        let closing = self.dir.read().evidence();
        let not_ours = how == How::Lost && closing.closing.stop_asked.is_none();
        let cause = (not_ours && closing.beginning.adopted.is_some()).then_some(Cause::NotOurs);
        let outcome = Outcome { how, observed_by: seen.map(|(_, observer)| observer), cause };
        let ended = Ended::of(outcome);
        let mut told = Progress::default();
        while !end::record(&self.dir, &mut self.pen, &mut told, ended.clone()) {
            let _ = poll::readable(&[self.signals.as_fd()], Some(AGAIN_MS));
            if self.is_told_to_go() {
                return;
            }
        }
        // A byte that nobody takes away wakes every waiter, those that come late included.
        let _ = self.bell.write(b"!");
        notify::call(&self.dir);
        // Nobody waits for this.
        let _ = self.dir.flush();
    }

    /// Who may not look at its corpse learns it from the pidfd, once whoever it belonged to has taken it away.
    fn how_it_ended(&self) -> Option<(How, abide_core::evidence::Observer)> {
        let ask = || self.truth.end_of(&self.program, &self.identity);
        ask().or_else(|| {
            let _ = poll::wait(&[Interest::news(self.program.as_fd())], Some(REAPED_MS));
            ask()
        })
    }

    fn note(&mut self, text: String) {
        // What finds no room is not worth more.
        let _ = self.pen.add(clock::now(), Body::Noted(text.into()));
    }
}
