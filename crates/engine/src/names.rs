//! Names of sessions: links whose text is an ID, given under a lock. Never evidence; the session says its own name.

use std::fs::File;
use std::io;

use abide_core::failure::{Code, Failure};
use abide_core::id::{SessionId, SessionName};
use abide_sys::disk::PrivateDir;
use abide_sys::lock::{self, Holder};

use crate::act::seal;
use crate::store::{Home, Leftover};
use crate::truth::{Session, Truth};

const LOCK: &str = ".lock";

/// The file under whose lock names are given, not locked yet: whoever is started with it holds the lock too, once it is taken.
pub(crate) fn lock_file(home: &Home) -> Result<File, Failure> {
    let file = home.names()?.ensure_log(LOCK);
    file.map_err(|e| Failure::io("lock the names in", &home.path().display(), &e))
}

/// Gives a name to a session that is about to be, unless an active session has it.
/// The lock is taken, and is to be held until the session is published.
pub(crate) fn reserve(
    truth: &Truth,
    home: &Home,
    name: &SessionName,
    id: &SessionId,
    lock: &File,
) -> Result<(), Failure> {
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
    lock::take_in_turn(lock, Holder::Sealer).map_err(|e| failed(&e))?;
    let holder = names.link_text(name).map_err(|e| failed(&e))?;
    if let Some(holder) = holder.as_deref().and_then(SessionId::parse)
        && home.has(&holder)
    {
        let session = seal::first(truth, home, &truth.of(home, &holder));
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
    names.set_link_text(name, id.as_str()).map_err(|e| failed(&e))
}

/// Has whoever makes sessions of what was started elsewhere do so one after the other, as long as this is held.
pub(crate) fn in_turn(home: &Home) -> Result<File, Failure> {
    lock_names(&home.names()?).map_err(|e| Failure::io("lock the names in", &home.path().display(), &e))
}

/// Has whoever goes on with a conversation do so one after the other, as long as this is held.
pub(crate) fn in_turn_to_resume(home: &Home) -> Result<File, Failure> {
    let failed = |e: io::Error| Failure::io("lock the names in", &home.path().display(), &e);
    let file = home.names()?.ensure_log(LOCK).map_err(failed)?;
    lock::take_in_turn(&file, Holder::Resumer).map_err(failed)?;
    Ok(file)
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
    if let Ok(_lock) = lock_names(&names) {
        free(&names, name, id);
    }
}

/// Frees a name that was reserved for a launch that came to nothing, under the lock that it was given with.
pub(crate) fn give_back(home: &Home, name: &SessionName, id: &SessionId, _lock: &File) {
    if let Some(names) = home.names_if_there() {
        free(&names, name.as_str(), id);
    }
}

/// The names that lead to no session, nor to one that is about to be.
pub(crate) fn dangling(home: &Home) -> Vec<String> {
    let Some(names) = home.names_if_there() else {
        return Vec::new();
    };
    let all = names.names().unwrap_or_default();
    let dangles = |name: &str| {
        let id = names.link_text(name).ok().flatten().as_deref().and_then(SessionId::parse);
        id.is_some_and(|id| !home.has(&id) && home.leftover(&Leftover::Draft(id)).is_err())
    };
    all.iter().filter_map(|name| name.to_str()).filter(|name| dangles(name)).map(str::to_owned).collect()
}

/// Frees those. While somebody is given one, none is freed.
pub(crate) fn clear_dangling(home: &Home) -> Vec<String> {
    let lock = home.names().ok().and_then(|names| Some((names.ensure_log(LOCK).ok()?, names)));
    let Some((lock, names)) = lock.filter(|(lock, _)| lock::take(lock, Holder::Sealer).unwrap_or(false))
    else {
        return Vec::new();
    };
    let freed = dangling(home).into_iter().filter(|name| names.remove(name).is_ok()).collect();
    lock::give_back(&lock, Holder::Sealer);
    freed
}

fn free(names: &PrivateDir, name: &str, id: &SessionId) {
    if names.link_text(name).ok().flatten().as_deref() == Some(id.as_str()) {
        let _ = names.remove(name);
    }
}

fn lock_names(names: &PrivateDir) -> io::Result<File> {
    let file = names.ensure_log(LOCK)?;
    lock::take_in_turn(&file, Holder::Sealer)?;
    Ok(file)
}
