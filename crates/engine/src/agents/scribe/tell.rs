//! What a scribe writes down: turns, attention, and at the end a summary. Only what the evidence does not say already.

use abide_agents::{How, Source, Story};
use abide_core::evidence::{Attention, Body, Outcome, Reason, Started, TurnClosed, TurnOpened, Wants};
use abide_core::identity::Identity;
use abide_core::verdict::{Turn, program_of};
use abide_sys::clock;

use super::Scribe;
use crate::act::seal;
use crate::agents::following::Following;
use crate::agents::left::Left;
use crate::agents::resume::conversation_of;
use crate::agents::{Agent, git, left, masked, unanswered, wraps, writer_of};
use crate::notify;
use crate::truth::Relative;

impl Scribe<'_> {
    /// Writes down how the agent stands, where that is news.
    pub(super) fn tell(&mut self, agent: &Agent) {
        let told = agent.story.turn.as_ref();
        let going = self.is_going(agent);
        if !going && self.has_missed_one(agent) {
            self.tell_working(agent, told.and_then(|turn| turn.id.clone()));
        }
        // The transcript may not tell of this turn yet.
        let open = told.filter(|turn| turn.closed.is_none()).and_then(|turn| turn.id.clone());
        match agent.standing.turn {
            Turn::Working if going => {}
            Turn::Working => self.tell_working(agent, open),
            Turn::Settled => {
                // Saved before it is on record: nothing is once it is closed.
                if self.session().evidence.work.turn.is_some() {
                    self.save_now(Reason::Settled);
                }
                self.tell_settled(&agent.story, (taken_back(agent), false));
            }
            Turn::Unknown => {}
        }
        let work = &self.session().evidence.work;
        let open = work.turn.is_some() && !work.turn_closed;
        let known = work.attention.as_ref().map_or(Wants::None, |told| told.body.wants);
        let wants = agent.standing.attention.wants().filter(|wants| *wants != known && open && !going);
        if let Some(wants) = wants {
            let sign = agent.signs.iter().find(|sign| Some(sign.source) == agent.standing.attention_by);
            let text = sign.map(|sign| masked(&sign.says));
            self.write(Body::Attention(Attention { wants, text }));
        }
    }

    /// Whether it said that it ends, or was asked to: what it leaves painted begins nothing and asks for nobody any more.
    fn is_going(&self, agent: &Agent) -> bool {
        let evidence = &self.session().evidence;
        let owner = evidence.work.turn.as_ref().and_then(|told| told.body.owner);
        let ends = evidence.work.broken_off && owner.is_some_and(|owner| owner.is(&agent.process));
        ends || evidence.closing.stop_asked.is_some()
    }

    /// Says who the program is, where the one on record only is the wrapper of this agent.
    pub(super) fn tell_program(&mut self, agent: Identity, name: &str) {
        let evidence = &self.session().evidence;
        let (program, told) = (program_of(evidence), evidence.beginning.started.as_ref());
        let Some((program, told)) = program.zip(told) else { return };
        if wraps(self.truth, (program.pid, agent.pid), name) {
            let image = self
                .truth
                .image(agent.pid)
                .map_or_else(|| name.to_owned(), |path| path.display().to_string());
            let started = Started { program: agent, image, cgroup: told.body.cgroup.clone() };
            self.write(Body::Started(started));
        }
    }

    /// Whether a turn was opened and closed between two looks: the transcript tells of one that is not on record.
    fn has_missed_one(&mut self, agent: &Agent) -> bool {
        let (Some(turn), Some(held)) = (&agent.story.turn, &agent.conversation) else { return false };
        // One that is open may be closed at the next look and never have been told to work: then it is missed.
        if turn.closed.is_none() {
            return false;
        }
        let latest = (held.conversation.clone(), agent.story.prompts, turn.id.clone());
        let before = self.told.replace(latest);
        let evidence = &self.session().evidence;
        let (work, began) = (&evidence.work, self.session().launched_at());
        let another = match before {
            Some(before) => self.told.as_ref() != Some(&before),
            // What was closed before this session is on no record of ours.
            None => {
                let since = work.turn.as_ref().map_or(began, |told| told.at.wall);
                turn.opened_at.is_some_and(|at| at >= since)
            }
        };
        let open = work.turn.is_some() && !work.turn_closed;
        // One that was opened before its transcript told of it has a name of ours.
        let known = work.turn.as_ref().is_some_and(|told| {
            turn.id.as_ref() == Some(&told.body.turn)
                || (is_ours(&told.body.turn)
                    && self.expected(&told.body.turn).is_none_or(|expected| agent.story.prompts <= expected))
        });
        another && !open && !known
    }

    /// Which prompt of the transcript a turn will be that we gave a name.
    fn expected(&self, turn: &str) -> Option<u64> {
        self.ours.as_ref().filter(|(ours, _)| ours == turn).map(|(_, expected)| *expected)
    }

    fn tell_working(&mut self, agent: &Agent, id: Option<String>) {
        let work = &self.session().evidence.work;
        let open = work.turn.as_ref().filter(|_| !work.turn_closed).map(|told| &told.body);
        // A turn that began before the one on record was closed is another one, unless nobody named them.
        let same = open.is_some_and(|open| {
            open.owner.is_some_and(|owner| owner.is(&agent.process))
                && id.as_ref().is_none_or(|id| *id == open.turn || is_ours(&open.turn))
        });
        if same {
            return;
        }
        let number = work.turn.as_ref().map_or(0, |told| told.order) + 1;
        let cwd = agent.cwd.clone().unwrap_or_default();
        let stand = git::stand(&cwd);
        let opened = TurnOpened {
            turn: id.unwrap_or_else(|| format!("{OURS}{number}")),
            agent: Some(agent.adapter.name().to_owned()),
            conversation: agent.conversation.as_ref().map(|held| held.conversation.clone()),
            owner: Some(agent.process),
            cwd: cwd.display().to_string(),
            branch: stand.branch,
            head: stand.head,
        };
        // One of ours is the next that the transcript will tell of.
        self.ours = is_ours(&opened.turn).then(|| (opened.turn.clone(), agent.story.prompts + 1));
        self.write(Body::TurnOpened(Box::new(opened)));
    }

    /// The latest turn is closed, or there was none yet.
    fn tell_settled(&mut self, story: &Story, (why, broken_off): (Option<String>, bool)) {
        let work = &self.session().evidence.work;
        if work.turn_closed {
            return;
        }
        let turn = work.turn.as_ref().map_or_else(String::new, |told| told.body.turn.clone());
        let how = story.turn.as_ref().and_then(|turn| turn.closed).map(|(_, how)| how.name().to_owned());
        let reason = why.or(how).unwrap_or_else(|| "settled".to_owned());
        // What the transcript has not told of by now, a question before the first prompt for one, is no turn of its.
        self.ours = self.ours.take().map(|(turn, expected)| (turn, expected.min(story.prompts)));
        self.write(Body::TurnClosed(TurnClosed { turn, reason, broken_off }));
    }

    /// The agent is gone. If it was in the middle of something, that is said.
    pub(super) fn tell_gone(&mut self, mut gone: Following) {
        gone.read_on();
        self.tell_end(&gone.process);
        self.save_last(&gone);
        let story = gone.story();
        let open = self.session().evidence.work.turn.is_some();
        if open {
            let closed = story.turn.as_ref().and_then(|turn| turn.closed);
            let why = closed.is_none().then(|| left::reason(unanswered(&story), self.writer(&gone).as_ref()));
            let broken_off = why.is_some();
            self.tell_settled(&story, (why, broken_off));
        }
        self.summarise(&gone);
    }

    /// How an agent ended that is not the program by itself, but behind a wrapper or a shell: its end is nobody else's to tell.
    fn tell_end(&mut self, gone: &Identity) {
        let Some((how, _)) = self.grip.take().and_then(|held| self.truth.end_of(&held, gone)) else { return };
        let beginning = &self.session().evidence.beginning;
        let gated = beginning.launched.as_ref().and_then(|told| told.body.program.as_ref());
        if gated.is_some_and(|gated| gated.pid != gone.pid) {
            let ended = Outcome { how, observed_by: None, cause: None }.says();
            self.write(Body::Noted(format!("the agent {} is over: {ended}", gone.pid).into()));
        }
    }

    /// Who goes on with the conversation of an agent that is gone.
    fn writer(&self, gone: &Following) -> Option<Relative> {
        let held = gone.held().map(|held| held.conversation.clone());
        let conversation = held.or_else(|| conversation_of(self.session()))?;
        writer_of(self.truth, gone.adapter, (gone.place(), &conversation))
            .filter(|writer| writer.pid != gone.process.pid)
    }

    /// The session is over: what is left to say of its agent.
    pub(super) fn conclude(&mut self) {
        match self.following.take() {
            Some(gone) => self.tell_gone(gone),
            None => {
                self.save_now(Reason::End);
                self.summarise_unseen();
            }
        }
        self.keep();
        // What is not on the disk now can be read off the agent's files again.
        let _ = self.pen.sync();
        self.seal();
    }

    fn summarise(&mut self, gone: &Following) {
        let conversation = gone.held().map(|held| held.conversation.clone());
        let summary = left::summary(gone.adapter.name(), conversation, gone.story());
        let known = self.session().evidence.work.summary.as_ref().map(|told| &told.body);
        if known.is_none_or(|known| **known != summary) && summary.conversation.is_some() {
            self.write(Body::Summary(Box::new(summary)));
        }
    }

    /// An agent that was gone before anybody had seen it wrote down what it did all the same.
    fn summarise_unseen(&mut self) {
        let Some(place) = self.place.take().filter(|_| self.session().evidence.work.summary.is_none()) else {
            return;
        };
        if let Some(left) =
            Left::at(self.truth, self.session(), place).filter(|left| left.is_of(self.session()))
        {
            self.write(Body::Summary(Box::new(left.summary())));
        }
    }

    /// Puts on record what is over and nobody else is left to tell of.
    pub(super) fn seal(&mut self) {
        if seal::is_due(self.session()) {
            // What cannot be written now is tried again at the next look, or by whoever comes.
            let _ = seal::seal(self.truth, self.home, &self.session().id);
            self.ending.look_again(self.truth, self.home);
        }
    }

    fn write(&mut self, body: Body) {
        let added = self.pen.add(clock::now(), body.clone());
        notify::call_about(self.dir, &body);
        if let Err(error) = added {
            // Where there is no room to say it, it is said again at the next look.
            let _ = self.pen.add(clock::now(), Body::Noted(format!("not written down: {error}").into()));
        }
        self.ending.look_again(self.truth, self.home);
    }
}

/// Why a turn is over whose transcript tells of nothing behind the prompt: whoever writes replies down before it is done
/// has none to write down, since a person stopped it first.
fn taken_back(agent: &Agent) -> Option<String> {
    let silent = agent.story.turn.as_ref().is_some_and(|turn| turn.closed.is_none());
    let listed = agent.standing.turn_by == Some(Source::Registry);
    (silent && listed).then(|| How::Interrupted.name().to_owned())
}

/// The names that we give to turns that have none, by who first tells of them.
const OURS: &str = "turn-";
pub(crate) const HEARD: &str = "hook-";

pub(crate) fn is_ours(turn: &str) -> bool {
    turn.starts_with(OURS) || turn.starts_with(HEARD)
}
