//! The program's own word on its work: a `result.toml` that it leaves, or `abide result set`.
//! What is no result is not taken, and whoever looked for it says why.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Found, LONGEST_LINE, Scanner, encode};
use abide_core::evidence::{Body, Declared, Noted, Role, Word};
use abide_core::failure::{Failure, admit};
use abide_core::identity::Lock;
use abide_core::moment::Moment;
use abide_core::status::Column;
use abide_sys::lock::{self, Holder};
use abide_sys::{clock, poll};
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
fn left_by_program(dir: &SessionDir) -> Option<std::result::Result<Declared, Noted>> {
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

/// Records the program's word, and makes sure that it counts: one that comes after the end does not. Words are declared one at
/// a time, while the session goes on; whoever records or tells its end waits for the one that is being declared.
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
    let code = word.exit_code;
    lock::take_in_turn(pen.file(), Holder::Declarer).map_err(failed)?;
    let goes_on = || {
        let now = truth.of_listed(home, id).ok_or_else(|| find::nothing(id.as_str()));
        now.and_then(|now| before_the_end(&now))
    };
    let declared = goes_on()
        .and_then(|()| write(&dir, &mut pen, truth.now().at, word).map_err(failed))
        .and_then(|()| if counts(&pen, code) { Ok(()) } else { goes_on() });
    lock::give_back(pen.file(), Holder::Declarer);
    declared?;
    // Nobody has to wait for the disk.
    let _ = dir.dir().change(DECLARED).and_then(|beside| beside.sync_data());
    pen.sync().map_err(failed)
}

/// Whether the word that this pen wrote is the last one. Nobody who records an end waits for ever for it: then that came
/// first, and may have found the word beside the log.
fn counts(pen: &Writer, code: u8) -> bool {
    let told = read_evidence(pen.file()).work.declared;
    told.is_some_and(|told| told.witness == pen.witness() || told.body.exit_code == code)
}

/// Writes a word into the log, and beside it once more, so that damage in one does not hide it. Beside it first, so that
/// whoever is killed in between has declared it or not, and nobody misses a word that was never there.
fn write(dir: &SessionDir, pen: &mut Writer, at: Moment, word: Declared) -> std::io::Result<()> {
    let mut beside = open(dir)?;
    let before = Kept::of(&mut beside).unwrap_or(Kept::Unreadable);
    // One that cannot be kept counts all the same.
    let _ = Kept::Word(word.clone()).keep(&beside, pen, at);
    let written = pen.add(at, Body::Declared(word));
    if written.is_err() {
        let _ = before.keep(&beside, pen, at);
    }
    written
}

/// The file beside the log. It is never there without saying what is kept.
fn open(dir: &SessionDir) -> std::io::Result<File> {
    let dir = dir.dir();
    match dir.change(DECLARED) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        found => return found,
    }
    let draft = format!(".{DECLARED}-{:016x}", u64::from_ne_bytes(clock::random_bytes()?));
    let made = dir.create_log(&draft, 0).and_then(|file| file.set_len(Kept::NOTHING));
    let published = made.and_then(|()| dir.publish(&draft, DECLARED));
    if !matches!(published, Ok(true)) {
        let _ = dir.remove(&draft);
    }
    published.and_then(|_| dir.change(DECLARED))
}

/// What is kept beside the log of the word that was declared last.
enum Kept {
    /// None was.
    Nothing,
    Word(Declared),
    /// There was no room for more than its code.
    Code(u8),
    /// There was one, or may have been one.
    Unreadable,
}

impl Kept {
    /// As long as this is a file of zeroes that says that there is no word.
    const NOTHING: u64 = 1 + Self::code(u8::MAX);

    /// As long as this is one that stands for a code: such a file takes no room.
    const fn code(code: u8) -> u64 {
        1 + code as u64
    }

    fn read(dir: &SessionDir) -> Self {
        match dir.dir().read(DECLARED) {
            Ok(mut file) => Self::of(&mut file).unwrap_or(Self::Unreadable),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Nothing,
            Err(_) => Self::Unreadable,
        }
    }

