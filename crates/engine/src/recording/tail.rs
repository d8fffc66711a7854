//! The end of a recording that is read: it may grow, and then whoever serves the session rings; once nobody writes any
//! more, what is not whole there never will be.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abide_core::evidence::Size;
use abide_core::id::SessionId;
use abide_core::recording::unrecorded::Unrecorded;
use abide_core::screen::Screen;
use abide_core::status::Status;
use abide_core::wire::ToClient;
use abide_sys::signal::Signals;
use abide_sys::{clock, poll};

use super::Reader;
use crate::client::Client;
use crate::store::{Home, SessionDir};
use crate::truth::{Session, Truth};

/// Everything is looked at again after this long, whatever was or was not heard.
const RESCAN_MS: u64 = 1_000;
/// A host that has not answered by then is not waited for.
const ANSWER_MS: u64 = 1_000;
/// Since which version of the messages hosts tell what is not on record.
const TELLS_SINCE: u8 = 4;

/// The end of a session's recording.
#[derive(Debug)]
pub(super) struct Tail<'a> {
    truth: &'a Truth,
    home: &'a Home,
    id: SessionId,
    /// Where the session stood when it was asked about.
    status: Status,
    growth: Growth,
    /// Nobody writes any more.
    ended: bool,
    bell: Option<Bell>,
    /// What ends the waiting, and whether it did.
    pub(super) signals: Option<&'a Signals>,
    signalled: Option<i32>,
    /// What is not there yet is waited for, not left to whoever asks.
    waits: bool,
    /// What was shown where the reading is to begin, if what is on record does not come to there.
    pub(super) beyond: Option<Box<Screen>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// It may grow; whether all there was has been told.
    Growing {
        caught_up: bool,
    },
    /// What is there now is all, and whether an entry that is not whole is damage.
    Ended {
        torn: bool,
    },
    Read,
}

/// What may have changed there.
pub(super) enum News {
    /// All that was there has been read; from now on it is waited for.
    CaughtUp,
    Perhaps,
}

impl<'a> Tail<'a> {
    pub(super) fn of(truth: &'a Truth, home: &'a Home, session: &Session, follow: bool) -> io::Result<Self> {
        let id = session.id.clone();
        let bell = match follow {
            true => {
                let dir = home.session(&id).map_err(|untrusted| io::Error::other(untrusted.says()))?;
                Some(Bell::new(dir, session.size())?)
            }
            false => None,
        };
        let written = session.seen.guard.is_alive() || session.seen.host.is_alive();
        let torn = session.is_over() || !written;
        let growth = if follow { Growth::Growing { caught_up: false } } else { Growth::Ended { torn } };
        let ended = torn && !follow;
        let status = session.verdict.status;
        Ok(Self {
            truth,
            home,
            id,
            status,
            growth,
            ended,
            bell,
            signals: None,
            signalled: None,
            waits: true,
            beyond: None,
        })
    }

    pub(super) const fn status(&self) -> Status {
        self.status
    }

    pub(super) const fn session(&self) -> &SessionId {
        &self.id
    }

    /// Nobody writes any more, whether all was read or not.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// All was told that was there, and more is waited for.
    pub(super) fn is_awaited(&self) -> bool {
        self.growth == Growth::Growing { caught_up: true }
    }

    /// Nothing is left to read, and nothing will come.
    pub(super) fn is_read(&self) -> bool {
        self.growth == Growth::Read
    }

    /// Whether a signal came that ends the reading.
    pub(super) fn is_signalled(&mut self) -> bool {
        self.signalled = self.signalled.or_else(|| Some(self.signals?.next()?.number));
        self.signalled.is_some()
    }

    /// The signal that ended the reading.
    pub(super) const fn signalled(&self) -> Option<i32> {
        self.signalled
    }

    /// What there is to do where all was read that is there; none if nothing will come.
    pub(super) fn more(&mut self, reader: &mut Reader) -> Option<News> {
        match self.growth {
            Growth::Read => return None,
            Growth::Ended { torn } => {
                self.growth = Growth::Read;
                if torn {
                    reader.finish();
                }
            }
            Growth::Growing { caught_up: false } => {
                self.growth = Growth::Growing { caught_up: true };
                return Some(News::CaughtUp);
            }
            // Asked before reading: what was written before the end is read after it.
            Growth::Growing { caught_up: true } if self.truth.of(self.home, &self.id).is_over() => {
                self.growth = Growth::Ended { torn: true };
                self.ended = true;
            }
            Growth::Growing { caught_up: true } => {
                let patience = if self.waits { RESCAN_MS } else { 0 };
                let rang = self.bell.as_mut().is_some_and(|bell| bell.wait(patience, self.signals));
                if self.is_signalled() {
                    return None;
                }
                if !self.waits && !rang {
                    return Some(News::CaughtUp);
                }
            }
        }
        Some(News::Perhaps)
    }

