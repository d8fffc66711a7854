//! Adopting: a process that was started elsewhere becomes the program of a session, and a watcher follows it from then on.
//! Refused for what is not ours or followed already. Its terminal stays where it is: no process can be given another one
//! without being meddled with.

use std::fs::File;
use std::os::fd::OwnedFd;

use abide_core::evidence::Adopted;
use abide_core::failure::{Code, Failure};
use abide_core::id::{SessionId, SessionName};
use abide_core::identity::{Identity, Liveness};
use abide_core::verdict::program_of;

use super::watcher::{self, Order};
use super::{Agent, Candidate, among, kin, look_at};
use crate::notify::Told;
use crate::place::tree;
use crate::store::Home;
use crate::truth::{Relative, Session};
use crate::{Sessions, find, launch, names};

/// Everyone's last parent.
const INIT: u32 = 1;
/// So many candidates are named.
const CANDIDATES_SHOWN: usize = 10;

/// A process that is followed from now on.
#[derive(Debug)]
pub struct Adoption {
    pub session: Session,
    pub pid: u32,
    /// What it was recognised as.
    pub agent: Option<&'static str>,
    pub conversation: Option<String>,
    pub argv: Vec<String>,
    /// The process that was named, where that one only is the wrapper of the agent.
    pub wrapper: Option<u32>,
    /// The session was there before, and nobody followed its program any more.
    pub again: bool,
    /// It has a terminal somewhere.
    pub has_terminal: bool,
}

/// The process that is meant, held.
struct Found {
    identity: Identity,
    held: OwnedFd,
    process: Relative,
    agent: Option<Agent>,
    kind: Option<&'static str>,
    wrapper: Option<u32>,
}

impl Sessions {
    /// Follows a process that was started elsewhere: its pid, or a living agent by its conversation or its kind.
    ///
    /// # Errors
    /// If there is none, more than one, or it may not be followed.
    pub fn adopt(
        &mut self,
        wanted: &str,
        name: Option<&SessionName>,
        told: Option<&Told>,
    ) -> Result<Adoption, Failure> {
        let found = self.found_elsewhere(self.meant(wanted)?)?;
        let id = launch::new_id()?;
        self.ensure_home()?;
        let home = self.home().ok_or_else(|| find::nothing(""))?;
        // One after the other: nobody is followed twice.
        let turn = names::in_turn(home)?;
        if let Some(name) = name {
            names::reserve(self.truth(), home, name, &id, &turn)?;
        }
        let followed = self.follow(home, &found, (&id, name, told), &turn);
        if let (Some(name), true) = (name, !matches!(followed, Ok((_, false)))) {
            names::give_back(home, name, &id, &turn);
        }
        let (id, again) = followed?;
        let pid = found.identity.pid;
        Ok(Adoption {
            session: self.truth().of(home, &id),
            pid,
            agent: found.kind,
            conversation: found.agent.and_then(|agent| Some(agent.conversation?.conversation)),
            argv: found.process.command,
            wrapper: found.wrapper,
            again,
            has_terminal: self.truth().terminal(pid).is_some(),
        })
    }

    /// The session of an agent that is proved to run a hook of ours: the one that it is in, or a new one. From now on a watcher
    /// follows it.
    pub(super) fn followed(&mut self, owner: &Identity, told: Option<&Told>) -> Result<Session, Failure> {
        let found = self.take_hold(owner.pid, owner.pid, None)?;
        if !found.identity.is(owner) {
            return Err(gone(owner.pid));
        }
        let id = launch::new_id()?;
        self.ensure_home()?;
        let home = self.home().ok_or_else(|| find::nothing(""))?;
        // One after the other: hooks are run side by side.
        let turn = names::in_turn(home)?;
        let known = self.session_of(&found)?.filter(Session::has_witness);
        let id = match known {
            Some(known) => known.id,
            None => self.follow(home, &found, (&id, None, told), &turn)?.0,
        };
        Ok(self.truth().of(home, &id))
    }

