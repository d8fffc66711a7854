//! The program's own word on its work: a `result.toml` that it leaves, or `abide result set`.
//! A file that does not parse whole says nothing.

use abide_core::evidence::{Body, Declared, Role};
use abide_core::failure::{Failure, admit};
use abide_core::status::Column;
use serde::Deserialize;

use crate::find;
use crate::store::{Home, SessionDir};
use crate::truth::{Session, Truth};

/// A longer file is no result.
const LONGEST: u64 = 64 * 1024;

/// The file's form. What it holds beyond this is the program's own business.
#[derive(Deserialize)]
struct Result {
    status: String,
    exit_code: Option<u8>,
    summary: Option<String>,
}

/// What a program left, if it left something that parses.
pub(crate) fn left_by_program(dir: &SessionDir) -> Option<Declared> {
    let text = dir.result(LONGEST)?;
    let result: Result = toml::from_str(&text).ok()?;
    Some(declared(result.status, result.exit_code, result.summary))
}

/// A status alone stands for a code: 0 for success, 1 for anything else.
#[must_use]
pub fn declared(status: String, exit_code: Option<u8>, summary: Option<String>) -> Declared {
    let exit_code = exit_code.unwrap_or(u8::from(status != "success"));
    Declared { status, exit_code, summary }
}

/// Records the program's word, and makes sure that it counts: one that comes after the end does not.
pub(crate) fn declare(
    truth: &Truth,
    home: &Home,
    session: &Session,
    word: Declared,
) -> std::result::Result<(), Failure> {
    before_the_end(session)?;
    let id = &session.id;
    let failed = |e: std::io::Error| {
        let failure = Failure::io("record the result of session", id, &e);
        failure.about(id.as_str()).in_status(session.verdict.status)
    };
    let dir = home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())))?;
    let mut pen = dir.write(Role::Client, truth.now().boot).map_err(failed)?;
    pen.add(truth.now().at, Body::Declared(word)).and_then(|()| pen.sync()).map_err(failed)?;
    // The end may have come first.
    let after = truth.of_listed(home, id).ok_or_else(|| find::nothing(id.as_str()))?;
    match &after.evidence.work.declared {
        Some(told) if told.witness == pen.witness() => Ok(()),
        Some(_) | None => before_the_end(&after),
    }
}

fn before_the_end(session: &Session) -> std::result::Result<(), Failure> {
    let (id, status) = (session.id.as_str(), session.verdict.status);
    let closing = &session.evidence.closing;
    let leaving = closing.removing.is_some() || closing.removed.is_some();
    let column = if leaving { Column::Commandable } else { Column::Active };
    let hint = "a result is declared before the end: from within the session, or by whoever watches it";
    admit(id, status, column).map_err(|failure| failure.hint(hint))
}
