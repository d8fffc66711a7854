//! The host's clients: each with bounded memory, none able to slow down the host or another one. The driver is whoever
//! typed or attached last: the session takes its size, and keeps it when it leaves; only the driver's clipboard is set.

use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::Size;
use abide_core::failure::{Code, Failure};
use abide_core::passage::Passed;
use abide_core::wire::{CLIENTS, LONGEST, Message, Tagged, ToClient};
use abide_sys::poll::{self, Interest, Ready};
use abide_sys::sock;

use super::DESCRIPTORS;
use super::connection::{Client, Turn, WAITING};
use super::exec::TakingBack;
use super::line::Line;
use super::typing::{DEFERRED, Typing};
use super::wish::Wish;

/// What of it is passed on before the guard is heard again.
const A_TURN: usize = 1 << 20;
/// One that holds the keyboard and types nothing for so long holds it no more.
const HOLD_MS: u64 = 1_000;
/// One that held it when the host before went has so long to come back; then what it typed is withdrawn.
const COME_BACK_MS: u64 = 2_000;

pub(super) struct Clients {
    generation: u32,
    /// As many are served.
    most: usize,
    all: Vec<Client>,
    next: usize,
    driver: Option<usize>,
    holder: Option<Hold>,
    /// Who did not come back in time: what is left of theirs is not taken any more.
    late: Vec<u64>,
    /// Whose `exec` is typed and has not begun to run, and until when at most others wait for that.
    awaited: Option<(usize, u64)>,
    /// What takes the line back that was typed last.
    pub(super) taking_back: Option<TakingBack>,
    /// The same of a line whose client is gone, until it is known whether it was typed.
    pub(super) recalled: Option<TakingBack>,
    /// The size of the program's terminal, as far as it was told.
    size: Option<Size>,
}

/// Who alone types for now, by its own number, and until when at most.
#[derive(Clone, Copy)]
struct Hold {
    client: u64,
    until: u64,
    /// It held the keyboard of the host before, and has yet to come back.
    absent: bool,
}

impl Hold {
    const fn by(client: u64, now: u64) -> Self {
        Self { client, until: now.saturating_add(HOLD_MS), absent: false }
    }
}

impl Clients {
    /// With whoever held the keyboard of the host before.
    pub(super) fn new(generation: u32, holder: Option<u64>) -> Self {
        let free = poll::descriptors_allowed().saturating_sub(DESCRIPTORS);
        Self {
            generation,
            most: usize::try_from(free).map_or(CLIENTS, |free| free.clamp(1, CLIENTS)),
            all: Vec::new(),
            next: 0,
            driver: None,
            holder: holder.map(|client| Hold { client, until: 0, absent: true }),
            late: Vec::new(),
            awaited: None,
            taking_back: None,
            recalled: None,
            size: None,
        }
    }

    pub(super) fn is_held_by(&self, client: u64) -> bool {
        self.holder.is_some_and(|holder| holder.client == client)
    }

