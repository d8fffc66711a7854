//! Prompting: a request is submitted to the agent in a session, and it is proved that a turn opened.

use std::cell::Cell;
use std::os::fd::AsFd;

use abide_core::failure::{Code, Failure, admit};
use abide_core::keys::press::Press;
use abide_core::screen::Screen;
use abide_core::status::Column;
use abide_core::verdict::{Attention, Turn, program_of};
use abide_sys::watch::Watch;
use abide_sys::{clock, poll};

use super::drive::Driver;
use crate::agents;
use crate::truth::{Relative, Session};

/// How long a program that shows nothing more has taken a paste in, how long both are waited for, that it is calm and that the
/// end of the paste is shown, and how long one of them: some never stand still, some show it in another form.
const CALM_MS: u64 = 120;
const TAKEN_MS: u64 = 2_000;
const SHOWN_MS: u64 = 10_000;
/// So much of the end of a text, without what is between words, is looked for on the screen.
const END: usize = 12;
/// What stands in an input in the place of a long paste, likewise.
const FOLDED: &str = "pasted";
/// How long what starts an agent may take until the agent has the terminal, and how often that is looked at.
const STARTING_MS: u64 = 10_000;
const LOOK_MS: u64 = 50;
/// How long an agent that starts shows nothing more once its input is there, if that cannot be told by what it shows.
const QUIET_MS: u64 = 2_000;
/// Evidence is read again after this long, whatever was heard.
const RESCAN_MS: u64 = 250;
/// So long after the end of an agent its session may end, too, or its scribe may have a last word on its turn.
const LAST_WORD_MS: u64 = 1_000;
/// So many lines of what is shown are told where no turn opened.
const TOLD: usize = 4;

/// A turn that a prompt opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompted {
    pub agent: String,
    pub turn: String,
    pub conversation: Option<String>,
    /// How much the program had shown before.
    pub position: u64,
    /// How the agent stood when this was asked last.
    pub standing: (Turn, Attention),
    /// A turn was open: it was typed and submitted, and the agent has it for later or for that turn.
    pub queued: bool,
}

/// How a prompt is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompting {
    /// How long a turn may take to open.
    pub patience_ms: u64,
    /// Also in the middle of a turn: most agents keep it for later.
    pub queue: bool,
}

/// A text that is pasted, and how often its end, or what may stand for it, was shown before.
struct Pasted {
    ends: [String; 2],
    before: [usize; 2],
}

impl Pasted {
    fn new(text: &str, screen: &Screen) -> Self {
        let letters: Vec<char> = letters(text).chars().collect();
        let end = letters[letters.len().saturating_sub(END)..].iter().collect();
        let ends = [end, FOLDED.to_owned()];
        let before = Self::count(&ends, screen);
        Self { ends, before }
    }

    fn count(ends: &[String; 2], screen: &Screen) -> [usize; 2] {
        let shown = letters(&screen.view().text());
        ends.each_ref().map(|end| shown.matches(end).count())
    }

    fn is_shown(&self, screen: &Screen) -> bool {
        let now = Self::count(&self.ends, screen);
        now.iter().zip(self.before).any(|(now, before)| *now > before)
    }
}

/// Whether a program has taken a paste in, by what is to be seen after so many ms.
const fn is_taken(is_calm: bool, is_shown: bool, waited: u64) -> bool {
    let patience = match (is_calm, is_shown) {
        (true, true) => 0,
        (true, false) | (false, true) => TAKEN_MS,
        (false, false) => SHOWN_MS,
    };
    waited >= patience
}

/// What is left of a text wherever its lines are broken, and whatever is painted around them.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What can be told of an agent's input.
struct Input {
    position: u64,
    agent: Option<u32>,
    /// The agent is known to look so when its input is there, and asked for brackets around what is pasted.
    is_there: bool,
}

