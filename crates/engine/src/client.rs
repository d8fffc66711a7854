//! A client's side of a host: speaks, hears, and comes back by itself when the host is replaced.
//! What was typed and not confirmed is typed again; the guard takes each number once.

pub(crate) mod attach;
pub(crate) mod drive;
pub(crate) mod exec;
mod inside;
pub(crate) mod mark;
pub(crate) mod play;
pub(crate) mod prompt;
pub(crate) mod refresh;
mod terminal;
pub(crate) mod watch;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::Size;
use abide_core::wire::{Attendance, Inbox, LONGEST, Message, Tagged, ToClient, ToHostFromClient, VERSION};
use abide_sys::poll::{self, Interest};
use abide_sys::{clock, sock};

use crate::store::SessionDir;
pub use attach::{Attaching, Left};
pub use drive::{Driver, Typed};
pub use exec::{Executed, Unfinished};
pub use mark::Marking;
pub use play::Playing;
pub use prompt::{Prompted, Prompting};

/// A picture of a large screen with scrollback may be this long.
const FROM_HOST: usize = 16 << 20;
/// How much may be typed that is not confirmed yet: more than anyone pastes, so that a detach key behind it is read.
const UNCONFIRMED: usize = 16 << 20;
/// A connection that breaks sooner is not followed by the next one before this is over.
const PACE_MS: u64 = 50;

#[derive(Debug)]
pub(crate) struct Client {
    dir: SessionDir,
    socket: OwnedFd,
    /// When it was connected last, by the boot-time clock.
    connected: u64,
    inbox: Inbox,
    /// What the host has not taken yet: nobody waits for a host that hangs.
    unsent: VecDeque<u8>,
    /// The same over all connections of this client.
    number: u64,
    seq: u64,
    /// Each with its number and how many bytes are typed by it.
    unconfirmed: VecDeque<(u64, usize, ToHostFromClient)>,
    unconfirmed_bytes: usize,
    attached: Option<(Size, Attendance)>,
    /// Of the host, as it said.
    version: u8,
    /// What it types belongs together.
    holds: bool,
}

impl Client {
    /// Connects to whoever serves the session, or waits in line for the next host.
    pub(crate) fn connect(dir: SessionDir) -> io::Result<Self> {
        let socket = dir.connect()?;
        let number = u64::from_le_bytes(clock::random_bytes::<8>()?);
        let mut client = Self {
            dir,
            socket,
            connected: clock::now().boot,
            inbox: Inbox::new(FROM_HOST),
            unsent: VecDeque::new(),
            number,
            seq: 0,
            unconfirmed: VecDeque::new(),
            unconfirmed_bytes: 0,
            attached: None,
            version: 0,
            holds: false,
        };
        client.say(&ToHostFromClient::Hello { version: VERSION, client: number })?;
        Ok(client)
    }

    pub(crate) fn attach(&mut self, size: Size, read_only: bool) -> io::Result<()> {
        let role = Attendance::first(read_only);
        self.attached = Some((size, role));
        self.say(&ToHostFromClient::Attach { size, role })
    }

    pub(crate) fn resize(&mut self, size: Size) -> io::Result<()> {
        if let Some((known, role)) = &mut self.attached {
            *known = size;
            if role.read_only {
                return Ok(());
            }
        }
        self.say(&ToHostFromClient::Resize(size))
    }

    /// Whether more may be typed before something is confirmed.
    pub(crate) const fn takes_input(&self) -> bool {
        self.unconfirmed_bytes < UNCONFIRMED
    }

    pub(crate) fn input(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(LONGEST / 2) {
            self.seq += 1;
            let input = ToHostFromClient::Input { seq: self.seq, bytes: piece.to_vec() };
            self.say_until_confirmed(piece.len(), input)?;
        }
        Ok(())
    }

    /// Types this under its tag.
    pub(crate) fn exec(&mut self, seen: u64, tag: Vec<u8>, bytes: Vec<u8>) -> io::Result<()> {
        self.seq += 1;
        let length = bytes.len();
        let tagged = Tagged { client: self.number, seq: self.seq, tag, bytes };
        self.say_until_confirmed(length, ToHostFromClient::Exec { seen, tagged })
    }

    fn say_until_confirmed(&mut self, bytes: usize, message: ToHostFromClient) -> io::Result<()> {
        self.unconfirmed_bytes += bytes;
        let said = self.say(&message);
        self.unconfirmed.push_back((self.seq, bytes, message));
        said
    }

    /// Nothing that was said has to be said again, and nothing more is.
    pub(crate) fn give_up(&mut self) {
        self.unconfirmed.clear();
        self.unconfirmed_bytes = 0;
        self.holds = false;
    }

    /// Takes back what was typed and is not in the terminal yet. Gives how much of what is not confirmed was written all the
    /// same; none if nobody says so until this time of the boot-time clock: then it may be typed later. An error means that
    /// the host is gone.
    pub(crate) fn withdraw(&mut self, deadline: u64) -> io::Result<Option<usize>> {
        const WITHDRAWS_SINCE: u8 = 5;
        if self.version < WITHDRAWS_SINCE {
            return Ok(None);
        }
        let withdrawn = |message: &ToClient| {
            let ToClient::Withdrawn { written } = message else { return None };
            usize::try_from(*written).ok()
        };
        self.say(&ToHostFromClient::Withdraw)?;
        self.hear_until(deadline, &mut { withdrawn })
    }

