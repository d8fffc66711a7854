//! Agents on this machine, started here or elsewhere: which processes they are, and what each is at. That one lives is
//! the kernel's word; what it does is told by its own files, and only of a process that lives.

mod adopt;
mod checkpoint;
mod claim;
pub(crate) mod following;
pub(crate) mod git;
mod hook;
pub mod hooks;
pub(crate) mod left;
mod resume;
pub(crate) mod scribe;
pub(crate) mod watcher;

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use abide_agents::{Adapter, Held, Kin, Process, Sign, Standing, Story};
use abide_core::evidence::{Launched, Role};
use abide_core::id::SessionId;
use abide_core::identity::{Identity, Liveness, Lock};
use abide_core::keys::shell::Shell;
use abide_core::recording::redact;
use abide_core::screen::Screen;
use abide_core::verdict::{Attention, Turn, program_of};
use abide_sys::lock::{self, Holder};
use abide_sys::{clock, signal};

use crate::Sessions;
use crate::store::Home;
use crate::truth::{Relative, Session, Truth};
pub use abide_agents::Place;
pub use adopt::Adoption;
pub use checkpoint::{Ahead, Checkpoint, Since};
pub use claim::Claim;
use following::Following;
pub use resume::{InTurn, RESUMES, Resumable, Writer};

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
    /// Where that session is kept, as its variables tell; none where the session was found.
    pub home: Option<PathBuf>,
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

/// The names of all agents that are known.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    abide_agents::ALL.iter().map(|adapter| adapter.name()).collect()
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
        let (found, others) = everywhere(PATIENCE_MS);
        asked.extend(others);
        let place = |agent: Agent| {
            let session = sessions.iter().find(|session| Claim::of(session).covers(&agent));
            within(&self.truth, self.home.as_ref(), agent, session)
        };
        (found.into_iter().map(place).collect(), asked)
    }

    /// The agent in a session, if one lives there.
    #[must_use]
    pub fn agent_in(&self, session: &Session) -> Option<Agent> {
        let agent = look_at(&self.truth, in_session(&self.truth, session)?)?;
        Some(within(&self.truth, self.home.as_ref(), agent, Some(session)))
    }
}

/// Every agent that lives on this machine, the oldest first, and how each source did. Takes no longer than this.
fn everywhere(patience_ms: u64) -> (Vec<Agent>, Vec<Asked>) {
    let deadline = clock::now().boot.saturating_add(patience_ms);
    let name = "processes";
    let found = Looking::start(|| anywhere(&Truth::new()));
    let found = match found.until(deadline) {
        Some(Some(found)) => found,
        Some(None) => {
            let unseen = Health::Failed("no process can be seen from here".to_owned());
            return (Vec::new(), vec![Asked { name, health: unseen }]);
        }
        None => return (Vec::new(), vec![Asked { name, health: Health::Late }]),
    };
    let (mut agents, mut asked) = (Vec::new(), vec![Asked { name, health: Health::Good }]);
    for (name, answer) in ask_each(found, deadline) {
        let trouble = |found: &Vec<Agent>| found.iter().find_map(|agent| agent.trouble.clone());
        let health = match &answer {
            Some(found) => trouble(found).map_or(Health::Good, Health::Failed),
            None => Health::Late,
        };
        asked.push(Asked { name, health });
        agents.extend(answer.into_iter().flatten());
    }
    agents.sort_by_key(|agent| (agent.process.start_ticks, agent.process.pid));
    (agents, asked)
}

/// Every agent of this machine, by its process. None where no process can be seen from here.
pub(crate) fn anywhere(truth: &Truth) -> Option<Vec<Candidate>> {
    // There are many processes, and of most the arguments say enough.
    let fits = |argv: &[String]| abide_agents::recognise(&Process { argv, image: None, name: "" }).is_some();
    Some(among(truth, truth.everyone(&fits)?))
}

/// A look at something that may hang, in a thread that nobody has to wait for.
#[derive(Debug)]
struct Looking<T>(Option<Receiver<T>>);

impl<T: Send + 'static> Looking<T> {
    fn start(look: impl FnOnce() -> T + Send + 'static) -> Self {
        let (say, hear) = mpsc::channel();
        // Nobody may be there any more to hear it.
        let started = std::thread::Builder::new().spawn(move || say.send(look()).unwrap_or_default());
        Self(started.is_ok().then_some(hear))
    }

    /// What was seen; none if that takes longer than to this instant of boot time, in ms.
    fn until(self, deadline: u64) -> Option<T> {
        let left = deadline.saturating_sub(clock::now().boot);
        self.0.and_then(|hear| hear.recv_timeout(Duration::from_millis(left)).ok())
    }
}

