//! One living agent, looked at again and again: its conversation, its transcript as it grows, its signs.

use std::path::{Path, PathBuf};

use abide_agents::{Adapter, By, Held, Level, Place, Reader, Running, Sign, Source, Story, weigh};
use abide_core::id::SessionId;
use abide_core::identity::Identity;
use abide_core::verdict::{Attention, Turn};
use abide_sys::clock;

use super::{Agent, anywhere, is_hook, masked, wall};
use crate::launch::{HOME, SESSION};
use crate::store::SessionDir;
use crate::truth::{Session, Truth};

/// An agent that is followed.
pub(crate) struct Following {
    pub(crate) adapter: &'static dyn Adapter,
    pub(crate) process: Identity,
    argv: Vec<String>,
    place: Place,
    held: Option<Held>,
    reader: Option<(PathBuf, Box<dyn Reader>)>,
    trouble: Option<String>,
    /// When others were last looked for, in ms of boot time, and whether there were none.
    looked_at: Option<(u64, bool)>,
}

/// Others are looked for no more often than this.
const ALONE_MS: u64 = 2_000;

impl Following {
    pub(crate) fn new(adapter: &'static dyn Adapter, process: Identity, argv: Vec<String>) -> Self {
        let place = Place::default();
        Self { adapter, process, argv, place, held: None, reader: None, trouble: None, looked_at: None }
    }

    /// The agent as it is now; none if it is not provably alive.
    pub(crate) fn agent(&mut self, truth: &Truth) -> Option<Agent> {
        let mut names = vec!["HOME", SESSION, HOME];
        names.extend(self.adapter.variables());
        let about = truth.about(&self.process, &names)?;
        let session = about.variables.get(SESSION).and_then(|id| SessionId::parse(id));
        let home = about.variables.get(HOME).filter(|_| session.is_some()).map(PathBuf::from);
        let place = Place { cwd: about.cwd.clone().unwrap_or_default(), variables: about.variables };
        let running = Running {
            pid: self.process.pid,
            argv: &self.argv,
            start_ticks: self.process.start_ticks,
            started_ms: about.started_ms,
            open: &about.open,
            place: &place,
        };
        let registry = self.adapter.registry(&running);
        match self.adapter.conversation(&running) {
            // It may have left the one that it was told for another.
            Some(held) if held.by == By::Overtaken => {
                self.held = Some(held).filter(|_| !self.is_alone(truth, &place.cwd));
            }
            // What is only inferred fits every other agent of this kind in this directory as well.
            Some(held) if held.by != By::Newest || self.is_alone(truth, &place.cwd) => self.held = Some(held),
            // An agent that is about to end may have given up its entry already: it was at the same until then.
            Some(_) | None => {}
        }
        self.place = place;
        self.read_on();
        let told = transcript_sign(&self.story(), about.started_ms);
        let signs: Vec<Sign> = registry.into_iter().chain(told).collect();
        Some(Agent {
            adapter: self.adapter,
            process: self.process,
            liveness: truth.is_alive(&self.process),
            argv: self.argv.clone(),
            cwd: about.cwd,
            conversation: self.held.clone(),
            story: self.story(),
            standing: weigh(&signs, wall()),
            signs,
            session,
            home,
            trouble: self.trouble.clone(),
        })
    }

    /// Whether no other agent of this kind works in the same directory.
    fn is_alone(&mut self, truth: &Truth, cwd: &Path) -> bool {
        let now = clock::now().boot;
        if self.looked_at.is_none_or(|(at, _)| now >= at.saturating_add(ALONE_MS)) {
            let name = self.adapter.name();
            let others = anywhere(truth).unwrap_or_default().into_iter().filter(|(adapter, process)| {
                adapter.name() == name
                    && process.pid != self.process.pid
                    && truth.cwd(process.pid).as_deref() == Some(cwd)
            });
            self.looked_at = Some((now, others.count() == 0));
        }
        self.looked_at.is_some_and(|(_, alone)| alone)
    }

    /// Takes in what was written to the transcript since, whether or not the agent lives.
    pub(crate) fn read_on(&mut self) {
        let Some(held) = &self.held else { return };
        let Some(path) = &held.transcript else { return };
        if self.reader.as_ref().is_none_or(|(known, _)| known != path) {
            self.reader = Some((path.clone(), self.adapter.reader(path, &held.conversation)));
        }
        let read = self.reader.as_mut().map(|(_, reader)| reader.read_on());
        self.trouble = read.and_then(Result::err).map(|error| format!("{}: {error}", path.display()));
    }

