//! Lines that clients have run in the session's shell: whose turn it is, and what the guard is told of it.

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::recording::veil::{Phase, Tag};
use abide_core::wire::{Tagged, ToGuard};
use abide_sys::clock;

use super::Host;
use super::prompt::NotNow;

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
        // What was typed and is not confirmed may not be in the terminal yet.
        let waits = tag.phase == Phase::Begin && self.line.owes_any();
        let admitted =
            if waits { Err(NotNow::Typed) } else { self.follow.admits(&tag, seen, clock::now().boot) };
        match admitted {
            Ok(()) => {
                if let Some(below) = self.follow.running().filter(|below| *below != tag.nonce) {
                    self.dir.silence_exec(below);
                }
                self.line.tell(&ToGuard::Exec(tagged));
            }
            Err(why) => {
                let id = self.beside.1.id().map_or("ID", SessionId::as_str);
                self.clients.refuse(client, refusal(&why, id));
            }
        }
    }
}

fn refusal(why: &NotNow, id: &str) -> Failure {
    let no_shell = |what: &str| Failure::new(Code::NoShell, format!("no shell waits at its prompt: {what}"));
    let keys = format!("`abide keys {id} Ctrl-C`");
    match why {
        NotNow::Other => {
            Failure::new(Code::Busy, "another exec is in the middle").hint("try again when it is over")
        }
        NotNow::Typed => {
            Failure::new(Code::Busy, "somebody is just typing there").hint("try again when that is done")
        }
        NotNow::HalfTyped => no_shell("a line stands there half typed, or keys were pressed in one")
            .hint(format!("{keys} gives an empty one; nothing was typed")),
        NotNow::NoPrompt => no_shell("it waits for more of a command, or for an answer")
            .hint(format!("{keys} breaks that off; nothing was typed")),
    }
}
