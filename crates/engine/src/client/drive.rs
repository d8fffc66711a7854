//! Driving: another program uses the terminal as a person would. What it types is sent in one piece, nobody else's in
//! between, and is done only when the guard has written all of it to the terminal.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use abide_core::evidence::Size;
use abide_core::failure::{Code, Failure, admit};
use abide_core::keys::half::LineSoFar;
use abide_core::keys::press::{self, Press};
use abide_core::screen::Screen;
use abide_core::status::Column;
use abide_core::verdict::program_of;
use abide_core::wire::{LONGEST, ToClient};
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::{clock, tty};

use super::{Client, attach};
use crate::Sessions;
use crate::store::{Home, SessionDir};
use crate::truth::{Session, Truth};

/// A host that has not answered by then hangs.
const ANSWER_MS: u64 = 2_000;
/// How much is on its way at once: enough that the terminal never waits for it, and no more than a host hears of one that
/// the program does not take, so that it hears too that it is withdrawn.
const ON_ITS_WAY: usize = LONGEST;
/// The longest line, its end included, that a terminal keeps for a program that reads lines; the kernel drops the rest.
const LONGEST_LINE: u64 = 4095;

/// Someone who types into one session.
#[derive(Debug)]
pub struct Driver<'a> {
    truth: &'a Truth,
    home: &'a Home,
    session: Session,
    client: Client,
    /// Readable once the end is on record.
    ended: File,
    /// How long the line was that had been begun when it was looked last.
    line: u64,
    /// Whether signals end its typing and not the process, and the one that did.
    heeds: bool,
    ended_by: Option<i32>,
}

/// What was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typed {
    /// How much the program had shown before: what comes after this position may be an answer.
    pub position: u64,
    /// How many bytes were written to its terminal.
    pub bytes: u64,
}

impl Sessions {
    /// Someone who types into a session.
    ///
    /// # Errors
    /// If its status does not allow it, or its host does not answer.
    pub fn driver(&self, session: &Session) -> Result<Driver<'_>, Failure> {
        Driver::new(&self.truth, self.home_of(session)?, session)
    }
}

impl<'a> Driver<'a> {
    fn new(truth: &'a Truth, home: &'a Home, session: &Session) -> Result<Self, Failure> {
        let id = &session.id;
        admit(id.as_str(), session.verdict.status, Column::Commandable)?;
        if !session.has_terminal() {
            return Err(Failure::new(Code::NoTerminal, format!("session {id} has no terminal, only pipes"))
                .hint("run the program without --no-tty")
                .about(id.as_str())
                .in_status(session.verdict.status));
        }
        let open = || home.session(id).map_err(|untrusted| io::Error::other(untrusted.says()));
        let opened = open().and_then(|dir| dir.waiting()).and_then(|ended| Ok((ended, open()?)));
        let failed = |e: &io::Error| failed(session, e);
        let (ended, dir) = opened.map_err(|e| failed(&e))?;
        let client = Client::connect(dir).map_err(|e| match e.kind() == io::ErrorKind::WouldBlock {
            true => attach::unresponsive(truth, session),
            false => failed(&e),
        })?;
        let mut driver = Self {
            truth,
            home,
            session: session.clone(),
            client,
            ended,
            line: 0,
            heeds: false,
            ended_by: None,
        };
        let welcome = |message: &ToClient| matches!(message, ToClient::Welcome { .. }).then_some(());
        driver.hear(&mut |_| Ok(()), &mut { welcome })?;
        Ok(driver)
    }

    /// From now on HUP, INT and TERM end what it types, and how much is in the terminal by then is told.
    #[must_use]
    pub fn heeding(self) -> Self {
        Self { heeds: true, ..self }
    }

    /// The signal that ended what it typed.
    #[must_use]
    pub const fn ended_by(&self) -> Option<i32> {
        self.ended_by
    }

