//! The outbox of a client: what waits to be sent to it, message by message.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use abide_sys::sock;

/// Messages that wait to be sent, whole ones but for the first.
#[derive(Default)]
pub(super) struct Outbox {
    /// Each with how much of it a fresh picture leaves of use.
    messages: VecDeque<(Vec<u8>, usize)>,
    /// How much of the first message has been sent.
    sent: usize,
    pub(super) bytes: usize,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn add(&mut self, message: Vec<u8>, kept: usize) {
        self.bytes += message.len();
        self.messages.push_back((message, kept));
    }

    /// Drops what a fresh picture makes useless; a message that is partly sent must be sent to its end.
    pub(super) fn forget_pictures(&mut self) {
        let begun = usize::from(self.sent > 0);
        self.messages.iter_mut().skip(begun).for_each(|(message, kept)| message.truncate(*kept));
        self.messages.retain(|(message, _)| !message.is_empty());
        self.bytes = self.messages.iter().map(|(message, _)| message.len()).sum();
    }

    pub(super) fn push(&mut self, socket: &OwnedFd) -> std::io::Result<()> {
        while let Some((message, _)) = self.messages.front() {
            let Some(sent) = sock::put(socket, &message[self.sent..])? else {
                return Ok(());
            };
            self.sent += sent;
            if self.sent == message.len() {
                self.bytes -= message.len();
                self.sent = 0;
                self.messages.pop_front();
            }
        }
        self.messages.shrink_to(0);
        Ok(())
    }
}
