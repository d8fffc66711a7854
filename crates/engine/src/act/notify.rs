//! Notifications, delivered: a command or an address of the user's is told of what a session's evidence says. What to tell whom
//! is kept with the session from its beginning; the courier, a process that anyone starts who writes such a fact, delivers and
//! puts each try on record. Nobody waits for it.

mod command;
mod webhook;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use abide_core::evidence::frame::Found;
use abide_core::evidence::notification::{Due, Matter, Notification, Notifications, Patience, Receiver};
use abide_core::evidence::{Body, Notified, Role};
use abide_core::failure::Failure;
use abide_core::id::SessionId;
use abide_core::identity::Lock;
use abide_sys::lock::{self, Holder};
use abide_sys::spawn::{self, Image};
use abide_sys::watch::Watch;
use abide_sys::{clock, poll};
use serde::{Deserialize, Serialize};

use crate::agents::masked;
use crate::store::{SessionDir, Writer};
use crate::truth::Session;
use crate::{Sessions, find};
pub use webhook::Address;

/// Who is told of a session, and of what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The command and its arguments; empty for none.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub webhook: Option<String>,
    pub on: Vec<Matter>,
    /// What of the environment the command is given.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl Told {
    fn targets(&self) -> Vec<Target<'_>> {
        let command = (!self.command.is_empty()).then_some(Target::Command(&self.command, &self.env));
        let webhook = self.webhook.as_deref().map(Target::Webhook);
        command.into_iter().chain(webhook).collect()
    }
}

/// Whom a notification goes to.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    /// And what of the environment it is given.
    Command(&'a [String], &'a BTreeMap<String, String>),
    Webhook(&'a str),
}

impl Target<'_> {
    const fn receiver(self) -> Receiver {
        match self {
            Self::Command(..) => Receiver::Command,
            Self::Webhook(_) => Receiver::Webhook,
        }
    }

    /// As its tries are on record.
    const fn name(self) -> &'static str {
        self.receiver().name()
    }
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub key: String,
    pub matter: Matter,
    pub to: &'static str,
    /// Why it was not delivered.
    pub failure: Option<String>,
}

/// How long to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trying {
    /// Now, whatever failed before; the first failure is the end of it.
    Once,
    /// Again and again with ever longer delays, until all is delivered or nobody tries any more.
    On,
}

/// What makes a message of a notification: how often it was tried, and how its session stands now.
pub type Message<'a> = &'a (dyn Fn(&Session, &Notification, usize) -> Vec<u8> + Sync);

/// What delivers all that there is to tell of a session, once, and gives every try.
pub type Delivering<'a> = &'a dyn Fn(&Sessions, &SessionId) -> Result<Vec<Delivery>, Failure>;

/// How a process learns that it is to be a courier.
pub(crate) const ARGUMENTS: [&CStr; 2] = [c"notify", c"--keep-trying"];

/// Without hints the evidence is looked at this often.
const RESCAN_MS: u64 = 1_000;

/// Starts a courier for a session of which such a fact was added, if it is one that anyone wants to hear of.
pub(crate) fn call_about(dir: &SessionDir, added: &Body) {
    if matches!(added, Body::TurnClosed(_) | Body::Attention(_)) {
        call(dir);
    }
}

/// Starts a courier for a session of which there is something to tell, if anyone wants to hear it. Nobody waits for it.
pub(crate) fn call(dir: &SessionDir) {
    if dir.told().is_some() {
        // What is not delivered now is by the next one that is called, or by `doctor --fix`.
        let _ = start(dir);
    }
}

fn start(dir: &SessionDir) -> io::Result<()> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", dir.dir().as_fd().as_raw_fd()))?;
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let home = path.parent().and_then(Path::parent).map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    let id = path.file_name().map(Path::new).ok_or(io::ErrorKind::NotFound)?;
    let [verb, option] = ARGUMENTS;
    let words = [c"abide", verb, option, c"--home"].map(ToOwned::to_owned);
    let image = Image {
        paths: vec![c"/proc/self/exe".to_owned()],
        argv: words.into_iter().chain([text(&home)?, text(id)?]).collect(),
        env: Vec::new(),
        cwd: c"/".to_owned(),
    };
    spawn::detached(&image, &[])
}

