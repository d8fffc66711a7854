//! The keyboard of a session: who alone types, and what of theirs stands unfinished in the terminal. Kept in the spill too, so
//! that the next guard finishes it, and the next host knows whom to wait for.

use abide_core::keys::unfinished::Unfinished;

use crate::spill::Spill;

#[derive(Debug, Default)]
pub(super) struct Keyboard {
    holder: Option<u64>,
    unfinished: Unfinished,
}

impl Keyboard {
    /// As the guard before left it.
    pub(super) fn resume(spill: &Spill) -> Self {
        Self { holder: spill.holder(), unfinished: spill.unfinished() }
    }

    /// This client alone types from now on; with 0, none does.
    pub(super) fn hold(&mut self, client: u64, spill: &Spill) {
        let holder = Some(client).filter(|client| *client != 0);
        if self.holder != holder {
            *self = Self { holder, unfinished: Unfinished::default() };
            spill.hold(client);
        }
    }

    /// This is in the terminal.
    pub(super) fn typed(&mut self, client: u64, bytes: &[u8], spill: &Spill) {
        if self.holder == Some(client) {
            self.unfinished.take(bytes);
            spill.leave_unfinished(self.unfinished);
        }
    }

    /// This client types no more, and this of its is not typed: but for so many bytes, which finish what is begun. Whether the
    /// end of a paste has to follow.
    pub(super) fn leave(&mut self, client: u64, rest: &[u8], spill: &Spill) -> (usize, bool) {
        if self.holder != Some(client) {
            return (0, false);
        }
        let (more, ends) = self.unfinished.finish(rest);
        if ends {
            // Before the holder is forgotten: whoever follows us ends it.
            spill.end_paste(true);
        }
        self.hold(0, spill);
        (more, ends)
    }
}
