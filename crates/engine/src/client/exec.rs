//! Exec: a line is run in the session's own shell, and what it wrote and how it ended are read back from the recording.
//! The shell must wait at its prompt; what makes it run the line is tagged in the recording, and nobody sees it.

mod listening;
mod over;
mod prompt;
mod refusal;

use std::io;
use std::os::fd::AsFd;

use abide_core::failure::{Code, Failure};
use abide_core::keys::press::{self, Press};
use abide_core::keys::shell::{self, Case, Keys};
use abide_core::recording::veil::{Phase, Tag};
use abide_core::screen::Screen;
use abide_core::verdict::program_of;
use abide_core::wire::{LONGEST, ToClient};
use abide_sys::poll::{self, Interest};
use abide_sys::watch::Watch;
use abide_sys::{clock, tty};

use self::listening::{Listening, without_returns};
use self::over::Before;
use self::prompt::{AtPrompt, SHELL_MS};
use super::drive::Driver;
use crate::recording::Reader;
use crate::store::SessionDir;

/// Since which version of the messages hosts know of it.
const SINCE: u8 = 3;
/// How long the guard may take to type it.
const ANSWER_MS: u64 = 2_000;
/// How long the shell may take to begin.
const BEGIN_MS: u64 = 3_000;
/// How long one that has opened what says so may still take.
const LATE_MS: u64 = 500;
/// How soon a shell is looked at again at which somebody has just typed.
const AGAIN_MS: u64 = 5;
/// How long a line editor may take to show that it did something.
const SIGN_MS: u64 = 400;
/// How often the recording is read although nobody said that there is more.
const RESCAN_MS: u64 = 250;
/// How often a shell is looked at beside which others never fall quiet.
const LOOK_MS: u64 = 1_000;
const CTRL_C: u8 = 0x03;

/// How a line ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    pub code: u8,
    pub output: Vec<u8>,
    /// How much the program had shown before.
    pub position: u64,
}

/// Why there is no code, and what the line had written until then.
#[derive(Debug)]
pub struct Unfinished {
    pub failure: Failure,
    /// Whether the line began to run.
    pub begun: bool,
    pub output: Vec<u8>,
}

/// Why something was not typed for certain.
enum Untyped {
    /// The host would not have it.
    Refused(Failure),
    /// Nobody said that it was, in time.
    Unanswered,
    /// Nobody serves the session any more.
    Gone(Failure),
}

/// One line that is to run.
struct Run<'a> {
    at: &'a AtPrompt,
    path: &'a str,
    nonce: &'a str,
    line: &'a str,
    dir: &'a SessionDir,
    deadline: Option<u64>,
}

impl Run<'_> {
    fn tag(&self, phase: Phase) -> Vec<u8> {
        let typed = match phase {
            Phase::Begin => shell::echoed(self.at.shell, self.path, self.nonce),
            Phase::More | Phase::Cancel => String::new(),
        };
        Tag { phase, nonce: self.nonce.to_owned(), line: self.line.to_owned(), typed }.to_bytes()
    }
}

impl From<Failure> for Unfinished {
    fn from(failure: Failure) -> Self {
        Self { failure, begun: false, output: Vec::new() }
    }
}

