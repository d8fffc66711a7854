//! Resuming: the same conversation in a new session. Refused while a living process is at it; what was left unanswered is
//! told, and nothing of the agent's files is touched.

mod back;

use std::fs::File;
use std::path::{Path, PathBuf};

use abide_agents::{Adapter, Place, Story, is_database};
use abide_core::evidence::Survivor;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::verdict::program_of;

use super::checkpoint::Ahead;
use super::following::is_before;
use super::left::variables;
use super::{Agent, Asked, Health, adapter_of, began_at, scribe, unanswered, writer_of};
use crate::place::tree;
use crate::truth::Session;
use crate::{Sessions, names};

/// The label that names the session whose conversation another goes on with.
pub const RESUMES: &str = "resumes";

/// A conversation that can be gone on with.
#[derive(Debug)]
pub struct Resumable {
    pub adapter: &'static dyn Adapter,
    pub conversation: String,
    /// The command line that goes on with it.
    pub argv: Vec<String>,
    pub place: Place,
    /// The session that it was last in, and whether that had a terminal.
    pub from: Option<SessionId>,
    pub had_terminal: bool,
    /// The tool calls that nothing answered, and what of that session lives on.
    pub unanswered: Vec<String>,
    pub survivors: Vec<Survivor>,
    pub writer: Writer,
    /// The last checkpoint of it, where the transcript has less.
    pub ahead: Option<Ahead>,
    pub(super) stood: Stood,
}

/// Who is at a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    Nobody,
    /// This living process.
    Process(u32),
    /// It cannot be told, and why.
    Unknown(String),
}

