//! Upgrading: every session goes on as the version that asks, without its program noticing. All of them at once: each
//! guard is told what to become, then all are waited for. Whoever has not become it in time is told to stay as it is.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use abide_core::failure::{Code, Failure, admit};
use abide_core::identity::{FileId, Identity};
use abide_core::status::Column;
use abide_core::wire::ToClient;
use abide_sys::{clock, poll, signal};

use crate::client::Client;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// What became of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgraded {
    pub id: String,
    /// What it is now, or why it goes on as it was.
    pub became: Result<Became, Failure>,
}

/// How a session came to be this very executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    New,
    /// Guard and host were it before.
    Already,
    /// The session ended meanwhile.
    Over,
}

/// Everything is looked at again after this long, whatever was or was not heard.
const RESCAN_MS: u64 = 100;
/// How long guard and host may take to become another version.
const WITHIN_MS: u64 = 5_000;

/// Makes the guards and hosts of sessions become this executable.
pub(crate) fn upgrade(
    truth: &Truth,
    home: &Home,
    sessions: &[Session],
    path: &Path,
    tell: &dyn Fn(u64, u64),
) -> Vec<Upgraded> {
    let mut became: Vec<Option<Result<Became, Failure>>> = Vec::new();
    let mut pending = Vec::new();
    for session in sessions {
        let ordered = order(truth, home, session, path);
        became.push(match ordered {
            Ok(Some(order)) => {
                pending.push((became.len(), order));
                None
            }
            Ok(None) => Some(Ok(Became::Already)),
            Err(failure) => Some(Err(failure)),
        });
    }
    let deadline = clock::now().boot.saturating_add(WITHIN_MS);
    while !pending.is_empty() {
        pending.retain_mut(|(at, order)| {
            became[*at] = order.done(truth, home);
            became[*at].is_none()
        });
        tell((sessions.len() - pending.len()) as u64, sessions.len() as u64);
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 {
            break;
        }
        let hosts: Vec<_> =
            pending.iter().filter_map(|(_, order)| Some(order.host.as_ref()?.as_fd())).collect();
        let _ = poll::readable(&hosts, Some(left.min(RESCAN_MS)));
    }
    for (at, order) in pending {
        became[at] = Some(order.withdraw(truth, home));
    }
    let all = sessions.iter().zip(became);
    all.filter_map(|(session, became)| Some(Upgraded { id: session.id.to_string(), became: became? }))
        .collect()
}

/// A guard that was told what to become.
struct Order<'a> {
    session: &'a Session,
    wanted: FileId,
    guard: Identity,
    /// The host's welcome is the bell: the next one's comes after the guard became another version.
    host: Option<Client>,
    /// The next host said so itself, whether or not there was room to record it.
    welcomed: bool,
}

/// Tells the session's guard what to become. None if it is that already.
fn order<'a>(
    truth: &Truth,
    home: &Home,
    session: &'a Session,
    path: &Path,
) -> Result<Option<Order<'a>>, Failure> {
    let id = &session.id;
    admit(id.as_str(), session.verdict.status, Column::Commandable)?;
    let refused = |why: String| refuse(session, &why);
    let wanted = file_id(path).map_err(|e| {
        let failure = refused(format!("this abide ({}) cannot be read: {e}", path.display()));
        failure.hint("it was removed or replaced since it was started: run the one that is installed now")
    })?;
    let guard = session.evidence.helpers.guarded.as_ref().map(|told| told.body.guard);
    let guard = guard.ok_or_else(|| refused("it has no guard".to_owned()))?;
    let mut order = Order { session, wanted, guard, host: None, welcomed: false };
    // One that cannot be reached goes on anew, whatever it is: the next host has a new socket.
    if order.guard_became_it(truth) && order.host_is_recorded(session) && is_reachable(home, session) {
        return Ok(None);
    }
    if session.verdict.stopping {
        return Err(refused("it is being stopped".to_owned()));
    }
    let held = truth.hold(&guard).map_err(|liveness| refused(format!("its guard {}", liveness.says())))?;
    let dir = home.session(id).map_err(|untrusted| refused(untrusted.says()))?;
    let text = path.to_str().ok_or_else(|| refused("the path of this abide is not text".to_owned()))?;
    dir.set_next_image(text).map_err(|e| refused(e.to_string()))?;
    signal::send(&held, signal::USR1).map_err(|e| refused(e.to_string()))?;
    order.host = Client::connect(dir).ok();
    Ok(Some(order))
}

