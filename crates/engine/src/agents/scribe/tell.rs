//! What a scribe writes down: turns, attention, and at the end a summary. Only what the evidence does not say already.

use abide_agents::Story;
use abide_core::evidence::{Attention, Body, Noted, Started, Summary, TurnClosed, TurnOpened, Wants};
use abide_core::identity::Identity;
use abide_core::verdict::{Turn, program_of};
use abide_sys::clock;

use super::Scribe;
use crate::agents::following::Following;
use crate::agents::{Agent, git, is_kin_of, masked, unanswered};

/// So many files are named in a summary.
const FILES: usize = 100;

impl Scribe<'_> {
    /// Writes down how the agent stands, where that is news.
    pub(super) fn tell(&mut self, agent: &Agent) {
        let told = agent.story.turn.as_ref();
        if self.has_missed_one(agent) {
            self.tell_working(agent, told.and_then(|turn| turn.id.clone()));
        }
        // The transcript may not tell of this turn yet.
        let open = told.filter(|turn| turn.closed.is_none()).and_then(|turn| turn.id.clone());
        match agent.standing.turn {
            Turn::Working => self.tell_working(agent, open),
            Turn::Settled => self.tell_settled(&agent.story, None),
            Turn::Unknown => {}
        }
        let work = &self.session().evidence.work;
        let open = work.turn.is_some() && !work.turn_closed;
        let known = work.attention.as_ref().map_or(Wants::None, |told| told.body.wants);
        let wants = agent.standing.attention.wants().filter(|wants| *wants != known && open);
        if let Some(wants) = wants {
            let sign = agent.signs.iter().find(|sign| Some(sign.source) == agent.standing.attention_by);
            let text = sign.map(|sign| masked(&sign.says));
            self.write(Body::Attention(Attention { wants, text }));
        }
    }

    /// Says who the program is, where the one on record only is the wrapper of this agent.
    pub(super) fn tell_program(&mut self, agent: Identity, parent: u32, name: &str) {
        let evidence = &self.session().evidence;
        let (program, told) = (program_of(evidence), evidence.beginning.started.as_ref());
        let Some((program, told)) = program.zip(told).filter(|(program, _)| program.pid == parent) else {
            return;
        };
        let wrapper = self.truth.process(program.pid).is_some_and(|one| is_kin_of(self.truth, &one, name));
        if wrapper {
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
                    && self.ours.is_none_or(|expected| agent.story.prompts <= expected))
        });
        another && turn.closed.is_some() && !open && !known
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
        self.ours = is_ours(&opened.turn).then_some(agent.story.prompts + 1);
        self.write(Body::TurnOpened(Box::new(opened)));
    }

    /// The latest turn is closed, or there was none yet.
    fn tell_settled(&mut self, story: &Story, why: Option<String>) {
        let work = &self.session().evidence.work;
        if work.turn_closed {
            return;
        }
        let turn = work.turn.as_ref().map_or_else(String::new, |told| told.body.turn.clone());
        let how = story.turn.as_ref().and_then(|turn| turn.closed).map(|(_, how)| how.name().to_owned());
        let reason = why.or(how).unwrap_or_else(|| "settled".to_owned());
        // What the transcript has not told of by now, a question before the first prompt for one, is no turn of its.
        self.ours = self.ours.map(|expected| expected.min(story.prompts));
        self.write(Body::TurnClosed(TurnClosed { turn, reason }));
    }

    /// The agent is gone. If it was in the middle of something, that is said.
    pub(super) fn tell_gone(&mut self, mut gone: Following) {
        gone.read_on();
        let story = gone.story();
        let open = self.session().evidence.work.turn.is_some();
        if open {
            let calls = unanswered(&story);
            let why = match story.turn.as_ref().and_then(|turn| turn.closed) {
                Some(_) => None,
                None if calls.is_empty() => Some("its agent ended in the middle of it".to_owned()),
                None => {
                    Some(format!("its agent ended in the middle of it; unanswered: {}", calls.join(", ")))
                }
            };
            self.tell_settled(&story, why);
        }
        self.summarise(&gone);
    }

    /// The session is over: what is left to say of its agent.
    pub(super) fn conclude(&mut self) {
        if let Some(gone) = self.following.take() {
            self.tell_gone(gone);
        }
        // Whoever seals it flushes too; what is not on the disk now can be read off the agent's files again.
        let _ = self.pen.sync();
    }

    fn summarise(&mut self, gone: &Following) {
        let story = gone.story();
        let began = story.turn.as_ref().and_then(|turn| turn.opened_at);
        let duration = story.last_at.zip(story.first_at.or(began)).map_or(0, |(last, first)| last - first);
        let summary = Summary {
            agent: gone.adapter.name().to_owned(),
            conversation: gone.held().map(|held| held.conversation.clone()),
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
        };
        let known = self.session().evidence.work.summary.as_ref().map(|told| &told.body);
        if known.is_none_or(|known| **known != summary) && summary.conversation.is_some() {
            self.write(Body::Summary(Box::new(summary)));
        }
    }

    fn write(&mut self, body: Body) {
        if let Err(error) = self.pen.add(clock::now(), body) {
            // Where there is no room to say it, it is said again at the next look.
            let _ =
                self.pen.add(clock::now(), Body::Noted(Noted { text: format!("not written down: {error}") }));
        }
        self.ending.look_again(self.truth, self.home);
    }
}

/// The names that we give to turns that have none.
const OURS: &str = "turn-";

fn is_ours(turn: &str) -> bool {
    turn.starts_with(OURS)
}
