//! What a hook tells: written down in the session that the agent runs in, or in one of its own if it was started
//! elsewhere. Whose turn it is, is found by going up from the hook to the agent.

use abide_agents::hooks::{Heard, What, hear};
use abide_core::evidence::{Attention, Body, Role, TurnClosed, TurnOpened, Wants};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::identity::Identity;
use abide_core::verdict::{owner_of_open_turn, program_of};

use super::resume::conversation_of;
use super::scribe::HEARD;
use super::{git, is_agent, is_kin_of, masked};
use crate::notify::{self, Told};
use crate::truth::{Session, Truth};
use crate::{Sessions, find};

/// So many processes stand between a hook and its agent at most.
const LEVELS: usize = 12;
/// What may stand between them: none of these is an agent.
const BETWEEN: [&str; 25] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox", "tcsh", "csh", "env", "timeout",
    "nice", "nohup", "setsid", "npm", "npx", "node", "bun", "deno", "go", "cargo", "git", "abide",
];

impl Sessions {
    /// Writes down what an agent told a hook of ours; gives the session, if there is anything to write down. `within` is
    /// the session that the hook runs in, `told_of` who is told of one that is made for it.
    ///
    /// # Errors
    /// If what was told makes no sense, or cannot be written.
    pub fn heed_hook(
        &mut self,
        (agent, occasion): (&str, &str),
        told: &[u8],
        within: Option<&str>,
        told_of: Option<&Told>,
    ) -> Result<Option<SessionId>, Failure> {
        let heard = hear(agent, occasion, told).ok_or_else(|| {
            Failure::new(Code::Usage, format!("{agent} tells nothing that is known with {occasion}"))
                .hint("`abide hooks install` puts the right commands into an agent's settings")
        })?;
        let owner = owner(&self.truth, agent);
        let inside = within.and_then(|id| self.find(id).ok()).map(|one| self.sealed_first(&one));
        let inside = inside.filter(|one| one.verdict.status.is_active());
        let speaker = Speaker { truth: &self.truth, agent, conversation: &heard.conversation, owner };
        let session = match inside {
            Some(session) if speaker.speaks_for(&session) => Some(session),
            // What an agent in it starts to do its work is not what the session is about.
            Some(session) if speaker.is_below(&session) => None,
            Some(_) | None => self.of_its_own(&heard, owner, told_of)?,
        };
        let Some(session) = session else { return Ok(None) };
        for body in facts(&session, agent, &heard, owner) {
            self.add(&session, body)?;
        }
        Ok(Some(session.id))
    }

    /// The session of an agent that was started elsewhere: the one that is known, or a new one, with a watcher. What is over of the same
    /// conversation is sealed first.
    fn of_its_own(
        &mut self,
        heard: &Heard,
        owner: Option<Identity>,
        told_of: Option<&Told>,
    ) -> Result<Option<Session>, Failure> {
        // Tools come and go too often for this, and say nothing that a turn does not.
        if matches!(heard.what, What::ToolBegan { .. } | What::ToolEnded { .. }) {
            return Ok(None);
        }
        let known = self.list()?;
        for session in &known {
            if conversation_of(session).as_ref() == Some(&heard.conversation) {
                let _ = self.sealed_first(session);
            }
        }
        // What serves several sessions in the background has the variables of any of them.
        let is_at =
            |session: &&Session| session.verdict.status.is_active() && is_at(session, &heard.conversation);
        if let Some(session) = known.iter().find(is_at) {
            return Ok(Some(session.clone()));
        }
        // Without its process nothing could ever be told of it.
        let Some(owner) = owner else { return Ok(None) };
        let is_its = |session: &&Session| {
            let adopted = session.evidence.beginning.adopted.as_ref();
            session.verdict.status.is_active() && adopted.is_some_and(|told| told.body.program.is(&owner))
        };
        match known.iter().find(is_its) {
            Some(known) if known.has_witness() => Ok(Some(known.clone())),
            // What it tells is written down also where nobody can follow it.
            Some(known) => Ok(Some(self.followed(&owner, told_of).unwrap_or_else(|_| known.clone()))),
            None if matches!(heard.what, What::SessionEnded { .. }) => Ok(None),
            None => self.followed(&owner, told_of).map(Some),
        }
    }

    fn add(&self, session: &Session, body: Body) -> Result<(), Failure> {
        let id = &session.id;
        let failed = |e: std::io::Error| Failure::io("write to session", id, &e).about(id.as_str());
        let home = self.home().ok_or_else(|| find::nothing(id.as_str()))?;
        let dir = home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())))?;
        let mut pen = dir.write(Role::Hook, self.truth.now().boot).map_err(failed)?;
        pen.add(self.truth.now().at, body.clone()).map_err(failed)?;
        notify::call_about(&dir, &body);
        Ok(())
    }
}

/// Whoever a hook speaks for.
struct Speaker<'a> {
    truth: &'a Truth,
    agent: &'a str,
    conversation: &'a str,
    owner: Option<Identity>,
}