impl Order<'_> {
    /// What became of it, once that can be told.
    fn done(&mut self, truth: &Truth, home: &Home) -> Option<Result<Became, Failure>> {
        self.hear(home);
        let now = truth.of(home, &self.session.id);
        if now.is_over() {
            return Some(Ok(Became::Over));
        }
        if truth.is_alive(&self.guard).is_dead() {
            let _ = self.take_back(home);
            return Some(Err(refuse(
                self.session,
                "its guard died over it; whoever follows it does as before",
            )));
        }
        let became = self.guard_became_it(truth) && (self.welcomed || self.host_is_recorded(&now));
        (became && is_reachable(home, self.session)).then_some(Ok(Became::New))
    }

    /// The same process, with another executable: the kernel says so, whatever could be recorded.
    fn guard_became_it(&self, truth: &Truth) -> bool {
        truth.identify(self.guard.pid).is_ok_and(|guard| guard.exe == Some(self.wanted))
            && truth.is_alive(&self.guard).is_alive()
    }

    /// It is neither what it was nor what it was told to become.
    fn another_came_first(&self, truth: &Truth) -> bool {
        let now = truth.identify(self.guard.pid).ok().and_then(|guard| guard.exe);
        now.is_some() && now != self.guard.exe && now != Some(self.wanted)
    }

    fn host_is_recorded(&self, now: &Session) -> bool {
        now.evidence.helpers.hosted.as_ref().is_some_and(|told| told.body.host.exe == Some(self.wanted))
    }

    fn hear(&mut self, home: &Home) {
        let hosted = self.session.evidence.helpers.hosted.as_ref();
        let before = hosted.map_or(0, |told| told.body.generation);
        match self.host.as_mut().map(Client::hear) {
            Some(Ok(heard)) => {
                let next = |said: &ToClient| matches!(said, ToClient::Welcome { generation, .. } if *generation > before);
                self.welcomed |= heard.iter().any(next);
            }
            // That host is gone; the next one lets us in.
            Some(Err(_)) | None => {
                self.host = home.session(&self.session.id).ok().and_then(|dir| Client::connect(dir).ok());
            }
        }
    }

    /// The order, if it was not carried out: now it never is.
    fn take_back(&self, home: &Home) -> Option<String> {
        home.session(&self.session.id).ok().and_then(|dir| dir.take_next_image())
    }

    /// Its time is up. What it has not begun it does not begin any more.
    fn withdraw(&self, truth: &Truth, home: &Home) -> Result<Became, Failure> {
        let why = match self.take_back(home) {
            Some(_) => "its guard did not answer in time, and the order was withdrawn",
            None if self.another_came_first(truth) => {
                "another upgrade came first, and it runs as that version"
            }
            None if self.guard_became_it(truth) => {
                "its guard is the new version, but no host of it came up in time"
            }
            None => "its guard could not become the new version",
        };
        Err(refuse(self.session, why))
    }
}

/// Whether there is a socket for clients to find.
fn is_reachable(home: &Home, session: &Session) -> bool {
    home.session(&session.id).is_ok_and(|dir| dir.has_socket())
}

fn refuse(session: &Session, why: &str) -> Failure {
    let id = &session.id;
    Failure::new(Code::NoAnswer, format!("session {id} goes on as it was: {why}"))
        .about(id.as_str())
        .in_status(session.verdict.status)
        .hint(format!("`abide why {id}` shows what its guard recorded"))
}

fn file_id(path: &Path) -> std::io::Result<FileId> {
    let meta = std::fs::metadata(path)?;
    Ok(FileId { dev: meta.dev(), ino: meta.ino() })
}
