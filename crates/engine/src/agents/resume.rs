//! Resuming: the same conversation in a new session. Refused while a living process is at it; what was left unanswered is
//! told, and nothing of the agent's files is touched.

use std::path::{Path, PathBuf};

use abide_agents::{Adapter, Place};
use abide_core::evidence::Survivor;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_sys::{clock, poll};

use super::checkpoint::Ahead;
use super::{Agent, adapter_of, scribe, unanswered};
use crate::truth::Session;
use crate::wait::Ending;
use crate::{Sessions, find};

/// How often an agent that starts is looked at.
const LOOK_MS: u64 = 100;

/// A conversation that can be gone on with.
#[derive(Debug)]
pub struct Resumable {
    pub adapter: &'static dyn Adapter,
    pub conversation: String,
    /// The command line that goes on with it.
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The session that it was last in, and whether that had a terminal.
    pub from: Option<SessionId>,
    pub had_terminal: bool,
    /// The tool calls that nothing answered, and what of that session lives on.
    pub unanswered: Vec<String>,
    pub survivors: Vec<Survivor>,
    /// A living process that is at it.
    pub writer: Option<u32>,
    /// The last checkpoint of it, where the transcript has less.
    pub ahead: Option<Ahead>,
}

impl Sessions {
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
        let last = match session {
            Some(_) => None,
            None => self
                .list()?
                .into_iter()
                .find(|one| conversation_of(one).is_some() && cwd_of(one) == place.cwd),
        };
        match session.or(last.as_ref()) {
            Some(session) => self.of_session(session, place, prompt),
            None => self.of_directory(place, prompt),
        }
    }

    fn of_session(
        &self,
        session: &Session,
        place: &Place,
        prompt: Option<&str>,
    ) -> Result<Resumable, Failure> {
        let id = &session.id;
        let known = adapter_of(session).zip(conversation_of(session));
        let (adapter, conversation) = known.ok_or_else(|| {
            Failure::new(Code::NoAgent, format!("session {id} had no agent whose conversation is known"))
                .hint("`abide ls -a` lists the sessions; a conversation is known once its agent has taken a turn")
                .about(id.as_str())
                .in_status(session.verdict.status)
        })?;
        let launched = session.evidence.beginning.launched.as_ref();
        let argv = launched.map(|told| told.body.argv.clone()).unwrap_or_default();
        // A shell in which the agent was started is not the agent.
        let of_agent = super::named_by(&argv).is_some_and(|named| named.name() == adapter.name());
        let argv = if of_agent { argv } else { vec![adapter.name().to_owned()] };
        let place = Place { cwd: cwd_of(session), ..place.clone() };
        // A turn that has no name of its agent's is none that was written down.
        let turn = session.evidence.work.turn.as_ref();
        let silent = turn.is_none_or(|told| scribe::is_ours(&told.body.turn));
        if silent && begun(session).is_some() && adapter.transcript(&place, &conversation).is_none() {
            return Err(nothing_of(session, &conversation));
        }
        let mut found = self.found(adapter, conversation, (&argv, prompt), &place);
        found.survivors = self.survivors(session);
        found.had_terminal = session.has_terminal();
        found.from = Some(id.clone());
        found.ahead = self.ahead(session, adapter, &found.conversation);
        Ok(found)
    }

    fn of_directory(&self, place: &Place, prompt: Option<&str>) -> Result<Resumable, Failure> {
        let written = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
        let latest = abide_agents::ALL
            .iter()
            .filter_map(|adapter| {
                let conversation = adapter.latest(place)?;
                let at = adapter.transcript(place, &conversation).and_then(|path| written(&path))?;
                Some((at, *adapter, conversation))
            })
            .max_by_key(|(at, ..)| *at);
        let (_, adapter, conversation) = latest.ok_or_else(|| {
            let message = format!("no agent's conversation is known in {}", place.cwd.display());
            Failure::new(Code::NoAgent, message).hint("name a session: `abide ls -a` lists them")
        })?;
        Ok(self.found(adapter, conversation, (&[adapter.name().to_owned()], prompt), place))
    }

    fn found(
        &self,
        adapter: &'static dyn Adapter,
        conversation: String,
        (argv, prompt): (&[String], Option<&str>),
        place: &Place,
    ) -> Resumable {
        let transcript = adapter.transcript(place, &conversation);
        let story = transcript.map(|path| {
            let mut reader = adapter.reader(&path, &conversation);
            // What cannot be read leaves nothing to tell; the agent says what is wrong with it.
            let _ = reader.read_on();
            reader.story().clone()
        });
        let is_at = |agent: &Agent| {
            agent.adapter.name() == adapter.name()
                && agent.conversation.as_ref().is_some_and(|held| held.conversation == conversation)
        };
        let writer = self.agents().0.iter().find(|agent| is_at(agent)).map(|agent| agent.process.pid);
        Resumable {
            argv: abide_agents::resume(adapter, argv, &conversation, prompt),
            unanswered: story.as_ref().map(unanswered).unwrap_or_default(),
            cwd: place.cwd.clone(),
            from: None,
            had_terminal: true,
            survivors: Vec::new(),
            adapter,
            conversation,
            writer,
            ahead: None,
        }
    }

    /// Waits until the agent in a session is at a conversation: whether it is at this one. None if that could not be told
    /// within so many ms.
    ///
    /// # Errors
    /// If there is no such session.
    pub fn came_back(
        &self,
        session: &Session,
        conversation: &str,
        patience_ms: u64,
    ) -> Result<Option<bool>, Failure> {
        let home = self.home().ok_or_else(|| find::nothing(session.id.as_str()))?;
        let deadline = clock::now().boot.saturating_add(patience_ms);
        let mut ending = Ending::new(self.truth(), home, &session.id);
        loop {
            // What its scribe or its summary says counts also when it is over.
            if let Some(known) = conversation_of(&ending.session) {
                return Ok(Some(known == conversation));
            }
            let held = self.agent_in(&ending.session).and_then(|agent| agent.conversation);
            if let Some(held) = held {
                return Ok(Some(held.conversation == conversation));
            }
            if ending.session.is_over() || clock::now().boot >= deadline {
                return Ok(None);
            }
            let fds: Vec<_> = ending.fds().collect();
            let _ = poll::readable(&fds, Some(LOOK_MS));
            drop(fds);
            ending.look_again(self.truth(), home);
        }
    }
}

/// A conversation that was begun and of which there is nothing.
fn nothing_of(session: &Session, conversation: &str) -> Failure {
    let id = &session.id;
    let message = format!("nothing is found of conversation {conversation}, which session {id} began");
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
    let launched = beginning.launched.as_ref().map(|told| told.body.cwd.clone());
    PathBuf::from(turn.or(launched).unwrap_or_default())
}
