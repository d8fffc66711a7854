//! Agents on this machine, started here or elsewhere: which processes they are, and what each is at. That one lives is
//! the kernel's word; what it does is told by its own files, and only of a process that lives.

pub(crate) mod following;
pub(crate) mod git;
mod hook;
pub mod hooks;
mod resume;
pub(crate) mod scribe;

use std::path::PathBuf;

use abide_agents::{Adapter, Held, Kin, Process, Sign, Standing, Story};
use abide_core::evidence::Role;
use abide_core::id::SessionId;
use abide_core::identity::{Identity, Liveness};
use abide_core::recording::redact;
use abide_core::verdict::{Attention, Turn, owner_of_open_turn, program_of};
use abide_sys::clock;

use crate::Sessions;
use crate::store::Home;
use crate::truth::{Relative, Session, Truth};
pub use abide_agents::{Place, asks};
use following::Following;
pub use resume::Resumable;

/// A living agent.
#[derive(Debug)]
pub struct Agent {
    pub adapter: &'static dyn Adapter,
    pub process: Identity,
    pub liveness: Liveness,
    pub argv: Vec<String>,
    pub cwd: Option<PathBuf>,
    pub conversation: Option<Held>,
    pub story: Story,
    pub signs: Vec<Sign>,
    pub standing: Standing,
    /// The session that it runs in.
    pub session: Option<SessionId>,
    /// Why its own files could not be read.
    pub trouble: Option<String>,
}

impl Agent {
    /// The tool calls that nothing has answered yet, without secrets.
    #[must_use]
    pub fn unanswered(&self) -> Vec<String> {
        unanswered(&self.story)
    }
}

/// The tool calls of a story that nothing answers, without secrets.
pub(crate) fn unanswered(story: &Story) -> Vec<String> {
    story.unanswered.iter().map(|call| masked(&format!("{} {}", call.tool, call.with))).collect()
}

pub(crate) fn masked(text: &str) -> String {
    redact::starred(text, &redact::secrets(text))
}

/// One that an adapter knows, by its process.
pub(crate) type Candidate = (&'static dyn Adapter, Relative);

/// How one source of an answer did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub name: &'static str,
    pub health: Health,
}

/// Whether a source could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Good,
    Failed(String),
    /// It did not answer in time.
    Late,
}

/// An agent whose files take longer to read is not waited for.
const PATIENCE_MS: u64 = 3_000;

impl Sessions {
    /// Every agent that lives on this machine and can be seen from here, the oldest first; and how each source did.
    #[must_use]
    pub fn agents(&self) -> (Vec<Agent>, Vec<Asked>) {
        let listed = self.list();
        let failed = listed.as_ref().err().map(|failure| Health::Failed(failure.message.clone()));
        let sessions = listed.unwrap_or_default();
        let mut asked = vec![Asked { name: "sessions", health: failed.unwrap_or(Health::Good) }];
        let everyone = self.truth.everyone();
        let unseen =
            everyone.is_empty().then(|| Health::Failed("no process can be seen from here".to_owned()));
        asked.push(Asked { name: "processes", health: unseen.unwrap_or(Health::Good) });
        let mut agents = Vec::new();
        for (name, answer) in ask_each(among(&self.truth, everyone)) {
            let health = match &answer {
                Some(found) => {
                    found.iter().find_map(|agent| agent.trouble.clone()).map_or(Health::Good, Health::Failed)
                }
                None => Health::Late,
            };
            asked.push(Asked { name, health });
            for agent in answer.into_iter().flatten() {
                let session = sessions.iter().find(|session| is_of(session, &agent));
                agents.push(within(&self.truth, self.home.as_ref(), agent, session));
            }
        }
        agents.sort_by_key(|agent| (agent.process.start_ticks, agent.process.pid));
        (agents, asked)
    }

    /// The agent in a session, if one lives there.
    #[must_use]
    pub fn agent_in(&self, session: &Session) -> Option<Agent> {
        let agent = look_at(&self.truth, in_session(&self.truth, session)?)?;
        Some(within(&self.truth, self.home.as_ref(), agent, Some(session)))
    }
}

/// Looks at the agents of each kind in a thread of its own, so that one whose files hang keeps back none of the others.
/// None where that took too long.
fn ask_each(found: Vec<Candidate>) -> Vec<(&'static str, Option<Vec<Agent>>)> {
    let mut kinds: Vec<(&'static str, Vec<Candidate>)> = Vec::new();
    for one in found {
        let name = one.0.name();
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_kind)) => of_kind.push(one),
            None => kinds.push((name, vec![one])),
        }
    }
    let deadline = clock::now().boot.saturating_add(PATIENCE_MS);
    let asked: Vec<_> = kinds
        .into_iter()
        .map(|(name, of_kind)| {
            let (say, hear) = std::sync::mpsc::channel();
            let look = move || {
                let truth = Truth::new();
                // Nobody may be there any more to hear it.
                let _ = say.send(of_kind.into_iter().filter_map(|one| look_at(&truth, one)).collect());
            };
            let started = std::thread::Builder::new().spawn(look).is_ok();
            (name, started.then_some(hear))
        })
        .collect();
    let answer = |hear: std::sync::mpsc::Receiver<Vec<Agent>>| {
        let left = deadline.saturating_sub(clock::now().boot);
        hear.recv_timeout(std::time::Duration::from_millis(left)).ok()
    };
    asked.into_iter().map(|(name, hear)| (name, hear.and_then(answer))).collect()
}

