//! Whether this process runs inside a session: attaching it there would show it to itself without end.

use std::path::Path;

use abide_core::failure::{Code, Failure};
use abide_core::verdict::program_of;
use abide_sys::tty;

use crate::launch;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// # Errors
/// If the session would be shown inside itself.
pub(super) fn refuse(truth: &Truth, home: &Home, session: &Session) -> Result<(), Failure> {
    if !is_inside(truth, home, session) {
        return Ok(());
    }
    let id = session.id.as_str();
    Err(Failure::new(
        Code::InsideItself,
        format!("this runs inside session {id}, which cannot be shown inside itself"),
    )
    .hint(format!("`abide attach {id}` in a terminal outside of it; `abide logs {id}` reads it here"))
    .about(id)
    .in_status(session.verdict.status))
}

/// Proved by the terminal, which is the session's own, or by the parents, of whom one is its guard or its program.
/// Only from where neither can be seen the environment is believed, for it outlives what it was true of.
fn is_inside(truth: &Truth, home: &Home, session: &Session) -> bool {
    let Some(program) = program_of(&session.evidence) else {
        return false;
    };
    if truth.here().pid_ns != Some(program.pid_ns) {
        return is_said_to_be_inside(home, session);
    }
    let program = session.seen.program.is_alive().then_some(program.pid);
    let guard = session.evidence.helpers.guarded.as_ref().filter(|_| session.seen.guard.is_alive());
    let guard = guard.map(|told| told.body.guard.pid);
    let terminal = program.and_then(|program| truth.terminal(program));
    let own = || [tty::number(std::io::stdin()), tty::number(std::io::stdout())];
    if terminal.is_some() && own().contains(&terminal) {
        return true;
    }
    // Also with another session in between, which may be shown in this one.
    truth.above(std::process::id()).into_iter().any(|above| [guard, program].contains(&Some(above)))
}

fn is_said_to_be_inside(home: &Home, session: &Session) -> bool {
    let said = |name: &str| std::env::var_os(name).unwrap_or_default();
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    said(launch::SESSION) == session.id.as_str()
        && real(home.path()).is_some_and(|home| real(Path::new(&said("ABIDE_HOME"))) == Some(home))
}
