//! The shell around the core, behind one door: `Sessions`. Fronts know nothing else of it.

mod act;
pub mod agents;
mod client;
pub mod declared;
pub mod doctor;
mod facts;
mod find;
mod guard;
mod host;
pub mod launch;
mod names;
pub mod place;
pub mod recording;
mod search;
mod session;
mod spill;
pub mod store;
mod truth;
mod wait;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use abide_core::evidence::{Declared, Survivor};
use abide_core::failure::Failure;
use abide_core::id::SessionId;
use abide_core::identity::Qualifier;
use abide_core::instant::{At, Instant, Span, Time};
use abide_core::verdict::Now;

pub use abide_sys::signal as signals;
use abide_sys::spawn;
pub use act::collect::{Collected, Doing, Limits};
pub use act::drill::Target;
pub use act::leftover::Owner;
pub use act::notify;
pub use act::pack::PackedOne;
pub use act::seal::Sealing;
pub use act::upgrade::{Became, Upgraded};
pub use client::watch::{pause, watch};
pub use client::{
    Attaching, Driver, Executed, Left, Marking, Playing, Prompted, Prompting, Typed, Unfinished,
};
pub use facts::{Wanted, Witnessed};
pub use host::View;
pub use launch::Request;
pub use place::used::Used;
pub use recording::Recording;
pub use recording::damage::Gap;
use recording::limit::recorded_at;
pub use recording::limit::{let_go, reversed};
pub use recording::logs::Shown;
pub use recording::replay::{Replay, Step, What};
pub use recording::shed::LEAST as LEAST_SHED;
pub use recording::snapshot::{Snapshot, Source};
pub use search::{Found, Hit, Progress, Wanted as Searching};
pub use truth::{Features, Session, Truth};
pub use wait::conditions::{Conditions, Stood};
pub use wait::{Until, Waiting};

use act::{collect, drill, leftover, pack, seal, stop, upgrade};
use store::Home;

/// If this process was started to serve a session, does so, and says whether it could. Before anything else:
/// a guard needs nothing of what a command needs.
#[must_use]
pub fn help_a_session(first_argument: Option<OsString>) -> Option<bool> {
    signals::settle();
    let role = first_argument?;
    match role.as_encoded_bytes() {
        role if role == guard::ARGUMENT.to_bytes() => {
            spawn::call_ourselves(c"abide-guard");
            Some(guard::main().is_ok())
        }
        role if role == host::ARGUMENT.to_bytes() => {
            spawn::call_ourselves(c"abide-host");
            Some(host::main().is_ok())
        }
        role if role == agents::scribe::ARGUMENT.to_bytes() => {
            spawn::call_ourselves(c"abide-scribe");
            Some(agents::scribe::main().is_ok())
        }
        role if role == agents::watcher::ARGUMENT.to_bytes() => {
            spawn::call_ourselves(c"abide-watcher");
            Some(agents::watcher::main().is_ok())
        }
        _ => None,
    }
}

/// All sessions of one home.
#[derive(Debug)]
pub struct Sessions {
    path: PathBuf,
    home: Option<Home>,
    truth: Truth,
    /// The evidence of the session that was launched last: whoever launched it misses no end of it.
    launched: Option<(SessionId, File)>,
}

