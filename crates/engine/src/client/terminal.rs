//! The terminal of whoever runs a command, to be written to. Nothing here waits for one that takes nothing.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use abide_core::recording::player::{self, Key};
use abide_core::screen::{LONGEST_SIDE, Size};
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, pty, tty};

/// How long a terminal that takes nothing is waited for when it is left.
const LEAVE_MS: u64 = 1_000;
/// While so much waits for it, no more should be made.
const WAITING: usize = 256 * 1024;

/// A terminal, and what waits to be written to it.
pub(super) struct Terminal {
    output: OwnedFd,
    waiting: Vec<u8>,
}

impl Terminal {
    pub(super) fn new() -> io::Result<Self> {
        let output = tty::unblocked_output().or_else(|_| io::stdout().as_fd().try_clone_to_owned())?;
        Ok(Self { output, waiting: Vec::new() })
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    pub(super) const fn has_room(&self) -> bool {
        self.waiting.len() < WAITING
    }

    /// Whether nothing waits for it.
    pub(super) const fn took_all(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes what it takes now.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.waiting.len() {
            match tty::write_some(&self.output, &self.waiting[written..])? {
                Some(more) => written += more,
                None => break,
            }
        }
        self.waiting.drain(..written);
        Ok(())
    }

    /// Writes the last of it. A terminal that takes nothing is not waited for any longer than a moment.
    pub(super) fn drain(&mut self) {
        let deadline = clock::now().boot.saturating_add(LEAVE_MS);
        while self.write().is_ok() && !self.waiting.is_empty() {
            let left = deadline.saturating_sub(clock::now().boot);
            if left == 0 {
                return;
            }
            let _ = poll::wait(&[self.interest()], Some(left));
        }
    }

    pub(super) fn interest(&self) -> Interest<'_> {
        Interest { fd: self.output.as_fd(), read: false, write: !self.waiting.is_empty() }
    }
}

/// The size of this terminal, as far as a screen can be as large.
pub(super) fn own_size() -> Size {
    let size = pty::size(io::stdout()).unwrap_or(Size { cols: 80, rows: 24 });
    Size { cols: size.cols.min(LONGEST_SIDE), rows: size.rows.min(LONGEST_SIDE) }
}

/// What was typed, as what it means to a player; none if nobody can type any more.
pub(super) fn typed() -> Option<Vec<Key>> {
    let mut bytes = [0; 4096];
    match io::stdin().lock().read(&mut bytes) {
        Ok(0) => None,
        Ok(length) => Some(player::keys(&bytes[..length])),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(Vec::new()),
        Err(_) => None,
    }
}
