//! Agents in a table, what needs a person first, and who was asked about them.

use abide_core::verdict::{Attention, Turn};
use abide_engine::Sessions;
use abide_engine::agents::{Agent, Asked, Health};
use schemars::JsonSchema;
use serde::Serialize;

use crate::show::page::{Page, Tone};
use crate::show::shell;
use crate::show::table::{self, Cell};
use crate::show::time::Time;

/// One living agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Agent")]
pub(crate) struct AgentView {
    /// The adapter's name.
    agent: &'static str,
    version: Option<String>,
    pid: u32,
    liveness: &'static str,
    /// Its own ID of the conversation that it is at.
    conversation: Option<String>,
    cwd: Option<String>,
    turn: &'static str,
    attention: &'static str,
    /// The session that it runs in.
    session: Option<String>,
    /// The home of that session, if it is another one: `--home` leads there.
    home: Option<String>,
    tokens: TokensView,
    /// Tool calls that nothing has answered yet.
    unanswered: Vec<String>,
    because: Vec<SignView>,
}

/// What its conversation took, as the agent counts.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tokens")]
struct TokensView {
    input: u64,
    output: u64,
    /// Of the input, read from or written to a cache.
    cached: u64,
}

/// What one source says of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sign")]
struct SignView {
    source: &'static str,
    says: String,
    turn: Option<&'static str>,
    attention: Option<&'static str>,
    at: Option<Time>,
}

/// Who was asked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
pub(crate) struct SourceView {
    pub(crate) name: &'static str,
    #[serde(rename = "state")]
    #[schemars(extend("enum" = ["ok", "failed", "timeout"]))]
    pub(crate) health: &'static str,
    pub(crate) detail: Option<String>,
}

/// Agents and who was asked, as they are shown to whoever asked about these sessions.
pub(crate) fn views(
    sessions: &Sessions,
    mut agents: Vec<Agent>,
    asked: Vec<Asked>,
) -> (Vec<AgentView>, Vec<SourceView>) {
    agents.sort_by_key(|agent| urgency(agent.standing.turn, agent.standing.attention));
    for agent in &mut agents {
        agent.home = agent.home.take().filter(|home| !sessions.is_at(home));
    }
    (agents.iter().map(AgentView::new).collect(), asked.into_iter().map(SourceView::new).collect())
}

/// What needs a person first, then what works.
const fn urgency(turn: Turn, attention: Attention) -> u8 {
    match (attention, turn) {
        (Attention::Approval | Attention::Answer, _) => 0,
        (_, Turn::Unknown) => 1,
        (_, Turn::Working) => 2,
        (_, Turn::Settled) => 3,
    }
}

impl AgentView {
    fn new(agent: &Agent) -> Self {
        let (story, standing) = (&agent.story, &agent.standing);
        let held = agent.conversation.as_ref();
        let mut because: Vec<SignView> = agent
            .signs
            .iter()
            .map(|sign| SignView {
                source: sign.source.name(),
                says: sign.says.clone(),
                turn: sign.level.turn.map(Turn::name),
                attention: sign.level.attention.map(Attention::name),
                at: (sign.at > 0).then_some(Time(sign.at)),
            })
            .collect();
        because.extend(held.map(|held| SignView {
            source: "conversation",
            says: held.by.says().to_owned(),
            turn: None,
            attention: None,
            at: None,
        }));
        Self {
            agent: agent.adapter.name(),
            version: story.version.clone(),
            pid: agent.process.pid,
            liveness: agent.liveness.name(),
            conversation: held.map(|held| held.conversation.clone()),
            cwd: agent.cwd.as_ref().map(|cwd| cwd.display().to_string()),
            turn: standing.turn.name(),
            attention: standing.attention.name(),
            session: agent.session.as_ref().map(ToString::to_string),
            home: agent.home.as_ref().map(|home| home.display().to_string()),
            tokens: TokensView {
                input: story.tokens.input,
                output: story.tokens.output,
                cached: story.tokens.cached,
            },
            unanswered: agent.unanswered(),
            because,
        }
    }
}

impl AgentView {
    /// The session that it runs in, unless this home knows nothing of it.
    fn known_session(&self) -> Option<String> {
        let elsewhere = self.home.as_ref().map(|_| "other home".to_owned());
        elsewhere.or_else(|| self.session.clone())
    }
}

impl SourceView {
    /// One that answered.
    pub(crate) const fn good(name: &'static str) -> Self {
        Self { name, health: "ok", detail: None }
    }

    fn new(asked: Asked) -> Self {
        let (health, detail) = match asked.health {
            Health::Good => ("ok", None),
            Health::Failed(why) => ("failed", Some(why)),
            Health::Late => ("timeout", None),
        };
        Self { name: asked.name, health, detail }
    }
}

/// Puts a table of agents on the page.
pub(crate) fn put(page: &mut Page, agents: &[AgentView]) {
    if agents.is_empty() {
        return;
    }
    let head = ["AGENT", "PID", "TURN", "ATTENTION", "SESSION", "CONVERSATION", "DIRECTORY"];
    let mut rows = vec![head.iter().map(|word| Cell::new(Tone::Strong, word)).collect::<Vec<_>>()];
    for agent in agents {
        let wants = matches!(agent.attention, "approval" | "answer");
        let none = || "-".to_owned();
        rows.push(vec![
            Cell::plain(agent.agent),
            Cell::plain(&agent.pid.to_string()),
            Cell::plain(agent.turn),
            Cell::new(if wants { Tone::Warn } else { Tone::Plain }, agent.attention),
            Cell::plain(&agent.known_session().unwrap_or_else(none)),
            Cell::plain(&agent.conversation.clone().unwrap_or_else(none)),
            Cell::faint(&agent.cwd.clone().unwrap_or_else(none)),
        ]);
    }
    table::put(page, 0, 3, &rows);
    if let Some(way) = way_there(agents) {
        page.flow(Tone::Faint, &format!("hint: {way}"), 0, 2);
    }
}

/// How to speak of the first session of another home, if there is one.
fn way_there(agents: &[AgentView]) -> Option<String> {
    let there = |agent: &AgentView| Some((agent.home.clone()?, agent.session.clone()?));
    let (home, session) = agents.iter().find_map(there)?;
    Some(format!("`abide --home {} inspect {session}` asks the other home", shell::word(&home)))
}
