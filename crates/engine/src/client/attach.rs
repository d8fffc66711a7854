//! Attaching: this terminal shows the session and types into it, until it is detached, closed, or the end comes.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use abide_core::evidence::Size;
use abide_core::failure::{Code, Failure, admit};
use abide_core::status::Column;
use abide_core::wire::ToClient;
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::tty::{self, Raw};
use abide_sys::{clock, pty};

use crate::client::Client;
use crate::store::Home;
use crate::truth::Session;

/// How the terminal was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The detach key was typed, or the terminal was closed.
    Detached,
    /// The session is over.
    Ended,
    /// A signal ended this client, and this client only.
    Signalled(i32),
}

/// `ctrl-\`: typed twice within a second it detaches.
const DETACH: u8 = 0x1c;
const DETACH_WITHIN_MS: u64 = 1_000;
/// How long to wait for the next host before giving up on it.
const COME_BACK_MS: u64 = 5_000;

/// Undoes every mode that a session can have set on a terminal.
const RESET: &[u8] = b"\x1b[?2026l\x1b[?1049l\x1b[?1047l\x1b[?47l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\
    \x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2031l\x1b[?1l\x1b[?5l\x1b[?6l\x1b[?7h\x1b[?25h\
    \x1b>\x1b[4l\x1b[<99u\x1b[>4;0m\x1b[r\x1b[0m\x1b[0 q\x1b(B\x0f\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07\
    \x1b[999;1H\r\n";

pub(crate) fn attach(home: &Home, session: &Session, read_only: bool) -> Result<Left, Failure> {
    let id = &session.id;
    admit(id.as_str(), session.verdict.status, Column::LiveHost)?;
    let failed = |e: io::Error| Failure::io("attach to session", id, &e).about(id.as_str());
    if !tty::is_terminal(io::stdin()) || !tty::is_terminal(io::stdout()) {
        return Err(Failure::new(Code::Usage, "attaching needs a terminal")
            .about(id.as_str())
            .hint("use `abide logs -f` or `abide wait` where there is none"));
    }
    let dir = home.session(id).map_err(|untrusted| failed(io::Error::other(untrusted.says())))?;
    let signals = Signals::of(&[signal::WINCH, signal::TERM, signal::HUP, signal::INT]).map_err(failed)?;
    let mut client = Client::connect(dir).map_err(failed)?;
    client.attach(own_size(), read_only).map_err(failed)?;
    let raw = Raw::standard_input().map_err(failed)?;
    let left = Attached { client, signals, pressed_at: None }.show();
    // The terminal is given back before anything else is said on it.
    let _ = io::stdout().write_all(RESET).and_then(|()| io::stdout().flush());
    drop(raw);
    left.map_err(failed)
}

struct Attached {
    client: Client,
    signals: Signals,
    /// When the detach key was last typed.
    pressed_at: Option<u64>,
}

impl Attached {
    fn show(&mut self) -> io::Result<Left> {
        let stdin = io::stdin();
        loop {
            let interests = [
                Interest::reading(self.signals.as_fd()),
                Interest::reading(self.client.as_fd()),
                Interest { fd: stdin.as_fd(), read: self.client.takes_input(), write: false },
            ];
            let ready = poll::wait(&interests, None);
            if ready[0].read
                && let Some(number) = self.heed_signals()?
            {
                return Ok(Left::Signalled(number));
            }
            if ready[1].read && self.hear()? {
                return Ok(Left::Ended);
            }
            if ready[2].read && self.type_in()? {
                return Ok(Left::Detached);
            }
        }
    }

    fn heed_signals(&mut self) -> io::Result<Option<i32>> {
        while let Some(caught) = self.signals.next() {
            if caught.number != signal::WINCH {
                return Ok(Some(caught.number));
            }
            self.client.resize(own_size())?;
        }
        Ok(None)
    }

    /// Shows what came. True once the session is over.
    fn hear(&mut self) -> io::Result<bool> {
        let Ok(heard) = self.client.hear() else {
            return self.come_back();
        };
        let mut stdout = io::stdout().lock();
        let mut over = false;
        for message in heard {
            match message {
                ToClient::Paint(bytes) | ToClient::Output(bytes) => stdout.write_all(&bytes)?,
                ToClient::Ended => over = true,
                ToClient::Welcome { .. }
                | ToClient::Applied { .. }
                | ToClient::Snapshot { .. }
                | ToClient::Refused { .. } => {}
            }
        }
        stdout.flush()?;
        Ok(over)
    }

    /// The host is gone: the next one lets us in, unless there is nobody left. True if there is not.
    fn come_back(&mut self) -> io::Result<bool> {
        let deadline = clock::now().boot.saturating_add(COME_BACK_MS);
        loop {
            match self.client.come_back() {
                Ok(()) => return Ok(false),
                Err(_) if clock::now().boot > deadline => return Ok(true),
                // Nobody listens: guard and host are gone, or the session is over.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    /// Types what was typed. True if that was the detach key, or the end of the terminal.
    fn type_in(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let length = match io::stdin().lock().read(&mut bytes) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(_) => 0,
        };
        if length == 0 {
            return Ok(true);
        }
        for &byte in &bytes[..length] {
            let now = clock::now().boot;
            if byte != DETACH {
                self.pressed_at = None;
            } else if self
                .pressed_at
                .replace(now)
                .is_some_and(|at| now.saturating_sub(at) <= DETACH_WITHIN_MS)
            {
                return Ok(true);
            }
        }
        // A host that is gone is noticed by its silence; what was typed is kept for the next one.
        let _ = self.client.input(&bytes[..length]);
        Ok(false)
    }
}

fn own_size() -> Size {
    pty::size(io::stdout()).unwrap_or(Size { cols: 80, rows: 24 })
}
