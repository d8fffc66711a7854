//! What clients want of the host, and how it is done.

use abide_core::evidence::Size;
use abide_core::wire::{Tagged, ToClient, ToGuard};

use super::Host;

/// How many lines of scrollback an attaching terminal is given.
const PAINTED_SCROLLBACK: usize = 1_000;

/// What a client wants of the host.
pub(super) enum Wish {
    Input {
        client: u64,
        seq: u64,
        bytes: Vec<u8>,
    },
    Resize(Size),
    Mark(String),
    /// What this client typed and is not in the terminal yet is not to be.
    Withdraw {
        client: u64,
    },
    /// It typed, was not attached, and is gone; whether it alone typed, and so may have left something unfinished.
    Left {
        client: u64,
        held: bool,
    },
    /// It is gone, and all that it typed was passed on.
    Gone {
        client: u64,
    },
    /// This client alone types from now on; with 0, none does.
    Hold {
        client: u64,
    },
    /// Type this under its tag for this connection, if it may.
    Exec {
        client: usize,
        seen: u64,
        tagged: Tagged,
    },
    /// Send this connection the whole screen, with the lines above it or without.
    Paint {
        client: usize,
        history: bool,
    },
    Snapshot {
        client: usize,
        history: bool,
    },
    /// Send what is not on record behind this position.
    Unrecorded {
        client: usize,
        behind: u64,
    },
}

impl Host {
    /// Does what a client wants, or has the guard do it.
    pub(super) fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Input { client, seq, bytes } => self.line.tell(&ToGuard::Input { client, seq, bytes }),
            Wish::Resize(size) => self.line.tell(&ToGuard::Resize(size)),
            Wish::Mark(text) => self.line.tell(&ToGuard::Mark(text)),
            Wish::Withdraw { client } => self.line.withdraw(client),
            // Whoever leaves before all of it is in the terminal was ended in the middle.
            Wish::Left { client, held } if held || self.line.owes(client) => self.line.withdraw(client),
            Wish::Left { .. } => {}
            Wish::Gone { client } => self.take_back(client),
            Wish::Hold { client } => self.line.tell(&ToGuard::Hold { client }),
            Wish::Exec { client, seen, tagged } => self.exec(client, seen, tagged),
            Wish::Paint { client, history } => {
                self.catch_up();
                let paint = self.follow.picture(if history { PAINTED_SCROLLBACK } else { 0 });
                self.clients.paint(client, self.follow.size(), paint);
            }
            Wish::Snapshot { client, history } => {
                let behind = (self.catch_up(), self.follow.time());
                let screen = self.follow.screen();
                let frozen = if history { screen.freeze() } else { screen.freeze_shown() };
                let position = self.follow.position();
                let (entries, line) = (self.follow.entries(), self.follow.line());
                self.clients.say(client, &ToClient::Reached { entries, line, behind });
                self.clients.say(client, &ToClient::Snapshot { position, frozen });
            }
            Wish::Unrecorded { client, behind } => {
                self.clients.say(client, &ToClient::Unrecorded(self.spill.unrecorded(behind)));
            }
        }
    }
}
