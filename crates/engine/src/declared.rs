//! The program's own word on its work: a `result.toml` that it leaves, or `abide result set`.
//! What is no result is not taken, and whoever looked for it says why.

use abide_core::evidence::{Body, Declared, Noted, Role};
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

/// What a program left: its word, or a note of why what it left is none.
pub(crate) fn left_by_program(dir: &SessionDir) -> Option<std::result::Result<Declared, Noted>> {
    let text = dir.result(LONGEST).map_err(|error| error.to_string()).transpose()?;
    let parsed = text.and_then(|text| {
        let result: Result = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        let unclear = format!("`{}` alone stands for no exit code", result.status);
        declared(result.status, result.exit_code, result.summary).ok_or(unclear)
    });
    Some(parsed.map_err(|why| format!("result.toml is no result: {why}").into()))
}

/// A program's word. `success` and `failure` alone stand for a code, any other status needs one.
#[must_use]
pub fn declared(status: String, exit_code: Option<u8>, summary: Option<String>) -> Option<Declared> {
    let exit_code = exit_code.or(match status.as_str() {
        "success" => Some(0),
        "failure" => Some(1),
        _ => None,
    })?;
    Some(Declared { status, exit_code, summary })
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
