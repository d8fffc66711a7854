//! Exec: a line is run in the session's own shell, and what it wrote and how it ended are read back from the recording.
//! The shell must wait at its prompt; what makes it run the line is tagged in the recording, and nobody sees it.

use std::io;
use std::os::fd::AsFd;

use abide_core::failure::{Code, Failure};
use abide_core::keys::press::{self, Press};
use abide_core::keys::shell::{self, Keys, Prompt, Shell};
use abide_core::recording::Kind;
use abide_core::recording::veil::{Phase, Stage, Tag, Unveiled, Veil};
use abide_core::status::Column;
use abide_core::verdict::program_of;
use abide_core::wire::{LONGEST, ToClient};
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, tty};

use super::drive::Driver;
use crate::recording::{Found, Reader};
use crate::store::SessionDir;

/// Since which version of the messages hosts know of it.
const SINCE: u8 = 3;
/// How long the guard may take to type it.
const ANSWER_MS: u64 = 2_000;
/// How long the shell may take to begin.
const BEGIN_MS: u64 = 3_000;
/// How long a shell that is not at its prompt is given to come there, and how often it is looked at.
const SHELL_MS: u64 = 3_000;
/// The same where something else is in front that its prompt may have started.
const OTHER_MS: u64 = 250;
const LOOK_MS: u64 = 5;
/// How often the recording is read although nobody said that there is more.
const RESCAN_MS: u64 = 250;
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
    pub output: Vec<u8>,
}

impl From<Failure> for Unfinished {
    fn from(failure: Failure) -> Self {
        Self { failure, output: Vec::new() }
    }
}

/// What the recording says of one line.
struct Listening {
    reader: Reader,
    nonce: String,
    veil: Veil,
    output: Vec<u8>,
    begun: bool,
    code: Option<u8>,
    /// Something of the output is not on record.
    cut: bool,
    /// Somebody pressed Ctrl-C meanwhile.
    broken: bool,
}