    /// From now on nothing is waited for.
    pub(super) const fn do_not_wait(&mut self) {
        self.waits = false;
    }

    pub(super) const fn waits(&self) -> bool {
        self.waits
    }

    /// What is not on record behind a position, as whoever serves the session tells it.
    pub(super) fn unrecorded(&mut self, behind: u64) -> Option<Unrecorded> {
        self.bell.as_mut()?.unrecorded(behind)
    }

    /// What becomes readable when there may be more; none if nobody would say so.
    pub(super) fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref()?.0.as_ref().map(AsFd::as_fd)
    }
}

/// Whoever serves the session, heard whenever it shows something.
#[derive(Debug)]
struct Bell(Option<Client>);

impl Bell {
    fn new(dir: SessionDir, size: Size) -> io::Result<Self> {
        let mut client = Client::connect(dir).ok();
        if let Some(client) = &mut client {
            client.attach(size, true)?;
        }
        Ok(Self(client))
    }

    fn unrecorded(&mut self, behind: u64) -> Option<Unrecorded> {
        let client = self.0.as_mut()?;
        let told = |message: &ToClient| match message {
            ToClient::Unrecorded(told) => Some(Some(told.clone())),
            ToClient::Welcome { version, .. } if *version < TELLS_SINCE => Some(None),
            ToClient::Welcome { .. }
            | ToClient::Stage { .. }
            | ToClient::Paint(_)
            | ToClient::Output(_)
            | ToClient::Applied { .. }
            | ToClient::Withdrawn { .. }
            | ToClient::Reached { .. }
            | ToClient::Snapshot { .. }
            | ToClient::Marked { .. }
            | ToClient::Exec { .. }
            | ToClient::Ended
            | ToClient::Refused(_) => None,
        };
        if (1..TELLS_SINCE).contains(&client.version()) {
            return None;
        }
        client.ask_unrecorded(behind).ok()?;
        let deadline = clock::now().boot.saturating_add(ANSWER_MS);
        // One that is gone is noticed where it is waited for.
        client.hear_until(deadline, &mut { told }).ok()??
    }

    /// Waits for so many ms at most, or for a signal. True if anything was heard of the session.
    fn wait(&mut self, ms: u64, signals: Option<&Signals>) -> bool {
        let heard = self.0.as_ref().map(AsFd::as_fd);
        let heard: Vec<BorrowedFd<'_>> = heard.into_iter().chain(signals.map(AsFd::as_fd)).collect();
        let ready = poll::readable(&heard, Some(ms));
        let Some(client) = &mut self.0 else { return false };
        let rang = ready.first() == Some(&true);
        match client.hear() {
            // It may have rung since it was looked at, and nobody hears that twice.
            Ok(heard) if !heard.contains(&ToClient::Ended) => return rang || !heard.is_empty(),
            // The next host is attached to as this one was, if there is one.
            Ok(_) | Err(_) if client.come_back().is_ok() => {}
            Ok(_) | Err(_) => self.0 = None,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use abide_core::wire::Message;
    use abide_sys::disk::PrivateDir;
    use abide_testkit::deadline::until;
    use abide_testkit::scratch::ScratchDir;

    use super::*;

    #[test]
    fn whatever_rings_is_heard_whenever_it_rings() {
        const RINGS: usize = 500;
        let scratch = ScratchDir::new();
        let dir = PrivateDir::open(scratch.path()).expect("it is ours");
        let listener = UnixListener::bind(scratch.path().join("socket")).expect("there is room");
        let mut bell =
            Bell::new(SessionDir::from_trusted(dir), Size { cols: 80, rows: 24 }).expect("it listens");
        let (mut host, _) = listener.accept().expect("it is there");
        let heard = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let rings = scope.spawn(|| {
                for ring in 0..RINGS {
                    let shown = ToClient::Output(b"x".to_vec()).to_stream();
                    host.write_all(&shown).expect("it is there");
                    until("that is heard", || heard.load(Ordering::Acquire) > ring);
                }
            });
            // Each is sent once the one before was heard.
            while !rings.is_finished() {
                heard.fetch_add(usize::from(bell.wait(0, None)), Ordering::AcqRel);
            }
        });
    }
}
