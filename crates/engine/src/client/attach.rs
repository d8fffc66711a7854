//! Attaching: this terminal shows the session and types into it, until it is detached, closed, or the end comes.
//! What is shown is `core::pane`'s to decide, what detaches `core::keys::detach`'s; nothing here waits for a host or a
//! terminal that hangs.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use abide_core::evidence::Size;
use abide_core::failure::{Code, Failure, admit};
use abide_core::identity::{Identity, Liveness, Qualifier};
use abide_core::keys::detach::{DetachKey, Typed, Watch};
use abide_core::pane::Pane;
use abide_core::screen::Screen;
use abide_core::status::Column;
use abide_core::wire::ToClient;
use abide_sys::clock;
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::tty::{self, Raw};

use super::refresh;
use super::terminal::{Terminal, own_size};
use super::{Client, inside};
use crate::recording::snapshot::{self, Source};
use crate::store::Home;
use crate::truth::{Session, Truth};

/// How to attach.
#[derive(Debug, Clone, Default)]
pub struct Attaching {
    /// Look, without typing or resizing.
    pub read_only: bool,
    pub detach_key: DetachKey,
    /// It was launched just now: an end that came meanwhile is shown, not refused.
    pub launched: bool,
}

/// How the terminal was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The detach key was typed, or the terminal was closed. So many bytes were typed that nobody took any more.
    Detached { untaken: usize },
    /// The session is over, or nobody serves it any more.
    Ended,
    /// A signal ended this client, and this client only.
    Signalled(i32),
}

/// A host that has not let us in by then hangs.
const WELCOME_MS: u64 = 2_000;
/// How long to wait for the next host before giving up on it.
const COME_BACK_MS: u64 = 5_000;
/// How long to wait before asking again where too many wait to be let in.
pub(super) const CROWDED_MS: u64 = 20;
/// How many lines of scrollback are shown of what ended before it could be shown.
const PAINTED: usize = 1_000;

pub(crate) fn attach(truth: &Truth, home: &Home, session: &Session, how: Attaching) -> Result<Left, Failure> {
    let id = &session.id;
    if !how.launched {
        admit(id.as_str(), session.verdict.status, Column::LiveHost)?;
    }
    let failed = |e: io::Error| {
        Failure::io("attach to session", id, &e).about(id.as_str()).in_status(session.verdict.status)
    };
    if !tty::is_terminal(io::stdin()) || !tty::is_terminal(io::stdout()) {
        return Err(Failure::new(Code::Usage, "attaching needs a terminal")
            .about(id.as_str())
            .in_status(session.verdict.status)
            .hint("use `abide logs -f` or `abide wait` where there is none"));
    }
    inside::refuse(truth, home, session)?;
    let open = || home.session(id).map_err(|untrusted| failed(io::Error::other(untrusted.says())));
    let signals = Signals::of(&[signal::WINCH, signal::TERM, signal::HUP, signal::INT]).map_err(failed)?;
    let own = own_size();
    let ended = open()?.waiting().map_err(failed)?;
    let found = Client::connect(open()?).and_then(|mut client| {
        client.attach(own, how.read_only)?;
        await_host(client, &signals, &ended)
    });
    let nobody = |failure: Failure| match truth.of(home, id).verdict.status.has_live_host() {
        true => Err(failure),
        // It ended before its host let us in.
        false => show_end(own, last_screen(truth, home, session)).map_err(failed),
    };
    let (client, heard) = match found {
        Ok(Found::Host(client, heard)) => (client, heard),
        Ok(Found::Signal(number)) => return Ok(Left::Signalled(number)),
        Ok(Found::Refused(refusal)) => return nobody(refused(session, refusal)),
        Ok(Found::Nobody) => return nobody(unresponsive(truth, session)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return nobody(unresponsive(truth, session));
        }
        Err(error) => return nobody(failed(error)),
    };
    if !how.read_only {
        refresh::attached(&open()?, &home.session_path(id.as_str()));
    }
    let terminal = Paned::new(own).map_err(failed)?;
    let raw = Raw::standard_input().map_err(failed)?;
    let mut attached = Attached { client, signals, watch: Watch::new(how.detach_key), terminal };
    let left = attached.show(heard);
    if let Ok(Left::Ended) = &left {
        attached.terminal.finish(last_screen(truth, home, session));
    }
    // The terminal is given back before anything else is said on it.
    attached.terminal.leave();
    drop(raw);
    left.map_err(failed)
}

/// Shows what a session showed last that is over.
fn show_end(own: Size, last: Option<Screen>) -> io::Result<Left> {
    let mut terminal = Paned::new(own)?;
    let raw = Raw::standard_input()?;
    terminal.finish(last);
    terminal.leave();
    drop(raw);
    Ok(Left::Ended)
}