    /// Has a watcher follow it, in a session of its own or in the one that it is in and where nobody serves it. Gives the
    /// session, and whether it was there before.
    fn follow(
        &self,
        home: &Home,
        found: &Found,
        (id, name, told): (&SessionId, Option<&SessionName>, Option<&Told>),
        turn: &File,
    ) -> Result<(SessionId, bool), Failure> {
        let identity = found.identity;
        let failed = |id: &SessionId| {
            let id = id.clone();
            move |e: std::io::Error| Failure::io("follow the program of session", &id, &e).about(id.as_str())
        };
        if let Some(known) = self.session_of(found)? {
            let id = &known.id;
            let named = name.map(|name| format!("it cannot be called `{}` any more", name.as_str()));
            if known.has_witness() || named.is_some() {
                return Err(followed_already(&known, identity.pid, named.as_deref()));
            }
            let order = Order { id: id.to_string(), program: identity, adopted: None };
            let dir = home.session(id).map_err(|untrusted| {
                failed(id)(std::io::Error::other(untrusted.says())).in_status(known.verdict.status)
            })?;
            watcher::start(home, &dir, &order, (&found.held, turn)).map_err(failed(id))?;
            return Ok((id.clone(), true));
        }
        let adopted = Adopted {
            id: id.to_string(),
            name: name.map(|name| name.as_str().to_owned()),
            program: identity,
            argv: found.process.command.clone(),
            cwd: self.truth().cwd(identity.pid).map(|cwd| cwd.display().to_string()).unwrap_or_default(),
            agent: found.kind.map(str::to_owned),
        };
        let order = Order { id: id.to_string(), program: identity, adopted: Some(adopted) };
        let dir = home.draft(id)?;
        let kept = told.map_or(Ok(()), |told| dir.set_told(told));
        kept.and_then(|()| watcher::start(home, &dir, &order, (&found.held, turn))).map_err(|e| {
            home.discard(id, &dir);
            failed(id)(e).hint("the process was not touched")
        })?;
        Ok((id.clone(), false))
    }

    /// The pid that is meant: itself, or that of the only living agent with this conversation or of this kind.
    fn meant(&self, wanted: &str) -> Result<u32, Failure> {
        if let Ok(pid) = wanted.parse() {
            return Ok(pid);
        }
        let (agents, _) = self.agents();
        let is_at = |agent: &Agent, fits: &dyn Fn(&str) -> bool| {
            agent.conversation.as_ref().is_some_and(|held| fits(&held.conversation))
        };
        let tests: [&dyn Fn(&Agent) -> bool; 3] = [
            &|agent| is_at(agent, &|conversation| conversation == wanted),
            &|agent| agent.adapter.name() == wanted,
            &|agent| !wanted.is_empty() && is_at(agent, &|conversation| conversation.starts_with(wanted)),
        ];
        let fitting = |test: &&dyn Fn(&Agent) -> bool| {
            let all: Vec<&Agent> = agents.iter().filter(|agent| test(agent)).collect();
            // What is in a session already is meant only where nothing else can be.
            let free: Vec<&Agent> = all.iter().copied().filter(|agent| agent.session.is_none()).collect();
            Some(if free.is_empty() { all } else { free }).filter(|all| !all.is_empty())
        };
        let fitting = tests.iter().find_map(fitting).unwrap_or_default();
        match fitting.as_slice() {
            [agent] => Ok(agent.process.pid),
            [] => Err(Failure::new(Code::NoSuchProcess, format!("no living agent is `{wanted}`"))
                .hint("`abide agents` lists them; any other process is named by its pid")),
            several => {
                let shown = several.iter().take(CANDIDATES_SHOWN);
                let shown: Vec<_> =
                    shown.map(|one| format!("{} ({})", one.process.pid, one.adapter.name())).collect();
                let message = format!("`{wanted}` can mean {} agents: {}", several.len(), shown.join(", "));
                Err(Failure::new(Code::Ambiguous, message).hint("name one by its pid"))
            }
        }
    }

    /// The process that is named, or the agent that it is the wrapper of.
    fn found_elsewhere(&self, named: u32) -> Result<Found, Failure> {
        let wrapped = self.agent_started_by(named);
        let pid = wrapped.as_ref().map_or(named, |(_, process)| process.pid);
        let agent = wrapped.and_then(|one| look_at(self.truth(), one));
        self.take_hold(named, pid, agent)
    }

