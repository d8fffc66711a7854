//! The one function that closes a session in another's stead. Under a lock, everything is asked again;
//! exactly one caller closes it, and the bytes never change afterwards.

use abide_core::evidence::{Body, Role, Sealed, TurnClosed};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::status::Status;
use abide_core::verdict::owner_of_open_turn;
use abide_sys::disk::Untrusted;
use abide_sys::lock::{self, Holder};

use crate::Sessions;
use crate::agents::left::Left;
use crate::declared;
use crate::find;
use crate::notify;
use crate::place;
use crate::store::{Home, SessionDir, Writer, read_evidence};
use crate::truth::{Session, Truth};

/// What became of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// This caller closed it.
    Sealed,
    /// This caller closed the turn of an agent that is dead; the session goes on.
    TurnClosed,
    /// Its end is on record already.
    WasClosed,
    /// It is not provably over.
    NotOver(Status),
    /// Another sealer is at it.
    Busy,
}

impl Sessions {
    /// Records the end of a session whose witnesses died. Says whether this caller closed it.
    ///
    /// # Errors
    /// If there is no such session, or its evidence cannot be written.
    pub fn seal(&self, id: &SessionId) -> Result<Sealing, Failure> {
        let home = self.home().ok_or_else(|| find::nothing(id.as_str()))?;
        seal(self.truth(), home, id)
    }

    /// A session that is about to be written to: what is over of it is put on record first, as far as that can be done.
    #[must_use]
    pub fn sealed_first(&self, session: &Session) -> Session {
        self.home().map_or_else(|| session.clone(), |home| first(self.truth(), home, session))
    }
}

/// Whether there is something to seal: the session is over and its end not on record, or the agent of its open turn is.
pub(crate) fn is_due(session: &Session) -> bool {
    session.verdict.rule.closing().is_some() || is_left(session)
}

/// The agent of the open turn is dead, nobody has said so, and the session goes on without it.
fn is_left(session: &Session) -> bool {
    let open = owner_of_open_turn(&session.evidence).is_some() && session.seen.owner.is_dead();
    open && session.verdict.status.is_stoppable() && !session.evidence.is_damaged()
}

/// A session that is about to be written to, once what is over of it is on record. What cannot be recorded is left as it
/// is: whoever writes to it next is told why.
pub(crate) fn first(truth: &Truth, home: &Home, session: &Session) -> Session {
    match is_due(session).then(|| seal(truth, home, &session.id)) {
        Some(Ok(_)) => truth.of(home, &session.id),
        Some(Err(_)) | None => session.clone(),
    }
}

/// Records that a session is over when its witness died, or that the turn is whose agent died.
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
    // Others' files are read before anybody has to wait for us, also where it may be over only when we have the lock.
    let found = truth.of(home, id);
    let may_be_due = is_due(&found) || owner_of_open_turn(&found.evidence).is_some();
    let left = may_be_due.then(|| Left::of(truth, &found)).flatten();
    let mut writer = dir.write(Role::Sealer, truth.now().boot).map_err(|e| refused(&e))?;
    if !lock::take(writer.file(), Holder::Sealer).map_err(|e| refused(&e))? {
        return Ok(Sealing::Busy);
    }
    let reason = Left::reason(left.as_ref());
    let sealing = close(truth, &dir, &mut writer, (&truth.of(home, id), reason));
    lock::give_back(writer.file(), Holder::Declarer);
    lock::give_back(writer.file(), Holder::Sealer);
    let sealing = sealing.map_err(|e| refused(&e))?;
    let untold = left.filter(|_| sealing == Sealing::Sealed && found.evidence.work.summary.is_none());
    if let Some(left) = untold {
        // It is over whether or not there is room for this.
        let _ = writer.add(truth.now().at, Body::Summary(Box::new(left.summary())));
    }
    Ok(sealing)
}

/// Under the lock: nobody else seals, and `session` was asked for after it was taken. `reason` is why its open turn is
/// over, should it be.
fn close(
    truth: &Truth,
    dir: &SessionDir,
    writer: &mut Writer,
    (session, reason): (&Session, String),
) -> std::io::Result<Sealing> {
    let turn = owner_of_open_turn(&session.evidence).and(session.evidence.work.turn.as_ref());
    let closed = turn
        .map(|told| Body::TurnClosed(TurnClosed { turn: told.body.turn.clone(), reason, broken_off: true }));
    let Some(status) = session.verdict.rule.closing() else {
        if let Some(closed) = closed.filter(|_| is_left(session)) {
            writer.add(truth.now().at, closed)?;
            return Ok(Sealing::TurnClosed);
        }
        let status = session.verdict.status;
        return Ok(if status.is_terminal() { Sealing::WasClosed } else { Sealing::NotOver(status) });
    };
    let cgroup = place::left_by(session);
    // The guard would have taken it; the program's word is not lost with its witness.
    declared::take_turn(writer.file());
    let last = declared::last(&read_evidence(writer.file()), dir);
    let sealed = Sealed {
        status,
        cause: session.verdict.outcome.as_ref().and_then(|inferred| inferred.cause),
        last_seen: session.evidence.record.last.as_ref().map(|told| told.at),
        word_unclear: last.is_unclear,
    };
    let words = last.note.map(Body::Noted).into_iter().chain(last.unlogged.map(Body::Declared));
    // Nothing is over whose agent lives, so that its turn is over too, wherever that is asked.
    for body in words.chain(closed).chain([Body::Sealed(Box::new(sealed))]) {
        writer.add(truth.now().at, body)?;
    }
    writer.sync()?;
    notify::call(dir);
    if let Some(cgroup) = cgroup {
        // One in which somebody lives on stays; `rm`, `gc` and `doctor --fix` try again.
        let _ = cgroup.remove();
    }
    Ok(Sealing::Sealed)
}