/// The agents that are in no session of a home, looked for while something else is done.
#[derive(Debug)]
pub struct Elsewhere(Looking<(Vec<Agent>, Vec<Asked>)>, u64);

impl Elsewhere {
    /// Begins to look; what takes longer than this is told to be late.
    #[must_use]
    pub fn look(patience_ms: u64) -> Self {
        // Whatever hangs, it is told in time which source it was.
        let deadline = clock::now().boot.saturating_add(patience_ms).saturating_add(SLACK_MS);
        Self(Looking::start(move || everywhere(patience_ms)), deadline)
    }

    /// Those that none of these sessions claims, and how each source did.
    #[must_use]
    pub fn but_for(self, claims: &[Claim]) -> (Vec<Agent>, Vec<Asked>) {
        let late = || (Vec::new(), vec![Asked { name: "processes", health: Health::Late }]);
        let (mut agents, asked) = self.0.until(self.1).unwrap_or_else(late);
        agents.retain(|agent| !claims.iter().any(|claim| claim.covers(agent)));
        (agents, asked)
    }
}

/// How much later than its own deadline a look may be heard of.
const SLACK_MS: u64 = 200;

/// Looks at the agents of each kind in a thread of its own, so that one whose files hang keeps back none of the others.
/// None where that took too long.
fn ask_each(found: Vec<Candidate>, deadline: u64) -> Vec<(&'static str, Option<Vec<Agent>>)> {
    let mut kinds: Vec<(&'static str, Vec<Candidate>)> = Vec::new();
    for one in found {
        let name = one.0.name();
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_kind)) => of_kind.push(one),
            None => kinds.push((name, vec![one])),
        }
    }
    let look = |of_kind: Vec<Candidate>| {
        let look = move || {
            let truth = Truth::new();
            of_kind.into_iter().filter_map(|one| look_at(&truth, one)).collect()
        };
        Looking::start(look)
    };
    let asked: Vec<_> = kinds.into_iter().map(|(name, of_kind)| (name, look(of_kind))).collect();
    asked.into_iter().map(|(name, looking)| (name, looking.until(deadline))).collect()
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
    (agent.session, agent.home) = (Some(session.id.clone()), None);
    let mut has_scribe = false;
    if let Some(dir) = home.and_then(|home| home.session(&session.id).ok()) {
        has_scribe = dir.evidence().is_ok_and(|file| lock::ask(&file, Holder::Scribe) == Lock::Held);
        agent.signs.extend(following::session_signs(session, &dir, agent.adapter));
        agent.standing = abide_agents::weigh(&agent.signs, truth.now().at.wall);
    }
    // What its scribe wrote down is what every other command says; without one it may be long past.
    let verdict = &session.verdict;
    if !has_scribe {
        return agent;
    }
    if verdict.turn != Turn::Unknown {
        agent.standing.turn = verdict.turn;
    }
    if verdict.attention != Attention::Unknown {
        agent.standing.attention = verdict.attention;
    }
    agent
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
    let is_nobody_yet = |one: &Relative| {
        let like = |(_, _, other): &(_, _, Relative)| one.parent == other.pid && one.command == other.command;
        known.iter().any(like) && !has_lived(truth, one, FORKED_MS)
    };
    let is_started = |by: &Relative, name: &str| {
        let started = |other: &Relative| other.parent == by.pid && !is_nobody_yet(other);
        known.iter().any(|(adapter, _, other)| adapter.name() == name && started(other))
    };
    let is_agent = |(adapter, kin, process): &&(&'static dyn Adapter, Kin, Relative)| {
        *kin == Kin::Agent && !is_started(process, adapter.name()) && !is_nobody_yet(process)
    };
    known.iter().filter(is_agent).map(|(adapter, _, process)| (*adapter, process.clone())).collect()
}

/// Whoever forks is seen twice until the other becomes what it was forked for, which takes no longer than this, in ms.
const FORKED_MS: u64 = 1_000;

/// Whether this process was born at least so many ms ago.
pub(crate) fn has_lived(truth: &Truth, process: &Relative, ms: u64) -> bool {
    let identity = truth.identify(process.pid).ok();
    // Ticks are hundredths of a second.
    let born = identity.and_then(|one| one.start_ticks).map(|ticks| ticks.saturating_mul(10));
    born.is_some_and(|born| born.saturating_add(ms) <= clock::now().boot)
}

