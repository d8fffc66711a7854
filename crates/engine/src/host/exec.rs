//! Lines that clients have run in the session's shell: whose turn it is, and what the guard is told of it.

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::recording::veil::{Phase, Tag};
use abide_core::wire::{Tagged, ToGuard};
use abide_sys::clock;

use super::Host;
use super::prompt::NotNow;

const ENTER: u8 = b'\r';
const CTRL_C: u8 = 0x03;

impl Host {
    /// Has a line run in the shell, one at a time.
    pub(super) fn exec(&mut self, client: usize, seen: u64, tagged: Tagged) {
        let behind = self.catch_up();
        let Ok(tag) = body_from_line::<Tag>(&tagged.tag) else {
            self.clients.refuse(client, Failure::new(Code::Usage, "that is no tag"));
            return;
        };
        if tag.phase == Phase::Cancel {
            // What is not in the terminal by now is not to be: neither by this guard, should it stand still, nor by the next one.
            self.line.withdraw(tagged.client);
        }
        // What was typed or answered and is not confirmed may not be in the terminal yet.
        let waits = self.line.owes_any();
        let admitted = match tag.phase {
            Phase::Begin if behind > 0 => Err(NotNow::Behind),
            Phase::Begin if waits => Err(NotNow::Typed),
            Phase::Begin | Phase::More | Phase::Cancel => self.follow.admits(&tag, seen, clock::now().boot),
        };
        match admitted {
            Ok(()) => {
                if let Some(below) = self.follow.running().filter(|below| *below != tag.nonce) {
                    self.dir.silence_exec(below);
                }
                self.clients.taking_back = TakingBack::of(tag, &tagged);
                self.line.tell(&ToGuard::Exec(tagged));
            }
            Err(why) => {
                let id = self.beside.1.id().map_or("ID", SessionId::as_str);
                self.clients.refuse(client, refusal(&why, id));
            }
        }
    }

    /// A client is gone: what it had begun to type for a line and did not end stays in nobody's way, and hides nothing; and a
    /// line that the guard has not typed yet is not to run. Whether it has, the guard alone knows, and says first.
    pub(super) fn take_back(&mut self, client: u64) {
        let Some(it) = self.clients.taking_back.take_if(|it| it.cancel.client == client) else { return };
        if !it.is_whole {
            self.line.tell(&ToGuard::Exec(it.cancel));
        } else if self.line.owes(client) {
            self.line.withdraw(client);
            self.clients.recalled = Some(it);
        }
    }

    /// What a client said up to this number was typed before it could be taken back: a line goes on.
    pub(super) fn typed(&mut self, client: u64, seq: u64) {
        self.clients
            .recalled
            .take_if(|it| it.cancel.client == client && it.cancel.seq <= seq.saturating_add(1));
    }

    /// Nothing is left to type of what this client said; with none, no guard will ever tell: its line never runs, and hides
    /// nothing.
    pub(super) fn taken_back(&mut self, client: Option<u64>) {
        let theirs = |it: &mut TakingBack| client.is_none_or(|client| it.cancel.client == client);
        if let Some(it) = self.clients.recalled.take_if(theirs) {
            self.dir.withdraw_exec(&it.nonce);
            self.line.tell(&ToGuard::Exec(it.cancel));
        }
    }
}

/// What takes back what was typed so far of a line.
pub(super) struct TakingBack {
    cancel: Tagged,
    nonce: String,
    /// There is no more to type of it: once that is in the terminal, the line goes on, whoever is gone.
    is_whole: bool,
}

impl TakingBack {
    fn of(tag: Tag, tagged: &Tagged) -> Option<Self> {
        if tag.phase == Phase::Cancel {
            return None;
        }
        let is_whole = tagged.bytes.last() == Some(&ENTER);
        let nonce = tag.nonce.clone();
        let cancel = Tagged {
            client: tagged.client,
            seq: tagged.seq.saturating_add(1),
            tag: Tag { phase: Phase::Cancel, typed: String::new(), ..tag }.to_bytes(),
            bytes: if is_whole { Vec::new() } else { vec![CTRL_C] },
        };
        Some(Self { cancel, nonce, is_whole })
    }
}

fn refusal(why: &NotNow, id: &str) -> Failure {
    let no_shell = |what: &str| Failure::new(Code::NoShell, format!("no shell waits at its prompt: {what}"));
    let keys = format!("`abide keys {id} Ctrl-C`");
    match why {
        NotNow::Other => {
            Failure::new(Code::Busy, "another exec is in the middle").hint("try again when it is over")
        }
        NotNow::Behind => Failure::new(Code::Busy, "what runs there writes faster than its screen is drawn")
            .hint(format!("try again when it is done; {keys} ends it")),
        NotNow::Typed => {
            Failure::new(Code::Busy, "somebody is just typing there").hint("try again when that is done")
        }
        NotNow::HalfTyped => no_shell("a line stands there half typed, or keys were pressed in one")
            .hint(format!("{keys} gives an empty one; nothing was typed")),
        NotNow::Answered => {
            no_shell("what the terminal answered a program stands there, for that did not read it")
                .hint(format!("{keys} gives an empty line; nothing was typed"))
        }
        NotNow::NoPrompt(shown) => no_shell(&format!(
            "`{shown}` stands before the cursor, as where it waits for more of a command, or for an answer"
        ))
        .hint(format!("{keys} breaks that off; nothing was typed")),
        NotNow::NothingThere => no_shell(
            "nothing stands before the cursor, so nobody can tell its prompt from where it waits for more of a \
            command, or for an answer",
        )
        .hint(format!("{keys} breaks off what it waits for, and has it show its prompt; nothing was typed")),
    }
}