/// Held by one who asks who is at a conversation and then goes on with it, so that no other does meanwhile.
#[derive(Debug)]
pub struct InTurn(#[expect(dead_code, reason = "held, not looked at")] File);

/// How a transcript stood: all that tells whether somebody has written to it since.
#[derive(Debug, PartialEq)]
pub(super) enum Stood {
    Nowhere,
    File {
        path: PathBuf,
        length: u64,
    },
    /// Others write to it as well: what it says of this conversation.
    Database(Box<Story>),
}

impl Stood {
    pub(super) fn of(adapter: &dyn Adapter, place: &Place, conversation: &str) -> Self {
        let Some(path) = adapter.transcript(place, conversation) else { return Self::Nowhere };
        let Ok(file) = File::open(&path) else { return Self::Nowhere };
        if is_database(&file) {
            return Self::Database(Box::new(story_in(adapter, &path, conversation)));
        }
        let length = file.metadata().map_or(0, |meta| meta.len());
        Self::File { path, length }
    }
}

/// What a transcript says. What cannot be read leaves nothing to tell; the agent says what is wrong with it.
fn story_in(adapter: &dyn Adapter, path: &Path, conversation: &str) -> Story {
    let mut reader = adapter.reader(path, conversation);
    let _ = reader.read_on();
    reader.story().clone()
}

impl Sessions {
    /// The process that goes on with the conversation of a session that is over, and what it was at: the agent's own one is gone.
    #[must_use]
    pub fn goes_on(&self, session: &Session) -> Option<(u32, String)> {
        let (adapter, conversation) = adapter_of(session).zip(conversation_of(session))?;
        let place = Place { cwd: cwd_of(session), variables: variables() };
        let writer = writer_of(self.truth(), adapter, (&place, &conversation))?;
        Some((writer.pid, conversation))
    }

    /// Waits until nobody else goes on with a conversation.
    ///
    /// # Errors
    /// If there is no home and none can be made.
    pub fn in_turn_to_resume(&mut self) -> Result<InTurn, Failure> {
        names::in_turn_to_resume(self.ensure_home()?).map(InTurn)
    }

    /// What a session's agent was at, or what was last gone on with in this directory; with a prompt, if it takes one.
    ///
    /// # Errors
    /// If there is no such conversation.
    pub fn resumable(
        &self,
        session: Option<&Session>,
        place: &Place,
        prompt: Option<&str>,
    ) -> Result<Resumable, Failure> {
        if let Some(session) = session {
            return self.of_session(session, place, prompt);
        }
        let last = self.last_in(place)?;
        match (last, latest_in(place)) {
            (Some((at, session)), latest) if latest.as_ref().is_none_or(|(later, ..)| at >= *later) => {
                self.of_session(&session, place, prompt)
            }
            (_, Some((_, adapter, conversation))) => {
                Ok(self.found(adapter, conversation, (&[adapter.name().to_owned()], prompt), place))
            }
            (_, None) => {
                let message = format!("no agent's conversation is known in {}", place.cwd.display());
                Err(Failure::new(Code::NoAgent, message).hint("name a session: `abide ls -a` lists them"))
            }
        }
    }

    /// The session of this directory whose conversation was written to last, and when, in ms of wall time.
    fn last_in(&self, place: &Place) -> Result<Option<(i64, Session)>, Failure> {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let here = real(&place.cwd);
        let mut last: Option<(i64, Session)> = None;
        for session in self.list()? {
            let Some((adapter, conversation)) = adapter_of(&session).zip(conversation_of(&session)) else {
                continue;
            };
            let cwd = cwd_of(&session);
            if cwd != place.cwd && real(&cwd) != here {
                continue;
            }
            let its = Place { cwd, ..place.clone() };
            // Where its transcript is gone, the session knows best.
            let heard = session.evidence.record.last.as_ref().map_or(0, |told| told.at.wall);
            let at = written_at(adapter, &its, &conversation).unwrap_or(heard);
            if last.as_ref().is_none_or(|(latest, _)| at > *latest) {
                last = Some((at, session));
            }
        }
        Ok(last)
    }

    fn of_session(
        &self,
        session: &Session,
        place: &Place,
        prompt: Option<&str>,
    ) -> Result<Resumable, Failure> {
        let id = &session.id;
        // One that has taken no turn may live and say which conversation it is at.
        let living = || self.agent_in(session).and_then(|agent| Some(agent.conversation?.conversation));
        let known = adapter_of(session).zip(conversation_of(session).or_else(living));
        let (adapter, conversation) = known.ok_or_else(|| {
            Failure::new(Code::NoAgent, format!("session {id} had no agent whose conversation is known"))
                .hint("`abide ls -a` lists the sessions; a conversation is known once its agent has taken a turn")
                .about(id.as_str())
                .in_status(session.verdict.status)
        })?;
        let beginning = &session.evidence.beginning;
        let launched = beginning.launched.as_ref().map(|told| told.body.argv.clone());
        let adopted = || beginning.adopted.as_ref().map(|told| told.body.argv.clone());
        let argv = launched.or_else(adopted).unwrap_or_default();
        // A shell in which the agent was started is not the agent.
        let of_agent = super::named_by(&argv).is_some_and(|named| named.name() == adapter.name());
        let argv = if of_agent { argv } else { vec![adapter.name().to_owned()] };
        let place = Place { cwd: cwd_of(session), ..place.clone() };
        if !place.cwd.is_dir() {
            return Err(no_directory(session, &place.cwd));
        }
        let mut found = self.found(adapter, conversation, (&argv, prompt), &place);
        if found.writer == Writer::Nobody {
            found.writer = self.resumed_by_another(&found, Some(id));
        }
        // A turn that has no name of its agent's is none that was written down.
        let turn = session.evidence.work.turn.as_ref();
        let silent = turn.is_none_or(|told| scribe::is_ours(&told.body.turn));
        if silent && found.writer == Writer::Nobody && found.stood == Stood::Nowhere {
            return Err(nothing_of(session, &found.conversation));
        }
        for one in self.survivors(session) {
            if found.survivors.iter().all(|known| known.process.pid != one.process.pid) {
                found.survivors.push(one);
            }
        }
        found.had_terminal = session.has_terminal();
        found.from = Some(id.clone());
        found.ahead = self.ahead(adapter, &found.conversation);
        Ok(found)
    }

    fn found(
        &self,
        adapter: &'static dyn Adapter,
        conversation: String,
        (argv, prompt): (&[String], Option<&str>),
        place: &Place,
    ) -> Resumable {
        let stood = Stood::of(adapter, place, &conversation);
        let path = adapter.transcript(place, &conversation);
        let story = path.map(|path| story_in(adapter, &path, &conversation)).unwrap_or_default();
        let mut found = Resumable {
            argv: abide_agents::resume(adapter, argv, &conversation, prompt),
            unanswered: unanswered(&story),
            place: place.clone(),
            from: None,
            had_terminal: true,
            survivors: self.marked(adapter, &conversation),
            writer: self.writer(adapter, place, &conversation),
            adapter,
            conversation,
            ahead: None,
            stood,
        };
        if found.writer == Writer::Nobody {
            found.writer = self.resumed_by_another(&found, None);
        }
        found
    }

    /// What was started at a conversation and lives, where its agent leaves a mark on that: an agent that was started
    /// elsewhere, and is dead, leaves its tools to nobody who would know whose they were.
    fn marked(&self, adapter: &dyn Adapter, conversation: &str) -> Vec<Survivor> {
        let own = std::process::id();
        let asking: Vec<u32> = self.truth().above(own).into_iter().chain([own]).collect();
        let all = adapter.mark(conversation).map(|mark| self.truth().carriers(&mark)).unwrap_or_default();
        let others = all.into_iter().filter(|(identity, _)| !asking.contains(&identity.pid));
        others.map(|(identity, process)| tree::survivor(identity, &process)).collect()
    }

    /// Who is at a conversation, by what living agents and their files say.
    fn writer(&self, adapter: &dyn Adapter, place: &Place, conversation: &str) -> Writer {
        let (agents, asked) = self.agents();
        let of_kind = || agents.iter().filter(|agent| agent.adapter.name() == adapter.name());
        let is_at = |agent: &&Agent| {
            agent.conversation.as_ref().is_some_and(|held| held.conversation == conversation)
        };
        if let Some(agent) = of_kind().find(is_at) {
            return Writer::Process(agent.process.pid);
        }
        if let Some(writer) = writer_of(self.truth(), adapter, (place, conversation)) {
            return Writer::Process(writer.pid);
        }
        if let Some(why) = untold(&asked, adapter.name()) {
            return Writer::Unknown(why);
        }
        // Of several in one directory mostly nobody knows which is at what: any may be the one that wrote to it since it began.
        let written = written_at(adapter, place, conversation);
        let may_be_at = |agent: &&Agent| {
            let here = agent.cwd.as_deref() == Some(&place.cwd);
            // A file's time is that of the last tick: it may seem older than who wrote to it.
            let began = || began_at(&agent.process).unwrap_or(i64::MIN);
            agent.conversation.is_none() && here && written.is_some_and(|at| !is_before(at, began()))
        };
        of_kind().find(may_be_at).map_or(Writer::Nobody, |agent| {
            let pid = agent.process.pid;
            Writer::Unknown(format!(
                "process {pid} works in the same directory, at a conversation that is not known"
            ))
        })
    }

    /// The program of a session that goes on with this conversation, and whose agent may not be there to be seen yet.
    fn resumed_by_another(&self, found: &Resumable, from: Option<&SessionId>) -> Writer {
        let sessions = self.list().unwrap_or_default();
        let is_at_it = |session: &&Session| {
            let Some(launched) = session.evidence.beginning.launched.as_ref().map(|told| &told.body) else {
                return false;
            };
            let told = found.adapter.named_in(&launched.argv).as_ref() == Some(&found.conversation);
            let linked = from
                .is_some_and(|from| launched.labels.get(RESUMES).is_some_and(|other| other == from.as_str()));
            session.verdict.status.is_active()
                && !session.seen.program.is_dead()
                && launched.agent.as_deref() == Some(found.adapter.name())
                && (told || linked)
                && Some(&session.id) != from
                && !self.is_at_another(session, &found.conversation)
        };
        let Some(other) = sessions.iter().find(is_at_it) else { return Writer::Nobody };
        let id = &other.id;
        let unseen = || {
            Writer::Unknown(format!("session {id} goes on with it, and its program cannot be seen from here"))
        };
        program_of(&other.evidence)
            .and_then(|program| self.truth().pid_here(program))
            .map_or_else(unseen, Writer::Process)
    }

    /// Whether the agent of a session left the conversation that it was launched for.
    fn is_at_another(&self, session: &Session, conversation: &str) -> bool {
        let held = self.agent_in(session).and_then(|agent| agent.conversation);
        match held.filter(|held| held.by.is_its_own_word()) {
            Some(held) => held.conversation != conversation,
            None => conversation_of(session).is_some_and(|known| known != conversation),
        }
    }
}

/// Why it cannot be told which agents of a kind are there.
fn untold(asked: &[Asked], kind: &str) -> Option<String> {
    let about = asked.iter().filter(|one| one.name == "processes" || one.name == kind);
    about.into_iter().find_map(|one| match &one.health {
        // An agent whose files cannot be read says all the same which ones they are.
        Health::Good => None,
        Health::Failed(_) if one.name == kind => None,
        Health::Failed(why) => Some(why.clone()),
        Health::Late => Some(format!("{} could not be looked at in time", one.name)),
    })
}

/// The conversation that was written to last in this directory, of all agents, and when.
fn latest_in(place: &Place) -> Option<(i64, &'static dyn Adapter, String)> {
    let latest = abide_agents::ALL.iter().filter_map(|adapter| {
        let conversation = adapter.latest(place)?;
        Some((written_at(*adapter, place, &conversation)?, *adapter, conversation))
    });
    latest.max_by_key(|(at, ..)| *at)
}

/// When a conversation was written to last, in ms of wall time.
fn written_at(adapter: &dyn Adapter, place: &Place, conversation: &str) -> Option<i64> {
    let path = adapter.transcript(place, conversation)?;
    let file = File::open(&path).ok()?;
    if is_database(&file) {
        // Others write to it as well: it says itself when something was said.
        return story_in(adapter, &path, conversation).last_at;
    }
    let since = file.metadata().ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn no_directory(session: &Session, cwd: &Path) -> Failure {
    let id = &session.id;
    let message = format!("the agent of session {id} worked in {}, which is gone", cwd.display());
    Failure::new(Code::NoAgent, message)
        .hint("make that directory again: an agent finds a conversation only where it began")
        .about(id.as_str())
        .in_status(session.verdict.status)
}

/// A conversation that is known and of which there is nothing.
fn nothing_of(session: &Session, conversation: &str) -> Failure {
    let id = &session.id;
    let message = format!("nothing is found of conversation {conversation}, which session {id} was at");
    Failure::new(Code::NoAgent, message)
        .hint(format!("its agent may have ended before it wrote any of it: `abide inspect {id}` shows what was asked for"))
        .about(id.as_str())
        .in_status(session.verdict.status)
}

/// The conversation of a session's agent, as far as its record tells.
pub(super) fn conversation_of(session: &Session) -> Option<String> {
    let work = &session.evidence.work;
    let summary = work.summary.as_ref().and_then(|told| told.body.conversation.clone());
    summary.or_else(|| work.turn.as_ref()?.body.conversation.clone()).or_else(|| begun(session))
}

/// The conversation that its agent was told to begin.
fn begun(session: &Session) -> Option<String> {
    let launched = session.evidence.beginning.launched.as_ref()?;
    launched.body.begun.as_ref().map(|begun| begun.conversation.clone())
}

/// Where a session's agent worked.
pub(super) fn cwd_of(session: &Session) -> PathBuf {
    let (beginning, work) = (&session.evidence.beginning, &session.evidence.work);
    let turn = work.turn.as_ref().map(|told| told.body.cwd.clone());
    let launched = || beginning.launched.as_ref().map(|told| told.body.cwd.clone());
    let adopted = || beginning.adopted.as_ref().map(|told| told.body.cwd.clone());
    let known = turn.filter(|cwd| !cwd.is_empty()).or_else(launched).or_else(adopted);
    PathBuf::from(known.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_be_looked_at_in_time_is_not_taken_for_nobody() {
        let late = || Health::Late;
        let failed = || Health::Failed("no process can be seen from here".to_owned());
        for (name, health, told) in [
            ("processes", late(), false),
            ("processes", failed(), false),
            ("claude", late(), false),
            // It is known all the same which conversation that one is at.
            ("claude", failed(), true),
            ("codex", late(), true),
            ("claude", Health::Good, true),
        ] {
            let asked = [Asked { name, health }];
            assert_eq!(untold(&asked, "claude").is_none(), told, "{asked:?}");
        }
    }
}