    fn of(file: &mut File) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        file.take(LONGEST_LINE as u64 + 2).read_to_end(&mut bytes)?;
        let mut word = None;
        let mut scanner = Scanner::default();
        let mut take = |_, found| {
            if let Found::Fact(fact) = found
                && let Body::Declared(declared) = fact.body
            {
                word = Some(Self::Word(declared));
            }
        };
        scanner.feed(&bytes, &mut take);
        scanner.finish(&mut take);
        let length = Some(bytes.len() as u64).filter(|_| bytes.iter().all(|&byte| byte == 0));
        let nothing = (length == Some(Self::NOTHING)).then_some(Self::Nothing);
        let code = || (0..=u8::MAX).find(|&code| length == Some(Self::code(code))).map(Self::Code);
        word.or(nothing).or_else(code).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
    }

    /// Keeps it in this file, instead of what was kept there.
    fn keep(&self, file: &File, pen: &Writer, at: Moment) -> std::io::Result<()> {
        let zeroes = |length| file.set_len(0).and_then(|()| file.set_len(length));
        match self {
            Self::Nothing => zeroes(Self::NOTHING),
            Self::Code(code) => zeroes(Self::code(*code)),
            Self::Word(word) => {
                let frame = encode(&pen.draft(at, 0, Body::Declared(word.clone())))?;
                let written = file.write_all_at(&frame, 0).and_then(|()| file.set_len(frame.len() as u64));
                written.or_else(|_| zeroes(Self::code(word.exit_code)))
            }
            Self::Unreadable => file.set_len(0),
        }
    }
}

/// What is known of the program's word where its session is closed.
pub(crate) struct LastWord {
    /// The one that counts, where the log lacks it.
    pub(crate) unlogged: Option<Declared>,
    /// Why what the program left as a file is none.
    pub(crate) note: Option<Noted>,
    /// One that counted may be lost, and nothing tells whether what is left was the last.
    pub(crate) is_unclear: bool,
}

/// How long whoever records or tells an end waits for a word that is being declared, and how often is looked.
const DECLARING_MS: u64 = 5;
const DECLARING_LOOKS: usize = 40;

/// Lets nobody declare a word until the lock is given back: what is read now is what counts. Who stands still while it
/// declares one holds up nobody for long.
pub(crate) fn take_turn(evidence: &File) {
    wait_until(DECLARING_LOOKS, || !matches!(lock::take(evidence, Holder::Declarer), Ok(false)));
}

/// Waits for the word that is being declared, by whoever saw the session go on: nobody else declares one from now on, if it
/// is over. False if it may yet come. Who is not `patient` only looks, and takes it from a sealer that none does.
pub(crate) fn wait_for_word(evidence: &File, patient: bool) -> bool {
    let is_free = |who| lock::ask(evidence, who) == Lock::Silent;
    let looks = if patient { DECLARING_LOOKS } else { 0 };
    wait_until(looks, || is_free(Holder::Declarer)) || (!patient && !is_free(Holder::Sealer))
}

fn wait_until(looks: usize, is_free: impl Fn() -> bool) -> bool {
    for _ in 0..looks {
        if is_free() {
            return true;
        }
        // Nobody tells when a lock is given back but to whoever takes it, however long that takes.
        let _ = poll::readable(&[], Some(DECLARING_MS));
    }
    is_free()
}

/// The word that counts at the end, for whoever closes a session and whoever reads it before: what the program left as a
/// file, else what was declared last. That is kept beside the log, which may have been cut or damaged since.
pub(crate) fn last(evidence: &Evidence, dir: &SessionDir) -> LastWord {
    let (left, note) = match left_by_program(dir) {
        Some(Ok(word)) => (Some(word), None),
        Some(Err(note)) => (None, Some(note)),
        None => (None, None),
    };
    let told = evidence.work.declared.as_ref();
    let logged = told.map(|told| told.body.exit_code);
    let (unlogged, is_unclear) = match Kept::read(dir) {
        _ if left.is_some() => (left, false),
        Kept::Word(word) => (Some(word).filter(|word| Some(word.exit_code) != logged), false),
        Kept::Code(code) => (None, Some(code) != logged),
        // What whoever closed the session took from a file was never kept.
        Kept::Nothing => (None, told.is_some_and(|told| told.witness.role == Role::Client)),
        Kept::Unreadable => (None, true),
    };
    LastWord { unlogged, note, is_unclear }
}

impl LastWord {
    /// The same in brief, to be told once more with the end.
    pub(crate) fn told(&self, evidence: &Evidence) -> Word {
        let logged = evidence.work.declared.as_ref().map(|told| &told.body);
        let counts = self.unlogged.as_ref().or(logged).filter(|_| !self.is_unclear);
        Word { declared: counts.map(brief), unclear: self.is_unclear }
    }
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