    /// Asks the host for something, once more if it is replaced meanwhile, and hears its answer or its refusal.
    fn hear<T>(
        &mut self,
        ask: &mut impl FnMut(&mut Client) -> io::Result<()>,
        answer: &mut impl FnMut(&ToClient) -> Option<T>,
    ) -> Result<T, Failure> {
        let deadline = clock::now().boot.saturating_add(ANSWER_MS);
        let mut wanted = |message: &ToClient| {
            let refusal = message.refusal().map(|refusal| Err(refusal.clone()));
            refusal.or_else(|| answer(message).map(Ok))
        };
        let mut asked = ask(&mut self.client);
        loop {
            match asked.and_then(|()| self.client.hear_until(deadline, &mut wanted)) {
                Ok(Some(Ok(answer))) => return Ok(answer),
                Ok(Some(Err(refusal))) => return Err(self.refused(refusal)),
                Ok(None) => return Err(self.unresponsive()),
                // The next host answers.
                Err(_) => {
                    self.come_back(deadline)?;
                    asked = ask(&mut self.client);
                }
            }
        }
    }

    /// What is shown now, once all that was shown before is taken in, and its position.
    ///
    /// # Errors
    /// If nobody answers, or the session is over.
    pub fn look(&mut self) -> Result<(Screen, u64), Failure> {
        let mut begun = 0;
        let (position, frozen) = self.hear(&mut Client::look, &mut |message| {
            if let ToClient::Reached { line, .. } = message {
                begun = *line;
            }
            let ToClient::Snapshot { position, frozen } = message else { return None };
            Some((*position, frozen.clone()))
        })?;
        self.line = begun;
        let screen = Screen::thaw(&frozen).ok_or_else(|| self.other_version())?;
        Ok((screen, position))
    }

    /// Types text, as at a keyboard that has all its characters. A new line is the Enter key.
    ///
    /// # Errors
    /// If not all of it reached the terminal: the program does not read within so many ms, or the session is over.
    pub fn type_text(&mut self, text: &str, patience_ms: u64) -> Result<Typed, Failure> {
        let (screen, position) = self.look()?;
        let bytes = press::text(text, &screen.input_modes());
        self.send(position, &bytes, patience_ms)
    }

    /// Pastes: in brackets where the program asked for them.
    ///
    /// # Errors
    /// As `type_text`.
    pub fn paste(&mut self, text: &[u8], patience_ms: u64) -> Result<Typed, Failure> {
        let (screen, position) = self.look()?;
        let bytes = press::paste(text, &screen.input_modes());
        self.send(position, &bytes, patience_ms)
    }

    /// Presses keys, one after the other, as they are encoded now.
    ///
    /// # Errors
    /// As `type_text`, or if one of them cannot be pressed; then none was.
    pub fn press(&mut self, keys: &[(&str, Press)], patience_ms: u64) -> Result<Typed, Failure> {
        let (screen, position) = self.look()?;
        let (modes, size) = (screen.input_modes(), screen.size());
        let mut bytes = Vec::new();
        for (name, key) in keys {
            let sent = key.bytes(&modes, size).map_err(|why| self.unpressable(name, why.says()))?;
            bytes.extend(sent);
        }
        self.send(position, &bytes, patience_ms)
    }

    /// Gives the terminal another size, and returns once it has it.
    ///
    /// # Errors
    /// If there is no terminal, or it does not get it in time.
    pub fn resize(&mut self, size: Size) -> Result<(), Failure> {
        let id = &self.session.id;
        let failed = |e: io::Error| failed(&self.session, &e);
        let dir = self.home.session(id).map_err(|untrusted| failed(io::Error::other(untrusted.says())))?;
        // Who looks on is told of every size, this one orders one.
        let mut onlooker = Client::connect(dir).map_err(failed)?;
        onlooker.attach(size, true).map_err(failed)?;
        std::mem::swap(&mut self.client, &mut onlooker);
        let mut order = onlooker;
        let resized = |message: &ToClient| {
            matches!(message, ToClient::Stage { size: now, .. } if *now == size).then_some(())
        };
        self.hear(&mut |_| order.resize(size), &mut { resized })
    }

    /// Sends bytes as one piece, and returns when all of them are in the terminal.
    fn send(&mut self, position: u64, bytes: &[u8], patience_ms: u64) -> Result<Typed, Failure> {
        self.check_lines(bytes)?;
        // What cannot be said to a host that is gone is said to the next one.
        let _ = self.client.hold();
        let sent = self.send_all(position, bytes, patience_ms);
        let _ = self.client.release();
        sent
    }

