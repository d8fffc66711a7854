//! The JSON twin of a session's agent: what it does and wants, and what it did.

use std::collections::BTreeMap;

use abide_core::evidence::Summary;
use abide_engine::Session;
use schemars::JsonSchema;
use serde::Serialize;

use crate::show::time::Time;

/// What the agent in it does and wants.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentView<'a> {
    #[schemars(extend("enum" = ["working", "settled", "unknown"]))]
    pub(crate) turn: &'static str,
    #[schemars(extend("enum" = ["none", "approval", "answer", "unknown"]))]
    pub(crate) attention: &'static str,
    pub(crate) stuck_since: Option<Time>,
    /// The adapter that knows this agent.
    pub(crate) agent: Option<&'a str>,
    /// What it did, once it has ended and as far as its own files tell; only there where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<SummaryView<'a>>,
}

/// What an agent did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub(crate) struct SummaryView<'a> {
    pub(crate) conversation: Option<&'a str>,
    pub(crate) version: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    pub(crate) prompts: u64,
    /// Turns that were closed.
    pub(crate) turns: u64,
    /// How often each tool was called.
    pub(crate) tools: &'a BTreeMap<String, u64>,
    /// Files that its tools wrote to.
    pub(crate) files: &'a [String],
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// From the first prompt to the last word.
    pub(crate) duration_ms: u64,
    /// Tool calls that nothing answered; what looks like a secret is masked.
    pub(crate) unanswered: &'a [String],
}

impl<'a> AgentView<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        Self {
            turn: session.verdict.turn.name(),
            attention: session.verdict.attention.name(),
            stuck_since: session.verdict.stuck_since.map(|at| Time(at.wall)),
            agent: abide_engine::agents::name_of(session),
            summary: session.evidence.work.summary.as_ref().map(|told| SummaryView::new(&told.body)),
        }
    }
}

impl<'a> SummaryView<'a> {
    fn new(told: &'a Summary) -> Self {
        Self {
            conversation: told.conversation.as_deref(),
            version: told.version.as_deref(),
            model: told.model.as_deref(),
            prompts: told.prompts,
            turns: told.turns,
            tools: &told.tools,
            files: &told.files,
            input_tokens: told.input_tokens,
            output_tokens: told.output_tokens,
            duration_ms: told.duration_ms,
            unanswered: &told.unanswered,
        }
    }
}
