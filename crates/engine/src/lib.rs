//! The shell around the core, behind one door: `Sessions`. Fronts know nothing else of it.

mod client;
mod collect;
pub mod declared;
pub mod doctor;
mod drill;
mod facts;
mod find;
mod guard;
mod host;
pub mod launch;
mod leftover;
mod names;
pub mod recording;
mod seal;
mod stop;
pub mod store;
mod truth;
mod upgrade;
mod wait;

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use abide_core::evidence::{Declared, Size, Survivor};
use abide_core::failure::Failure;
use abide_core::id::SessionId;
use abide_core::verdict::Now;
use abide_core::verdict::{Ground, because};

pub use abide_sys::signal as signals;
pub use client::attach::Left;
pub use collect::{Collected, Limits};
pub use drill::Target;
pub use facts::{Wanted, Witnessed};
pub use launch::Request;
pub use leftover::Owner;
pub use recording::logs::Shown;
pub use recording::snapshot::{Snapshot, Source};
pub use seal::Sealing;
pub use truth::{Features, Session, Truth};
pub use upgrade::Upgraded;
pub use wait::{Until, Waiting};

use store::Home;

/// If this process was started to serve a session, does so, and says whether it could. Before anything else:
/// a guard needs nothing of what a command needs.
#[must_use]
pub fn help_a_session(first_argument: Option<OsString>) -> Option<bool> {
    let role = first_argument?;
    match role.as_encoded_bytes() {
        role if role == guard::ARGUMENT.to_bytes() => Some(guard::main().is_ok()),
        role if role == host::ARGUMENT.to_bytes() => Some(host::main().is_ok()),
        _ => None,
    }
}

/// All sessions of one home.
#[derive(Debug)]
pub struct Sessions {
    path: PathBuf,
    home: Option<Home>,
    truth: Truth,
}

impl Sessions {
    /// Opens a home. One that does not exist yet has no sessions.
    ///
    /// # Errors
    /// If what stands there is not to be trusted.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { path: path.to_owned(), home: Home::open(path)?, truth: Truth::new() })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
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
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        let mut sessions = ask_all(&self.truth, home, &home.ids()?);
        sessions.sort_by_cached_key(|s| (std::cmp::Reverse(s.launched_at()), s.id.clone()));
        Ok(sessions)
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

    /// Launches a program in a session of its own. Returns once the session can be waited on.
    ///
    /// # Errors
    /// If nothing could be launched; then nothing is left running.
    pub fn run(&mut self, request: Request) -> Result<Session, Failure> {
        let home = match self.home.take() {
            Some(home) => home,
            None => Home::ensure(&self.path)?,
        };
        launch::launch(&self.truth, self.home.insert(home), request)
    }

    /// Waits for the end of sessions, for so many ms at most, and says how each stands then.
    #[must_use]
    pub fn wait(&self, ids: &[SessionId], until: Until, cap_ms: Option<u64>) -> Vec<Session> {
        self.watch(ids).wait(until, cap_ms)
    }

    /// Begins to wait for sessions: from now on the end of none of them is missed.
    #[must_use]
    pub fn watch(&self, ids: &[SessionId]) -> Waiting<'_> {
        Waiting::new(&self.truth, self.home.as_ref(), ids)
    }

    /// Ends a session: asks, then insists after the grace. Returns once the end of its program is proved.
    ///
    /// # Errors
    /// If its status does not allow it, or its program cannot be proved and held.
    pub fn stop(&self, session: &Session, grace_ms: u64) -> Result<Session, Failure> {
        let home = self.home_of(session)?;
        stop::stop(&self.truth, home, session, grace_ms)
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
    pub fn collect(&self, limits: Limits, dry: bool) -> Result<Vec<Collected>, Failure> {
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        let mut collected = collect::collect(&self.truth, home, self.list()?, limits, dry);
        collected.extend(leftover::clear(&self.truth, home, dry)?);
        Ok(collected)
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
    pub fn upgrade(&self, sessions: &[Session]) -> Result<Vec<Upgraded>, Failure> {
        let path = std::env::current_exe().map_err(|e| Failure::io("find", &"this executable", &e))?;
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        let upgrade = |session: &Session| Upgraded {
            id: session.id.to_string(),
            failure: upgrade::upgrade(&self.truth, home, session, &path).err(),
        };
        Ok(sessions.iter().map(upgrade).collect())
    }

    /// Records a program's own word on its work.
    ///
    /// # Errors
    /// If the evidence cannot be written.
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

    /// Gives every fact of sessions, in order.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn facts(&self, wanted: &Wanted, given: &mut impl FnMut(Witnessed) -> bool) -> Result<(), Failure> {
        self.home.as_ref().map_or(Ok(()), |home| facts::recorded(home, wanted, given))
    }

    /// The same, and then every fact that comes, as long as anybody reads what they are written to.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn follow_facts(
        &self,
        wanted: Wanted,
        reader: BorrowedFd<'_>,
        given: &mut impl FnMut(Witnessed) -> bool,
    ) -> Result<(), Failure> {
        if let Some(home) = &self.home {
            return facts::follow(home, wanted, reader, given);
        }
        // The first session makes the home.
        while facts::await_home(reader) {
            if let Some(home) = Home::open(&self.path)? {
                return facts::follow(&home, wanted, reader, given);
            }
        }
        Ok(())
    }

    /// The screen of a session: from its host, or replayed where there is none or it does not answer.
    ///
    /// # Errors
    /// If there is no recording to read.
    pub fn snapshot(&self, session: &Session) -> Result<Snapshot, Failure> {
        let home = self.home_of(session)?;
        recording::snapshot::snapshot(home, session)
    }

    /// Lets this terminal show a session and type into it, until one of the two is left.
    ///
    /// # Errors
    /// If the session has no host, or there is no terminal.
    pub fn attach(&self, session: &Session, read_only: bool) -> Result<Left, Failure> {
        let home = self.home_of(session)?;
        client::attach::attach(home, session, read_only)
    }

    /// Sends a signal to a session's program.
    ///
    /// # Errors
    /// As `stop`.
    pub fn signal(&self, session: &Session, number: i32) -> Result<(), Failure> {
        let home = self.home_of(session)?;
        stop::send(&self.truth, home, session, number)
    }

    /// The processes of a session that outlived its program and are alive now.
    #[must_use]
    pub fn survivors(&self, session: &Session) -> Vec<Survivor> {
        stop::survivors(&self.truth, session)
    }

    /// Records the end of a session whose witnesses died. Says whether this caller closed it.
    ///
    /// # Errors
    /// If there is no such session, or its evidence cannot be written.
    pub fn seal(&self, id: &SessionId) -> Result<Sealing, Failure> {
        match &self.home {
            Some(home) => seal::seal(&self.truth, home, id),
            None => Err(find::nothing(id.as_str())),
        }
    }

    /// The file that holds what a session showed; none if there is none.
    #[must_use]
    pub fn recording(&self, id: &SessionId) -> Option<Recording> {
        let home = self.home.as_ref()?;
        let bytes = home.session(id).ok()?.recording_bytes()?;
        Some(Recording { path: home.recording_path(id), bytes })
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

/// Where a session's recording is, and how long it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub path: PathBuf,
    pub bytes: u64,
}

