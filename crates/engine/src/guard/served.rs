//! A host as its guard knows it: by the line to it.

use std::os::fd::OwnedFd;

use abide_core::wire::{Message, ToHost};
use abide_sys::sock;

/// A host: when its line breaks, it is gone.
pub(super) struct Served {
    pub(super) line: OwnedFd,
    /// The process itself, if we started it.
    pub(super) process: Option<OwnedFd>,
}

impl Served {
    /// A word that a hung host does not take is missed; it asks again when it comes back.
    pub(super) fn tell(&self, word: ToHost) {
        let _ = sock::put(&self.line, &word.to_packet());
    }
}