    fn send_all(&mut self, position: u64, bytes: &[u8], patience_ms: u64) -> Result<Typed, Failure> {
        let mut rest = bytes;
        let mut deadline = clock::now().boot.saturating_add(patience_ms);
        let heeded: &[i32] = if self.heeds { &[signal::HUP, signal::INT, signal::TERM] } else { &[] };
        let signals = Signals::heeded(heeded).map_err(|e| failed(&self.session, &e))?;
        while !rest.is_empty() || self.client.unconfirmed() > 0 {
            while !rest.is_empty() && self.client.unconfirmed() < ON_ITS_WAY {
                let (now, later) = rest.split_at(rest.len().min(LONGEST / 2));
                let _ = self.client.input(now);
                rest = later;
            }
            let left = deadline.saturating_sub(clock::now().boot);
            self.ended_by = signals.next().map(|caught| caught.number);
            if left == 0 || self.ended_by.is_some() {
                return match self.give_up(bytes, rest.len()) {
                    Some(told) => Err(told),
                    None => Ok(Typed { position, bytes: bytes.len() as u64 }),
                };
            }
            let interests = [
                Interest { fd: self.client.as_fd(), read: true, write: self.client.unsent() > 0 },
                Interest::reading(self.ended.as_fd()),
                Interest::reading(signals.as_fd()),
            ];
            let ready = poll::wait(&interests, Some(left));
            if ready[0].read {
                let before = self.client.unconfirmed();
                match self.client.hear() {
                    Ok(heard) => {
                        let refused = heard.iter().find_map(ToClient::refusal);
                        if let Some(refusal) = refused {
                            return Err(self.with_count(self.refused(refusal.clone()), bytes, rest));
                        }
                    }
                    Err(_) => {
                        self.come_back(deadline).map_err(|failure| self.with_count(failure, bytes, rest))?;
                    }
                }
                if self.client.unconfirmed() < before {
                    deadline = clock::now().boot.saturating_add(patience_ms);
                }
            } else if ready[1].read {
                self.hear_out();
                if !rest.is_empty() || self.client.unconfirmed() > 0 {
                    return Err(self.with_count(self.over(), bytes, rest));
                }
            }
            let _ = self.client.send_on();
        }
        Ok(Typed { position, bytes: bytes.len() as u64 })
    }

    /// The program takes no more: what is not in its terminal by now is withdrawn. Says how much is, if that is not all.
    fn give_up(&mut self, bytes: &[u8], unsaid: usize) -> Option<Failure> {
        let deadline = clock::now().boot.saturating_add(ANSWER_MS);
        let mut withdrawn = self.client.withdraw(deadline);
        // The next host can take it back, too.
        while withdrawn.is_err() && self.come_back(deadline).is_ok() {
            withdrawn = self.client.withdraw(deadline);
        }
        let withdrawn = withdrawn.ok().flatten();
        let (sent, all) =
            (bytes.len() - unsaid - self.client.unconfirmed() + withdrawn.unwrap_or(0), bytes.len());
        self.client.give_up();
        if withdrawn.is_none() {
            let failure = self.unresponsive();
            let told = format!("at least {sent} of {all} bytes are in its terminal, and more may follow");
            return Some(Failure { message: format!("{}; {told}", failure.message), ..failure });
        }
        let told = format!("{sent} of {all} bytes are in its terminal, and the rest was withdrawn");
        (sent < all).then(|| self.unread(&told))
    }

    /// Nobody is left who could say more.
    fn with_count(&self, failure: Failure, bytes: &[u8], rest: &[u8]) -> Failure {
        let (all, sent) = (bytes.len(), bytes.len() - rest.len() - self.client.unconfirmed());
        let told = format!("at least {sent} of {all} bytes were in its terminal");
        Failure { message: format!("{}; {told}", failure.message), ..failure }
    }

    /// The session is over: what its program took before that is confirmed before the host goes.
    fn hear_out(&mut self) {
        let deadline = clock::now().boot.saturating_add(ANSWER_MS);
        let ended = |message: &ToClient| (*message == ToClient::Ended).then_some(());
        // Where the host is gone, all that it said was heard.
        let _ = self.client.hear_until(deadline, &mut { ended });
    }

    pub(super) const fn truth(&self) -> &Truth {
        self.truth
    }

    pub(super) const fn home(&self) -> &Home {
        self.home
    }