impl Driver<'_> {
    /// Submits a text to the agent and returns once a turn has opened.
    ///
    /// # Errors
    /// If there is no agent, if it is in the middle of a turn or waits for a person, or if no turn opened.
    pub fn prompt(&mut self, text: &str, how: Prompting) -> Result<Prompted, Failure> {
        let deadline = clock::now().boot.saturating_add(how.patience_ms);
        let before = self.wait_until_ready(deadline, how.queue)?;
        self.wait_for_input(&before, deadline)?;
        let known = before.evidence.work.turn.as_ref().map(|told| told.order);
        let text = text.trim_end_matches(['\r', '\n']);
        let pasted = Pasted::new(text, &self.look()?.0);
        let typed = self.paste(text.as_bytes(), how.patience_ms)?;
        self.calm_down(typed.position, &pasted, deadline)?;
        if let Ok(enter) = Press::parse("Enter") {
            self.press(&[("Enter", enter)], how.patience_ms)?;
        }
        let agent = agents::name_of(&before).unwrap_or_default().to_owned();
        if let Some(open) =
            before.evidence.work.turn.as_ref().filter(|_| before.verdict.turn == Turn::Working)
        {
            // What an agent keeps for later opens no turn that anyone could wait for.
            return Ok(Prompted {
                agent,
                turn: open.body.turn.clone(),
                conversation: open.body.conversation.clone(),
                position: typed.position,
                standing: (before.verdict.turn, before.verdict.attention),
                queued: true,
            });
        }
        let opened = |session: &Session| {
            let turn = session.evidence.work.turn.as_ref().filter(|told| Some(told.order) != known)?;
            let open = (session.verdict.turn, session.verdict.attention);
            // A question of an agent that is at no conversation yet is no answer to a prompt.
            let asks = matches!(open.1, Attention::Approval | Attention::Answer);
            if asks && turn.body.conversation.is_none() {
                return None;
            }
            Some((turn.body.clone(), open))
        };
        match self.follow_evidence(deadline, &opened)? {
            Ok((turn, standing)) => Ok(Prompted {
                // One that was started from a shell is known by name since its first turn.
                agent: turn.agent.unwrap_or(agent),
                turn: turn.turn,
                conversation: turn.conversation,
                position: typed.position,
                standing,
                queued: false,
            }),
            Err(now) => Err(self.no_turn(&now, how.patience_ms)),
        }
    }

    /// Waits until the agent is settled or wants a person, for so many ms at most.
    ///
    /// # Errors
    /// If the session or its agent ends before, or the time is up.
    pub fn wait_for_answer(&mut self, patience_ms: Option<u64>) -> Result<(Turn, Attention), Failure> {
        let deadline = clock::now().boot.saturating_add(patience_ms.unwrap_or(u64::MAX / 2));
        let since = Cell::new(None);
        let done = |session: &Session| {
            let (turn, attention) = (session.verdict.turn, session.verdict.attention);
            let work = &session.evidence.work;
            let wants = matches!(attention, Attention::Approval | Attention::Answer);
            let broken_off = turn == Turn::Settled && work.is_broken_off();
            if wants || turn == Turn::Settled && !broken_off {
                return Some(Ok((turn, attention)));
            }
            let over = admit(session.id.as_str(), session.verdict.status, Column::Commandable).err();
            if over.is_none() && !broken_off {
                return None;
            }
            let now = clock::now().boot;
            let ended = since.get().unwrap_or(now);
            since.set(Some(ended));
            // Its scribe may have a last word on it, and its session may end with it.
            let waits = if over.is_some() { !work.turn_closed && broken_off } else { true };
            if waits && now < ended.saturating_add(LAST_WORD_MS) {
                return None;
            }
            Some(Err(over.unwrap_or_else(|| broken(session))))
        };
        let answered = self.follow_evidence_beyond(deadline, &done)?;
        answered.unwrap_or_else(|now| {
            let id = &now.id;
            Err(Failure::new(Code::TimedOut, format!("the turn of session {id} is not over yet"))
                .hint(format!("`abide wait {id} --turn settled` goes on waiting"))
                .about(id.as_str())
                .in_status(now.verdict.status))
        })
    }

    /// The session, once its agent can take a prompt.
    fn wait_until_ready(&mut self, deadline: u64, queue: bool) -> Result<Session, Failure> {
        // What is to become the agent may still be `env`, node or npm.
        let soon = clock::now().boot.saturating_add(STARTING_MS).min(deadline);
        let comes = |session: &Session| {
            let launched = session.evidence.beginning.launched.as_ref();
            launched.is_some_and(|told| told.body.agent.is_some()) && clock::now().boot < soon
        };
        let mut now = self.truth().of(self.home(), &self.session().id);
        while !self.is_in_front(&now) && !now.is_over() && comes(&now) {
            let _ = poll::readable(&[], Some(LOOK_MS));
            now = self.truth().of(self.home(), &now.id);
        }
        if !self.is_in_front(&now) {
            let id = &now.id;
            let message = match program_of(&now.evidence).and_then(|program| self.truth().pid_here(program)) {
                Some(_) => format!("no agent that abide knows has the terminal of session {id}"),
                None => format!("whether an agent has the terminal of session {id} cannot be told from here"),
            };
            return Err(self
                .refuse(&now, Code::NoAgent, message)
                .hint(format!("`abide type {id} --enter` types a line")));
        }
        // A scribe that has just begun has yet to see how the agent stands.
        let told = |session: &Session| (session.verdict.turn != Turn::Unknown).then(|| session.clone());
        let session = match self.follow_evidence(deadline, &told)? {
            Ok(session) => session,
            Err(unclear) => {
                let message = format!(
                    "how the agent of session {} stands cannot be told; nothing was typed",
                    unclear.id
                );
                let hint = format!(
                    "`abide snapshot {}` shows what is there; it may ask something first",
                    unclear.id
                );
                return Err(self.refuse(&unclear, Code::NoTurn, message).hint(hint));
            }
        };
        let id = &session.id;
        match (session.verdict.turn, session.verdict.attention) {
            (_, wants @ (Attention::Approval | Attention::Answer)) => {
                let message = format!("the agent of session {id} waits for a person: {}", wants.name());
                let hint = format!(
                    "`abide snapshot {id}` shows what it asks; `abide keys {id} Enter` and its like answer"
                );
                Err(self.refuse(&session, Code::WantsPerson, message).hint(hint))
            }
            (Turn::Working, _) if !queue => {
                // That it asks something is told a moment after that it works.
                self.look_at_input(&session)?;
                let message = format!("the agent of session {id} is in the middle of a turn");
                let hint = format!(
                    "`abide wait {id} --turn settled` waits for its end; --queue submits all the same"
                );
                Err(self.refuse(&session, Code::Busy, message).hint(hint))
            }
            (Turn::Working | Turn::Settled | Turn::Unknown, _) => Ok(session),
        }
    }

    /// Whether an agent has the terminal now, and not the shell that it was started from.
    fn is_in_front(&self, session: &Session) -> bool {
        let Some((adapter, agent)) = agents::in_session(self.truth(), session) else { return false };
        let program = program_of(&session.evidence).and_then(|program| self.truth().pid_here(program));
        let front = program.map(|pid| self.truth().foreground(pid)).unwrap_or_default();
        let is_agent =
            |one: &Relative| one.pid == agent.pid || agents::is_kin_of(self.truth(), one, adapter.name());
        front.iter().any(|one| is_agent(&one.process))
    }

    /// Waits until the agent's input is there: one that starts paints it more than once, and loses what is pasted before.
    fn wait_for_input(&mut self, session: &Session, deadline: u64) -> Result<(), Failure> {
        let begun = session.evidence.work.turn.as_ref().and_then(|told| told.body.owner);
        let (mut shown, mut since) = (None, 0);
        loop {
            let input = self.look_at_input(session)?;
            let now = clock::now().boot;
            if shown.replace(input.position) != Some(input.position) {
                since = now;
            }
            let used = begun.is_some_and(|owner| Some(owner.pid) == input.agent);
            if used || input.is_there || now.saturating_sub(since) >= QUIET_MS {
                return Ok(());
            }
            if now >= deadline {
                let id = &session.id;
                let message =
                    format!("the input of the agent of session {id} is not there; nothing was typed");
                let hint = format!("`abide snapshot {id}` shows what is there; --timeout waits longer");
                return Err(self.refuse(session, Code::NoTurn, message).hint(hint));
            }
            let _ = poll::readable(&[self.ended().as_fd()], Some(CALM_MS.min(deadline - now)));
        }
    }

    /// Looks at the agent's input. A question that stands there Enter would answer, and consent is nothing that a prompt
    /// may give.
    fn look_at_input(&mut self, session: &Session) -> Result<Input, Failure> {
        let (screen, position) = self.look()?;
        let (agent, lines) = (agents::in_session(self.truth(), session), agents::lines(&screen));
        let level = agent.as_ref().and_then(|(adapter, _)| abide_agents::shown(*adapter, &lines));
        if !level.is_some_and(|level| level.asks()) {
            let ready = agent.as_ref().is_some_and(|(adapter, _)| adapter.takes_input(&lines));
            let is_there = ready && screen.input_modes().bracketed_paste;
            return Ok(Input { position, agent: agent.map(|(_, process)| process.pid), is_there });
        }
        let id = &session.id;
        let message =
            format!("the agent of session {id} waits for a person: it asks something; nothing was typed");
        let hint =
            format!("`abide snapshot {id}` shows what it asks; `abide keys {id} Enter` and its like answer");
        Err(self.refuse(session, Code::WantsPerson, message).hint(hint))
    }

    /// Waits until the program has shown what was pasted and shows nothing more for a moment. Enter is lost on one that has
    /// yet to take it in, and what it shows meanwhile may be something else.
    fn calm_down(&mut self, before: u64, pasted: &Pasted, deadline: u64) -> Result<(), Failure> {
        let since = clock::now().boot;
        let mut shown = before;
        loop {
            let _ = poll::readable(&[self.ended().as_fd()], Some(CALM_MS));
            let (screen, position) = self.look()?;
            let is_calm = position == shown && position > before;
            let now = clock::now().boot;
            if now >= deadline || is_taken(is_calm, pasted.is_shown(&screen), now.saturating_sub(since)) {
                return Ok(());
            }
            shown = position;
        }
    }

    /// Looks at the session as its evidence grows until something is found; else gives how it stands at the deadline. One
    /// that is over is not looked at any more.
    fn follow_evidence<T>(
        &mut self,
        deadline: u64,
        found: &impl Fn(&Session) -> Option<T>,
    ) -> Result<Result<T, Box<Session>>, Failure> {
        let found = |session: &Session| {
            let admitted = || admit(session.id.as_str(), session.verdict.status, Column::Commandable);
            found(session).map(Ok).or_else(|| admitted().err().map(Err))
        };
        let looked = self.follow_evidence_beyond(deadline, &found)?;
        looked.map_or_else(|now| Ok(Err(now)), |found| found.map(Ok))
    }

    /// The same, also of a session that is over.
    fn follow_evidence_beyond<T>(
        &self,
        deadline: u64,
        found: &impl Fn(&Session) -> Option<T>,
    ) -> Result<Result<T, Box<Session>>, Failure> {
        // Without hints it is looked at often enough.
        let watch = Watch::new().ok();
        let evidence = self.dir()?.evidence().ok();
        let _ = watch.as_ref().zip(evidence.as_ref()).map(|(watch, file)| watch.growth_of(file));
        loop {
            let now = self.truth().of(self.home(), &self.session().id);
            if let Some(found) = found(&now) {
                return Ok(Ok(found));
            }
            let left = deadline.saturating_sub(clock::now().boot);
            if left == 0 {
                return Ok(Err(Box::new(now)));
            }
            let is_over = now.verdict.status.is_terminal();
            let ended = Some(self.ended().as_fd()).filter(|_| !is_over);
            let fds: Vec<_> = ended.into_iter().chain(watch.as_ref().map(AsFd::as_fd)).collect();
            let _ = poll::readable(&fds, Some(left.min(RESCAN_MS)));
            drop(watch.as_ref().and_then(Watch::hints));
        }
    }

    fn no_turn(&mut self, now: &Session, patience_ms: u64) -> Failure {
        let shown = self.look().map(|(screen, _)| screen.view().text()).unwrap_or_default();
        let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(TOLD)..].join(" / ");
        let id = &now.id;
        let message = format!(
            "no turn opened in session {id} within {patience_ms} ms; turn {}, attention {}; it shows: {}",
            now.verdict.turn.name(),
            now.verdict.attention.name(),
            agents::masked(&last)
        );
        self.refuse(now, Code::NoTurn, message)
            .hint(format!("`abide snapshot {id}` shows all of it; the text may stand in its input"))
    }

    fn refuse(&self, session: &Session, code: Code, message: String) -> Failure {
        Failure::new(code, message).about(session.id.as_str()).in_status(session.verdict.status)
    }
}

/// Nobody was done with anything.
fn broken(session: &Session) -> Failure {
    let id = &session.id;
    Failure::new(Code::Interrupted, format!("the agent of session {id} ended in the middle of the turn"))
        .hint(format!("`abide why {id}` shows what is known of it, `abide snapshot {id}` what is there"))
        .about(id.as_str())
        .in_status(session.verdict.status)
}

#[cfg(test)]
mod tests {
    use super::is_taken;

    #[test]
    fn a_paste_is_taken_in_by_a_program_that_never_stands_still_or_shows_it_in_another_form() {
        for (is_calm, is_shown, waited, taken) in [
            (true, true, 120, true),
            // It may show something else, or half of it, at first.
            (true, false, 120, false),
            (false, true, 120, false),
            (true, false, 2_000, true),
            // What works repaints that all the time.
            (false, true, 2_000, true),
            (false, false, 2_000, false),
            (false, false, 10_000, true),
        ] {
            assert_eq!(is_taken(is_calm, is_shown, waited), taken, "{is_calm} {is_shown} {waited}");
        }
    }
}