fn look_at(truth: &Truth, (adapter, process): Candidate) -> Option<Agent> {
    let identity = truth.identify(process.pid).ok()?;
    Following::new(adapter, identity, process.command).agent(truth)
}

/// What its session knows of it beside its own files.
fn within(truth: &Truth, home: Option<&Home>, mut agent: Agent, session: Option<&Session>) -> Agent {
    let Some(session) = session else {
        return agent;
    };
    agent.session = Some(session.id.clone());
    if let Some(dir) = home.and_then(|home| home.session(&session.id).ok()) {
        agent.signs.extend(following::session_signs(session, &dir, agent.adapter));
        agent.standing = abide_agents::weigh(&agent.signs, truth.now().at.wall);
    }
    // What its scribe wrote down is what every other command says.
    let verdict = &session.verdict;
    if verdict.turn != Turn::Unknown {
        agent.standing.turn = verdict.turn;
    }
    if verdict.attention != Attention::Unknown {
        agent.standing.attention = verdict.attention;
    }
    agent
}

/// Whether this agent runs in the session: as its program, as the owner of its turn, or below its guard.
fn is_of(session: &Session, agent: &Agent) -> bool {
    if session.verdict.status.is_terminal() {
        return false;
    }
    let known = program_of(&session.evidence).into_iter().chain(owner_of_open_turn(&session.evidence));
    let by_identity =
        known.into_iter().any(|one| one.pid == agent.process.pid && one.boot == agent.process.boot);
    by_identity || agent.session.as_ref() == Some(&session.id)
}

/// Which of these processes are agents: of several that start one another, the one that is started.
pub(crate) fn among(truth: &Truth, processes: Vec<Relative>) -> Vec<Candidate> {
    let known: Vec<(&'static dyn Adapter, Kin, Relative)> = processes
        .into_iter()
        .filter_map(|process| {
            let (adapter, kin) = kin(truth, &process)?;
            Some((adapter, kin, process))
        })
        .collect();
    let is_started = |by: &Relative, name: &str| {
        known.iter().any(|(adapter, _, other)| other.parent == by.pid && adapter.name() == name)
    };
    let agents = known
        .iter()
        .filter(|(adapter, kin, process)| *kin == Kin::Agent && !is_started(process, adapter.name()));
    agents.map(|(adapter, _, process)| (*adapter, process.clone())).collect()
}

/// The agent in a session: of several, the one nearest to its program.
pub(crate) fn in_session(truth: &Truth, session: &Session) -> Option<Candidate> {
    let guard = session.evidence.helpers.guarded.as_ref().filter(|_| session.seen.guard.is_alive());
    let guard = guard.map(|told| told.body.guard.pid);
    let program =
        program_of(&session.evidence).filter(|_| session.seen.program.is_alive()).map(|one| one.pid);
    let top = guard.or(program)?;
    let mut family = truth.descendants(top);
    family.extend(truth.process(top).filter(|_| guard.is_none()));
    let depth = |pid: u32| {
        let mut above = 0;
        let mut at = pid;
        while let Some(one) = family.iter().find(|one| one.pid == at && at != top).filter(|_| above < 64) {
            (at, above) = (one.parent, above + 1);
        }
        above
    };
    let nearest = among(truth, family.clone()).into_iter().min_by_key(|(_, process)| depth(process.pid));
    nearest.filter(|(_, process)| truth.process(process.pid).is_some())
}

/// Whether a process is an agent, or starts one.
pub(crate) fn is_kin(truth: &Truth, process: &Relative) -> bool {
    kin(truth, process).is_some()
}

/// Whether a process is an agent of this kind, or starts one.
pub(crate) fn is_kin_of(truth: &Truth, process: &Relative, name: &str) -> bool {
    kin(truth, process).is_some_and(|(adapter, _)| adapter.name() == name)
}

fn kin(truth: &Truth, process: &Relative) -> Option<(&'static dyn Adapter, Kin)> {
    let image = truth.image(process.pid);
    abide_agents::recognise(&Process { argv: &process.command, image: image.as_deref(), name: &process.name })
}

/// The adapter that a command line names.
pub(crate) fn named_by(argv: &[String]) -> Option<&'static dyn Adapter> {
    let name = argv.first().and_then(|first| first.rsplit('/').next()).unwrap_or_default();
    abide_agents::recognise(&Process { argv, image: None, name }).map(|(adapter, _)| adapter)
}

/// The adapter of the agent in a session, as far as its record tells.
#[must_use]
pub fn adapter_of(session: &Session) -> Option<&'static dyn Adapter> {
    abide_agents::named(name_of(session)?)
}

/// The name of the agent in a session, as far as its record tells.
#[must_use]
pub fn name_of(session: &Session) -> Option<&str> {
    let (beginning, work) = (&session.evidence.beginning, &session.evidence.work);
    let turn = || work.turn.as_ref().and_then(|told| told.body.agent.as_deref());
    let launched = beginning.launched.as_ref().and_then(|told| told.body.agent.as_deref());
    launched.or_else(|| beginning.adopted.as_ref()?.body.agent.as_deref()).or_else(turn)
}

/// A hook's or an adapter's own word, not abide's inference.
pub(crate) const fn is_hook(role: Role) -> bool {
    matches!(role, Role::Hook)
}

/// This instant of wall time, in ms.
pub(crate) fn wall() -> i64 {
    clock::now().wall
}
