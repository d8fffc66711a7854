//! `abide checkpoint`: save files of a session now, list what was saved, and give it back.

use std::io::Read;
use std::path::{Path, PathBuf};

use abide_core::evidence::{Checkpointed, Reason};
use abide_core::failure::{Code, Failure};
use abide_engine::agents::Checkpoint;
use abide_engine::{Session, Sessions};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::environment::Variable;
use crate::show::page::Tone;
use crate::show::table::{self, Cell};
use crate::show::time::{self, Time};
use crate::target::Target;

const EXAMPLES: &str = "Examples:
  abide checkpoint --file PLAN.md              from within a session: save it now and from now on
  abide checkpoint fix                         save the transcript of that session's agent now
  abide checkpoint ls fix                      what was saved, when and why
  abide checkpoint show fix -n 3               one of them, and what became of the file since
  abide checkpoint restore fix --to old.jsonl  the latest, as a file";

/// Save files of a session, list what was saved, and give it back
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "While a turn is open, the transcript of a session's agent and every file that was named with --file are saved \
    into the session every 30 s (`checkpoint.every` of the config file), and when the session hears a hangup, is asked to stop, or \
    ends; a session without an agent is always at work. Only what is new is stored. A checkpoint holds what the file held, secrets \
    included; it is private, and goes with its session. `show` and `restore` give nothing whose checksum is wrong (exit \
    code 7). `restore` overwrites nothing without --force (`would_overwrite`, 6), nor what a living agent writes to, and never the \
    database in which an agent keeps all its conversations. Of a database, each checkpoint that differs is a whole copy."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    /// ID, name, unique prefix or @last [default: the session this runs in]
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// Save this file now, and again while the session works; can be given more than once
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// List the checkpoints of a session
    Ls(Listing),
    /// Show one, and what became of its file since
    Show(Picking),
    /// Give one back as a file
    Restore(Restoring),
}

#[derive(Debug, clap::Args)]
struct Listing {
    /// ID, name, unique prefix or @last [default: the session this runs in]
    #[arg(value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Picking {
    /// ID, name, unique prefix or @last [default: the session this runs in]
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// Its number in `checkpoint ls` [default: the latest]
    #[arg(short, long, value_name = "N")]
    number: Option<usize>,
    /// The latest of this file
    #[arg(long, value_name = "FILE", conflicts_with = "number")]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Restoring {
    #[command(flatten)]
    which: Picking,
    /// Where to put it [default: where it was taken from]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Put it in the place of what stands there
    #[arg(long)]
    force: bool,
}

/// Checkpoints of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Checkpoints")]
pub(crate) struct CheckpointsView {
    id: String,
    /// The oldest first; of `show` and `restore` the one that is meant.
    checkpoints: Vec<CheckpointView>,
    /// The file that `restore` made.
    restored_to: Option<String>,
}

/// A file as it was at an instant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Checkpoint")]
struct CheckpointView {
    number: usize,
    at: Time,
    file: String,
    bytes: u64,
    /// How many of them were stored anew.
    new_bytes: u64,
    #[schemars(extend("enum" = Reason::NAMES))]
    reason: &'static str,
    /// The agent and the conversation whose transcript it is.
    agent: Option<String>,
    conversation: Option<String>,
    /// Whether its bytes are still there; of `show` and `restore`: and are those that were saved.
    kept: bool,
    /// The copy, below the session's directory, that begins with it.
    copy: String,
    /// How the file stands to it now: `same`, `grown`, `shrunk`, `rewritten`, `gone` or `unreadable`. Null unless it was
    /// asked for, and of a database.
    since: Option<&'static str>,
}

impl CheckpointView {
    fn new(checkpoint: Checkpoint) -> Self {
        let Checkpoint { number, at, told, is_kept } = checkpoint;
        let Checkpointed { path, file, size, new, reason, agent, conversation, .. } = told;
        Self {
            number,
            at: Time(at.wall),
            file,
            bytes: size,
            new_bytes: new,
            reason: reason.name(),
            agent,
            conversation,
            kept: is_kept,
            copy: path,
            since: None,
        }
    }
}

