//! Checkpoints: files as they were at an instant, kept in the session. `copy` knows their bytes. Who makes them and
//! when is the scribe's to decide, or a user's; nothing here touches the outcome of a session.

pub(crate) mod copy;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use abide_agents::{Adapter, is_database};
use abide_core::evidence::fold::{SAVED_KEPT, Saved};
use abide_core::evidence::frame::Found;
use abide_core::evidence::{Body, Checkpointed, Reason, Role};
use abide_core::failure::{Code, Failure, admit};
use abide_core::id::SessionId;
use abide_core::identity::Lock;
use abide_core::moment::Moment;
use abide_core::status::Column;
use abide_sys::lock::{self, Holder};
use abide_sys::{clock, disk, poll};

use super::following::Following;
use super::resume::conversation_of;
use crate::facts::Wanted as Whose;
use crate::store::{SessionDir, Writer};
use crate::truth::Session;
use crate::{Sessions, find};
use copy::{Copies, begins_with};

/// How long the last checkpoint of a session that is over is waited for, and how often it is looked at.
const LAST_MS: u64 = 3_000;
const LOOK_MS: u64 = 20;

/// A file that is to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) file: PathBuf,
    /// The agent and the conversation whose transcript it is.
    pub(crate) of: Option<(String, String)>,
    pub(crate) named: bool,
}

impl Wanted {
    /// The transcript of an agent, once there is one.
    pub(crate) fn transcript(following: &Following) -> Option<Self> {
        let held = following.held()?;
        let of = Some((following.adapter.name().to_owned(), held.conversation.clone()));
        Some(Self { file: held.transcript.clone()?, of, named: false })
    }

    /// A file that was saved before.
    pub(crate) fn again(saved: &Saved) -> Self {
        let told = &saved.latest.body;
        let of = told.agent.clone().zip(told.conversation.clone());
        Self { file: PathBuf::from(&told.file), of, named: saved.named }
    }
}

/// Saves a file of a session, and puts that on record: none where nothing is new and nobody need know.
///
/// # Errors
/// If it cannot be saved; then nothing has changed, and no earlier checkpoint is touched.
pub(crate) fn save(
    dir: &SessionDir,
    pen: &mut Writer,
    wanted: &Wanted,
    reason: Reason,
) -> io::Result<Option<Checkpointed>> {
    let file = wanted.file.to_str().ok_or_else(|| io::Error::other("its name is no text"))?;
    let copies = Copies::in_turn(dir)?;
    // Asked in our turn: nobody adds to it until we have.
    let work = dir.read().evidence().work;
    let known = work.saved.iter().find(|saved| saved.latest.body.file == file);
    let last = known.map(|saved| &saved.latest.body);
    let copied = copies.take(&wanted.file, last, work.copies + 1)?;
    if copied.new == 0 && last.is_some_and(|last| last.size == copied.size) && !reason.is_always_told() {
        return Ok(None);
    }
    let (agent, conversation) = wanted.of.clone().unzip();
    let told = Checkpointed {
        path: format!("checkpoints/{}", copied.number),
        file: file.to_owned(),
        size: copied.size,
        new: copied.new,
        sum: copied.sum,
        reason,
        named: wanted.named && reason == Reason::Asked,
        agent,
        conversation,
        patched: copied.patched,
    };
    pen.add(clock::now(), Body::Checkpointed(told.clone()))?;
    let mut saved = known.cloned();
    if let Some(saved) = saved.as_mut().filter(|saved| saved.copies.last().map(|last| last.0) != told.copy())
    {
        saved.copies.extend(told.copy().map(|copy| (copy, told.stored())));
        copies.prune(saved);
    }
    Ok(Some(told))
}

/// Waits until checkpoints are on the disk.
///
/// # Errors
/// If the disk fails; who reads them then sees it by their sums.
pub(crate) fn flush(dir: &SessionDir, told: &[Checkpointed]) -> io::Result<()> {
    if told.is_empty() { Ok(()) } else { Copies::of(dir)?.flush(told) }
}

/// One checkpoint of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Counted from 1 in each session.
    pub number: usize,
    pub at: Moment,
    pub told: Checkpointed,
    /// Its bytes are still there, as far as can be told without reading them.
    pub is_kept: bool,
}

/// How a file stands to a checkpoint of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Same,
    /// It goes on behind the checkpoint.
    Grown,
    /// It ends before the checkpoint does.
    Shrunk,
    /// Something else stands in it.
    Rewritten,
    Gone,
    /// It cannot be read.
    Unreadable,
}

