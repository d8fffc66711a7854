//! Names of sessions: links whose text is an ID, given under a lock. Never evidence; the session says its own name.

use std::fs::File;
use std::io;

use abide_core::failure::{Code, Failure};
use abide_core::id::{SessionId, SessionName};
use abide_sys::disk::PrivateDir;
use abide_sys::lock::{self, Holder};

use crate::store::Home;
use crate::truth::{Session, Truth};

const LOCK: &str = ".lock";

/// Gives a name to a session that is about to be, unless an active session has it.
/// The lock is to be held until the session is published.
pub(crate) fn reserve(
    truth: &Truth,
    home: &Home,
    name: &SessionName,
    id: &SessionId,
) -> Result<File, Failure> {
    let name = name.as_str();
    let failed = |e: &io::Error| Failure::io("reserve the name", &name, e);
    if let Some(other) = SessionId::parse(name).filter(|other| home.has(other)) {
        let status = truth.of(home, &other).verdict.status;
        let message = format!("`{name}` is the ID of another session, and would mean that one");
        return Err(Failure::new(Code::NameInUse, message)
            .about(other.as_str())
            .in_status(status)
            .hint("choose another name"));
    }
    let names = home.names()?;
    let lock = lock_names(&names).map_err(|e| failed(&e))?;
    let holder = names.link_text(name).map_err(|e| failed(&e))?;
    if let Some(holder) = holder.as_deref().and_then(SessionId::parse)
        && home.has(&holder)
    {
        let session = truth.of(home, &holder);
        let status = session.verdict.status;
        if status.is_active() {
            return Err(Failure::new(
                Code::NameInUse,
                format!("the name `{name}` is in use by session {holder}"),
            )
            .about(holder.as_str())
            .in_status(status)
            .hint(way_out(&session)));
        }
    }
    names.set_link_text(name, id.as_str()).map_err(|e| failed(&e))?;
    Ok(lock)
}

/// What sets a name free.
fn way_out(holder: &Session) -> String {
    let (id, status) = (&holder.id, holder.verdict.status);
    if holder.half_removed {
        return format!("its removal began and did not end: `abide rm {id}` or `abide doctor --fix` ends it");
    }
    if status.is_stoppable() {
        return format!("choose another name, or end that session first with `abide stop {id}`");
    }
    format!("choose another name; `abide why {id}` shows how that session stands")
}

/// The session that a name was given to last, whatever it says of itself.
pub(crate) fn holder(home: &Home, name: &str) -> Option<SessionId> {
    home.names_if_there()?.link_text(name).ok().flatten().as_deref().and_then(SessionId::parse)
}

/// Frees a name if it still means this session.
pub(crate) fn release(home: &Home, name: &str, id: &SessionId) {
    let Ok(names) = home.names() else {
        return;
    };
    // A name that cannot be freed now is given away anew once its session is seen to be gone.
    if let Ok(_lock) = lock_names(&names)
        && names.link_text(name).ok().flatten().as_deref() == Some(id.as_str())
    {
        let _ = names.remove(name);
    }
}

fn lock_names(names: &PrivateDir) -> io::Result<File> {
    let file = names.ensure_log(LOCK)?;
    lock::take_in_turn(&file, Holder::Sealer)?;
    Ok(file)
}
