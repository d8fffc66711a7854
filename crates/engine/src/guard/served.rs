//! A host as its guard knows it: by the line to it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::wire::{Message, ToHost};
use abide_sys::poll::Interest;
use abide_sys::sock;

/// A host: when its line breaks, it is gone.
pub(super) struct Served {
    pub(super) line: OwnedFd,
    /// The process itself, if we started it.
    pub(super) process: Option<OwnedFd>,
    /// What it is to be told once it takes more: of what it said itself, so no more than that.
    untold: VecDeque<ToHost>,
}

impl Served {
    pub(super) const fn new(line: OwnedFd, process: Option<OwnedFd>) -> Self {
        Self { line, process, untold: VecDeque::new() }
    }

    /// A busy or hung host takes a word later, and all of them: what it is never told, it waits for.
    pub(super) fn tell(&mut self, word: ToHost) {
        self.untold.push_back(word);
        self.tell_on();
    }

    /// Tells what it takes now. That its line is broken is noticed where it is heard.
    pub(super) fn tell_on(&mut self) {
        while let Some(word) = self.untold.front() {
            if matches!(sock::put(&self.line, &word.to_packet()), Ok(None)) {
                return;
            }
            self.untold.pop_front();
        }
        self.untold.shrink_to(0);
    }

    /// What to wait for on its line.
    pub(super) fn interest(&self) -> Interest<'_> {
        Interest { fd: self.line.as_fd(), read: true, write: !self.untold.is_empty() }
    }
}
