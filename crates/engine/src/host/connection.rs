//! One connection of a client: what it says is taken in, what is said to it waits for it, and neither without bound.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::Size;
use abide_core::failure::{Code, Failure};
use abide_core::keys;
use abide_core::wire::{
    ANSWERS, Attendance, FINISHING, Inbox, LONGEST, Message, ToClient, ToHostFromClient, VERSION,
};
use abide_sys::poll::{self, Interest};
use abide_sys::sock;

use super::outbox::Outbox;
use super::typing::{DEFERRED, Typing};
use super::wish::Wish;

/// What may wait to be sent to one client. One that falls behind further gets a fresh picture when it is back.
pub(super) const WAITING: usize = 1 << 20;
/// A message from a client may be this long.
const FROM_CLIENT: usize = LONGEST + 64;
/// An attached client is told so late at most that something is confirmed.
const CONFIRM_MS: u64 = 20;
/// So many marks of one client may wait to be on record.
const MARKS: usize = 1_000;

/// What a client says is said to this.
pub(super) struct Turn<'a> {
    pub(super) generation: u32,
    pub(super) driver: &'a mut Option<usize>,
    pub(super) wishes: &'a mut Vec<Wish>,
    pub(super) late: &'a [u64],
}

pub(super) struct Client {
    /// Tells connections apart for as long as this host lives.
    pub(super) number: usize,
    pub(super) socket: OwnedFd,
    pub(super) inbox: Inbox,
    /// The client's own number, the same over all its connections.
    pub(super) id: u64,
    pub(super) outbox: Outbox,
    pub(super) attached: Option<Attached>,
    /// What it typed and was not passed on yet.
    pub(super) typing: VecDeque<Typing>,
    pub(super) typed_bytes: usize,
    /// The marks that it asked for and that are not on record yet.
    pub(super) marks: Vec<String>,
    /// What it typed and is not in the terminal yet is not to be, once it is gone.
    pub(super) takes_along: bool,
    pub(super) gone: bool,
    /// The last number that is confirmed and was not said to be, and when it is to be at the latest.
    pub(super) confirmed: Option<(u64, u64)>,
}

pub(super) struct Attached {
    pub(super) role: Attendance,
    /// Of its terminal.
    pub(super) size: Size,
    /// It fell behind; what is shown is not sent until it has been given the whole screen.
    pub(super) behind: bool,
}

impl Client {
    pub(super) fn new(number: usize, socket: OwnedFd) -> Self {
        Self {
            number,
            socket,
            inbox: Inbox::new(FROM_CLIENT),
            id: 0,
            outbox: Outbox::default(),
            attached: None,
            typing: VecDeque::new(),
            typed_bytes: 0,
            marks: Vec::new(),
            takes_along: true,
            gone: false,
            confirmed: None,
        }
    }

    pub(super) fn send(&mut self, message: &ToClient) {
        let picture = matches!(message, ToClient::Stage { .. } | ToClient::Output(_) | ToClient::Paint(_));
        let confirmed = self.confirmed.take();
        let mut bytes = confirmed.map_or_else(Vec::new, |(seq, _)| ToClient::Applied { seq }.to_stream());
        let said = bytes.len();
        bytes.extend(message.to_stream());
        let kept = if picture { said } else { bytes.len() };
        self.outbox.add(bytes, kept);
        self.push();
    }

    /// All up to this number is in the terminal. One that is attached does nothing about it but forget what it would say to
    /// the next host, so it is not woken for that: it hears of it with what its program shows.
    pub(super) fn confirm(&mut self, seq: u64, now: u64) {
        let due = self.confirmed.map_or(now.saturating_add(CONFIRM_MS), |(_, due)| due);
        self.confirmed = Some((seq, due));
        self.confirm_if_due(if self.attached.is_some() { now } else { due });
    }

    pub(super) fn confirm_if_due(&mut self, now: u64) {
        if let Some((seq, _)) = self.confirmed.take_if(|(_, due)| *due <= now) {
            self.send(&ToClient::Applied { seq });
        }
    }

    /// Says for which size the rest is, and who drives. One that is behind is told with its next picture.
    pub(super) fn stage(&mut self, size: Option<Size>, driver: Option<usize>) {
        let listens = self.attached.as_ref().is_some_and(|attached| !attached.behind);
        if self.outbox.bytes > WAITING
            && let Some(attached) = &mut self.attached
        {
            attached.behind = true;
            self.outbox.forget_pictures();
        } else if let Some(size) = size.filter(|_| listens) {
            self.send(&ToClient::Stage { size, drives: driver == Some(self.number) });
        }
    }

    /// It asked for more marks than anyone does, and none of them is on record yet.
    pub(super) fn waits_for_marks(&self) -> bool {
        self.marks.iter().map(String::len).sum::<usize>() > DEFERRED || self.marks.len() > MARKS
    }

    pub(super) fn push(&mut self) {
        self.gone |= self.outbox.push(&self.socket).is_err();
    }