    /// Takes hold of a process, and says what it is.
    fn take_hold(&self, named: u32, pid: u32, agent: Option<Agent>) -> Result<Found, Failure> {
        let truth = self.truth();
        let process = truth.process(pid).ok_or_else(|| gone(named))?;
        let identity = truth.identify(pid).map_err(|doubt| match truth.process(pid) {
            Some(_) => unproved(pid, &doubt.says()),
            None => gone(named),
        })?;
        let held = truth.hold(&identity).map_err(|liveness| match liveness {
            Liveness::Dead(_) => gone(named),
            Liveness::Alive(_) | Liveness::Unknown(_) => unproved(pid, &liveness.says()),
        })?;
        self.may_follow(&identity, &process)?;
        let kind = kin(truth, &process).map(|(adapter, _)| adapter.name());
        Ok(Found { identity, held, process, agent, kind, wrapper: (pid != named).then_some(named) })
    }

    /// Nobody is followed who is another's, who serves sessions, or whose end nobody could tell.
    fn may_follow(&self, identity: &Identity, process: &Relative) -> Result<(), Failure> {
        let (truth, pid) = (self.truth(), identity.pid);
        let own = truth.identify(std::process::id()).ok().and_then(|own| own.uid);
        let no = |why: &str, hint: &str| {
            Err(Failure::new(Code::Usage, format!("process {pid} is {why}")).hint(hint))
        };
        let another = "name another process: `abide agents` lists the living agents";
        if pid == std::process::id() {
            return no("this very command", another);
        }
        if identity.uid.is_none() || identity.uid != own {
            return Err(Failure::new(Code::Permission, format!("process {pid} belongs to another user"))
                .hint("adopt it as the user that it belongs to"));
        }
        if tree::is_helper(&process.name, &process.command) {
            return no("one of abide's own", "`abide ls` lists the sessions that it may serve");
        }
        if pid == INIT {
            return no(
                "the first of this machine or container: with it ends whoever could tell of it",
                another,
            );
        }
        // Whatever else is ours to look at has an image.
        if truth.image(pid).is_none() {
            return no("a part of the kernel, and no program", another);
        }
        Ok(())
    }

    /// The agent that a process is, or that it is the wrapper of.
    fn agent_started_by(&self, pid: u32) -> Option<Candidate> {
        let process = self.truth().process(pid)?;
        let (adapter, _) = kin(self.truth(), &process)?;
        // It comes before the agents that it may have started for itself.
        let mut family = vec![process];
        family.extend(self.truth().descendants(pid));
        among(self.truth(), family).into_iter().find(|(one, _)| one.name() == adapter.name())
    }

    /// The session that the process is in and that is not over: as its program, or as the agent that it follows.
    fn session_of(&self, found: &Found) -> Result<Option<Session>, Failure> {
        let inside = found.agent.as_ref().and_then(|agent| agent.session.clone());
        let is_it = |session: &Session| {
            let program = program_of(&session.evidence);
            let served = session.verdict.status.has_live_host() && inside.as_ref() == Some(&session.id);
            session.verdict.status.is_active()
                && (program.is_some_and(|program| program.is(&found.identity)) || served)
        };
        Ok(self.list()?.into_iter().find(is_it))
    }
}

fn gone(named: u32) -> Failure {
    Failure::new(Code::NoSuchProcess, format!("there is no process {named}, or it is over"))
        .hint("`abide agents` lists the living agents, `ps` every process")
}

fn unproved(pid: u32, why: &str) -> Failure {
    Failure::new(Code::Permission, format!("process {pid} cannot be told from others: {why}"))
        .hint("ask from where it can be seen, as the user that it belongs to")
}

fn followed_already(session: &Session, pid: u32, named: Option<&str>) -> Failure {
    let id = &session.id;
    let why = named.map(|why| format!(", and {why}")).unwrap_or_default();
    Failure::new(Code::AlreadyFollowed, format!("process {pid} is in session {id} already{why}"))
        .about(id.as_str())
        .in_status(session.verdict.status)
        .hint(format!("`abide inspect {id}` shows how it stands; `abide wait {id}` waits for its end"))
}
