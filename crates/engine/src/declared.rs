//! The program's own word on its work: a `result.toml` that it leaves, or `abide result set`.
//! What is no result is not taken, and whoever looked for it says why.

use std::io::Read;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Found, LONGEST_LINE, Scanner, encode};
use abide_core::evidence::{Body, Declared, Noted, Role, Word};
use abide_core::failure::{Failure, admit};
use abide_core::moment::Moment;
use abide_core::status::Column;
use abide_sys::disk;
use abide_sys::lock::{self, Holder};
use serde::Deserialize;

use crate::find;
use crate::store::{DECLARED, Home, SessionDir, Writer};
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
        declared(result.status, result.exit_code, result.summary)
    });
    Some(parsed.map_err(|why| format!("result.toml is no result: {why}").into()))
}

/// A program's word. `success` and `failure` alone stand for a code, any other status needs one.
///
/// # Errors
/// If it stands for no code, or contradicts the one it comes with; says so.
pub fn declared(
    status: String,
    exit_code: Option<u8>,
    summary: Option<String>,
) -> std::result::Result<Declared, String> {
    let exit_code = match (status.as_str(), exit_code) {
        ("failure", Some(0)) => return Err("`failure` cannot have the exit code 0".to_owned()),
        ("success", None) => 0,
        ("failure", None) => 1,
        (_, Some(code)) => code,
        (_, None) => return Err(format!("`{status}` alone stands for no exit code")),
    };
    Ok(Declared { status, exit_code, summary })
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
    write(&dir, &mut pen, truth.now().at, word).map_err(failed)?;
    // The end may have come first.
    let after = truth.of_listed(home, id).ok_or_else(|| find::nothing(id.as_str()))?;
    match &after.evidence.work.declared {
        Some(told) if told.witness == pen.witness() => Ok(()),
        Some(_) | None => before_the_end(&after),
    }
}

/// Writes a word into the log, and beside it once more, so that damage in one does not hide it. What was kept there is
/// taken away first: a word that finds no room there must not leave an older one, or none, to stand for it.
fn write(dir: &SessionDir, pen: &mut Writer, at: Moment, word: Declared) -> std::io::Result<()> {
    let beside = dir.dir().ensure_log(DECLARED)?;
    // The last in the log is the one that is kept, also where several declare at once.
    lock::take_in_turn(&beside, Holder::Sealer)?;
    let written = beside.set_len(0).and_then(|()| pen.add(at, Body::Declared(word.clone())));
    if written.is_ok() {
        let frame = encode(&pen.draft(at, 0, Body::Declared(word))).map_err(std::io::Error::from);
        // One that cannot be kept counts all the same.
        let _ = frame.and_then(|frame| disk::append(&beside, &frame)).and_then(|()| beside.sync_data());
    }
    lock::give_back(&beside, Holder::Sealer);
    written.and_then(|()| pen.sync())
}

/// The word that was kept; none if there is none.
///
/// # Errors
/// If it cannot be read.
fn kept(dir: &SessionDir) -> std::io::Result<Option<Declared>> {
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

/// The word that was declared last, where the log lacks it: what is kept beside the log is that, or nothing.
pub(crate) fn cut_off(evidence: &Evidence, dir: &SessionDir) -> Option<Declared> {
    let logged = evidence.work.declared.as_ref().map(|told| told.body.exit_code);
    kept(dir).ok().flatten().filter(|kept| Some(kept.exit_code) != logged)
}

/// The word that counts at the end: what is told with it, else what was declared last. None where the log is damaged and
/// what was kept beside it cannot be read: then nobody can tell.
pub(crate) fn at_the_end(evidence: &Evidence, dir: &SessionDir, told: Option<&Declared>) -> Option<Word> {
    if told.is_some() {
        return Some(Word { declared: told.cloned() });
    }
    let begun = evidence.beginning.launched.is_some() || evidence.beginning.adopted.is_some();
    let whole = begun && !evidence.is_damaged();
    let logged = evidence.work.declared.as_ref().map(|told| brief(&told.body));
    (whole || kept(dir).is_ok()).then_some(Word { declared: logged })
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
