//! The scribe: follows the agent in a session and writes down what it does and wants. It stands beside the host, for
//! agents only, and can go at any moment: all that it knows is in the agent's files and in the evidence, and the host
//! starts the next one. Nobody waits for it.

mod tell;

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abide_agents::{Level, Sign, Source, weigh};
use abide_core::evidence::Role;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::verdict::Turn;
use abide_sys::disk::PrivateDir;
use abide_sys::lock::{self, Holder};
use abide_sys::signal::{self, Signals};
use abide_sys::spawn::{self, Image};
use abide_sys::watch::Watch;
use abide_sys::{clock, poll};

use super::following::{self, Following};
use super::{Agent, in_session, wall};
use crate::recording::snapshot::{self, Source as From};
use crate::store::{Home, SessionDir, Writer};
use crate::truth::{Session, Truth};
use crate::wait::Ending;

/// How a process learns that it is to be a scribe.
pub(crate) const ARGUMENT: &CStr = c"__scribe";

/// Nothing is looked at more often than this, however much is shown.
const APART_MS: u64 = 100;
/// Everything is looked at again after this long, whatever was heard: while the agent works, and while it does not.
const WORKING_MS: u64 = 500;
const SETTLED_MS: u64 = 5_000;
/// For so long after something was heard everything is looked at as often as allowed.
const ALERT_MS: u64 = 1_000;
/// The screen is looked at no more often than this.
const SCREEN_MS: u64 = 400;
/// An agent is looked for no more often than this.
const SEARCH_MS: u64 = 500;

/// Starts a scribe for a session; where there is one already, it goes by itself.
pub(crate) fn start(dir: &SessionDir, id: &SessionId) -> io::Result<()> {
    let image = Image {
        paths: vec![c"/proc/self/exe".to_owned()],
        argv: vec![c"abide".to_owned(), ARGUMENT.to_owned(), CString::new(id.as_str())?],
        env: Vec::new(),
        cwd: c"/".to_owned(),
    };
    spawn::detached(&image, &[dir.dir().as_fd()])
}

/// Runs a scribe in this process until its session is over.
///
/// # Errors
/// If it was not started by a host.
pub(crate) fn main() -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::new(Code::Internal, format!("this scribe cannot work: {e}"));
    let dir = spawn::inherited(1).map_err(failed)?.pop();
    let dir = dir.ok_or_else(|| failed(io::Error::other("no session was handed over")))?;
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(dir));
    let id = std::env::args().nth(2).and_then(|id| SessionId::parse(&id));
    let id = id.ok_or_else(|| failed(io::Error::other("no session was named")))?;
    let home = Home::around(&dir, &id).map_err(failed)?;
    let truth = Truth::new();
    let pen = dir.write(Role::Adapter, truth.now().boot).map_err(failed)?;
    if lock::take(pen.file(), Holder::Scribe).map_err(failed)? {
        let signals = Signals::of(&[signal::TERM, signal::HUP, signal::INT]).map_err(failed)?;
        let ending = Ending::new(&truth, &home, &id);
        Scribe {
            truth: &truth,
            home: &home,
            dir: &dir,
            pen,
            signals,
            ending,
            following: None,
            told: None,
            ours: None,
            at: Times::default(),
        }
        .follow();
    }
    Ok(())
}

struct Scribe<'a> {
    truth: &'a Truth,
    home: &'a Home,
    dir: &'a SessionDir,
    pen: Writer,
    signals: Signals,
    /// The session, and what becomes readable at its end.
    ending: Ending,
    following: Option<Following>,
    /// The last turn that the transcript told of: the conversation, how many prompts, and its name.
    told: Option<(String, u64, Option<String>)>,
    /// The turn that has a name of ours will be the prompt of this number in the transcript.
    ours: Option<u64>,
    at: Times,
}

/// When things were done last, in ms of boot time.
#[derive(Default)]
struct Times {
    screen: u64,
    search: u64,
    /// What the screen said then.
    shown: Option<Sign>,
    /// Something was heard: what it means may be told a little later.
    hint: u64,
}

