//! Following the recording: bytes into the screen, bytes out to clients, queries answered once.

use std::fs::File;
use std::io;

use abide_core::evidence::Size;
use abide_core::recording::{Kind, Start, parse_resize};
use abide_core::screen::{Screen, Told};

use crate::recording::{Found, Reader};

/// Lines of scrollback kept live; older ones are in the recording.
const SCROLLBACK: usize = 1_000;
/// How many pieces are taken in before anyone else is heard.
const PIECES_A_TURN: u32 = 4;

pub(super) struct Follow {
    reader: Reader,
    sync: File,
    screen: Screen,
    /// How many bytes of output the screen has taken in.
    position: u64,
    /// Queries up to here have been answered, by this host or one before it.
    answered: u64,
    lags: bool,
    /// The last number of each client that a guard took, as far as it is on record.
    taken: Vec<(u64, u64)>,
}

impl Follow {
    pub(super) fn new(recording: File) -> io::Result<Self> {
        let sync = recording.try_clone()?;
        let reader = Reader::new(recording, 0)?;
        let screen = Screen::new(Size { cols: 80, rows: 24 }, SCROLLBACK);
        Ok(Self { reader, sync, screen, position: 0, answered: 0, lags: true, taken: Vec::new() })
    }

    pub(super) const fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Whether there is more on record than was taken in.
    pub(super) const fn lags(&self) -> bool {
        self.lags
    }

    pub(super) const fn answered_up_to(&self) -> u64 {
        self.answered
    }

    pub(super) fn taken(&self) -> &[(u64, u64)] {
        &self.taken
    }

    pub(super) fn answered(&mut self, position: u64) {
        self.answered = self.answered.max(position);
    }

    /// Waits until what was shown is on the disk.
    pub(super) fn flush(&self) {
        // A disk that fails is noticed by the guard's next write.
        let _ = self.sync.sync_data();
    }

    /// Takes in what was recorded since. True if there was anything.
    pub(super) fn on(
        &mut self,
        shown: &mut impl FnMut(&[u8]),
        answer: &mut impl FnMut(u64, Vec<u8>),
    ) -> bool {
        let (screen, position, answered) = (&mut self.screen, &mut self.position, &mut self.answered);
        let taken = &mut self.taken;
        let mut take = |found: Found<'_>| {
            let Found::Entry(entry) = found else {
                return;
            };
            match entry.kind {
                Kind::Start => {
                    let start = abide_core::evidence::frame::body_from_line::<Start>(entry.payload);
                    if let Some(size) = start.ok().and_then(|start| start.size) {
                        screen.resize(size);
                    }
                }
                Kind::Output | Kind::Errors => {
                    let base = entry.position;
                    let fed = screen.fed();
                    for notice in screen.feed(entry.payload) {
                        let asked_at = base + (notice.at - fed);
                        if let Told::Answer(bytes) = notice.what
                            && asked_at > *answered
                        {
                            *answered = asked_at;
                            answer(asked_at, bytes);
                        }
                    }
                    *position = base + entry.payload.len() as u64;
                    shown(entry.payload);
                }
                Kind::Resize => {
                    if let Some(size) = parse_resize(entry.payload) {
                        screen.resize(size);
                    }
                }
                Kind::Input | Kind::Hidden => note_taken(taken, entry.payload),
                Kind::Answer | Kind::Mark | Kind::Cut => {}
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

/// How many clients' numbers are remembered.
const CLIENTS: usize = 64;

fn note_taken(taken: &mut Vec<(u64, u64)>, payload: &[u8]) {
    let number =
        |at: usize| payload.get(at..at + 8).map(|b| b.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
    if let (Some(client), Some(seq)) = (number(0), number(8)) {
        taken.retain(|(known, _)| *known != client);
        if taken.len() == CLIENTS {
            taken.remove(0);
        }
        taken.push((client, seq));
    }
}