impl Driver<'_> {
    /// Runs a line in the session's shell, and waits for its end, for so many ms at most.
    ///
    /// # Errors
    /// If there is no shell at its prompt, if the time is up, or if the session ends first.
    pub fn exec(&mut self, line: &str, timeout_ms: Option<u64>) -> Result<Executed, Unfinished> {
        let deadline = timeout_ms.map(|ms| clock::now().boot.saturating_add(ms));
        self.admits_exec(line)?;
        // What had begun by now, and a shell that waits at its prompt afterwards: that is over.
        let (_, seen) = self.look()?;
        let shell = self.await_shell()?;
        let nonce = nonce().map_err(|e| self.failed(&e))?;
        let (dir, path) = self.exec_path(&nonce)?;
        let files = shell::files(shell, &path, &nonce, line);
        dir.add_exec(&nonce, &files).map_err(|e| self.failed(&e))?;
        let done = self.run_line((shell, &path, seen), (&nonce, line), &dir, deadline);
        let goes_on = done.as_ref().is_err_and(|unfinished| unfinished.failure.code == Code::TimedOut);
        if !goes_on {
            dir.remove_exec(&nonce);
        }
        done
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
        let tag = Tag { phase: Phase::Begin, nonce: String::new(), line: line.to_owned() };
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

    /// The shell that waits for a line, once it does.
    fn await_shell(&self) -> Result<Shell, Failure> {
        let program = program_of(&self.session().evidence).map(|program| program.pid);
        let program = program.ok_or_else(|| self.no_shell("nobody can tell what runs there"))?;
        let began = clock::now().boot;
        loop {
            let patience = match self.look_for_shell(program) {
                Ok(shell) => return Ok(shell),
                Err((patience, _)) if clock::now().boot < began.saturating_add(patience) => patience,
                Err((_, failure)) => return Err(failure),
            };
            debug_assert!(patience > 0, "it ends");
            let _ = poll::readable(&[], Some(LOOK_MS));
        }
    }

    /// The shell that waits; else how long it may be worth waiting for one, and why there is none.
    fn look_for_shell(&self, program: u32) -> Result<Shell, (u64, Failure)> {
        let front = self.truth().foreground(program);
        let alone = front.len() == 1;
        let Some(leader) = front.into_iter().find(|one| one.leads) else {
            return Err((OTHER_MS, self.no_shell("nobody can tell what runs there")));
        };
        let what = leader.process.command.join(" ");
        let what = if what.is_empty() { leader.process.name.clone() } else { what };
        let Some(shell) = Shell::of(&leader.image, &leader.process.command) else {
            // A prompt may start programs of its own.
            let first = self.truth().process(program);
            let below = first.is_some_and(|first| {
                leader.process.pid != program && Shell::of(&first.name, &first.command).is_some()
            });
            let patience = if below { OTHER_MS } else { 0 };
            return Err((patience, self.no_shell(&format!("`{what}` runs there"))));
        };
        let whole_lines = self.truth().terminal(leader.process.pid).is_some_and(tty::reads_lines);
        match shell.prompt(whole_lines, leader.sleeps.then_some(leader.place.as_str())) {
            Prompt::Waits if alone => Ok(shell),
            Prompt::Waits | Prompt::Busy => {
                Err((SHELL_MS, self.no_shell(&format!("`{what}` is a shell, and does not wait for a line"))))
            }
        }
    }

    fn run_line(
        &mut self,
        (shell, path, seen): (Shell, &str, u64),
        (nonce, line): (&str, &str),
        dir: &SessionDir,
        deadline: Option<u64>,
    ) -> Result<Executed, Unfinished> {
        let (screen, position) = self.look()?;
        let (modes, size) = (screen.input_modes(), screen.size());
        let mut bytes = Vec::new();
        for keys in shell::keys(shell, path) {
            match keys {
                Keys::Press(name) => {
                    let key = Press::parse(name).and_then(|key| key.bytes(&modes, size));
                    bytes.extend(key.map_err(|why| self.no_shell(why.says()))?);
                }
                Keys::Type(text) => bytes.extend(press::text(&text, &modes)),
                Keys::Paste(text) => bytes.extend(press::paste(text.as_bytes(), &modes)),
            }
        }
        self.check_lines(&bytes)?;
        let recording = dir.recording().map_err(|e| self.failed(&e))?;
        let from = recording.length().map_err(|e| self.failed(&e))?;
        let mut listening = Listening::new(Reader::new(recording, from), nonce);
        let tag = |phase| Tag { phase, nonce: nonce.to_owned(), line: line.to_owned() }.to_bytes();
        let seen = if shell.edits_lines() { seen } else { 0 };
        self.type_tagged(seen, tag(Phase::Begin), bytes)?;
        let began =
            self.listen(&mut listening, Some(clock::now().boot.saturating_add(BEGIN_MS)), |it| it.begun);
        if began? {
            let ended = self.listen(&mut listening, deadline, |it| it.code.is_some());
            return self.executed(listening, position, ended);
        }
        // Read no more: whenever the shell gets to it, it finds nothing.
        dir.remove_exec(nonce);
        let _ = self.type_tagged(0, tag(Phase::Cancel), vec![CTRL_C]);
        Err(self.no_shell("what reads its terminal did not run the line").into())
    }

    /// Types under a tag, and returns once that is done.
    fn type_tagged(&mut self, seen: u64, tag: Vec<u8>, bytes: Vec<u8>) -> Result<(), Failure> {
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
                | ToClient::Snapshot { .. }
                | ToClient::Marked { .. }
                | ToClient::Exec { .. }
                | ToClient::Ended => None,
            };
            match self.client_mut().hear_until(deadline, &mut refused) {
                Ok(Some(Some(refusal))) => return Err(self.refused(refusal)),
                Ok(Some(None)) => {}
                Ok(None) => {
                    self.client_mut().give_up();
                    return Err(self.outdated());
                }
                Err(_) => self.come_back(deadline)?,
            }
        }
        Ok(())
    }

    /// Reads what comes until it is enough, and says whether it was in time.
    fn listen(
        &mut self,
        listening: &mut Listening,
        deadline: Option<u64>,
        enough: impl Fn(&Listening) -> bool,
    ) -> Result<bool, Unfinished> {
        let mut quiet = 0;
        loop {
            let over = poll::readable(&[self.ended().as_fd()], Some(0))[0];
            let before = listening.reader.offset();
            listening.read().map_err(|e| self.failed(&e))?;
            if enough(listening) {
                return Ok(true);
            }
            if over {
                let failure = self.ended_first();
                return Err(Unfinished { failure, output: self.written(listening) });
            }
            quiet = if listening.reader.offset() == before { quiet + 1 } else { 0 };
            if listening.broken && quiet > 1 && self.is_at_prompt() {
                let output = self.written(listening);
                let failure =
                    self.refusal(Code::Interrupted, "the line was broken off by Ctrl-C", "run it again");
                return Err(Unfinished { failure, output });
            }
            let left = deadline.map(|at| at.saturating_sub(clock::now().boot));
            if left == Some(0) {
                return Ok(false);
            }
            let wait = left.unwrap_or(RESCAN_MS).min(RESCAN_MS);
            let interests =
                [Interest::reading(self.client().as_fd()), Interest::reading(self.ended().as_fd())];
            let ready = poll::wait(&interests, Some(wait));
            if ready[0].read && self.client_mut().hear().is_err() && !ready[1].read {
                // What is on record is read whoever serves; without anyone, the end is on record soon.
                let _ = self.come_back(clock::now().boot.saturating_add(RESCAN_MS));
            }
        }
    }

    fn is_at_prompt(&self) -> bool {
        let program = program_of(&self.session().evidence).map(|program| program.pid);
        program.is_some_and(|program| self.look_for_shell(program).is_ok())
    }

    fn executed(
        &self,
        listening: Listening,
        position: u64,
        ended: Result<bool, Unfinished>,
    ) -> Result<Executed, Unfinished> {
        ended?;
        let output = self.written(&listening);
        match listening.code {
            Some(_) if listening.cut => {
                let failure =
                    self.refusal(Code::Io, "its output could not be recorded", "`abide doctor` says why");
                Err(Unfinished { failure, output })
            }
            Some(code) => Ok(Executed { code, output, position }),
            None => {
                let id = &self.session().id;
                let failure = self.refusal(
                    Code::TimedOut,
                    "the line has not ended yet, and goes on",
                    &format!("`abide snapshot {id}` shows what it does, `abide keys {id} Ctrl-C` ends it"),
                );
                Err(Unfinished { failure, output })
            }
        }
    }

    /// What the line wrote, without what its terminal put into it.
    fn written(&self, listening: &Listening) -> Vec<u8> {
        let program = program_of(&self.session().evidence);
        let terminal = program.and_then(|program| self.truth().terminal(program.pid));
        let mut output = listening.output.clone();
        if listening.veil.stage() == Stage::Running {
            output.extend_from_slice(listening.veil.held());
        }
        if terminal.is_none_or(tty::returns_carriage) { without_returns(&output) } else { output }
    }

    fn ended_first(&self) -> Failure {
        let now = self.truth().of(self.home(), &self.session().id);
        let id = now.id.as_str();
        let how = now.verdict.outcome.as_ref().map_or_else(
            || now.verdict.status.name().to_owned(),
            |_| {
                now.verdict
                    .codes
                    .wait
                    .map_or_else(|| now.verdict.status.name().to_owned(), |code| format!("code {code}"))
            },
        );
        Failure::new(
            Code::Column(Column::Commandable),
            format!("session {id} ended before the line did, with {how}: the line ended its shell"),
        )
        .hint(format!("`abide why {id}` shows the proof"))
        .about(id)
        .in_status(now.verdict.status)
    }

    fn no_shell(&self, why: &str) -> Failure {
        let id = &self.session().id;
        self.refusal(
            Code::NoShell,
            &format!("no shell waits at its prompt: {why}"),
            &format!("`abide snapshot {id}` shows what is there; `abide type {id}` types into any program"),
        )
    }

    fn outdated(&self) -> Failure {
        let id = &self.session().id;
        self.refusal(
            Code::Outdated,
            "whoever serves it did not take the line, and may be of a version before exec",
            &format!("`abide upgrade {id}` makes it go on as this version"),
        )
    }

    fn refusal(&self, code: Code, why: &str, way_out: &str) -> Failure {
        let session = self.session();
        Failure::new(code, format!("cannot run a line in session {}: {why}", session.id))
            .hint(way_out)
            .about(session.id.as_str())
            .in_status(session.verdict.status)
    }
}