impl Scribe<'_> {
    fn follow(&mut self) {
        // Without hints everything is looked at as often as without news.
        let watch = Watch::new().ok();
        let files = [Some(self.pen.file().as_fd().try_clone_to_owned()), self.recording()];
        for file in files.into_iter().flatten().flatten() {
            let _ = watch.as_ref().map(|watch| watch.growth_of(file));
        }
        let _ = watch.as_ref().map(|watch| watch.names_in(self.dir.dir()));
        loop {
            self.round();
            if self.session().is_over() || self.is_removed() {
                break;
            }
            if self.pause(watch.as_ref()) {
                return;
            }
        }
        self.conclude();
    }

    /// Waits until something may have changed. True if this scribe was told to go.
    fn pause(&mut self, watch: Option<&Watch>) -> bool {
        let working = self.session().verdict.turn == Turn::Working;
        let alert = clock::now().boot < self.at.hint.saturating_add(ALERT_MS);
        let patience = match working || self.following.is_none() {
            _ if alert => 2 * APART_MS,
            true => WORKING_MS,
            false => SETTLED_MS,
        };
        let mut fds: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd()];
        fds.extend(self.ending.fds());
        let calm = poll::readable(&fds, Some(APART_MS));
        if !calm.contains(&true) {
            fds.extend(watch.map(AsFd::as_fd));
            let _ = poll::readable(&fds, Some(patience - APART_MS));
        }
        if watch.and_then(Watch::hints).is_none_or(|hints| !hints.is_empty()) {
            self.at.hint = clock::now().boot;
        }
        while let Some(caught) = self.signals.next() {
            if caught.number != signal::HUP {
                return true;
            }
        }
        false
    }

    fn round(&mut self) {
        self.ending.look_again(self.truth, self.home);
        if let Some(agent) = self.look() {
            self.tell(&agent);
        }
    }

    /// The agent as it is now; none if there is none.
    fn look(&mut self) -> Option<Agent> {
        let now = clock::now().boot;
        let known = self.following.as_mut().and_then(|following| following.agent(self.truth));
        if known.is_none() {
            if let Some(gone) = self.following.take() {
                self.tell_gone(gone);
            }
            if now < self.at.search.saturating_add(SEARCH_MS) {
                return None;
            }
            self.at.search = now;
            let (adapter, process) = in_session(self.truth, self.session())?;
            let identity = self.truth.identify(process.pid).ok()?;
            self.tell_program(identity, process.parent, adapter.name());
            self.following = Some(Following::new(adapter, identity, process.command));
        }
        let known = known.or_else(|| self.following.as_mut()?.agent(self.truth));
        let mut agent = known?;
        agent.signs.extend(following::session_signs(self.session(), self.dir, agent.adapter));
        let told = |sign: &Sign| sign.source == Source::Registry && sign.level.attention.is_some();
        if !agent.signs.iter().any(told) {
            agent.signs.extend(self.screen_sign(&agent, now));
        }
        agent.standing = weigh(&agent.signs, wall());
        Some(agent)
    }

    /// What the screen says, where a host shows it.
    fn screen_sign(&mut self, agent: &Agent, now: u64) -> Option<Sign> {
        if now < self.at.screen.saturating_add(SCREEN_MS) {
            return self.at.shown.clone();
        }
        self.at.screen = now;
        let shown = self.session().has_terminal().then(|| {
            snapshot::snapshot(self.truth, self.home, self.session(), None)
                .ok()
                .filter(|shown| shown.source == From::Live)
        });
        self.at.shown = shown.flatten().and_then(|shown| {
            let text = shown.screen.view().text();
            let lines: Vec<String> = text.trim_end().lines().map(str::to_owned).collect();
            let known = agent.adapter.screen(&lines);
            // A question that its adapter does not know is one all the same.
            let asks = abide_agents::asks(&lines).then_some(Level::ANSWER);
            let level = known.filter(Level::asks).or(asks).or(known)?;
            let says = "what it shows".to_owned();
            Some(Sign { source: Source::Screen, level, at: wall(), until: None, says })
        });
        self.at.shown.clone()
    }

    const fn session(&self) -> &Session {
        &self.ending.session
    }

    fn is_removed(&self) -> bool {
        self.session().evidence.closing.removing.is_some()
    }

    fn recording(&self) -> Option<io::Result<std::os::fd::OwnedFd>> {
        Some(self.dir.growing_recording().map(Into::into))
    }
}
