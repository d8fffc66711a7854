//! The scribe: follows the agent in a session, writes down what it does and wants, and saves its transcript and files that
//! were named. It stands beside the host, only where there is something to follow, and can go at any moment: all that it
//! knows is in the agent's files and in the evidence, and the host starts the next one. Nobody waits for it.

mod keep;
mod tell;

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_agents::{Adapter, Place, Sign, Source, weigh};
use abide_core::evidence::{Reason, Role};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::verdict::checkpoint::Schedule;
use abide_core::verdict::{Turn, program_of};
use abide_sys::disk::PrivateDir;
use abide_sys::lock::{self, Holder};
use abide_sys::signal::{self, Signals};
use abide_sys::spawn::{self, Image};
use abide_sys::watch::Watch;
use abide_sys::{clock, poll};

use super::following::{self, Following};
use super::{Agent, adapter_of, began_at, has_lived, in_session, is_kin, name_of, wall};
use crate::recording::snapshot::{self, Source as From};
use crate::store::{Home, SessionDir, Writer};
use crate::truth::{Relative, Session, Truth};
use crate::wait::Ending;

use keep::Keeping;
pub(crate) use tell::{HEARD, is_ours};

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
/// What was shown says nothing any more this long after it was last seen, in ms of wall time.
const SHOWN_MS: i64 = 2_000;
/// An agent is looked for no more often than this.
const SEARCH_MS: u64 = 500;
/// The same where no agent was ever seen.
const RARE_SEARCH_MS: u64 = 2_000;
/// A wrapper starts its agent within this long; what an agent starts of its own kind is gone after `BRIEF_MS`.
const WRAPPING_MS: u64 = 20_000;
const BRIEF_MS: u64 = 400;
/// One that is told to go waits so long for a stop, which it would stay for.
const LEAVE_MS: u64 = 1_000;

/// Starts a scribe for a session; where there is one already, it goes by itself.
pub(crate) fn start(dir: &SessionDir, id: &SessionId) -> io::Result<()> {
    spawn::detached(&image(id)?, &[dir.dir().as_fd()])
}

/// The same, and holds it: it is ours to reap.
pub(crate) fn start_held(dir: &SessionDir, id: &SessionId) -> io::Result<OwnedFd> {
    spawn::helper(&image(id)?, &[dir.dir().as_fd()]).map(|(_, held)| held)
}