impl Since {
    /// In words for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Grown => "grown",
            Self::Shrunk => "shrunk",
            Self::Rewritten => "rewritten",
            Self::Gone => "gone",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A checkpoint that has what its file has not, and the session that it is in.
#[derive(Debug)]
pub struct Ahead {
    pub session: SessionId,
    pub checkpoint: Checkpoint,
    pub since: Since,
    /// The file may hold more than this conversation.
    pub is_database: bool,
}

impl Sessions {
    /// The checkpoints of a session, the oldest first. Of one that is over, the last one is waited for.
    ///
    /// # Errors
    /// If there is no such session.
    pub fn checkpoints(&self, session: &Session) -> Result<Vec<Checkpoint>, Failure> {
        let dir = self.dir_of(session)?;
        await_scribe(&dir, session);
        let copies = Copies::of(&dir).ok();
        let mut found = Vec::new();
        let whose = Whose::These(vec![session.id.clone()]);
        self.facts(&whose, &mut |witnessed| {
            if let Found::Fact(fact) = witnessed.found
                && let Body::Checkpointed(told) = fact.body
            {
                let is_kept = copies.as_ref().is_some_and(|copies| copies.holds(&told));
                found.push(Checkpoint { number: found.len() + 1, at: fact.at, told, is_kept });
            }
            true
        })?;
        Ok(found)
    }

    /// Saves files of a session now; without any, all that are known: the transcript of its agent, and those that were
    /// named before. Files that are named here are saved again from now on.
    ///
    /// # Errors
    /// If the session is over, there is nothing to save, or it cannot be saved.
    pub fn checkpoint(&self, session: &Session, files: &[PathBuf]) -> Result<Vec<Checkpointed>, Failure> {
        let (id, status) = (session.id.as_str(), session.verdict.status);
        admit(id, status, Column::Active)
            .map_err(|failure| failure.hint(format!("`abide checkpoint ls {id}` lists what was saved")))?;
        let dir = self.dir_of(session)?;
        let wanted = match files {
            [] => self.known_files(session),
            files => files.iter().map(|file| named(file)).collect::<Result<_, _>>()?,
        };
        if wanted.is_empty() {
            let message = format!("nothing of session {id} is known that could be saved");
            return Err(Failure::new(Code::NoAgent, message)
                .hint("name a file with --file; a transcript is known once its agent has taken a turn")
                .about(id)
                .in_status(status));
        }
        let many = session.evidence.work.saved.iter().filter(|saved| saved.named).count();
        if !files.is_empty() && many + files.len() > SAVED_KEPT / 2 {
            let message = format!("more than {} files of session {id} would be named", SAVED_KEPT / 2);
            return Err(Failure::new(Code::Usage, message)
                .hint("put what belongs together into one file")
                .about(id));
        }
        let failed = |file: &Path, e: &io::Error| {
            let failure = Failure::io("save", &file.display(), e).about(id).in_status(status);
            let way_out = "name a file that is there: it is saved as it is now, and again from then on";
            if e.kind() == io::ErrorKind::NotFound { failure.hint(way_out) } else { failure }
        };
        let mut pen =
            dir.write(Role::Client, self.truth().now().boot).map_err(|e| failed(Path::new(id), &e))?;
        let mut saved = Vec::new();
        for one in &wanted {
            let told = save(&dir, &mut pen, one, Reason::Asked).map_err(|e| failed(&one.file, &e))?;
            saved.extend(told);
        }
        flush(&dir, &saved).and_then(|()| pen.sync()).map_err(|e| failed(Path::new(id), &e))?;
        // Its host sees to it that somebody saves them from now on; without one nobody does.
        let _ = dir.connect();
        Ok(saved)
    }

    fn known_files(&self, session: &Session) -> Vec<Wanted> {
        let agent = self.agent_in(session);
        let transcript = agent.and_then(|agent| {
            let held = agent.conversation?;
            let of = Some((agent.adapter.name().to_owned(), held.conversation));
            Some(Wanted { file: held.transcript?, of, named: false })
        });
        let named = session.evidence.work.saved.iter().filter(|saved| saved.named).map(Wanted::again);
        transcript.into_iter().chain(named).collect()
    }

    /// The bytes of a checkpoint, once they have proved to be those that were saved.
    ///
    /// # Errors
    /// If they are gone or damaged.
    pub fn read_checkpoint(
        &self,
        session: &Session,
        wanted: &Checkpoint,
    ) -> Result<impl Read + use<>, Failure> {
        self.proved(session, wanted).map(|file| file.take(wanted.told.size))
    }

    /// How the file stands to it now; none of a database, whose bytes alone do not tell.
    ///
    /// # Errors
    /// As `read_checkpoint`.
    pub fn since_checkpoint(&self, session: &Session, wanted: &Checkpoint) -> Result<Option<Since>, Failure> {
        let copy = self.proved(session, wanted)?;
        Ok(since(&copy, wanted.told.size, Path::new(&wanted.told.file)))
    }