    pub(super) const fn session(&self) -> &Session {
        &self.session
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    pub(super) const fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(super) const fn ended(&self) -> &File {
        &self.ended
    }

    /// The session's directory.
    pub(super) fn dir(&self) -> Result<SessionDir, Failure> {
        let opened = self.home.session(&self.session.id);
        opened.map_err(|untrusted| self.failed(&io::Error::other(untrusted.says())))
    }

    /// A program that reads whole lines would get the beginning of a longer one only, and nobody would know.
    pub(super) fn check_lines(&self, bytes: &[u8]) -> Result<(), Failure> {
        let longest = LineSoFar::of(self.line).take(bytes);
        if longest <= LONGEST_LINE || !self.reads_lines() {
            return Ok(());
        }
        let id = &self.session.id;
        let before = match self.line {
            0 => String::new(),
            before => format!(", {before} of them typed before"),
        };
        let hint = match self.line {
            0 => "send shorter lines, or hand the text over in a file".to_owned(),
            _ => format!("end the line first, or empty it: `abide keys {id} Ctrl-U`; nothing was typed"),
        };
        Err(Failure::new(
            Code::LineTooLong,
            format!("the program of session {id} reads whole lines, and a terminal keeps {LONGEST_LINE} bytes of one: {longest} are too many{before}"),
        )
        .hint(hint)
        .about(id.as_str())
        .in_status(self.session.verdict.status))
    }

    fn reads_lines(&self) -> bool {
        let program = program_of(&self.session.evidence).and_then(|program| self.truth.pid_here(program));
        let terminal = program.and_then(|pid| self.truth.terminal(pid));
        terminal.is_some_and(tty::reads_lines)
    }

    /// The host is gone: the next one lets us in, unless nobody is left.
    pub(super) fn come_back(&mut self, deadline: u64) -> Result<(), Failure> {
        loop {
            match self.client.come_back() {
                Ok(()) => return Ok(()),
                Err(_) if clock::now().boot > deadline => return Err(self.unresponsive()),
                // Too many wait to be let in; the kernel does not say when there is room again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let _ = poll::readable(&[self.ended.as_fd()], Some(attach::CROWDED_MS));
                }
                Err(error) => return Err(self.gone(&error)),
            }
        }
    }

    /// Nobody listens any more: what became of the session is the reason, if anything did.
    fn gone(&self, error: &io::Error) -> Failure {
        let now = self.truth.of(self.home, &self.session.id);
        let refused = admit(self.session.id.as_str(), now.verdict.status, Column::Commandable);
        refused.err().unwrap_or_else(|| failed(&now, error))
    }

    fn over(&self) -> Failure {
        self.gone(&io::ErrorKind::ConnectionReset.into())
    }

    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        failed(&self.session, error)
    }

    fn other_version(&self) -> Failure {
        let id = &self.session.id;
        Failure::new(
            Code::Outdated,
            format!("the host of session {id} is of another version, and says what is shown in another way"),
        )
        .hint(format!("`abide upgrade {id}` makes it go on as this version"))
        .about(id.as_str())
        .in_status(self.session.verdict.status)
    }

    fn unresponsive(&self) -> Failure {
        let now = self.truth.of(self.home, &self.session.id);
        let refused = admit(self.session.id.as_str(), now.verdict.status, Column::Commandable);
        refused.err().unwrap_or_else(|| attach::unresponsive(self.truth, &self.session))
    }

    pub(super) fn refused(&self, refusal: Failure) -> Failure {
        attach::refused(&self.session, refusal)
    }

    fn unpressable(&self, name: &str, why: &str) -> Failure {
        let id = self.session.id.as_str();
        Failure::new(Code::BadKey, format!("{name} cannot be pressed in session {id} now: {why}"))
            .hint(format!("`abide snapshot {id}` shows what is there; nothing was sent"))
            .about(id)
            .in_status(self.session.verdict.status)
    }

    fn unread(&self, how_much: &str) -> Failure {
        let id = self.session.id.as_str();
        let shows = format!("`abide snapshot {id}` shows what it does");
        let failure = match self.ended_by.map(signal::name) {
            Some(signal) => {
                let says = format!("{signal} ended the typing into session {id}: {how_much}");
                Failure::new(Code::Interrupted, says).hint(shows)
            }
            None => {
                let says = format!("the program of session {id} takes no more: {how_much}");
                let hint = format!("{shows}; it may be stopped, or busy with something else");
                Failure::new(Code::TimedOut, says).hint(hint)
            }
        };
        failure.about(id).in_status(self.session.verdict.status)
    }
}

fn failed(session: &Session, error: &io::Error) -> Failure {
    Failure::io("type into session", &session.id, error)
        .about(session.id.as_str())
        .in_status(session.verdict.status)
}