fn image(id: &SessionId) -> io::Result<Image> {
    Ok(Image {
        paths: vec![c"/proc/self/exe".to_owned()],
        argv: vec![c"abide".to_owned(), ARGUMENT.to_owned(), CString::new(id.as_str())?],
        env: Vec::new(),
        cwd: c"/".to_owned(),
    })
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
        let keeping = Keeping::new(Schedule::new(&ending.session.evidence));
        Scribe {
            truth: &truth,
            home: &home,
            dir: &dir,
            pen,
            signals,
            ending,
            following: None,
            grip: None,
            told: None,
            ours: None,
            keeping,
            place: None,
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
    /// The agent that is followed, held: it tells how it ended, and when.
    grip: Option<OwnedFd>,
    /// The last turn that the transcript told to be over: the conversation, how many prompts, and its name.
    told: Option<(String, u64, Option<String>)>,
    /// The turn that we gave this name will be the prompt of this number in the transcript.
    ours: Option<(String, u64)>,
    keeping: Keeping,
    /// Where the agent works that is yet to be seen: as whatever starts it does.
    place: Option<Place>,
    at: Times,
}

/// When things were done last, in ms of boot time.
#[derive(Default)]
struct Times {
    screen: u64,
    search: u64,
    /// Since when the agent has been followed.
    followed: u64,
    /// What the screen said then.
    shown: Option<Sign>,
    /// Something was heard: what it means may be told a little later.
    hint: u64,
    /// It was told to go, and goes then unless a stop is under way.
    leave: Option<u64>,
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

    /// Waits until something may have changed. True if this scribe was told to go and nobody ends the session.
    fn pause(&mut self, watch: Option<&Watch>) -> bool {
        let now = clock::now().boot;
        let alert = now < self.at.hint.saturating_add(ALERT_MS);
        let turn = self.session().verdict.turn;
        let expects = match &self.following {
            None => self.expects_agent(),
            Some(_) => turn == Turn::Unknown && self.may_wrap(now),
        };
        let patience = match turn == Turn::Working || expects {
            _ if alert => 2 * APART_MS,
            true => WORKING_MS,
            false => SETTLED_MS,
        };
        let at = self.at.leave.into_iter().chain(self.keep_at()).min();
        let patience = at.map_or(patience, |at| patience.min(at.saturating_sub(now))).max(APART_MS);
        let mut fds: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd()];
        fds.extend(self.ending.fds());
        fds.extend(self.grip.as_ref().map(AsFd::as_fd));
        let calm = poll::readable(&fds, Some(APART_MS));
        if !calm.contains(&true) {
            fds.extend(watch.map(AsFd::as_fd));
            let _ = poll::readable(&fds, Some(patience - APART_MS));
        }
        if watch.and_then(Watch::hints).is_none_or(|hints| !hints.is_empty()) {
            self.at.hint = clock::now().boot;
        }
        while let Some(caught) = self.signals.next() {
            if caught.number == signal::HUP {
                self.save_now(Reason::Hangup);
            } else {
                self.save_now(Reason::Terminate);
                self.at.leave.get_or_insert(clock::now().boot.saturating_add(LEAVE_MS));
            }
        }
        let stops = self.session().evidence.closing.stop_asked.is_some();
        self.at.leave.is_some_and(|at| at <= clock::now().boot) && !stops
    }

    fn round(&mut self) {
        self.ending.look_again(self.truth, self.home);
        if self.following.is_none() && self.place.is_none() {
            self.place = self.place_of_program();
        }
        match self.look() {
            // What was heard meanwhile, by a hook for one, is taken into account first.
            Some(_) if self.has_heard_more() => {}
            Some(agent) => self.tell(&agent),
            // Its agent may have died together with the scribe before.
            None if self.following.is_none() => self.seal(),
            None => {}
        }
        self.keep();
    }

    /// Whether more is on record than the last look knew of. Its growth ends the next pause.
    fn has_heard_more(&mut self) -> bool {
        let known = self.session().evidence.record.facts;
        self.ending.look_again(self.truth, self.home);
        self.session().evidence.record.facts != known
    }

    /// The agent as it is now; none if there is none.
    fn look(&mut self) -> Option<Agent> {
        let now = clock::now().boot;
        self.follow_the_right_one(now);
        let known = self.following.as_mut().and_then(|following| following.agent(self.truth));
        if known.is_none() {
            if let Some(gone) = self.following.take() {
                self.tell_gone(gone);
            }
            let apart = if self.expects_agent() { SEARCH_MS } else { RARE_SEARCH_MS };
            if now < self.at.search.saturating_add(apart) {
                return None;
            }
            self.at.search = now;
            let (adapter, process) = in_session(self.truth, self.session())?;
            self.follow_this(adapter, process);
            self.at.followed = now;
        }
        let known = known.or_else(|| self.following.as_mut()?.agent(self.truth));
        let mut agent = known?;
        // What was said before it began tells nothing of one that is yet to show its input.
        let began = began_at(&agent.process).unwrap_or(i64::MIN);
        agent.signs.retain(|sign| sign.source != Source::Transcript || !following::is_before(sign.at, began));
        agent.signs.extend(following::session_signs(self.session(), self.dir, agent.adapter));
        let told = |sign: &Sign| sign.source == Source::Registry && sign.level.attention.is_some();
        if !agent.signs.iter().any(told) {
            agent.signs.extend(self.screen_sign(&agent, now));
        }
        agent.standing = weigh(&agent.signs, wall());
        Some(agent)
    }

    /// The one that is followed may be a wrapper that had not started its agent when it was found, or a fork of the agent that
    /// has become something else since: then the agent is followed instead.
    fn follow_the_right_one(&mut self, now: u64) {
        let Some(followed) = self.following.as_ref().map(|following| following.process.pid) else { return };
        if !self.may_wrap(now) || now < self.at.search.saturating_add(SEARCH_MS) {
            return;
        }
        self.at.search = now;
        let Some((adapter, process)) = in_session(self.truth, self.session()) else { return };
        let is_inner = process.parent == followed && has_lived(self.truth, &process, BRIEF_MS);
        let is_none = || self.truth.process(followed).is_some_and(|one| !is_kin(self.truth, &one));
        if process.pid != followed && (is_inner || is_none()) {
            self.follow_this(adapter, process);
        }
    }

    fn follow_this(&mut self, adapter: &'static dyn Adapter, process: Relative) {
        if let Ok(identity) = self.truth.identify(process.pid) {
            self.tell_program(identity, adapter.name());
            self.grip = self.truth.hold(&identity).ok();
            self.following = Some(Following::new(adapter, identity, process.command));
        }
    }

    /// Where the program works, and the variables that say where the files are of the agent that it is or starts.
    fn place_of_program(&self) -> Option<Place> {
        let mut names = vec!["HOME"];
        names.extend(adapter_of(self.session())?.variables());
        let about = self.truth.about(program_of(&self.session().evidence)?, &names)?;
        Some(Place { cwd: about.cwd?, variables: about.variables })
    }

    const fn may_wrap(&self, now: u64) -> bool {
        now < self.at.followed.saturating_add(WRAPPING_MS)
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
            let level = abide_agents::shown(agent.adapter, &super::lines(&shown.screen))?;
            let says = "what it shows".to_owned();
            let at = wall();
            Some(Sign { source: Source::Screen, level, at, since: None, until: Some(at + SHOWN_MS), says })
        });
        self.at.shown.clone()
    }

    const fn session(&self) -> &Session {
        &self.ending.session
    }

    /// Whether an agent was seen in the session, or its command is one.
    fn expects_agent(&self) -> bool {
        name_of(self.session()).is_some()
    }

    fn is_removed(&self) -> bool {
        self.session().evidence.closing.removing.is_some()
    }

    fn recording(&self) -> Option<io::Result<OwnedFd>> {
        Some(self.dir.growing_recording().map(Into::into))
    }
}