    pub(crate) fn story(&self) -> Story {
        self.reader.as_ref().map_or_else(Story::default, |(_, reader)| reader.story().clone())
    }

    /// Where it worked when it was last seen.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) const fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }
}

/// What a transcript says of the latest turn to an agent that began then, in ms of wall time. One that was open by then is
/// that of whoever was at the conversation before, and was killed: many agents leave it open for ever.
fn transcript_sign(story: &Story, began: i64) -> Option<Sign> {
    let turn = story.turn.as_ref()?;
    let (level, at, says) = match turn.closed {
        None if turn.opened_at.or(story.last_at).is_some_and(|at| is_before(at, began)) => return None,
        Some((at, how)) => (Level::SETTLED, at, format!("the latest turn was {}", how.name())),
        None => {
            let at = story.last_at.or(turn.opened_at).unwrap_or(0);
            let says = match story.unanswered.last() {
                Some(call) => masked(&format!("a turn is open, at {} {}", call.tool, call.with)),
                None => "a turn is open".to_owned(),
            };
            (Level { turn: Some(Turn::Working), attention: story.wants }, at, says)
        }
    };
    let since = turn.closed.map(|(at, _)| at).or(turn.opened_at);
    Some(Sign { source: Source::Transcript, level, at, since, until: None, says })
}

/// Whether an instant of an agent's own clock was before it began, in ms of wall time.
pub(crate) const fn is_before(at: i64, began: i64) -> bool {
    at < began.saturating_sub(SLACK_MS)
}

/// Some clocks are read to the second.
const SLACK_MS: i64 = 1_000;

/// What a session knows of the agent in it: what hooks wrote down, and the title while its host lives.
pub(crate) fn session_signs(session: &Session, dir: &SessionDir, adapter: &'static dyn Adapter) -> Vec<Sign> {
    let work = &session.evidence.work;
    let mut signs = Vec::new();
    // Whoever wrote it down last: what a scribe inferred is no hook's word.
    let opened = work.turn.as_ref().filter(|_| !work.turn_closed).map(|told| (told.witness, told.at));
    let opened = opened.map(|(by, at)| (Turn::Working, by, at));
    let closed = work.closed_by.map(|(by, at)| (Turn::Settled, by, at));
    let turn = closed.or(opened).filter(|(_, by, _)| is_hook(by.role));
    let wants = work.attention.as_ref().filter(|told| is_hook(told.witness.role));
    let times = turn.map(|(.., at)| at.wall).into_iter().chain(wants.map(|told| told.at.wall));
    if let Some(at) = times.max() {
        let attention = wants.map(|told| Attention::of(told.body.wants));
        let level = Level { turn: turn.map(|(turn, ..)| turn), attention };
        let says = "its hooks".to_owned();
        signs.push(Sign { source: Source::Hook, level, at, since: Some(at), until: None, says });
    }
    // Of a host that stands still nobody knows since when the title is another.
    let hosted = session
        .evidence
        .helpers
        .hosted
        .as_ref()
        .filter(|_| session.seen.host.is_alive() && session.has_answering_host());
    let view = dir.view().filter(|view| hosted.is_some_and(|told| told.body.generation == view.generation));
    if let Some((level, title)) = view.and_then(|view| Some((adapter.title(&view.title)?, view.title))) {
        let (at, says) = (wall(), masked(&title));
        signs.push(Sign { source: Source::Title, level, at, since: None, until: None, says });
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_agents::{How, LastTurn};

    #[test]
    fn a_turn_that_was_left_open_before_an_agent_began_is_none_of_its() {
        let turn = |closed| Some(LastTurn { id: None, opened_at: Some(50_000), closed });
        let open = Story { turn: turn(None), last_at: Some(90_000), ..Story::default() };
        let answered = Story { turn: turn(Some((80_000, How::Answered))), ..open.clone() };
        let says = |story: &Story, began| transcript_sign(story, began).and_then(|sign| sign.level.turn);
        assert_eq!(says(&open, 50_000), Some(Turn::Working));
        // By whose clock it began before the prompt was there is not known to the second.
        assert_eq!(says(&open, 50_900), Some(Turn::Working));
        assert_eq!(says(&open, 60_000), None);
        assert_eq!(says(&answered, 100_000), Some(Turn::Settled));
        let unnamed = Story { turn: Some(LastTurn { id: None, opened_at: None, closed: None }), ..open };
        assert_eq!((says(&unnamed, 80_000), says(&unnamed, 100_000)), (Some(Turn::Working), None));
    }
}