impl Sessions {
    /// Opens a home. One that does not exist yet has no sessions.
    ///
    /// # Errors
    /// If what stands there is not to be trusted.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { path: path.to_owned(), home: Home::open(path)?, truth: Truth::new(), launched: None })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this path leads to this home, by whatever way.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        self.path == path || real(path).is_some_and(|there| real(&self.path) == Some(there))
    }

    /// This instant, for questions about the past.
    #[must_use]
    pub fn now(&self) -> Now {
        self.truth.now()
    }

    /// Every session, the latest launched first.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn list(&self) -> Result<Vec<Session>, Failure> {
        self.of_each(&self.truth, |session| session)
    }

    /// What is wanted of every session, the latest launched first. Of many, no more than that is ever held; the kernel is
    /// not asked how their living processes stand, nor which are still there of one whose end is on record.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn each<T: Send>(&self, wanted: impl Fn(Session) -> T + Sync) -> Result<Vec<T>, Failure> {
        self.of_each(&self.truth.in_brief(), wanted)
    }

    fn of_each<T: Send>(
        &self,
        truth: &Truth,
        wanted: impl Fn(Session) -> T + Sync,
    ) -> Result<Vec<T>, Failure> {
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        let now = self.truth.now();
        let keep = |session: Session| {
            ((std::cmp::Reverse(session.recency(now)), session.id.clone()), wanted(session))
        };
        let mut kept = truth.of_each(home, &home.ids()?, &keep);
        kept.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(kept.into_iter().map(|(_, kept)| kept).collect())
    }

    /// The session that an ID, a name, a unique prefix of either or `@last` means.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn find(&self, wanted: &str) -> Result<Session, Failure> {
        find::find(self, wanted)
    }

    /// What was true of a session at an instant of wall time, in ms.
    ///
    /// # Errors
    /// As `find`, or if the session did not exist yet.
    pub fn find_at(&self, wanted: &str, wall: i64) -> Result<Session, Failure> {
        let found = self.find(wanted)?;
        let home = self.home.as_ref().ok_or_else(|| find::nothing(wanted))?;
        let past = self.truth.at(home, &found.id, wall);
        let before_it_all = past.evidence.record.facts == 0 && !found.evidence.is_damaged();
        if before_it_all { Err(find::not_yet(&found)) } else { Ok(past) }
    }

    /// The home, made if it was not there.
    pub(crate) fn ensure_home(&mut self) -> Result<&Home, Failure> {
        let home = match self.home.take() {
            Some(home) => home,
            None => Home::ensure(&self.path)?,
        };
        Ok(self.home.insert(home))
    }

    /// Ends a session: asks, then insists after the grace. Returns once the end of its program is proved.
    ///
    /// # Errors
    /// If its status does not allow it, or its program cannot be proved and held.
    pub fn stop(&self, session: &Session, grace_ms: u64) -> Result<Session, Failure> {
        let home = self.home_of(session)?;
        let session = &seal::first(&self.truth, home, session);
        stop::stop(&self.truth, home, session, grace_ms)
            .map_err(|refusal| stop::with_way_out(&self.truth, home, session, refusal))
    }

    /// Whether a session may and can be removed; with `force`, after it was stopped if it runs.
    ///
    /// # Errors
    /// If its status does not allow it, or its home cannot be written to.
    pub fn admits_removal(&self, session: &Session, force: bool) -> Result<(), Failure> {
        let home = self.home_of(session)?;
        if !(force && session.verdict.status.is_stoppable()) {
            session
                .admits_removal(force)
                .map_err(|refusal| stop::with_way_out(&self.truth, home, session, refusal))?;
        }
        collect::can_remove(home, session)
    }

    /// A session that was found to be removed, once nobody else is about to do that.
    ///
    /// # Errors
    /// If it is gone then.
    pub fn settled(&self, session: &Session) -> Result<Session, Failure> {
        collect::settled(&self.truth, self.home_of(session)?, session)
    }

    /// Removes a session with everything that is known of it. With `force`, also one that cannot be told over.
    ///
    /// # Errors
    /// If its status does not allow it, or its files cannot be removed.
    pub fn remove(&self, session: &Session, force: bool) -> Result<(), Failure> {
        let home = self.home_of(session)?;
        collect::remove(&self.truth, home, session, force)
    }

    /// Removes a session that was to be removed once it is over: only if its outcome is on record, and if nobody else
    /// has removed it.
    ///
    /// # Errors
    /// If its files cannot be removed.
    pub fn remove_ended(&self, session: &Session) -> Result<(), Failure> {
        collect::remove_ended(&self.truth, self.home_of(session)?, &session.id)
    }

    /// Removes what the limits leave no room for; with `dry`, only says what.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn collect(&self, limits: Limits, doing: &Doing<'_>) -> Result<Vec<Collected>, Failure> {
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        let mut collected = collect::collect(&self.truth, home, self.list()?, limits, doing);
        collected.extend(leftover::clear(&self.truth, home, doing.dry)?);
        Ok(collected)
    }

    /// Packs the recordings of sessions that ended longer ago than this.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn pack(&self, older_ms: u64, doing: &Doing<'_>) -> Result<Vec<PackedOne>, Failure> {
        let sessions = self.list()?;
        let pack = |home| pack::pack_older(&self.truth, home, &sessions, older_ms, doing);
        Ok(self.home.as_ref().map_or_else(Vec::new, pack))
    }

    /// What killed launches and removals left behind, by the names of the directories, and whose each is.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn leftovers(&self) -> Result<Vec<(String, Owner)>, Failure> {
        let found = self.home.as_ref().map_or(Ok(Vec::new()), |home| leftover::list(&self.truth, home))?;
        Ok(found.into_iter().map(|(leftover, owner)| (leftover.name(), owner)).collect())
    }

    /// Removes what killed launches and removals left behind and is provably nobody's.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn clear_leftovers(&self) -> Result<Vec<Collected>, Failure> {
        self.home.as_ref().map_or(Ok(Vec::new()), |home| leftover::clear(&self.truth, home, false))
    }

    /// Makes sessions go on as this executable. No program is disturbed, no wait or attached terminal ends.
    ///
    /// # Errors
    /// If this executable cannot be named.
    pub fn upgrade(&self, sessions: &[Session], tell: &dyn Fn(u64, u64)) -> Result<Vec<Upgraded>, Failure> {
        let path = std::env::current_exe().map_err(|e| Failure::io("find", &"this executable", &e))?;
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        Ok(upgrade::upgrade(&self.truth, home, sessions, &path, tell))
    }

    /// Records a program's own word on its work.
    ///
    /// # Errors
    /// If its end or its removal came first, or if the evidence cannot be written.
    pub fn declare(&self, session: &Session, word: Declared) -> Result<(), Failure> {
        let home = self.home_of(session)?;
        declared::declare(&self.truth, home, session, word)
    }

    /// Kills processes of a session without any warning: a fault on purpose. True once their deaths are proved.
    #[must_use]
    pub fn kill(&self, session: &Session, targets: &[Target]) -> bool {
        drill::kill(&self.truth, session, targets)
    }

    /// Gives what a session showed, piece by piece, as long as `shown` wants more; with `follow` until it is over.
    ///
    /// # Errors
    /// If there is no recording to read.
    pub fn logs(
        &self,
        session: &Session,
        follow: bool,
        shown: &mut impl FnMut(Shown<'_>) -> bool,
    ) -> Result<(), Failure> {
        let home = self.home_of(session)?;
        recording::logs::logs(&self.truth, home, session, follow, shown)
    }

    /// When in wall time, in ms, what a session showed at this time came, as it is told with that.
    #[must_use]
    pub fn recorded_at(&self, session: &Session, time: Time) -> i64 {
        let (home, now) = (self.home_of(session).ok(), self.now());
        home.map_or(time.wall(now.at.wall), |home| recorded_at(home, session, time, now))
    }

    /// The screen of a session: from its host, or replayed where there is none or it does not answer. With an instant,
    /// as it was then.
    ///
    /// # Errors
    /// If there is no recording to read, or it never came to that instant.
    pub fn snapshot(&self, session: &Session, at: Option<&At>) -> Result<Snapshot, Failure> {
        let home = self.home_of(session)?;
        recording::snapshot::snapshot(&self.truth, home, session, at)
    }

    /// A span of a session's recording, step by step; with `follow`, until the session is over.
    ///
    /// # Errors
    /// If there is no recording to read, or the session did not exist when the span begins.
    pub fn replay(&self, session: &Session, span: &Span, follow: bool) -> Result<Replay<'_>, Failure> {
        Replay::open(&self.truth, self.home_of(session)?, session, span, follow)
    }

    /// Gives this instant of a session's recording a name.
    ///
    /// # Errors
    /// If nobody serves the session, or its host does not do it in time.
    pub fn mark(&self, session: &Session, name: &str) -> Result<Instant, Failure> {
        client::mark::mark(&self.truth, self.home_of(session)?, session, name)
    }

    /// Finds lines that sessions showed, or that were typed into them. What their indexes lack is taken in first; how
    /// far that is, is told from any thread.
    #[must_use]
    pub fn search(
        &self,
        sessions: &[Session],
        wanted: &Searching,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Found {
        self.home.as_ref().map_or_else(Found::default, |home| {
            search::search((&self.truth, home), sessions, wanted, progress)
        })
    }

    /// Lets this terminal show a session and type into it, until one of the two is left.
    ///
    /// # Errors
    /// If the session has no host or a hung one, if there is no terminal, or if it is the session's own.
    pub fn attach(&self, session: &Session, how: Attaching) -> Result<Left, Failure> {
        let home = self.home_of(session)?;
        client::attach::attach(&self.truth, home, session, how)
    }

    /// Shows a session's recording again in this terminal, until it ends or is left. Gives the signal that ended that, if
    /// one did.
    ///
    /// # Errors
    /// If there is no recording to read, or no terminal.
    pub fn play(&self, session: &Session, how: &Playing) -> Result<Option<i32>, Failure> {
        client::play::play(&self.truth, self.home_of(session)?, session, how)
    }

    /// Sends a signal to a session's program.
    ///
    /// # Errors
    /// As `stop`.
    pub fn signal(&self, session: &Session, number: i32) -> Result<(), Failure> {
        let home = self.home_of(session)?;
        stop::send(&self.truth, home, session, number)
            .map_err(|refusal| stop::with_way_out(&self.truth, home, session, refusal))
    }

    /// The processes of a session that outlived its program and are alive now; none while that program lives.
    #[must_use]
    pub fn survivors(&self, session: &Session) -> Vec<Survivor> {
        if session.seen.program.is_alive() {
            return Vec::new();
        }
        stop::survivors(&self.truth, session)
    }

    /// The processes of a session that is over and nobody knows any more: those that outlived its program, and those that
    /// may have.
    #[must_use]
    pub fn left_behind(&self, session: &Session) -> Vec<Survivor> {
        match session.removal_doubt() {
            Some(_) => stop::may_survive(&self.truth, session),
            None if session.seen.program.is_alive() => Vec::new(),
            None => stop::left_behind(&self.truth, session),
        }
    }

    /// How its program stands, if it is alive and that is special: stopped, or traced, stopped or not. Asked apart, because
    /// it takes another look at the program.
    #[must_use]
    pub fn qualifier(&self, session: &Session) -> Option<Qualifier> {
        let program = abide_core::verdict::program_of(&session.evidence);
        self.truth.qualifier(program.filter(|_| session.seen.program.is_alive())?)
    }

    /// What a host of the session said last of it, and whether that one still lives.
    #[must_use]
    pub fn view(&self, session: &Session) -> Option<(View, bool)> {
        let hosted = session.evidence.helpers.hosted.as_ref().filter(|_| session.seen.host.is_alive());
        let view = self.home.as_ref()?.session(&session.id).ok()?.view()?;
        let lives = hosted.is_some_and(|hosted| view.generation == hosted.body.generation);
        Some((view, lives))
    }

    /// The home that holds a session that was found in it.
    fn home_of(&self, session: &Session) -> Result<&Home, Failure> {
        self.home.as_ref().ok_or_else(|| find::nothing(session.id.as_str()))
    }

    pub(crate) const fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    pub(crate) const fn truth(&self) -> &Truth {
        &self.truth
    }
}