/// When a process began, in ms of wall time; none where that is not known.
pub(crate) fn began_at(process: &Identity) -> Option<i64> {
    let now = clock::now();
    // Ticks are hundredths of a second.
    let born = process.start_ticks?.saturating_mul(10);
    Some(now.wall.saturating_sub_unsigned(now.boot.saturating_sub(born)))
}

/// The agent in a session: of several, the one nearest to its program.
pub(crate) fn in_session(truth: &Truth, session: &Session) -> Option<Candidate> {
    let guard = session.evidence.helpers.guarded.as_ref().and_then(|told| truth.pid_here(&told.body.guard));
    let program = program_of(&session.evidence).and_then(|program| truth.pid_here(program));
    let mut family: Vec<Relative> = guard.map(|guard| truth.descendants(guard)).unwrap_or_default();
    // Who follows a guard that was killed is not the parent of its program.
    let others =
        program.into_iter().flat_map(|top| truth.process(top).into_iter().chain(truth.descendants(top)));
    for one in others {
        if family.iter().all(|known| known.pid != one.pid) {
            family.push(one);
        }
    }
    let depth = |pid: u32| {
        let mut above = 0;
        let mut at = pid;
        while let Some(one) = family.iter().find(|one| one.pid == at).filter(|_| above < 64) {
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

/// Whether a process is an agent, and no mere wrapper of one.
pub(crate) fn is_agent(truth: &Truth, process: &Relative) -> bool {
    kin(truth, process).is_some_and(|(_, kin)| kin == Kin::Agent)
}

/// So many processes stand between the first wrapper of an agent and the agent at most.
const WRAPPED: usize = 6;
/// What wrappers start their agents with: `sh -c AGENT`.
const SHELLS: [&str; 5] = ["sh", "dash", "bash", "ash", "busybox"];

/// Whether the first of two processes is a wrapper of the agent that the second is: above it, with nothing but other wrappers
/// and their shells in between.
pub(crate) fn wraps(truth: &Truth, (wrapper, agent): (u32, u32), name: &str) -> bool {
    for above in truth.ancestors(agent).into_iter().take(WRAPPED) {
        let is_kin = is_kin_of(truth, &above, name);
        if above.pid == wrapper {
            return is_kin;
        }
        if !is_kin && !SHELLS.contains(&above.name.as_str()) {
            return false;
        }
    }
    false
}

fn kin(truth: &Truth, process: &Relative) -> Option<(&'static dyn Adapter, Kin)> {
    let image = truth.image(process.pid);
    abide_agents::recognise(&Process { argv: &process.command, image: image.as_deref(), name: &process.name })
}

/// The living process that writes to a conversation by the lock on it: some agents leave that to one in the background, which
/// goes on without them.
pub(crate) fn writer_of(
    truth: &Truth,
    adapter: &dyn Adapter,
    (place, conversation): (&Place, &str),
) -> Option<Relative> {
    let lock = adapter.lock(place, conversation)?;
    truth.holders(&lock).into_iter().find(|one| one.pid != std::process::id())
}

/// What is shown, as adapters read it.
pub(crate) fn lines(screen: &Screen) -> Vec<String> {
    screen.view().text().trim_end().lines().map(str::to_owned).collect()
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

/// The signals that ask a program to end, politest first: the one that its agent ends in order on, or a shell at its
/// prompt, and the usual one.
pub(crate) fn asking(agent: Option<&str>, launched: Option<&Launched>) -> Vec<i32> {
    let agent = agent.and_then(abide_agents::named).map(Adapter::polite_signal);
    // A shell that reads lines from a terminal heeds no TERM.
    let is_shell = |launched: &Launched| {
        let image = launched.argv.first().and_then(|path| path.rsplit('/').next());
        launched.size.is_some() && image.is_some_and(|image| Shell::of(image, &launched.argv).is_some())
    };
    let polite = agent.or_else(|| launched.is_some_and(is_shell).then_some(signal::HUP));
    polite.into_iter().filter(|number| *number != signal::TERM).chain([signal::TERM]).collect()
}

/// A hook's or an adapter's own word, not abide's inference.
pub(crate) const fn is_hook(role: Role) -> bool {
    matches!(role, Role::Hook)
}

/// This instant of wall time, in ms.
pub(crate) fn wall() -> i64 {
    clock::now().wall
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_does_not_end_is_late_and_holds_nobody_up() {
        let (keep, never) = mpsc::channel::<()>();
        let hangs = Looking::start(move || never.recv());
        let sees = Looking::start(|| 7);
        assert_eq!(sees.until(u64::MAX), Some(7));
        assert_eq!(hangs.until(clock::now().boot + 1), None);
        drop(keep);
    }
}