    /// What the host said. An error means that the host is gone.
    pub(crate) fn hear(&mut self) -> io::Result<Vec<ToClient>> {
        let mut bytes = Vec::with_capacity(64 * 1024);
        match sock::take(&self.socket, &mut bytes)? {
            Some(0) => return Err(io::ErrorKind::ConnectionReset.into()),
            Some(_) => self.inbox.feed(&bytes),
            None => {}
        }
        let mut heard = Vec::new();
        while let Some(message) = self.inbox.take().map_err(|_| io::ErrorKind::InvalidData)? {
            match (&message, &mut self.attached) {
                (ToClient::Applied { seq }, _) => self.confirm(*seq),
                (ToClient::Welcome { version, .. }, _) => self.version = *version,
                (ToClient::Stage { drives, .. }, Some((_, role))) => role.drives = *drives,
                (_, _) => {}
            }
            heard.push(message);
        }
        Ok(heard)
    }

    fn confirm(&mut self, seq: u64) {
        while let Some((first, bytes, _)) = self.unconfirmed.front() {
            if *first > seq {
                return;
            }
            self.unconfirmed_bytes -= bytes;
            self.unconfirmed.pop_front();
        }
    }

    /// Connects again after the host is gone, and says everything again that was not confirmed.
    pub(crate) fn come_back(&mut self) -> io::Result<()> {
        // Whoever hangs up on everyone who comes is not besieged.
        let since = clock::now().boot.saturating_sub(self.connected);
        if since < PACE_MS {
            let _ = poll::wait(&[], Some(PACE_MS - since));
        }
        self.socket = self.dir.connect()?;
        self.connected = clock::now().boot;
        self.inbox = Inbox::new(FROM_HOST);
        self.unsent.clear();
        self.say(&ToHostFromClient::Hello { version: VERSION, client: self.number })?;
        if let Some((size, role)) = self.attached {
            self.say(&ToHostFromClient::Attach { size, role: Attendance { again: true, ..role } })?;
        }
        if self.holds {
            self.say(&ToHostFromClient::Hold)?;
        }
        for (_, _, message) in self.unconfirmed.clone() {
            self.say(&message)?;
        }
        Ok(())
    }

    /// Hears until something is said that is wanted, or until this time of the boot-time clock. An error means that the
    /// host is gone.
    pub(crate) fn hear_until<T>(
        &mut self,
        deadline: u64,
        wanted: &mut impl FnMut(&ToClient) -> Option<T>,
    ) -> io::Result<Option<T>> {
        loop {
            let left = deadline.saturating_sub(clock::now().boot);
            let interest = Interest { fd: self.socket.as_fd(), read: true, write: !self.unsent.is_empty() };
            let ready = poll::wait(&[interest], Some(left));
            if ready[0].write {
                self.send_on()?;
            }
            if ready[0].read
                && let Some(found) = self.hear()?.iter().find_map(&mut *wanted)
            {
                return Ok(Some(found));
            }
            if left == 0 {
                return Ok(None);
            }
        }
    }

    /// Asks for what is not on record behind a position. Hosts of before version 4 pass over it.
    pub(crate) fn ask_unrecorded(&mut self, behind: u64) -> io::Result<()> {
        self.say(&ToHostFromClient::Unrecorded(behind))
    }

    pub(crate) fn ask_snapshot(&mut self) -> io::Result<()> {
        self.say(&ToHostFromClient::Snapshot)
    }

    /// Asks for what is shown. A host of before it could be asked so is asked for everything.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        const LOOKS_SINCE: u8 = 2;
        let looks = self.version >= LOOKS_SINCE;
        self.say(if looks { &ToHostFromClient::Look } else { &ToHostFromClient::Snapshot })
    }

    /// Of the messages that the host knows.
    pub(crate) const fn version(&self) -> u8 {
        self.version
    }

    /// How much was typed and is not confirmed.
    pub(crate) const fn unconfirmed(&self) -> usize {
        self.unconfirmed_bytes
    }

    /// What is typed from now on belongs together.
    pub(crate) fn hold(&mut self) -> io::Result<()> {
        self.holds = true;
        self.say(&ToHostFromClient::Hold)
    }

    pub(crate) fn release(&mut self) -> io::Result<()> {
        self.holds = false;
        self.say(&ToHostFromClient::Release)
    }

    pub(crate) fn mark(&mut self, name: &str) -> io::Result<()> {
        self.say(&ToHostFromClient::Mark(name.to_owned()))
    }

    fn say(&mut self, message: &ToHostFromClient) -> io::Result<()> {
        self.unsent.extend(message.to_stream());
        self.send_on()
    }

    /// How much waits until the host takes more.
    pub(crate) fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Sends what the host takes now. One that hung up may have said why: that is heard next, and then that it is gone.
    pub(crate) fn send_on(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match sock::put(&self.socket, self.unsent.as_slices().0) {
                Ok(Some(sent)) => drop(self.unsent.drain(..sent)),
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.unsent.clear(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
