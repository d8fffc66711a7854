//! The program's own word on its work: a `result.toml` that it leaves, or `abide result set`.
//! What is no result is not taken, and whoever looked for it says why.

use std::io::Read;

use abide_core::evidence::frame::{Found, LONGEST_LINE, Scanner, encode};
use abide_core::evidence::{Body, Declared, Fact, Noted, Role, Word};
use abide_core::failure::{Failure, admit};
use abide_core::status::Column;
use serde::Deserialize;

use crate::find;
use crate::store::{DECLARED, Home, SessionDir, Writer, read_evidence};
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
    let at = truth.now().at;
    pen.add(at, Body::Declared(word.clone())).and_then(|()| pen.sync()).map_err(failed)?;
    keep(&dir, &pen.draft(at, 0, Body::Declared(word)));
    // The end may have come first.
    let after = truth.of_listed(home, id).ok_or_else(|| find::nothing(id.as_str()))?;
    match &after.evidence.work.declared {
        Some(told) if told.witness == pen.witness() => Ok(()),
        Some(_) | None => before_the_end(&after),
    }
}

/// Keeps a word beside the log too. One that cannot be kept counts all the same; an older one must not stand for it.
fn keep(dir: &SessionDir, fact: &Fact) {
    let frame = encode(fact).map_err(std::io::Error::from);
    if frame.and_then(|frame| dir.dir().replace(DECLARED, &frame)).is_err() {
        let _ = dir.dir().remove(DECLARED);
    }
}

/// The word that was kept; none if there is none.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn kept(dir: &SessionDir) -> std::io::Result<Option<Declared>> {
    let mut bytes = Vec::new();
    match dir.dir().read(DECLARED) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file?.take(LONGEST_LINE as u64 + 2).read_to_end(&mut bytes)?,
    };
    let mut word = None;
    let mut scanner = Scanner::default();
    let mut take = |_, found| {
        if let Found::Fact(fact) = found
            && let Body::Declared(declared) = fact.body
        {
            word = Some(declared);
        }
    };
    scanner.feed(&bytes, &mut take);
    scanner.finish(&mut take);
    word.map(Some).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// The word that counts at the end: what the program left, else what was declared last. None where the log is damaged and
/// what was kept beside it does not say the same: then nobody can tell.
pub(crate) fn at_the_end(dir: &SessionDir, pen: &Writer, left: Option<&Declared>) -> Option<Word> {
    if left.is_some() {
        return Some(Word { declared: left.cloned() });
    }
    let evidence = read_evidence(pen.file());
    let begun = evidence.beginning.launched.is_some() || evidence.beginning.adopted.is_some();
    let whole = begun && !evidence.is_damaged();
    let logged = evidence.work.declared.map(|told| told.body);
    let declared = match (logged, kept(dir)) {
        (Some(word), _) if whole => Some(word),
        (Some(word), Ok(Some(kept))) if kept.exit_code == word.exit_code => Some(word),
        (None, Ok(kept)) => kept,
        (None, Err(_)) if whole => None,
        (Some(_) | None, Ok(_) | Err(_)) => return None,
    };
    Some(Word { declared: declared.as_ref().map(brief) })
}

/// The word without what may be long.
pub(crate) fn brief(word: &Declared) -> Declared {
    let end = word.status.floor_char_boundary(256);
    Declared { status: word.status[..end].to_owned(), summary: None, ..*word }
}

fn before_the_end(session: &Session) -> std::result::Result<(), Failure> {
    let (id, status) = (session.id.as_str(), session.verdict.status);
    let closing = &session.evidence.closing;
    let leaving = closing.removing.is_some() || closing.removed.is_some();
    let column = if leaving { Column::Commandable } else { Column::Active };
    let hint = "a result is declared before the end: from within the session, or by whoever watches it";
    admit(id, status, column).map_err(|failure| failure.hint(hint))
}
