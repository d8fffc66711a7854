//! What an agent left behind that is gone: why its turn is over, and a summary of what it did, out of its own transcript.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use abide_agents::{Place, Story};
use abide_core::evidence::Summary;
use abide_core::evidence::fold::Saved;

use super::resume::{conversation_of, cwd_of};
use super::{adapter_of, unanswered, writer_of};
use crate::launch;
use crate::truth::{Relative, Session, Truth};

/// So many files are named in a summary.
const FILES: usize = 100;

/// The agent of a session, as its transcript tells of it.
pub(crate) struct Left {
    agent: &'static str,
    conversation: String,
    story: Story,
    writer: Option<Relative>,
}

impl Left {
    /// What the agent of a session left, if its transcript is found from here.
    pub(crate) fn of(truth: &Truth, session: &Session) -> Option<Self> {
        Self::at(truth, session, Place { cwd: cwd_of(session), variables: variables() })
    }

    /// The same, where it is known at which place it worked.
    pub(crate) fn at(truth: &Truth, session: &Session, place: Place) -> Option<Self> {
        let adapter = adapter_of(session)?;
        let told = || adapter.named_in(&session.evidence.beginning.launched.as_ref()?.body.argv);
        let conversation = conversation_of(session).or_else(told)?;
        // A checkpoint names the file, wherever whoever asks would look for it.
        let is_its = |saved: &&Saved| saved.latest.body.conversation.as_ref() == Some(&conversation);
        let saved = session.evidence.work.saved.iter().find(is_its).map(|saved| &saved.latest.body.file);
        let saved = saved.map(PathBuf::from).filter(|file| file.is_file());
        let transcript = saved.or_else(|| adapter.transcript(&place, &conversation))?;
        let mut reader = adapter.reader(&transcript, &conversation);
        reader.read_on().ok()?;
        let writer = writer_of(truth, adapter, (&place, &conversation));
        Some(Self { agent: adapter.name(), story: reader.story().clone(), conversation, writer })
    }

    /// Why the turn is over that it was at.
    pub(crate) fn reason(left: Option<&Self>) -> String {
        let writer = left.and_then(|left| left.writer.as_ref());
        reason(left.map(|left| unanswered(&left.story)).unwrap_or_default(), writer)
    }

    /// Whether anything was written of it since the session began.
    pub(crate) fn is_of(&self, session: &Session) -> bool {
        self.story.last_at.is_some_and(|at| at >= session.launched_at())
    }

    pub(crate) fn summary(self) -> Summary {
        summary(self.agent, Some(self.conversation), self.story)
    }
}

/// The variables of this command that say where agents keep their files.
pub(super) fn variables() -> BTreeMap<String, String> {
    let text = |value: OsString| value.into_string().ok();
    let all = launch::environment().into_iter();
    all.filter_map(|(key, value)| Some((text(key)?, text(value)?))).collect()
}

/// Why a turn is over whose agent is gone. One that another process goes on with is over only here.
pub(crate) fn reason(unanswered: Vec<String>, writer: Option<&Relative>) -> String {
    if let Some(Relative { pid, name, .. }) = writer {
        return format!("its agent ended; the turn goes on in process {pid} ({name})");
    }
    let reason = "its agent ended in the middle of it".to_owned();
    if unanswered.is_empty() { reason } else { format!("{reason}; unanswered: {}", unanswered.join(", ")) }
}

/// What an agent did.
pub(crate) fn summary(agent: &str, conversation: Option<String>, story: Story) -> Summary {
    let began = story.turn.as_ref().and_then(|turn| turn.opened_at);
    let duration = story.last_at.zip(story.first_at.or(began)).map_or(0, |(last, first)| last - first);
    Summary {
        agent: agent.to_owned(),
        conversation,
        unanswered: unanswered(&story),
        version: story.version,
        model: story.model,
        prompts: story.prompts,
        turns: story.turns,
        tools: story.tools,
        files: story.files.into_iter().take(FILES).collect(),
        input_tokens: story.tokens.input,
        output_tokens: story.tokens.output,
        duration_ms: u64::try_from(duration).unwrap_or(0),
    }
}