    /// The last checkpoint of a conversation in any of the sessions that were at it, if its transcript has less than that.
    pub(crate) fn ahead(&self, adapter: &'static dyn Adapter, conversation: &str) -> Option<Ahead> {
        let is_of = |told: &Checkpointed| {
            told.agent.as_deref() == Some(adapter.name())
                && told.conversation.as_deref() == Some(conversation)
        };
        let was_at = |session: &Session| {
            let saved = &session.evidence.work.saved;
            conversation_of(session).as_deref() == Some(conversation)
                || saved.iter().any(|saved| is_of(&saved.latest.body))
        };
        let last_in = |session: Session| {
            let found = self.checkpoints(&session).ok()?;
            let last = found.into_iter().rev().find(|one| one.is_kept && is_of(&one.told))?;
            Some((session, last))
        };
        let sessions = self.list().ok()?.into_iter().filter(was_at);
        let (session, last) = sessions.filter_map(last_in).max_by_key(|(_, one)| one.at.wall)?;
        let copy = self.proved(&session, &last).ok()?;
        let file = Path::new(&last.told.file);
        let is_database = is_database(&copy);
        let since = since(&copy, last.told.size, file).unwrap_or(Since::Rewritten);
        let is_ahead = match since {
            Since::Gone | Since::Shrunk => true,
            Since::Same | Since::Grown | Since::Unreadable => false,
            // Each says itself how far it goes.
            Since::Rewritten => {
                // What is kept with patches was put together, and has no other name.
                let kept = match last.told.patched {
                    Some(_) => PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd())),
                    None => self.home()?.session_path(session.id.as_str()).join(&last.told.path),
                };
                let until = |path: &Path| {
                    let mut reader = adapter.reader(path, conversation);
                    reader.read_on().ok().and_then(|_| reader.story().last_at)
                };
                until(&kept) > until(file)
            }
        };
        is_ahead.then_some(Ahead { session: session.id, checkpoint: last, since, is_database })
    }

    fn proved(&self, session: &Session, wanted: &Checkpoint) -> Result<File, Failure> {
        let (id, number) = (&session.id, wanted.number);
        let dir = self.dir_of(session)?;
        Copies::of(&dir).and_then(|copies| copies.proved(&wanted.told)).map_err(|error| {
            let gone = error.kind() == io::ErrorKind::NotFound;
            let damaged = error.kind() == io::ErrorKind::InvalidData;
            let why = match (gone, damaged) {
                (true, _) => "its copy is gone: later ones took its room".to_owned(),
                (_, true) => "its bytes are not those that were saved".to_owned(),
                (false, false) => error.to_string(),
            };
            let code = if gone { Code::NoCheckpoint } else { Code::Damaged };
            Failure::new(code, format!("checkpoint {number} of session {id} cannot be read: {why}"))
                .hint(format!("`abide checkpoint ls {id}` lists the others"))
                .about(id.as_str())
                .in_status(session.verdict.status)
        })
    }

    /// The pid of a living agent that writes to this file.
    #[must_use]
    pub fn writer_of(&self, path: &Path) -> Option<u32> {
        let same = |other: &Path| {
            let id = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
            id(path).is_some_and(|known| Some(known) == id(other)) || path == other
        };
        let (agents, _) = self.agents();
        let writer = agents.iter().find(|agent| {
            let held = agent.conversation.as_ref().and_then(|held| held.transcript.as_deref());
            held.is_some_and(same)
        });
        writer.map(|agent| agent.process.pid)
    }

    fn dir_of(&self, session: &Session) -> Result<SessionDir, Failure> {
        let home = self.home().ok_or_else(|| find::nothing(session.id.as_str()))?;
        home.session(&session.id).map_err(|untrusted| not_to_be_read(&session.id, &untrusted.says()))
    }
}

/// How a file stands to so many bytes of a copy of it; none of a database.
fn since(copy: &File, size: u64, file: &Path) -> Option<Since> {
    let file = match disk::open_foreign(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Since::Gone),
        Err(_) => return Some(Since::Unreadable),
        Ok(file) => file,
    };
    if is_database(copy) {
        return None;
    }
    let length = file.metadata().map_or(0, |meta| meta.len());
    Some(match begins_with(&file, copy, size.min(length)) {
        Err(_) => Since::Unreadable,
        Ok(false) => Since::Rewritten,
        Ok(true) if length < size => Since::Shrunk,
        Ok(true) if length > size => Since::Grown,
        Ok(true) => Since::Same,
    })
}

/// The scribe of a session that is over may still be at its last checkpoint.
fn await_scribe(dir: &SessionDir, session: &Session) {
    let Ok(evidence) = dir.evidence() else { return };
    let deadline = clock::now().boot.saturating_add(LAST_MS);
    while session.is_over()
        && lock::ask(&evidence, Holder::Scribe) == Lock::Held
        && clock::now().boot < deadline
    {
        let _ = poll::readable(&[], Some(LOOK_MS));
    }
}

/// A file that somebody names. Links lead where they lead at each time.
fn named(file: &Path) -> Result<Wanted, Failure> {
    let absolute = std::path::absolute(file).map_err(|e| Failure::io("find", &file.display(), &e))?;
    Ok(Wanted { file: absolute, of: None, named: true })
}

fn not_to_be_read(id: &SessionId, why: &str) -> Failure {
    Failure::new(Code::UnsafeHome, format!("session {id} cannot be read: {why}")).about(id.as_str())
}
