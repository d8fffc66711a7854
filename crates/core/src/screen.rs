//! Screen: the terminal that a program believes it writes to, as a value. Bytes go in, what is to be seen comes out,
//! and with it notices: answers to the program's questions, titles, bells, marks. No I/O, no clock; what it becomes
//! depends on the bytes, their times and the sizes alone, not on how they were cut, so live and replayed screens are equal.
//!
//! In short: `new(size, scrollback)`, `elapse(time)`, `feed(bytes) -> Vec<Notice>`, `resize(size)`; `view()` is what a person sees,
//! `live()` what stands behind it during a synchronized update, both give rows, cells, cursor, text and hash;
//! `input_modes()`, `title()`, `scrollback()`; `watch()`, `note()`, `look()`, `gone()` and `uncover()` tell what changes; `dump()` are the bytes that bring a terminal to this screen,
//! `clipped()` those for one of another size, `reset_modes()` those that undo what the program set on it; `freeze()` and `thaw()` are the keyframe,
//! `likeness()` and `restore()` the same in a form that lasts.
//!
//! Columns are counted as wcwidth counts them, but an emoji of several characters is one picture; see `cluster.rs`.

mod act;
pub(crate) mod bytes;
mod clip;
pub(crate) mod cluster;
pub mod condition;
mod cursor;
mod dump;
mod freeze;
mod grid;
pub mod likeness;
mod mask;
mod modes;
mod notice;
mod palette;
mod parser;
mod term;
pub mod theme;
mod title;
mod view;
mod watch;

pub(crate) use self::cluster::width as columns;
pub use self::grid::cell::{Attrs, Color, Link, Style, Underline};
pub use self::modes::{InputModes, Mouse, MouseEncoding};
pub use self::notice::{Notice, Progress, ShellMark, Told};
pub use self::palette::Slot as ColorName;
pub use self::view::{CellView, CursorView, Line, View};
pub use self::watch::Sighted;
pub use crate::evidence::Size;

use self::modes::Mode;
use self::parser::Parser;
use self::term::{Hold, Term};

/// No side of a screen is longer; larger sizes are taken as this.
pub const LONGEST_SIDE: u16 = 1000;
/// A synchronized update that is not ended after so many bytes is shown nevertheless.
pub const HOLD_LIMIT: u64 = 1 << 20;
/// So is one that is not ended after so many microseconds.
pub const HOLD_TIME: u64 = 500_000;

/// A terminal.
#[derive(Debug, Clone)]
pub struct Screen {
    parser: Parser,
    term: Term,
}

impl Screen {
    /// An empty screen that keeps so many lines of scrollback.
    #[must_use]
    pub fn new(size: Size, scrollback: usize) -> Self {
        Self { parser: Parser::default(), term: Term::new(size, scrollback) }
    }

