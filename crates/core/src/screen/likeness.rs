//! Likeness: a screen in a form that lasts, for what every later version must read: bytes that bring a fresh terminal of its
//! size to it, and the little that no bytes bring. What a dump does not carry over besides is lost with it: tab stops beyond
//! the last column, and what a synchronized update covers; and a long string that is not
//! whole.

use serde::{Deserialize, Serialize};

use super::grid::Grid;
use super::grid::cell::Cell;
use super::grid::row::Row;
use super::term::{Last, Outbox};
use super::{Screen, Size};

/// A screen, to be restored by any version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Likeness {
    pub size: Size,
    /// What REP repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeats: Option<char>,
    /// What a combining character would join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    joined: Option<char>,
    /// How many lines there were above that are no more.
    #[serde(default)]
    gone: u64,
    /// What a fresh terminal is to be fed.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl Screen {
    /// The likeness of this screen, with so many of the lines above it.
    #[must_use]
    pub fn likeness(&self, scrollback: usize) -> Likeness {
        self.like(self, scrollback)
    }

    /// One that takes less room: without the lines above, without how the text looks, and with no more than so many rows at
    /// the bottom.
    #[must_use]
    pub fn plain_likeness(&self, rows: usize) -> Likeness {
        let mut plain = Self { parser: self.parser.clone(), term: self.term.without_history() };
        plain.term.hold = None;
        for grid in [&mut plain.term.pages.main, &mut plain.term.pages.alt] {
            plainer(grid, rows);
        }
        self.like(&plain, 0)
    }

    /// The likeness of this screen, of which this is what is shown.
    fn like(&self, shown: &Self, scrollback: usize) -> Likeness {
        let (lines, evicted) = self.scrollback_len();
        let Last { ch, end } = self.term.last;
        let mut bytes = shown.dump_whole(scrollback);
        bytes.extend(self.parser.unfinished_briefly());
        Likeness {
            size: self.term.size,
            repeats: ch,
            joined: end,
            gone: evicted + lines.saturating_sub(scrollback) as u64,
            bytes,
        }
    }

    /// Becomes the screen that this is the likeness of. Whoever watches has seen nothing of it yet.
    pub fn restore(&mut self, likeness: &Likeness) {
        self.let_go();
        let mut again = Self::new(likeness.size, self.term.pages.history.limit());
        again.term.out = Outbox { fed: self.term.out.fed, now: self.term.out.now, ..Outbox::default() };
        // Whatever it asks was answered long ago.
        let _ = again.feed(&likeness.bytes);
        let Likeness { repeats, joined, gone, .. } = *likeness;
        let printable = |ch: Option<char>| ch.filter(|ch| !ch.is_control());
        again.term.last = Last { ch: printable(repeats), end: printable(joined) };
        again.term.pages.history.set_evicted(gone);
        again.go_on_watching(self);
        *self = again;
    }
}

fn plainer(grid: &mut Grid, rows: usize) {
    let above = grid.rows().len().saturating_sub(rows);
    grid.erase_rows(0, above, Cell::BLANK);
    grid.rows_mut().iter_mut().for_each(Row::forget_looks);
}
