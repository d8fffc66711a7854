//! The one function that closes a session in another's stead. Under a lock, everything is asked again;
//! exactly one caller closes it, and the bytes never change afterwards.

use abide_core::evidence::{Body, Role, Sealed};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::status::Status;
use abide_sys::disk::Untrusted;
use abide_sys::lock::{self, Holder};

use crate::declared;
use crate::find;
use crate::place;
use crate::store::{Home, SessionDir, Writer};
use crate::truth::{Session, Truth};

/// What became of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// This caller closed it.
    Sealed,
    /// Its end is on record already.
    WasClosed,
    /// It is not provably over.
    NotOver(Status),
    /// Another sealer is at it.
    Busy,
}

/// Records that a session is over when its witness died.
///
/// # Errors
/// If its evidence cannot be written.
pub(crate) fn seal(truth: &Truth, home: &Home, id: &SessionId) -> Result<Sealing, Failure> {
    let refused = |error: &std::io::Error| {
        Failure::io("seal session", id, error)
            .about(id.as_str())
            .hint("make its home writable and free some space, then run `abide doctor --fix` again")
    };
    let dir = home.session(id).map_err(|untrusted| {
        let message = format!("session {id} cannot be sealed: {}", untrusted.says());
        match untrusted {
            Untrusted::NotThere => find::nothing(id.as_str()),
            Untrusted::NotADirectory | Untrusted::Foreign(_) | Untrusted::Open(_) | Untrusted::Io(_) => {
                Failure::new(Code::UnsafeHome, message).about(id.as_str())
            }
        }
    })?;
    let mut writer = dir.write(Role::Sealer, truth.now().boot).map_err(|e| refused(&e))?;
    if !lock::take(writer.file(), Holder::Sealer).map_err(|e| refused(&e))? {
        return Ok(Sealing::Busy);
    }
    let sealing = close(truth, &dir, &mut writer, &truth.of(home, id));
    lock::give_back(writer.file(), Holder::Sealer);
    sealing.map_err(|e| refused(&e))
}

/// Under the lock: nobody else seals, and `session` was asked for after it was taken.
fn close(
    truth: &Truth,
    dir: &SessionDir,
    writer: &mut Writer,
    session: &Session,
) -> std::io::Result<Sealing> {
    let Some(status) = session.verdict.rule.closing() else {
        let status = session.verdict.status;
        return Ok(if status.is_terminal() { Sealing::WasClosed } else { Sealing::NotOver(status) });
    };
    let cgroup = place::left_by(session);
    let sealed = Sealed {
        status,
        cause: session.verdict.outcome.as_ref().and_then(|inferred| inferred.cause),
        last_seen: session.evidence.record.last.as_ref().map(|told| told.at),
    };
    // The guard would have read it; the program's word is not lost with its witness.
    if let Some(left) = declared::left_by_program(dir) {
        writer.add(truth.now().at, left.map_or_else(Body::Noted, Body::Declared))?;
    }
    writer.add(truth.now().at, Body::Sealed(Box::new(sealed)))?;
    writer.sync()?;
    if let Some(cgroup) = cgroup {
        // One in which somebody lives on stays; `rm`, `gc` and `doctor --fix` try again.
        let _ = cgroup.remove();
    }
    Ok(Sealing::Sealed)
}