impl Listening {
    fn new(reader: Reader, nonce: &str) -> Self {
        Self {
            reader,
            nonce: nonce.to_owned(),
            veil: Veil::default(),
            output: Vec::new(),
            begun: false,
            code: None,
            cut: false,
            broken: false,
        }
    }

    /// Takes in what was recorded since.
    fn read(&mut self) -> io::Result<()> {
        let Self { reader, nonce, veil, output, begun, code, cut, broken } = self;
        let mut take = |found: Found<'_>| {
            let Found::Entry(entry) = found else { return };
            match entry.kind {
                Kind::Exec => {
                    if let Some(tag) = Tag::of(entry.payload).filter(|tag| tag.nonce == *nonce) {
                        veil.tag(&tag, entry.time);
                    }
                }
                Kind::Output => veil.pass(entry.position, entry.payload, &mut |unveiled| match unveiled {
                    Unveiled::Own { bytes, .. } => output.extend_from_slice(&bytes),
                    Unveiled::Begun => *begun = true,
                    Unveiled::Ended(ended) => *code = Some(ended),
                    Unveiled::Shown { .. } => {}
                }),
                Kind::Cut => *cut |= *begun && code.is_none(),
                Kind::Input => *broken |= *begun && entry.payload.get(16..).is_some_and(has_ctrl_c),
                Kind::Start | Kind::Errors | Kind::Hidden | Kind::Answer | Kind::Resize | Kind::Mark => {}
            }
        };
        while reader.advance(&mut take)? {}
        Ok(())
    }
}

fn has_ctrl_c(typed: &[u8]) -> bool {
    const KITTY: &[u8] = b"\x1b[99;5u";
    typed.contains(&CTRL_C) || typed.windows(KITTY.len()).any(|keys| keys == KITTY)
}

/// Takes out the one carriage return that the terminal put before each line feed.
fn without_returns(output: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(output.len());
    for (at, &byte) in output.iter().enumerate() {
        if byte == b'\r' && output.get(at + 1) == Some(&b'\n') {
            continue;
        }
        kept.push(byte);
    }
    kept
}

fn nonce() -> io::Result<String> {
    Ok(clock::random_bytes::<10>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_terminal_added_is_taken_out() {
        assert_eq!(without_returns(b"a\r\nb\r\r\n\rc\r"), b"a\nb\r\n\rc\r");
    }
}