    pub(super) fn pull(&mut self, turn: &mut Turn<'_>) {
        let mut bytes = Vec::with_capacity(16 * 1024);
        match sock::take(&self.socket, &mut bytes) {
            Ok(Some(0)) | Err(_) => self.gone = true,
            Ok(None) => {}
            Ok(Some(_)) => self.inbox.feed(&bytes),
        }
        loop {
            match self.inbox.take::<ToHostFromClient>() {
                Ok(Some(message)) => self.heed(message, turn),
                Ok(None) => return,
                Err(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
    }

    pub(super) fn heed(&mut self, message: ToHostFromClient, turn: &mut Turn<'_>) {
        let read_only = self.attached.as_ref().is_some_and(|attached| attached.role.read_only);
        match message {
            ToHostFromClient::Hello { client, .. } if turn.late.contains(&client) => {
                let message = "the host was replaced, and this client was not there for too long: the rest of what it typed was withdrawn";
                let refusal = Failure::new(Code::TimedOut, message).hint("type what is missing once more");
                self.send(&ToClient::Refused(refusal));
                self.gone = true;
            }
            // Under these names nobody types, or the host and the guard themselves.
            ToHostFromClient::Hello { client: 0 | ANSWERS | FINISHING, .. } => self.gone = true,
            ToHostFromClient::Hello { client, .. } => {
                self.id = client;
                self.send(&ToClient::Welcome { version: VERSION, generation: turn.generation });
            }
            ToHostFromClient::Attach { size, role } => {
                self.attached = Some(Attached { role, size, behind: true });
                // Who looks on may leave before the program reads, and knows it.
                self.takes_along = false;
                if role.drives && !role.read_only {
                    self.drive(turn);
                }
            }
            ToHostFromClient::Input { .. } | ToHostFromClient::Resize(_) | ToHostFromClient::Exec { .. }
                if read_only =>
            {
                let refusal = Failure::new(Code::ReadOnly, "this client is attached read-only")
                    .hint("attach without --read-only to type");
                self.send(&ToClient::Refused(refusal));
            }
            ToHostFromClient::Input { seq, bytes } => self.defer(Typing::Input { seq, bytes }),
            ToHostFromClient::Exec { seen, tagged } => {
                self.takes_along = false;
                self.defer(Typing::Exec { seen, tagged });
            }
            ToHostFromClient::Withdraw => {
                self.takes_along = false;
                self.typing.clear();
                self.typed_bytes = 0;
                self.defer(Typing::Release);
                turn.wishes.push(Wish::Withdraw { client: self.id });
            }
            ToHostFromClient::Hold => self.defer(Typing::Hold),
            ToHostFromClient::Release => self.defer(Typing::Release),
            ToHostFromClient::Resize(size) => {
                if let Some(attached) = &mut self.attached {
                    attached.size = size;
                }
                // Who is not attached has no terminal of its own, and orders this size.
                if self.attached.is_none() || *turn.driver == Some(self.number) {
                    turn.wishes.push(Wish::Resize(size));
                }
            }
            // Who did not wait for it was told that there is none, and marks another instant.
            ToHostFromClient::Mark(_) if self.has_hung_up() => {}
            ToHostFromClient::Mark(text) => {
                self.marks.push(text.clone());
                turn.wishes.push(Wish::Mark(text));
            }
            ToHostFromClient::Snapshot => self.picture(true, turn),
            ToHostFromClient::Look => self.picture(false, turn),
            ToHostFromClient::Unrecorded(behind) => {
                let number = self.number;
                let asked =
                    |known: &Wish| matches!(known, Wish::Unrecorded { client, .. } if *client == number);
                if !turn.wishes.iter().any(asked) {
                    turn.wishes.push(Wish::Unrecorded { client: number, behind });
                }
            }
        }
    }

    fn has_hung_up(&self) -> bool {
        poll::wait(&[Interest::news(self.socket.as_fd())], Some(0))[0].read
    }

    pub(super) fn defer(&mut self, typing: Typing) {
        self.typed_bytes += typing.bytes();
        self.typing.push_back(typing);
    }

    /// Who asks again before it was answered is answered once.
    pub(super) fn picture(&self, history: bool, turn: &mut Turn<'_>) {
        let (number, all) = (self.number, history);
        let asked = |known: &Wish| matches!(known, Wish::Snapshot { client, history } if *client == number && *history == all);
        if !turn.wishes.iter().any(asked) {
            turn.wishes.push(Wish::Snapshot { client: number, history });
        }
    }

    pub(super) fn type_in(&self, seq: u64, bytes: Vec<u8>, turn: &mut Turn<'_>) {
        if *turn.driver != Some(self.number) && keys::is_typed(&bytes) {
            self.drive(turn);
        }
        turn.wishes.push(Wish::Input { client: self.id, seq, bytes });
    }

    /// From now on the session takes its size. One that is not attached types without a terminal.
    pub(super) fn drive(&self, turn: &mut Turn<'_>) {
        if let Some(attached) = &self.attached {
            *turn.driver = Some(self.number);
            turn.wishes.push(Wish::Resize(attached.size));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_confirmation_outlives_the_picture_that_it_was_sent_with() {
        let (socket, mut heard) = UnixStream::pair().expect("there is room");
        let mut client = Client::new(1, socket.into());
        let begun = vec![b'x'; WAITING];
        client.outbox.add(begun.clone(), 0);
        client.push();
        client.confirmed = Some((7, 0));
        client.send(&ToClient::Output(b"shown".to_vec()));
        client.send(&ToClient::Output(b"shown".to_vec()));
        client.outbox.forget_pictures();
        let all = [begun, ToClient::Applied { seq: 7 }.to_stream()].concat();
        assert_eq!(client.outbox.bytes, all.len(), "what is begun is sent to its end");
        let mut told = Vec::new();
        while !client.outbox.is_empty() {
            let mut piece = [0; 4096];
            let length = heard.read(&mut piece).expect("it is told");
            told.extend_from_slice(&piece[..length]);
            client.push();
        }
        drop(client);
        heard.read_to_end(&mut told).expect("it is told");
        assert!(told == all, "{:?}", &told[WAITING..]);
    }
}