    /// Takes what the program wrote, and gives what it told beside the screen, in order.
    #[must_use = "notices hold the answers that the program waits for"]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Notice> {
        self.parser.feed(bytes, &mut self.term);
        let term = &mut self.term;
        term.out.fed += bytes.len() as u64;
        if term.hold.as_ref().is_some_and(|hold| hold.until <= term.out.fed) {
            term.release(term.out.fed);
        }
        std::mem::take(&mut term.out.notices)
    }

    /// It is so late now, in microseconds of the clock that the output came by: a synchronized update that was begun too
    /// long ago is shown, ended or not. Times that go back change nothing.
    pub fn elapse(&mut self, time: u64) {
        let now = &mut self.term.out.now;
        *now = time.max(*now);
        if self.term.hold.as_ref().is_some_and(|hold| hold.ends() <= *now) {
            self.let_go();
        }
    }

    /// How late it was last told to be.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.term.out.now
    }

    /// When the synchronized update that is under way is shown, ended or not; none if there is none.
    #[must_use]
    pub fn hold_ends(&self) -> Option<u64> {
        self.term.hold.as_ref().map(|hold| hold.ends())
    }

    /// Nothing more will come: a synchronized update that is under way is shown.
    pub fn let_go(&mut self) {
        self.term.release(self.term.out.fed);
    }

    /// Gives it another size. Wrapped lines of the main screen are wrapped anew, the alternate screen is cut.
    pub fn resize(&mut self, size: Size) {
        self.term.resize(size);
    }

    #[must_use]
    pub fn size(&self) -> Size {
        self.term.size
    }

    /// How many bytes it was fed.
    #[must_use]
    pub fn fed(&self) -> u64 {
        self.term.out.fed
    }

    /// What a person is to see: during a synchronized update what was there before it.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        match &self.term.hold {
            Some(hold) => self.view_of(hold),
            None => self.live(),
        }
    }

    /// What the program has drawn so far, finished or not.
    #[must_use]
    pub fn live(&self) -> View<'_> {
        let Term { cursor, modes, pages, .. } = &self.term;
        View {
            rows: pages.grid().rows(),
            size: self.term.size,
            cursor: self.cursor_view(cursor, modes.has(Mode::CursorVisible)),
            alternate: pages.alternate,
            palette: &self.term.palette,
        }
    }

    /// The main page, whichever is shown.
    #[must_use]
    pub fn main(&self) -> View<'_> {
        let live = self.live();
        View { rows: self.term.pages.main.rows(), alternate: false, ..live }
    }

    /// Whether a synchronized update is under way, so that `view` and `live` may differ.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.term.hold.is_some()
    }

    fn view_of<'a>(&'a self, hold: &'a Hold) -> View<'a> {
        View {
            rows: hold.grid.rows(),
            size: self.term.size,
            cursor: self.cursor_view(&hold.cursor, hold.cursor_visible),
            alternate: hold.alternate,
            palette: &self.term.palette,
        }
    }

    fn cursor_view(&self, cursor: &cursor::Cursor, visible: bool) -> CursorView {
        let (row, col) = (cursor.row as u16, cursor.col as u16);
        CursorView { row, col, visible, style: self.term.modes.cursor_style }
    }

    /// What keys, mouse and pasted text must send.
    #[must_use]
    pub fn input_modes(&self) -> InputModes {
        self.term.modes.input(self.term.pages.alternate)
    }

    /// Whether the program uses the alternate screen.
    #[must_use]
    pub fn alternate(&self) -> bool {
        self.term.pages.alternate
    }

    /// The bytes of a sequence or character that is not whole yet.
    #[must_use]
    pub fn unfinished(&self) -> Vec<u8> {
        self.parser.unfinished()
    }

    #[must_use]
    pub fn title(&self) -> &str {
        &self.term.titles.current.window
    }

    #[must_use]
    pub fn icon_title(&self) -> &str {
        &self.term.titles.current.icon
    }

    /// How many lines of scrollback there are, and how many there were and are no more.
    #[must_use]
    pub fn scrollback_len(&self) -> (usize, u64) {
        (self.term.pages.history.len(), self.term.pages.history.evicted())
    }

    /// The lines of the scrollback, the oldest first.
    pub fn scrollback(&self) -> impl DoubleEndedIterator<Item = Line> + ExactSizeIterator {
        self.term.pages.history.iter().map(|line| Line(line.row()))
    }

    /// The text to be seen, a line a row.
    #[must_use]
    pub fn visible_text(&self) -> String {
        self.view().text()
    }

    /// How many rows there are down to the last one that is not blank.
    #[must_use]
    pub(crate) fn used(&self) -> usize {
        self.term.pages.grid().used()
    }

    /// The hash of the text to be seen; see `View::hash`.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.view().hash()
    }
}

/// Equal in all that a program or a person can see, and in the scrollback. How long the stream was, which character
/// came last, and how long a synchronized update may still last are no part of it.
impl PartialEq for Screen {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.term, &other.term);
        self.parser == other.parser
            && (a.size, a.cursor, a.saved, a.region) == (b.size, b.cursor, b.saved, b.region)
            && (0..a.cols()).all(|col| a.tabs.has(col) == b.tabs.has(col))
            && (&a.modes, &a.titles, &a.palette) == (&b.modes, &b.titles, &b.palette)
            && (&a.link, a.pages.alternate) == (&b.link, b.pages.alternate)
            && (&a.pages.main, &a.pages.alt) == (&b.pages.main, &b.pages.alt)
            && self.scrollback().eq(other.scrollback())
    }
}