    pub(super) fn interests(&self) -> impl Iterator<Item = Interest<'_>> {
        self.all.iter().map(move |client| Interest {
            fd: client.socket.as_fd(),
            // One that does not take what it asked for, or types more than is taken, is not heard meanwhile.
            read: client.outbox.bytes <= WAITING
                && client.typed_bytes <= DEFERRED
                && !client.waits_for_marks(),
            write: !client.outbox.is_empty(),
        })
    }

    /// When to pass on what waits for one who holds the keyboard and is silent, and when to tell what is confirmed.
    pub(super) fn wake_at(&self) -> Option<u64> {
        let waits = self.all.iter().any(|client| !client.typing.is_empty());
        let held = self.holder.filter(|holder| waits || holder.absent).map(|holder| holder.until);
        let held = held.max(self.awaited.filter(|_| waits).map(|(_, until)| until));
        let confirmed = self.all.iter().filter_map(|client| client.confirmed).map(|(_, due)| due);
        held.into_iter().chain(confirmed).min()
    }

    /// Lets in who waits.
    ///
    /// # Errors
    /// If somebody waits who cannot be let in now.
    pub(super) fn let_in(&mut self, listener: &OwnedFd) -> std::io::Result<()> {
        while let Some(socket) = sock::accept(listener)? {
            if self.all.len() == self.most {
                let message = format!("{} clients are connected, and no more are served", self.most);
                let refused =
                    Failure::new(Code::Busy, message).hint("try again when fewer clients are connected");
                let _ = sock::put(&socket, &ToClient::Refused(refused).to_stream());
                continue;
            }
            self.next += 1;
            self.all.push(Client::new(self.next, socket));
        }
        Ok(())
    }

    /// Sends and receives what can be, and says what the clients want. `ready` is in the order of `interests`. While the
    /// guard is congested, nothing that was typed is passed on; everyone is served otherwise.
    pub(super) fn heed(&mut self, ready: &[Ready], line: &Line, now: u64) -> Vec<Wish> {
        let congested = line.is_congested();
        let mut wishes = Vec::new();
        let before = self.driver;
        for (client, ready) in self.all.iter_mut().zip(ready) {
            client.confirm_if_due(now);
            if ready.write {
                client.push();
            }
            if ready.read {
                let (driver, wishes) = (&mut self.driver, &mut wishes);
                client.pull(&mut Turn { generation: self.generation, driver, wishes, late: &self.late });
            }
            if let Some(attached) = client.attached.as_ref().filter(|attached| attached.behind)
                && client.outbox.is_empty()
            {
                wishes.push(Wish::Paint { client: client.number, history: !attached.role.again });
            }
        }
        self.see_off(&mut wishes, now);
        if let Some(holder) = self.holder.as_mut().filter(|holder| !holder.absent)
            && (congested || line.owes(holder.client))
        {
            // Whoever holds the keyboard cannot type on.
            holder.until = now.saturating_add(HOLD_MS);
        }
        if !congested {
            self.pass_on(&mut wishes, now);
        }
        let gone = self.all.iter().filter(|client| client.gone);
        wishes.extend(gone.map(|client| Wish::Gone { client: client.id }));
        self.all.retain(|client| !client.gone);
        self.driver = self.driver.filter(|driver| self.all.iter().any(|client| client.number == *driver));
        if self.driver != before {
            let (driver, size) = (self.driver, self.size);
            let both = |client: &&mut Client| [before, driver].contains(&Some(client.number));
            self.all.iter_mut().filter(both).for_each(|client| client.stage(size, driver));
        }
        wishes
    }

    /// Lets go of who is gone, with what they typed and is not in the terminal, before anyone else types.
    fn see_off(&mut self, wishes: &mut Vec<Wish>, now: u64) {
        if let Some(holder) = self.holder.as_mut().filter(|holder| holder.absent) {
            holder.absent = !self.all.iter().any(|client| client.id == holder.client);
            holder.until = match (holder.absent, holder.until) {
                (true, 0) => now.saturating_add(COME_BACK_MS),
                (true, until) => until,
                (false, _) => now.saturating_add(HOLD_MS),
            };
        }
        if let Some(holder) = self.holder.take_if(|holder| holder.absent && holder.until <= now) {
            self.late.push(holder.client);
            wishes.push(Wish::Left { client: holder.client, held: true });
        }
        for client in self.all.iter().filter(|client| client.gone && client.takes_along) {
            let held = self.holder.take_if(|holder| holder.client == client.id).is_some();
            wishes.push(Wish::Left { client: client.id, held });
        }
        // What others typed before they left is passed on.
        self.all.retain(|client| !(client.gone && client.takes_along));
        let gone = self.all.iter().filter(|client| client.gone && client.typing.is_empty());
        wishes.extend(gone.map(|client| Wish::Gone { client: client.id }));
    }

    /// Passes on what was typed, each client's in its order, and nobody's in between what another holds together.
    fn pass_on(&mut self, wishes: &mut Vec<Wish>, now: u64) {
        let there = |number: usize| self.all.iter().any(|client| client.number == number && !client.gone);
        self.holder = self.holder.filter(|holder| holder.until > now);
        self.awaited = self.awaited.filter(|(number, until)| *until > now && there(*number));
        let mut room = A_TURN;
        let mut again = true;
        while std::mem::take(&mut again) {
            for client in &mut self.all {
                let (number, id) = (client.number, client.id);
                let held = |by: Option<Hold>| by.is_some_and(|holder| holder.client != id);
                let awaited = |by: Option<(usize, u64)>| by.is_some_and(|(who, _)| who != number);
                while let Some(next) =
                    client.typing.front().filter(|_| !held(self.holder) && !awaited(self.awaited))
                {
                    if room == 0 {
                        return;
                    }
                    match next {
                        Typing::Hold => {
                            self.holder = Some(Hold::by(id, now));
                            wishes.push(Wish::Hold { client: id });
                        }
                        Typing::Release => {
                            // Who waited for it may have come earlier.
                            again |= self.holder.take().is_some();
                            wishes.push(Wish::Hold { client: 0 });
                        }
                        Typing::Input { .. } | Typing::Exec { .. } => {
                            self.holder = self.holder.map(|holder| Hold::by(holder.client, now));
                        }
                    }
                    let length = next.bytes();
                    client.typed_bytes -= length;
                    room = room.saturating_sub(length);
                    let (generation, driver, late) = (self.generation, &mut self.driver, &self.late[..]);
                    let turn = &mut Turn { generation, driver, wishes, late };
                    match client.typing.pop_front() {
                        Some(Typing::Input { seq, bytes }) => client.type_in(seq, bytes, turn),
                        Some(Typing::Exec { seen, tagged }) => {
                            let tagged = Tagged { client: client.id, ..tagged };
                            self.awaited = Some((number, now.saturating_add(HOLD_MS)));
                            turn.wishes.push(Wish::Exec { client: number, seen, tagged });
                        }
                        Some(Typing::Hold | Typing::Release) | None => {}
                    }
                }
            }
        }
    }

    /// What follows is made for this size.
    pub(super) fn resized(&mut self, size: Size) {
        self.size = Some(size);
        self.all.iter_mut().for_each(|client| client.stage(Some(size), self.driver));
    }

    /// Sends what the program showed to everyone who is attached.
    pub(super) fn show(&mut self, passed: &Passed) {
        let others = passed.without_clipboard();
        for client in &mut self.all {
            let bytes = if self.driver == Some(client.number) { passed.all() } else { &*others };
            let Some(attached) = &mut client.attached else {
                continue;
            };
            if attached.behind {
                continue;
            }
            if client.outbox.bytes + bytes.len() > WAITING {
                attached.behind = true;
                client.outbox.forget_pictures();
                continue;
            }
            for piece in bytes.chunks(LONGEST) {
                client.send(&ToClient::Output(piece.to_vec()));
            }
        }
    }

    /// Sends the whole screen; its size is that of the program's terminal, if it has one.
    pub(super) fn paint(&mut self, number: usize, size: Option<Size>, picture: Vec<u8>) {
        self.size = size;
        if let Some(client) = self.all.iter_mut().find(|client| client.number == number) {
            if let Some(attached) = &mut client.attached {
                attached.behind = false;
            }
            client.stage(size, self.driver);
            client.send(&ToClient::Paint(picture));
        }
    }

    /// Says this to one connection.
    pub(super) fn say(&mut self, number: usize, message: &ToClient) {
        if let Some(client) = self.all.iter_mut().find(|client| client.number == number) {
            client.send(message);
        }
    }

    pub(super) fn applied(&mut self, id: u64, seq: u64, now: u64) {
        for client in self.all.iter_mut().filter(|client| client.id == id) {
            client.confirm(seq, now);
        }
    }

    pub(super) fn withdrawn(&mut self, id: u64, written: u64) {
        for client in self.all.iter_mut().filter(|client| client.id == id) {
            client.send(&ToClient::Withdrawn { written });
        }
    }

    /// A mark is on record: whoever asked for one of this name learns it.
    pub(super) fn marked(&mut self, name: &str, position: u64) {
        for client in &mut self.all {
            if let Some(at) = client.marks.iter().position(|asked| asked == name) {
                client.marks.remove(at);
                client.send(&ToClient::Marked { position, name: name.to_owned() });
            }
        }
    }

    /// There is no room for marks: whoever waits for one learns it.
    pub(super) fn unmarked(&mut self) {
        for client in self.all.iter_mut().filter(|client| !client.marks.is_empty()) {
            client.marks.clear();
            let refusal = Failure::new(Code::Io, "the recording cannot be written, so it has no such mark");
            client.send(&ToClient::Refused(
                refusal.hint("make room where the sessions are kept, then mark again"),
            ));
        }
    }

    /// Says that this is not done.
    pub(super) fn refuse(&mut self, number: usize, refusal: Failure) {
        self.awaited = self.awaited.filter(|(awaited, _)| *awaited != number);
        self.say(number, &ToClient::Refused(refusal));
    }

    /// A line runs, or is over: those who are not attached may have asked for it.
    pub(super) fn executed(&mut self, nonce: &str, over: bool) {
        self.awaited = None;
        for client in self.all.iter_mut().filter(|client| client.attached.is_none()) {
            client.send(&ToClient::Exec { over, nonce: nonce.to_owned() });
        }
    }

    /// The last word: what still waits is sent if it can be at once.
    pub(super) fn say_ended(&mut self) {
        for client in &mut self.all {
            client.send(&ToClient::Ended);
        }
    }
}