fn last_screen(truth: &Truth, home: &Home, session: &Session) -> Option<Screen> {
    Some(snapshot::replayed(truth, home, session, None, Source::Replay).ok()?.screen)
}

/// What became of waiting for a host.
enum Found {
    /// It let us in, and said this.
    Host(Client, Vec<ToClient>),
    Refused(Failure),
    Nobody,
    Signal(i32),
}

/// What a host refused, about this session.
/// What the host refused, with the session that it is about: the host itself serves no other.
pub(super) fn refused(session: &Session, mut refusal: Failure) -> Failure {
    let id = session.id.as_str();
    if !refusal.message.contains(id) {
        refusal.message = format!("session {id}: {}", refusal.message);
    }
    refusal.about(id).in_status(session.verdict.status)
}

fn await_host(mut client: Client, signals: &Signals, ended: &File) -> io::Result<Found> {
    let deadline = clock::now().boot.saturating_add(WELCOME_MS);
    let mut heard = Vec::new();
    loop {
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 {
            return Ok(Found::Nobody);
        }
        let ready = poll::readable(&[client.as_fd(), signals.as_fd(), ended.as_fd()], Some(left));
        while let Some(caught) = ready[1].then(|| signals.next()).flatten() {
            if caught.number != signal::WINCH {
                return Ok(Found::Signal(caught.number));
            }
        }
        if !ready[0] && ready[2] {
            // It is over, and nobody will let us in any more.
            return Ok(Found::Nobody);
        }
        if !ready[0] {
            continue;
        }
        match client.hear() {
            Ok(more) => {
                let refusal = more.iter().find_map(|said| {
                    let ToClient::Refused(refusal) = said else { return None };
                    Some(refusal.clone())
                });
                if let Some(refusal) = refusal {
                    return Ok(Found::Refused(refusal));
                }
                heard.extend(more);
            }
            // It died just now; the next one lets us in.
            Err(_) => client.come_back()?,
        }
        if !heard.is_empty() {
            return Ok(Found::Host(client, heard));
        }
    }
}

pub(super) fn unresponsive(truth: &Truth, session: &Session) -> Failure {
    let id = session.id.as_str();
    let helpers = &session.evidence.helpers;
    let host = helpers.hosted.as_ref().map(|told| told.body.host);
    let guard = helpers.guarded.as_ref().map(|told| told.body.guard);
    let stands_still = |one: &Identity| truth.is_alive(one) == Liveness::Alive(Some(Qualifier::Stopped));
    // A host answers for its guard too.
    let (who, one) = match guard.filter(stands_still) {
        Some(guard) if !host.as_ref().is_some_and(stands_still) => ("guard", Some(guard)),
        Some(_) | None => ("host", host),
    };
    let why =
        one.map_or_else(String::new, |one| format!(" (pid {}: {})", one.pid, truth.is_alive(&one).says()));
    Failure::new(Code::Unresponsive, format!("the {who} of session {id}{why} does not answer"))
        .hint(format!(
            "the program goes on: `abide logs {id}` and `abide snapshot {id}` do without the {who}; once it is \
             continued or killed, try again"
        ))
        .about(id)
        .in_status(session.verdict.status)
}

/// The terminal of the caller: what it shows, and what must be undone.
struct Paned {
    terminal: Terminal,
    pane: Pane,
}

impl Paned {
    fn new(own: Size) -> io::Result<Self> {
        Ok(Self { terminal: Terminal::new()?, pane: Pane::new(own) })
    }

    fn show(&mut self, act: impl FnOnce(&mut Pane) -> Vec<u8>) {
        let bytes = act(&mut self.pane);
        self.terminal.add(&bytes);
    }

    /// The last picture, where not all of it came while there was a host.
    fn finish(&mut self, last: Option<Screen>) {
        if let Some(last) = last
            && !self.pane.shows(&last)
        {
            self.show(|pane| pane.staged(last.size(), false));
            self.show(|pane| pane.painted(&last.dump(PAINTED)));
            self.show(Pane::refreshed);
        }
    }

    /// Gives it back as it was.
    fn leave(&mut self) {
        self.show(Pane::left);
        self.terminal.drain();
    }
}

struct Attached {
    client: Client,
    signals: Signals,
    watch: Watch,
    terminal: Paned,
}

