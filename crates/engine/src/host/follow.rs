//! Following the recording: bytes into the screen, bytes out to clients, queries answered once.

use std::fs::File;
use std::io;

use abide_core::passage::{Passage, Passed};
use abide_core::recording::{Entry, Kind};
use abide_core::screen::{Screen, Size, Told};

use crate::recording::snapshot::Replayed;
use crate::recording::{Found, Reader};

/// How many pieces are taken in before anyone else is heard.
const PIECES_A_TURN: u32 = 4;
/// How many clients' numbers are remembered.
const CLIENTS: usize = 64;

pub(super) struct Follow {
    reader: Reader,
    sync: File,
    lags: bool,
    mind: Mind,
}

/// What is new for attached terminals, in its order.
pub(super) enum News {
    Shown(Passed),
    /// What follows is made for this size.
    Resized(Size),
}

/// What the recording makes of a host.
struct Mind {
    replayed: Replayed,
    /// Queries up to here have been answered, by this host or one before it.
    answered: u64,
    /// The last number of each client that a guard took, as far as it is on record.
    taken: Vec<(u64, u64)>,
    /// What attached terminals may get of the output.
    passage: Passage,
}

impl Follow {
    pub(super) fn new(recording: File) -> io::Result<Self> {
        let sync = recording.try_clone()?;
        let reader = Reader::new(recording, 0)?;
        let mind =
            Mind { replayed: Replayed::new(), answered: 0, taken: Vec::new(), passage: Passage::default() };
        Ok(Self { reader, sync, lags: true, mind })
    }

    pub(super) const fn screen(&self) -> &Screen {
        &self.mind.replayed.screen
    }

    pub(super) const fn position(&self) -> u64 {
        self.mind.replayed.position
    }

    /// The bytes that show the screen on an attaching terminal, without the sequence that is not whole yet:
    /// that one passes as a whole when it is.
    pub(super) fn picture(&self, scrollback: usize) -> Vec<u8> {
        let mut picture = self.screen().dump(scrollback);
        let held = self.mind.passage.held();
        if picture.ends_with(held) {
            picture.truncate(picture.len() - held.len());
        }
        picture
    }

    /// The size of the program's terminal, if it has one.
    pub(super) fn size(&self) -> Option<Size> {
        self.mind.replayed.has_terminal.then(|| self.screen().size())
    }

    /// Whether there is more on record than was taken in.
    pub(super) const fn lags(&self) -> bool {
        self.lags
    }

    pub(super) const fn answered_up_to(&self) -> u64 {
        self.mind.answered
    }

    pub(super) fn taken(&self) -> &[(u64, u64)] {
        &self.mind.taken
    }

    pub(super) fn answered(&mut self, position: u64) {
        self.mind.answered = self.mind.answered.max(position);
    }

    /// Waits until what was shown is on the disk.
    pub(super) fn flush(&self) {
        // A disk that fails is noticed by the guard's next write.
        let _ = self.sync.sync_data();
    }

    /// Takes in what was recorded since. True if there was anything.
    pub(super) fn on(&mut self, news: &mut impl FnMut(News), answer: &mut impl FnMut(u64, Vec<u8>)) -> bool {
        let mind = &mut self.mind;
        let mut take = |found: Found<'_>| {
            if let Found::Entry(entry) = found {
                mind.take(&entry, news, answer);
            }
        };
        let mut any = false;
        self.lags = true;
        for _ in 0..PIECES_A_TURN {
            if !self.reader.advance(&mut take).unwrap_or(false) {
                self.lags = false;
                self.reader.rest();
                break;
            }
            any = true;
        }
        any
    }
}

impl Mind {
    fn take(
        &mut self,
        entry: &Entry<'_>,
        news: &mut impl FnMut(News),
        answer: &mut impl FnMut(u64, Vec<u8>),
    ) {
        for notice in self.replayed.take(entry) {
            if let Told::Answer(bytes) = notice.what
                && notice.at > self.answered
            {
                self.answered = notice.at;
                answer(notice.at, bytes);
            }
        }
        match entry.kind {
            Kind::Output | Kind::Errors => news(News::Shown(self.passage.pass(entry.payload))),
            Kind::Input | Kind::Hidden => self.note_taken(entry.payload),
            Kind::Resize => news(News::Resized(self.replayed.screen.size())),
            Kind::Start | Kind::Answer | Kind::Mark | Kind::Cut => {}
        }
    }

    fn note_taken(&mut self, payload: &[u8]) {
        let number = |at: usize| {
            payload.get(at..at + 8).map(|bytes| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
        };
        if let (Some(client), Some(seq)) = (number(0), number(8)) {
            self.taken.retain(|(known, _)| *known != client);
            if self.taken.len() == CLIENTS {
                self.taken.remove(0);
            }
            self.taken.push((client, seq));
        }
    }
}