impl Sessions {
    /// Delivers what there is to tell of a session. Gives every try.
    ///
    /// # Errors
    /// If there is no such session, or a try cannot be put on record.
    pub fn deliver(
        &self,
        id: &SessionId,
        trying: Trying,
        message: Message<'_>,
    ) -> Result<Vec<Delivery>, Failure> {
        let home = self.home().ok_or_else(|| find::nothing(id.as_str()))?;
        let Ok(dir) = home.session(id) else { return Err(find::nothing(id.as_str())) };
        let failed =
            |e: io::Error| Failure::io("deliver what is to be told of session", id, &e).about(id.as_str());
        let Some(told) = dir.told() else { return Ok(Vec::new()) };
        let pen = dir.write(Role::Courier, self.truth().now().boot).map_err(failed)?;
        let file = pen.file().try_clone().map_err(failed)?;
        let pen = &Mutex::new(pen);
        let serve = |target: Target<'_>| {
            let mut round = Round {
                sessions: self,
                id,
                dir: &dir,
                on: &told.on,
                target,
                file: &file,
                pen,
                message,
                tries: Vec::new(),
            };
            let done = match trying {
                Trying::Once => round.serve(Patience::Ignored).map(|_| ()),
                Trying::On => round.go_on(),
            };
            done.map(|()| round.tries)
        };
        // One who takes long, or is tried again, keeps nothing from the other.
        let done: Vec<io::Result<Vec<Delivery>>> = std::thread::scope(|scope| {
            let serve = &serve;
            let started: Vec<_> =
                told.targets().into_iter().map(|target| scope.spawn(move || serve(target))).collect();
            let done = started.into_iter().map(ScopedJoinHandle::join);
            done.map(|done| done.unwrap_or_else(|broken| std::panic::resume_unwind(broken))).collect()
        });
        let tries: Vec<Vec<Delivery>> = done.into_iter().collect::<io::Result<_>>().map_err(failed)?;
        Ok(tries.concat())
    }

    /// How much of what there is to tell of a session is not delivered and nobody is at it, and why the last try failed.
    #[must_use]
    pub fn undelivered(&self, id: &SessionId) -> Option<(usize, Option<String>)> {
        let dir = self.home()?.session(id).ok()?;
        let told = dir.told()?;
        let file = dir.evidence().ok();
        let is_busy = |target: &Target<'_>| {
            file.as_ref()
                .is_some_and(|file| lock::ask(file, Holder::Courier(target.receiver())) == Lock::Held)
        };
        let all = notifications(id, &dir).ok()?;
        let mut left = (0, None);
        for target in told.targets().into_iter().filter(|target| !is_busy(target)) {
            let (count, why) = all.undelivered(target.name(), &told.on);
            left = (left.0 + count, left.1.or_else(|| why.map(str::to_owned)));
        }
        (left.0 > 0).then_some(left)
    }
}

/// All that the evidence has to tell.
fn notifications(id: &SessionId, dir: &SessionDir) -> io::Result<Notifications> {
    let mut all = Notifications::new(id.as_str());
    dir.each_fact(&mut |found| {
        if let Found::Fact(fact) = found {
            all.add(*fact);
        }
    })?;
    all.add_slot(&dir.read().evidence());
    Ok(all)
}

/// The way of a courier to one receiver.
struct Round<'a> {
    sessions: &'a Sessions,
    id: &'a SessionId,
    dir: &'a SessionDir,
    on: &'a [Matter],
    target: Target<'a>,
    /// What the locks are on.
    file: &'a File,
    pen: &'a Mutex<Writer>,
    message: Message<'a>,
    tries: Vec<Delivery>,
}