impl Attached {
    fn show(&mut self, heard: Vec<ToClient>) -> io::Result<Left> {
        let stdin = io::stdin();
        if self.take(heard) {
            return Ok(Left::Ended);
        }
        loop {
            let room = self.terminal.terminal.has_room();
            let interests = [
                Interest::reading(self.signals.as_fd()),
                Interest { fd: self.client.as_fd(), read: room, write: self.client.unsent() > 0 },
                Interest { fd: stdin.as_fd(), read: self.client.takes_input(), write: false },
                self.terminal.terminal.interest(),
            ];
            let now = clock::now().boot;
            let shown_at = self.terminal.pane.wake_at().map(|at| at.div_ceil(1000));
            let wake_at = [self.watch.wake_at(), shown_at].into_iter().flatten().min();
            let timeout = wake_at.map(|at| at.saturating_sub(now));
            let ready = poll::wait(&interests, timeout);
            if let Some(number) = ready[0].read.then(|| self.heed_signals()).flatten() {
                return Ok(Left::Signalled(number));
            }
            // A host that is gone is noticed where it is read from; what was typed is kept for the next one.
            let _ = self.client.send_on();
            if let Some(left) = (room && ready[1].read).then(|| self.hear()).flatten() {
                return Ok(left);
            }
            if self.client.takes_input() && ready[2].read && self.type_in() {
                return Ok(self.detached());
            }
            let late = self.watch.woke(clock::now().boot);
            let _ = self.client.input(&late);
            self.terminal.pane.elapsed(clock::boot_micros());
            self.terminal.show(Pane::refreshed);
            if self.terminal.terminal.write().is_err() {
                // The terminal is gone; the kernel says so too, if it was ours.
                return Ok(self.detached());
            }
        }
    }

    fn detached(&mut self) -> Left {
        let untaken = self.client.unsent();
        self.heed_signals().map_or(Left::Detached { untaken }, Left::Signalled)
    }

    fn heed_signals(&mut self) -> Option<i32> {
        while let Some(caught) = self.signals.next() {
            if caught.number != signal::WINCH {
                return Some(caught.number);
            }
            let size = own_size();
            self.terminal.show(|pane| pane.resized(size));
            let _ = self.client.resize(size);
        }
        None
    }

    /// Takes what came. Says how the terminal is left once the session is over, or nobody is there to say more.
    fn hear(&mut self) -> Option<Left> {
        match self.client.hear() {
            Ok(heard) => self.take(heard).then_some(Left::Ended),
            Err(_) => self.come_back(),
        }
    }

    fn take(&mut self, heard: Vec<ToClient>) -> bool {
        let mut over = false;
        self.terminal.pane.elapsed(clock::boot_micros());
        for message in heard {
            match message {
                ToClient::Stage { size, drives } => self.terminal.show(|pane| pane.staged(size, drives)),
                ToClient::Paint(bytes) => self.terminal.show(|pane| pane.painted(&bytes)),
                ToClient::Output(bytes) => self.terminal.show(|pane| pane.output(&bytes)),
                ToClient::Ended => over = true,
                ToClient::Welcome { .. }
                | ToClient::Applied { .. }
                | ToClient::Withdrawn { .. }
                | ToClient::Reached { .. }
                | ToClient::Snapshot { .. }
                | ToClient::Marked { .. }
                | ToClient::Exec { .. }
                | ToClient::Unrecorded(_)
                | ToClient::Refused(_) => {}
            }
        }
        self.terminal.show(Pane::refreshed);
        over
    }

    /// The host is gone: the next one lets us in, unless nobody is left, or a signal comes first.
    fn come_back(&mut self) -> Option<Left> {
        let deadline = clock::now().boot.saturating_add(COME_BACK_MS);
        loop {
            match self.client.come_back() {
                Ok(()) => return None,
                Err(_) if clock::now().boot > deadline => return Some(Left::Ended),
                // Nobody listens: guard and host are gone, or the session is over.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Some(Left::Ended),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Left::Ended),
                // Too many wait to be let in; the kernel does not say when there is room again.
                Err(_) => drop(poll::readable(&[self.signals.as_fd()], Some(CROWDED_MS))),
            }
            if let Some(number) = self.heed_signals() {
                return Some(Left::Signalled(number));
            }
        }
    }

    /// Types what was typed. True if that was the detach key, or the end of the terminal.
    fn type_in(&mut self) -> bool {
        // At least as much as the standard library would keep back, where no poll finds it.
        let mut bytes = [0; 16 * 1024];
        let length = match io::stdin().lock().read(&mut bytes) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return false,
            Err(_) => 0,
        };
        let typed = self.watch.typed(clock::now().boot, &bytes[..length]);
        let (passed, detached) = match typed {
            Typed::Pass(passed) => (passed, length == 0),
            Typed::Detach(passed) => (passed, true),
        };
        // What cannot be said to a host that is gone is kept for the next one.
        let _ = self.client.input(&passed);
        detached
    }
}