impl Verb for Args {
    type Data = CheckpointsView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        match self.act {
            None => save(front, &sessions, &found(&sessions, self.session)?, &self.files),
            Some(Act::Ls(listing)) => list(front, &sessions, &found(&sessions, listing.session)?),
            Some(Act::Show(which)) => show(front, &sessions, which),
            Some(Act::Restore(how)) => restore(front, &sessions, how),
        }?;
        Ok(0)
    }
}

fn found(sessions: &Sessions, wanted: Option<String>) -> Result<Session, Failure> {
    let within = || Variable::Session.value().and_then(|id| id.into_string().ok());
    let wanted = wanted.or_else(within).ok_or_else(|| {
        Failure::new(Code::Usage, "this does not run in a session").hint("name one: `abide ls` lists them")
    })?;
    sessions.find(&wanted)
}

fn save(front: &mut Front, sessions: &Sessions, session: &Session, files: &[PathBuf]) -> Result<(), Failure> {
    let saved = sessions.checkpoint(session, files)?;
    let mut made = sessions.checkpoints(session)?;
    // Others may have been made meanwhile.
    made.retain(|one| saved.contains(&one.told));
    let made = made.split_off(made.len().saturating_sub(saved.len()));
    put(front, session, made)
}

fn list(front: &mut Front, sessions: &Sessions, session: &Session) -> Result<(), Failure> {
    put(front, session, sessions.checkpoints(session)?)
}

fn put(front: &mut Front, session: &Session, checkpoints: Vec<Checkpoint>) -> Result<(), Failure> {
    let rows: Vec<Vec<Cell>> = checkpoints.iter().map(row).collect();
    let checkpoints = checkpoints.into_iter().map(CheckpointView::new).collect();
    let view = CheckpointsView { id: session.id.to_string(), checkpoints, restored_to: None };
    front.output.show(&view, |page| table::put(page, 0, 3, &rows))
}

fn row(checkpoint: &Checkpoint) -> Vec<Cell> {
    let told = &checkpoint.told;
    let new = match checkpoint.is_kept {
        true => Cell::faint(&format!("+{}", time::size(told.new))),
        false => Cell::new(Tone::Bad, "gone"),
    };
    vec![
        Cell::plain(&checkpoint.number.to_string()),
        Cell::plain(&Time(checkpoint.at.wall).local()),
        Cell::plain(told.reason.name()),
        Cell::plain(&time::size(told.size)),
        new,
        Cell::plain(&told.file),
    ]
}

fn show(front: &mut Front, sessions: &Sessions, which: Picking) -> Result<(), Failure> {
    let (session, picked) = pick(sessions, which)?;
    let since = sessions.since_checkpoint(&session, &picked)?.map(|since| since.name());
    let rows = [
        ("checkpoint", format!("{} of session {}", picked.number, session.id)),
        ("file", picked.told.file.clone()),
        ("taken", format!("{}: {}", Time(picked.at.wall).local_exact(), picked.told.reason.says())),
        ("size", format!("{} bytes, {} of them stored anew", picked.told.size, picked.told.new)),
        ("conversation", picked.told.conversation.clone().unwrap_or_default()),
        ("copy", format!("{}, sound", picked.told.path)),
        ("since then", since.unwrap_or_default().to_owned()),
    ];
    let checkpoint = CheckpointView { since, ..CheckpointView::new(picked) };
    let view =
        CheckpointsView { id: session.id.to_string(), checkpoints: vec![checkpoint], restored_to: None };
    front.output.show(&view, |page| {
        let rows = rows.iter().filter(|(_, text)| !text.is_empty());
        let rows: Vec<Vec<Cell>> =
            rows.map(|(name, text)| vec![Cell::faint(name), Cell::plain(text)]).collect();
        table::put(page, 0, 1, &rows);
    })
}

