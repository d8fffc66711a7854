//! Upgrading: every session goes on as the version that asks, without its program noticing.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use abide_core::failure::{Code, Failure, admit};
use abide_core::identity::FileId;
use abide_core::status::Column;
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
}

/// How long to wait before looking again.
const PAUSE_MS: u64 = 10;
/// How long guard and host may take to become another version.
const WITHIN_MS: u64 = 5_000;

/// Makes the session's guard and host become this executable.
pub(crate) fn upgrade(truth: &Truth, home: &Home, session: &Session, path: &Path) -> Result<Became, Failure> {
    let id = &session.id;
    admit(id.as_str(), session.verdict.status, Column::Commandable)?;
    let refused = |why: String| {
        Failure::new(Code::NoAnswer, format!("session {id} goes on as it was: {why}"))
            .about(id.as_str())
            .in_status(session.verdict.status)
            .hint(format!("`abide why {id}` shows what its guard recorded"))
    };
    let wanted = file_id(path).map_err(|e| refused(e.to_string()))?;
    if is_image(session, wanted) {
        return Ok(Became::Already);
    }
    let guard = session.evidence.helpers.guarded.as_ref().map(|told| told.body.guard);
    let guard = guard.ok_or_else(|| refused("it has no guard".to_owned()))?;
    let held = truth.hold(&guard).map_err(|liveness| refused(format!("its guard {}", liveness.says())))?;
    let dir = home.session(id).map_err(|untrusted| refused(untrusted.says()))?;
    let text = path.to_str().ok_or_else(|| refused("the path of this abide is not text".to_owned()))?;
    dir.set_next_image(text).map_err(|e| refused(e.to_string()))?;
    signal::send(&held, signal::USR1).map_err(|e| refused(e.to_string()))?;
    let deadline = clock::now().boot.saturating_add(WITHIN_MS);
    loop {
        let now = truth.of(home, id);
        if is_image(&now, wanted) || now.is_over() {
            return Ok(Became::New);
        }
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 {
            return Err(refused("its guard did not become the new version in time".to_owned()));
        }
        wait_for_host(home, session, left);
        // A host that is still the old one welcomes at once.
        let _ = poll::readable(&[], Some(PAUSE_MS));
    }
}

/// The next host's welcome is the bell: it comes after the guard became another version.
fn wait_for_host(home: &Home, session: &Session, left_ms: u64) {
    let client = home.session(&session.id).ok().and_then(|dir| Client::connect(dir).ok());
    if let Some(mut client) = client {
        let _ = poll::readable(&[client.as_fd()], Some(left_ms));
        let _ = client.hear();
    }
}

/// Whether this is the executable that guard and host run.
fn is_image(session: &Session, wanted: FileId) -> bool {
    let helpers = &session.evidence.helpers;
    let guard = helpers.guarded.as_ref().and_then(|told| told.body.guard.exe);
    let host = helpers.hosted.as_ref().and_then(|told| told.body.host.exe);
    guard == Some(wanted) && host == Some(wanted)
}

fn file_id(path: &Path) -> std::io::Result<FileId> {
    let meta = std::fs::metadata(path)?;
    Ok(FileId { dev: meta.dev(), ino: meta.ino() })
}
