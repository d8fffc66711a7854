//! Upgrading: every session goes on as the version that asks, without its program noticing.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use abide_core::failure::{Code, Failure};
use abide_core::identity::FileId;
use abide_sys::{clock, poll, signal};

use crate::client::Client;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// What became of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgraded {
    pub id: String,
    /// Why it goes on as it was; none if it did become the new version, or was it already.
    pub failure: Option<Failure>,
}

/// How long guard and host may take to become another version.
const WITHIN_MS: u64 = 5_000;

/// Makes the session's guard and host become this executable.
pub(crate) fn upgrade(truth: &Truth, home: &Home, session: &Session, path: &Path) -> Result<(), Failure> {
    let id = &session.id;
    let refused = |why: String| {
        Failure::new(Code::NoAnswer, format!("session {id} goes on as it was: {why}"))
            .about(id.as_str())
            .in_status(session.verdict.status)
            .hint(format!("`abide why {id}` shows what its guard recorded"))
    };
    let wanted = file_id(path).map_err(|e| refused(e.to_string()))?;
    if image(session) == Some(wanted) {
        return Ok(());
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
        if image(&now) == Some(wanted) || now.is_over() {
            return Ok(());
        }
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 {
            return Err(refused("its guard did not become the new version in time".to_owned()));
        }
        wait_for_host(home, session, left);
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

/// The executable that the guard runs.
fn image(session: &Session) -> Option<FileId> {
    session.evidence.helpers.guarded.as_ref().and_then(|told| told.body.guard.exe)
}

fn file_id(path: &Path) -> std::io::Result<FileId> {
    let meta = std::fs::metadata(path)?;
    Ok(FileId { dev: meta.dev(), ino: meta.ino() })
}