fn restore(front: &mut Front, sessions: &Sessions, how: Restoring) -> Result<(), Failure> {
    let (session, picked) = pick(sessions, how.which)?;
    let id = session.id.as_str();
    let to = how.to.unwrap_or_else(|| PathBuf::from(&picked.told.file));
    let is_there = std::fs::symlink_metadata(&to).is_ok();
    let mut bytes = sessions.read_checkpoint(&session, &picked)?;
    let mut first = [0; 1 << 16];
    let mut length = read(&mut bytes, &mut first)?;
    let is_database = first[..length].starts_with(DATABASE);
    if is_there && is_database && picked.told.agent.is_some() && is_same(&to, Path::new(&picked.told.file)) {
        let message = format!("{} is there, and may hold other conversations by now", to.display());
        return Err(Failure::new(Code::WouldOverwrite, message)
            .hint("--to PATH puts it elsewhere; nothing puts it in the place of a database that agents share")
            .about(id));
    }
    if is_there && !how.force {
        let message = format!("{} is there already", to.display());
        return Err(Failure::new(Code::WouldOverwrite, message)
            .hint("--to PATH puts it elsewhere, --force in the place of that")
            .about(id));
    }
    if let Some(pid) = sessions.writer_of(&to) {
        let message = format!("process {pid} writes to {}", to.display());
        return Err(Failure::new(Code::ConversationInUse, message)
            .hint("end it first, or put it elsewhere with --to PATH")
            .about(id));
    }
    if is_database {
        refuse_beside_a_log(&to)?;
    }
    let target = Target::of(Some(&to))?.private();
    // What ends this program comes when the file is whole.
    let _signals = target.signals()?;
    let mut writing = target.open()?;
    while length > 0 {
        let written = std::io::Write::write_all(&mut writing, &first[..length]);
        writing.written(written)?;
        length = read(&mut bytes, &mut first)?;
    }
    let size = if is_there { writing.publish()? } else { writing.publish_anew()? };
    let restored = to.display().to_string();
    let checkpoints = vec![CheckpointView::new(picked)];
    let view = CheckpointsView { id: id.to_owned(), checkpoints, restored_to: Some(restored.clone()) };
    front.output.show(&view, |page| {
        page.plain(&format!("{restored}: {size} bytes")).end();
    })
}

fn read(bytes: &mut impl Read, into: &mut [u8]) -> Result<usize, Failure> {
    bytes.read(into).map_err(|e| Failure::io("read", &"the checkpoint", &e))
}

/// How every database begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// Whether two paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// The log of another database would be taken for part of this one.
fn refuse_beside_a_log(to: &Path) -> Result<(), Failure> {
    let beside = ["-wal", "-journal"].map(|ending| {
        let mut name = to.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    let holds = |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|log| log.len() > 0);
    match beside.iter().find(holds) {
        Some(log) => Err(Failure::new(
            Code::WouldOverwrite,
            format!("{} stands beside it and would be taken for part of the database", log.display()),
        )
        .hint("put it elsewhere with --to PATH, or move that file away")),
        None => Ok(()),
    }
}

/// The one that is meant.
fn pick(sessions: &Sessions, which: Picking) -> Result<(Session, Checkpoint), Failure> {
    let session = found(sessions, which.session)?;
    let id = session.id.as_str();
    let mut all = sessions.checkpoints(&session)?;
    let none = |message: String| {
        Failure::new(Code::NoCheckpoint, message)
            .hint(format!("`abide checkpoint ls {id}` lists what was saved"))
            .about(id)
            .in_status(session.verdict.status)
    };
    if let Some(number) = which.number {
        let found = number.checked_sub(1).filter(|at| *at < all.len());
        let found = found.ok_or_else(|| none(format!("session {id} has no checkpoint {number}")))?;
        return Ok((session, all.swap_remove(found)));
    }
    if let Some(file) = &which.file {
        let file = std::path::absolute(file).map_err(|e| Failure::io("find", &file.display(), &e))?;
        all.retain(|one| Path::new(&one.told.file) == file);
    }
    let mut files: Vec<&str> = all.iter().map(|one| one.told.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    if files.len() > 1 {
        let message = format!("session {id} has checkpoints of {} files: {}", files.len(), files.join(", "));
        return Err(Failure::new(Code::Ambiguous, message)
            .hint("name one with --file FILE, or a checkpoint with -n N")
            .about(id));
    }
    let last = all.pop().ok_or_else(|| none(format!("session {id} has no such checkpoint")))?;
    Ok((session, last))
}