impl Driver<'_> {
    /// Runs a line in the session's shell, and waits for its end, for so many ms at most.
    ///
    /// # Errors
    /// If there is no shell at its prompt, if the time is up, or if the session ends first.
    pub fn exec(&mut self, line: &str, timeout_ms: Option<u64>) -> Result<Executed, Unfinished> {
        let deadline = timeout_ms.map(|ms| clock::now().boot.saturating_add(ms));
        self.admits_exec(line)?;
        let began = clock::now().boot;
        loop {
            // What had begun by now, and a shell that waits at its prompt afterwards: that is over.
            let (_, seen) = self.look()?;
            let at = self.await_shell()?;
            let nonce = nonce().map_err(|e| self.failed(&e))?;
            let (dir, path) = self.exec_path(&nonce)?;
            let files = shell::files(at.shell, &path, &nonce, line);
            let held = dir.add_exec(&nonce, at.pid, &files).map_err(|e| self.failed(&e))?;
            let run = Run { at: &at, path: &path, nonce: &nonce, line, dir: &dir, deadline };
            let done = self.run_line(&run, seen);
            let why = done.as_ref().err().map(|unfinished| unfinished.failure.code);
            if why != Some(Code::TimedOut) {
                dir.remove_exec(&nonce);
            }
            if why.is_none() {
                dir.clear_execs(at.pid);
            }
            drop(held);
            // Somebody else was first, or has just typed.
            if why != Some(Code::Busy) || clock::now().boot >= began.saturating_add(SHELL_MS) {
                return done;
            }
            let _ = poll::readable(&[], Some(AGAIN_MS));
        }
    }

    fn admits_exec(&self, line: &str) -> Result<(), Failure> {
        let session = self.session();
        if !session.has_terminal() {
            return Err(self.refusal(
                Code::NoTerminal,
                "it has no terminal, only pipes",
                "run a shell without --no-tty",
            ));
        }
        if self.client().version() < SINCE {
            return Err(self.outdated());
        }
        // The tag must fit into one message, whatever is escaped in it.
        let tag = Tag { line: line.to_owned(), ..Tag::begin() };
        if tag.to_bytes().len() > LONGEST / 2 {
            let message = "the line is too long for one";
            return Err(self.refusal(Code::LineTooLong, message, "put it into a file, and run that"));
        }
        Ok(())
    }

    fn exec_path(&self, nonce: &str) -> Result<(SessionDir, String), Failure> {
        let dir = self.dir()?;
        let path = self.home().session_path(self.session().id.as_str()).join(format!("exec-{nonce}"));
        let path = std::path::absolute(path).map_err(|e| self.failed(&e))?;
        let text = path.to_str().filter(|text| !text.contains(char::is_control));
        let text = text.ok_or_else(|| {
            self.refusal(
                Code::NoShell,
                "its directory has a name that cannot be typed",
                "choose another home",
            )
        })?;
        Ok((dir, text.to_owned()))
    }

    fn run_line(&mut self, run: &Run<'_>, seen: u64) -> Result<Executed, Unfinished> {
        let (screen, position) = self.look()?;
        let steps = shell::keys(run.at.shell, run.path, run.nonce);
        let recording = run.dir.recording().map_err(|e| self.failed(&e))?;
        let from = recording.length().map_err(|e| self.failed(&e))?;
        let mut listening = Listening::new(Reader::new(recording, from), run.nonce);
        listening.hints = (steps.len() > 1).then(|| self.hints(run.dir)).flatten();
        let mut phase = Phase::Begin;
        for step in &steps {
            if let Case::Shown(sign, wanted) = &step.case {
                let until = clock::now().boot.saturating_add(SIGN_MS);
                let shown = self
                    .listen(&mut listening, (Some(until), None), |it| it.begun || it.shows(&screen, sign))?;
                if shown != *wanted || listening.begun {
                    continue;
                }
            }
            let bytes = self.bytes(&step.keys, &screen)?;
            self.check_lines(&bytes)?;
            if let Err(untyped) = self.type_tagged(seen, run.tag(phase), bytes) {
                return Err(self.take_back(run, (phase, untyped)).into());
            }
            listening.read().map_err(|e| self.failed(&e))?;
            if !listening.tagged {
                // Tagged before it is typed: nothing was.
                return Err(self.not_taken().into());
            }
            phase = Phase::More;
            if step.keys.last() == Some(&Keys::Press("enter")) {
                break;
            }
        }
        // From here on the host says what there is to know.
        listening.hints = None;
        if !self.begins(&mut listening, run)? {
            let left = self.cancel(run);
            let why = format!(
                "what reads its terminal did not run the line: it was given what would run it, and {left}"
            );
            return Err(self.no_shell(&why).into());
        }
        let prompt = screen.live().before_cursor();
        let before = Before { run, prompt: &prompt };
        let ended = self.listen(&mut listening, (run.deadline, Some(before)), |it| it.code.is_some());
        let done = self.executed(&listening, (run, position), ended);
        if done.is_ok() && !listening.typed {
            self.learn_footing(run.at);
        }
        done
    }

    /// What tells of keys that are shown, of which nobody else is told. Without it the recording is read often enough.
    fn hints(&self, dir: &SessionDir) -> Option<Watch> {
        let watch = Watch::new().ok()?;
        watch.growth_of(dir.growing_recording().ok()?).ok()?;
        Some(watch)
    }

    /// What these keys are in this terminal now.
    fn bytes(&self, keys: &[Keys], screen: &Screen) -> Result<Vec<u8>, Failure> {
        let (modes, size) = (screen.input_modes(), screen.size());
        let mut bytes = Vec::new();
        for key in keys {
            match key {
                Keys::Press(name) => {
                    let key = Press::parse(name).and_then(|key| key.bytes(&modes, size));
                    bytes.extend(key.map_err(|why| self.no_shell(why.says()))?);
                }
                Keys::Type(text) => bytes.extend(press::text(text, &modes)),
                Keys::Paste(text) => bytes.extend(press::paste(text.as_bytes(), &modes)),
            }
        }
        Ok(bytes)
    }

    /// Whether the line begins to run. If not, it never will: it runs only if what says so was read before. Its shell
    /// leaves a sign of it, should what it wrote not be on record.
    fn begins(&mut self, listening: &mut Listening, run: &Run<'_>) -> Result<bool, Unfinished> {
        for patience in [BEGIN_MS, LATE_MS] {
            let until = clock::now().boot.saturating_add(patience);
            let told = self.listen(listening, (Some(until), None), |it| it.begun)?;
            if told || run.dir.has_begun_exec(run.nonce) {
                listening.begun = true;
                return Ok(true);
            }
            run.dir.withdraw_exec(run.nonce);
        }
        run.dir.remove_exec(run.nonce);
        Ok(false)
    }

    /// Shows what was kept back, and has a shell that waits for more forget what was typed. Says what is left of that.
    fn cancel(&mut self, run: &Run<'_>) -> &'static str {
        let waits = self.await_shell().is_ok();
        let bytes = if waits { vec![CTRL_C] } else { Vec::new() };
        let typed = self.type_tagged(0, run.tag(Phase::Cancel), bytes);
        match (waits, typed) {
            (true, Ok(())) => "then Ctrl-C, which may have ended what it did",
            // Who does not take it in time may take it later.
            (true, Err(_)) => "Ctrl-C may follow",
            (false, _) => "that may still stand there",
        }
    }

    /// Not all of what runs the line was typed for certain: it may be typed yet, and is to run nothing then, nor may anything
    /// that is shown afterwards be kept back for it. Gives why.
    fn take_back(&mut self, run: &Run<'_>, (phase, untyped): (Phase, Untyped)) -> Failure {
        run.dir.withdraw_exec(run.nonce);
        match untyped {
            // Nothing was, and nothing will be.
            Untyped::Refused(failure) if phase == Phase::Begin => failure,
            Untyped::Refused(failure) | Untyped::Gone(failure) => {
                let _ = self.cancel(run);
                failure
            }
            Untyped::Unanswered => {
                // Who did not take the line in time does not take this in time either.
                let waits = self.at_prompt(run.at.pid).is_some();
                let bytes = if waits { vec![CTRL_C] } else { Vec::new() };
                let _ = self.client_mut().exec(0, run.tag(Phase::Cancel), bytes);
                self.client_mut().give_up();
                self.unanswered()
            }
        }
    }

    /// Types under a tag, and returns once that is done.
    fn type_tagged(&mut self, seen: u64, tag: Vec<u8>, bytes: Vec<u8>) -> Result<(), Untyped> {
        let _ = self.client_mut().exec(seen, tag, bytes);
        let deadline = clock::now().boot.saturating_add(ANSWER_MS);
        while self.client().unconfirmed() > 0 {
            let mut refused = |message: &ToClient| match message {
                ToClient::Refused(refusal) => Some(Some(refusal.clone())),
                ToClient::Applied { .. } => Some(None),
                ToClient::Welcome { .. }
                | ToClient::Stage { .. }
                | ToClient::Paint(_)
                | ToClient::Output(_)
                | ToClient::Withdrawn { .. }
                | ToClient::Reached { .. }
                | ToClient::Snapshot { .. }
                | ToClient::Marked { .. }
                | ToClient::Exec { .. }
                | ToClient::Unrecorded(_)
                | ToClient::Ended => None,
            };
            match self.client_mut().hear_until(deadline, &mut refused) {
                Ok(Some(Some(refusal))) => {
                    self.client_mut().give_up();
                    return Err(Untyped::Refused(self.refused(refusal)));
                }
                Ok(Some(None)) => {}
                Ok(None) => {
                    self.client_mut().give_up();
                    return Err(Untyped::Unanswered);
                }
                Err(_) => self.come_back(deadline).map_err(Untyped::Gone)?,
            }
        }
        Ok(())
    }

    /// Reads what comes until it is enough, and says whether it was in time. A line that runs is over, too, if its shell
    /// is gone, or at its prompt again as it was before.
    fn listen(
        &mut self,
        listening: &mut Listening,
        (deadline, before): (Option<u64>, Option<Before<'_>>),
        enough: impl Fn(&Listening) -> bool,
    ) -> Result<bool, Unfinished> {
        let (mut quiet, mut looked) = (0, clock::now().boot);
        loop {
            let over = poll::readable(&[self.ended().as_fd()], Some(0))[0];
            let offset = listening.reader.offset();
            listening.read().map_err(|e| self.failed(&e))?;
            if enough(listening) {
                return Ok(true);
            }
            if over {
                let failure = self.ended_first();
                return Err(Unfinished { failure, begun: listening.begun, output: self.written(listening) });
            }
            quiet = if listening.reader.offset() == offset { quiet + 1 } else { 0 };
            let now = clock::now().boot;
            let left = deadline.map(|at| at.saturating_sub(now));
            // Others may never be quiet.
            let due = quiet > 1 || left == Some(0) || now >= looked.saturating_add(LOOK_MS);
            let why = match before.filter(|_| listening.begun && due) {
                Some(before) => {
                    looked = now;
                    self.why_over(listening, before)?
                }
                None => None,
            };
            if let Some(why) = why {
                // Its end may have been told meanwhile.
                listening.read().map_err(|e| self.failed(&e))?;
                return if enough(listening) { Ok(true) } else { Err(self.is_over(listening, why)) };
            }
            if left == Some(0) {
                return Ok(false);
            }
            let wait = left.unwrap_or(RESCAN_MS).min(RESCAN_MS);
            let fds = [self.client().as_fd(), self.ended().as_fd()];
            let interests = fds.into_iter().chain(listening.hints.as_ref().map(AsFd::as_fd));
            let ready = poll::wait(&interests.map(Interest::reading).collect::<Vec<_>>(), Some(wait));
            drop(listening.hints.as_ref().and_then(Watch::hints));
            if ready[0].read && self.client_mut().hear().is_err() && !ready[1].read {
                // What is on record is read whoever serves; without anyone, the end is on record soon.
                let _ = self.come_back(clock::now().boot.saturating_add(RESCAN_MS));
            }
        }
    }

    fn executed(
        &self,
        listening: &Listening,
        (run, position): (&Run<'_>, u64),
        ended: Result<bool, Unfinished>,
    ) -> Result<Executed, Unfinished> {
        let output = self.written(listening);
        ended.map_err(|unfinished| match unfinished.begun {
            true => unfinished,
            // Nobody could say more of it.
            false => Unfinished { begun: true, output: output.clone(), ..unfinished },
        })?;
        match listening.code {
            Some(code) if listening.cut => {
                Err(Unfinished { failure: self.not_all_recorded(code), begun: true, output })
            }
            Some(code) => Ok(Executed { code, output, position }),
            None => Err(Unfinished { failure: self.out_of_time(run), begun: true, output }),
        }
    }

    /// What the line wrote, without what its terminal put into it.
    fn written(&self, listening: &Listening) -> Vec<u8> {
        let program = program_of(&self.session().evidence);
        let terminal = program.and_then(|program| self.truth().terminal(program.pid));
        let output = listening.written();
        if terminal.is_none_or(tty::returns_carriage) { without_returns(&output) } else { output }
    }
}

fn nonce() -> io::Result<String> {
    Ok(clock::random_bytes::<10>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}