/// Asks about many sessions, on as many cores as there are once it pays.
fn ask_all(truth: &Truth, home: &Home, ids: &[SessionId]) -> Vec<Session> {
    const WORTH_A_THREAD: usize = 64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = ids.len().div_ceil(cores).max(WORTH_A_THREAD);
    // A session that is removed meanwhile is no session any more.
    let ask = |ids: &[SessionId]| ids.iter().filter_map(|id| truth.of_listed(home, id)).collect::<Vec<_>>();
    let Some((first, rest)) = ids.split_at_checked(share) else {
        return ask(ids);
    };
    std::thread::scope(|scope| {
        // Where no thread can be had, this one asks alone; so it does again for one that broke down.
        let start = |ids| (ids, std::thread::Builder::new().spawn_scoped(scope, move || ask(ids)).ok());
        let others: Vec<_> = rest.chunks(share).map(start).collect();
        let mut sessions = ask(first);
        for (ids, other) in others {
            let asked = other.and_then(|thread| thread.join().ok());
            sessions.extend(asked.unwrap_or_else(|| ask(ids)));
        }
        sessions
    })
}

impl Session {
    /// The proof of the verdict.
    #[must_use]
    pub fn because(&self) -> Vec<Ground> {
        because(self.verdict.rule, &self.evidence, &self.seen, self.asked)
    }

    /// The terminal's size at the launch; of a program on pipes, what a terminal usually has.
    #[must_use]
    pub fn size(&self) -> Size {
        let launched = self.evidence.beginning.launched.as_ref();
        launched.and_then(|told| told.body.size).unwrap_or(Size { cols: 80, rows: 24 })
    }

    /// It has ended, or nothing that can still happen would tell how.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.verdict.status.is_terminal() || self.verdict.rule.is_beyond_telling()
    }

    /// Its program is alive, or a living guard or host still works for it.
    #[must_use]
    pub fn is_provably_alive(&self) -> bool {
        let helped = self.seen.guard.is_alive() || self.seen.host.is_alive();
        self.verdict.status.is_active() && (self.seen.program.is_alive() || helped)
    }

    /// The name that a person gave it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let beginning = &self.evidence.beginning;
        let launched = beginning.launched.as_ref().and_then(|told| told.body.name.as_deref());
        launched.or_else(|| beginning.adopted.as_ref().and_then(|told| told.body.name.as_deref()))
    }

    /// The wall time of its end; where nobody saw that, of the last sign of life.
    #[must_use]
    pub fn ended_at(&self) -> i64 {
        let closing = &self.evidence.closing;
        let ended = closing.ended.as_ref().map(|told| told.at.wall);
        let failed = || closing.exec_failed.as_ref().map(|told| told.at.wall);
        let last = || self.evidence.record.last.as_ref().map(|told| told.at.wall);
        ended.or_else(failed).or_else(last).unwrap_or_else(|| self.launched_at())
    }

    /// The wall time at which it came to be; zero if that cannot be read.
    #[must_use]
    pub fn launched_at(&self) -> i64 {
        let beginning = &self.evidence.beginning;
        let launched = beginning.launched.as_ref().map(|told| told.at.wall);
        launched.or_else(|| beginning.adopted.as_ref().map(|told| told.at.wall)).unwrap_or(0)
    }
}