impl Speaker<'_> {
    /// Whether it is what a session is about: at its conversation, the owner of its open turn, or while none is open, an agent
    /// in it that no other agent started.
    fn speaks_for(&self, session: &Session) -> bool {
        let open = owner_of_open_turn(&session.evidence).filter(|one| self.truth.is_alive(one).is_alive());
        let may = || match (self.owner, open) {
            (Some(owner), Some(open)) => owner.is(open),
            (None, Some(_)) => false,
            (Some(owner), None) => self.is_below(session) && !self.is_started_by_another(&owner),
            (None, None) => self.is_below(session),
        };
        is_at(session, self.conversation) || may()
    }

    /// Whether it runs below the program of a session, or is it. Where that cannot be told its variables are believed.
    fn is_below(&self, session: &Session) -> bool {
        let Some(program) = program_of(&session.evidence) else { return true };
        let here = self.truth.identify(std::process::id());
        if here.is_ok_and(|here| here.pid_ns != program.pid_ns) {
            return true;
        }
        let lives = self.truth.is_alive(program).is_alive();
        lives && self.truth.above(std::process::id()).contains(&program.pid)
    }

    /// Whether an agent stands above this one that is not its wrapper.
    fn is_started_by_another(&self, owner: &Identity) -> bool {
        let above = self.truth.ancestors(owner.pid);
        let wrapper = above.first().filter(|parent| is_kin_of(self.truth, parent, self.agent));
        above.iter().skip(usize::from(wrapper.is_some())).any(|one| is_agent(self.truth, one))
    }
}

/// Whether the latest turn of a session was of this conversation.
fn is_at(session: &Session, conversation: &str) -> bool {
    let turn = session.evidence.work.turn.as_ref();
    turn.and_then(|told| told.body.conversation.as_deref()) == Some(conversation)
}

/// The agent that a hook was run by: the first of this kind above us, behind nothing but what may stand in between.
fn owner(truth: &Truth, agent: &str) -> Option<Identity> {
    for above in truth.ancestors(std::process::id()).into_iter().take(LEVELS) {
        if above.pid <= 1 {
            return None;
        }
        if is_kin_of(truth, &above, agent) {
            return truth.identify(above.pid).ok();
        }
        // Scripts rename themselves: npm is `npm run lint` then, and node has the name of a thread.
        let first = above.command.first().and_then(|word| word.rsplit('/').next());
        let is_between = |name: &str| {
            let name = name.split(' ').next().unwrap_or_default();
            BETWEEN.contains(&name.trim_start_matches('-'))
        };
        if !is_between(&above.name) && !first.is_some_and(is_between) {
            return None;
        }
    }
    None
}

/// What is to be written down, where that is news.
fn facts(session: &Session, agent: &str, heard: &Heard, owner: Option<Identity>) -> Vec<Body> {
    let work = &session.evidence.work;
    let open = work.turn.as_ref().filter(|_| !work.turn_closed);
    let closed = |reason: &str, broken_off: bool| {
        let turn = open.map(|told| told.body.turn.clone());
        turn.map(|turn| Body::TurnClosed(TurnClosed { turn, reason: reason.to_owned(), broken_off }))
    };
    let wanted = work.attention.as_ref().is_some_and(|told| told.body.wants != Wants::None);
    let answered = wanted.then_some(Body::Attention(Attention { wants: Wants::None, text: None }));
    let body = match &heard.what {
        What::SessionBegan => None,
        What::TurnOpened { id } => {
            let cwd = heard.cwd.clone().unwrap_or_default();
            let stand = git::stand(&cwd);
            let number = work.turn.as_ref().map_or(0, |told| told.order) + 1;
            let turn = id.clone().unwrap_or_else(|| format!("{HEARD}{number}"));
            // Its scribe may have seen it first.
            let same = |told: &TurnOpened| {
                told.turn == turn && told.owner.zip(owner).is_some_and(|(one, other)| one.is(&other))
            };
            let known = open.is_some_and(|told| same(&told.body));
            let opened = TurnOpened {
                turn,
                agent: Some(agent.to_owned()),
                conversation: Some(heard.conversation.clone()),
                owner,
                cwd: cwd.display().to_string(),
                branch: stand.branch,
                head: stand.head,
            };
            (!known).then(|| Body::TurnOpened(Box::new(opened)))
        }
        What::TurnClosed { how, reason } => closed(reason.as_deref().unwrap_or(how.name()), false),
        What::SessionEnded { reason } => {
            closed(&format!("its agent ended: {}", reason.as_deref().unwrap_or("it did not say why")), true)
        }
        What::ToolBegan { .. } => None,
        What::ToolEnded { .. } => answered,
        What::Attention { wants, text } => {
            open.map(|_| Body::Attention(Attention { wants: *wants, text: text.as_deref().map(masked) }))
        }
    };
    body.into_iter().collect()
}