impl Round<'_> {
    /// Delivers until nothing is left to be tried. One that does so is enough for a receiver.
    fn go_on(&mut self) -> io::Result<()> {
        let holder = Holder::Courier(self.target.receiver());
        // What comes while another is at it is seen by that one: it looks once more when it has let go.
        while lock::take(self.file, holder)? {
            let served = self.serve_on();
            // Where this one fails, the next may take it; the other receiver's way may hold the file open for long.
            lock::give_back(self.file, holder);
            served?;
            if !self.has_more()? {
                break;
            }
        }
        Ok(())
    }

    /// Tries until nothing is left that will be due.
    fn serve_on(&mut self) -> io::Result<()> {
        let watch = Watch::new().ok();
        let _ = watch.as_ref().map(|watch| watch.growth_of(self.file));
        while let Some(at) = self.serve(Patience::Heeded)? {
            pause(watch.as_ref(), at);
        }
        Ok(())
    }

    fn has_more(&self) -> io::Result<bool> {
        let all = notifications(self.id, self.dir)?;
        Ok(all.due(self.target.name(), self.on, self.sessions.now(), Patience::Heeded) != Due::Nothing)
    }

    /// Tries all that is due, in order. Gives when to come back, if something is due later.
    fn serve(&mut self, patience: Patience) -> io::Result<Option<u64>> {
        let holder = Holder::Delivery(self.target.receiver());
        loop {
            // A try and its record belong together: nobody else tries meanwhile.
            lock::take_in_turn(self.file, holder)?;
            let tried = self.try_next(patience);
            lock::give_back(self.file, holder);
            if let ControlFlow::Break(later) = tried? {
                return Ok(later);
            }
        }
    }

    /// Tries what is due next, and puts that on record; breaks off where nothing is.
    fn try_next(&mut self, patience: Patience) -> io::Result<ControlFlow<Option<u64>>> {
        let target = self.target;
        let all = notifications(self.id, self.dir)?;
        let (one, tries) = match all.due(target.name(), self.on, self.sessions.now(), patience) {
            Due::Nothing => return Ok(ControlFlow::Break(None)),
            Due::At(at) => return Ok(ControlFlow::Break(Some(at))),
            Due::Now(one, tries) => (one, tries),
        };
        let home = self.sessions.home().ok_or(io::ErrorKind::NotFound)?;
        // Asked now: what is told is what is true when it is told.
        let bytes = (self.message)(&self.sessions.truth().of(home, self.id), one, tries);
        let sent = match target {
            Target::Command(argv, env) => command::run(self.sessions, argv, env, &bytes),
            Target::Webhook(address) => webhook::post(address, &one.key, &bytes),
        };
        let failure = sent.err().map(|why| masked(&why));
        let (key, to) = (one.key.clone(), target.name());
        let (delivered, detail) = (failure.is_none(), failure.clone());
        let notified = Notified { key: key.clone(), to: to.to_owned(), delivered, detail };
        let mut pen = self.pen.lock().unwrap_or_else(PoisonError::into_inner);
        pen.add(clock::now(), Body::Notified(Box::new(notified)))?;
        drop(pen);
        self.tries.push(Delivery { key, matter: one.matter, to, failure });
        // Who asks for it now is told at once that it fails.
        let is_enough = !delivered && patience == Patience::Ignored;
        Ok(if is_enough { ControlFlow::Break(None) } else { ControlFlow::Continue(()) })
    }
}

/// Waits until something is due, or the evidence has grown.
fn pause(watch: Option<&Watch>, at: u64) {
    let left = at.saturating_sub(clock::now().boot);
    match watch {
        Some(watch) => {
            let _ = poll::readable(&[watch.as_fd()], Some(left));
            let _ = watch.hints();
        }
        None => {
            let _ = poll::readable(&[], Some(left.min(RESCAN_MS)));
        }
    }
}
