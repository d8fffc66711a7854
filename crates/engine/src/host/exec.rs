//! Lines that clients have run in the session's shell: whose turn it is, and what the guard is told of it.

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::{Code, Failure};
use abide_core::recording::veil::{Phase, Tag};
use abide_core::wire::{Tagged, ToGuard};
use abide_sys::clock;

use super::Host;

impl Host {
    /// Has a line run in the shell, one at a time.
    pub(super) fn exec(&mut self, client: usize, seen: u64, tagged: Tagged) {
        self.catch_up();
        let Ok(tag) = body_from_line::<Tag>(&tagged.tag) else {
            self.clients.refuse(client, Failure::new(Code::Usage, "that is no tag"));
            return;
        };
        if tag.phase == Phase::Cancel {
            // Should the guard have died over it, the next one is not to type it.
            self.line.forget(tagged.client);
        }
        match self.follow.admits(&tag, seen, clock::now().boot) {
            true => self.line.tell(&ToGuard::Exec(tagged)),
            false => {
                let busy = Failure::new(Code::Busy, "another exec is in the middle");
                self.clients.refuse(client, busy.hint("try again when it is over"));
            }
        }
    }
}
