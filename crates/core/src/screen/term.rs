//! Term: everything that sequences act on, and the basic moves they are made of.
//! What a sequence means stands in `act`; what is seen from outside in `view`.

use std::sync::Arc;

use super::cursor::{Cursor, Tabs};
use super::grid::cell::{Cell, Extra, Link};
use super::grid::history::History;
use super::grid::row::Ink;
use super::grid::{Grid, Point, Region};
use super::modes::{KeyFlags, Mode, Modes};
use super::notice::{Notice, Told};
use super::palette::Palette;
use super::title::Titles;
use super::watch::Watch;
use super::{HOLD_LIMIT, HOLD_TIME, LONGEST_SIDE, Size};

/// The two screens of a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    pub main: Grid,
    pub alt: Grid,
    pub history: History,
    pub alternate: bool,
}

impl Pages {
    #[inline]
    pub(crate) fn grid(&self) -> &Grid {
        if self.alternate { &self.alt } else { &self.main }
    }

    #[inline]
    pub(crate) fn grid_mut(&mut self) -> &mut Grid {
        if self.alternate { &mut self.alt } else { &mut self.main }
    }
}

/// What was seen when a synchronized update began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    pub grid: Grid,
    pub cursor: Cursor,
    pub cursor_visible: bool,
    pub alternate: bool,
    /// The stream's length at which it is let go, whether the program ended it or not.
    pub until: u64,
    /// When it began.
    pub since: u64,
}

impl Hold {
    /// When it is let go, whether the program ended it or not.
    pub(crate) const fn ends(&self) -> u64 {
        self.since.saturating_add(HOLD_TIME)
    }

    /// The stream's length at which it began.
    pub(crate) const fn began(&self) -> u64 {
        self.until.saturating_sub(HOLD_LIMIT)
    }
}

/// What leaves the terminal, and where the stream stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox {
    /// How many bytes came before this feed.
    pub fed: u64,
    /// How late it is, in microseconds.
    pub now: u64,
    pub notices: Vec<Notice>,
    /// How many bytes of this feed came before the last one of what is being obeyed.
    pub before: usize,
}

impl Outbox {
    /// What is obeyed now ends behind so many bytes of this feed.
    #[inline]
    pub(crate) const fn obey(&mut self, end: usize) {
        self.before = end.saturating_sub(1);
    }

    /// How many bytes came before the last one of what is being obeyed: with no more than these nothing of it was done.
    pub(crate) const fn undone(&self) -> u64 {
        self.fed + self.before as u64
    }
}

/// What was printed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Last {
    /// What REP repeats.
    pub ch: Option<char>,
    /// The last character, marks included, if nothing came between it and what comes now.
    pub end: Option<char>,
}

#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub size: Size,
    pub pages: Pages,
    pub cursor: Cursor,
    /// Of the main and of the alternate screen.
    pub saved: [Cursor; 2],
    pub region: Region,
    pub tabs: Tabs,
    pub modes: Modes,
    pub titles: Titles,
    pub palette: Palette,
    pub link: Option<Arc<Link>>,
    /// What the pen gives to cells beside their style: the link and the underline's colour.
    pub extra: Option<Extra>,
    pub last: Last,
    pub hold: Option<Box<Hold>>,
    pub out: Outbox,
    /// Of one who wants to know what changes.
    pub watch: Option<Box<Watch>>,
}

impl Term {
    pub(crate) fn new(size: Size, scrollback: usize) -> Self {
        let size = clamp(size);
        let history = History::new(scrollback);
        Self {
            size,
            pages: Pages { main: Grid::new(size), alt: Grid::new(size), history, alternate: false },
            cursor: Cursor::default(),
            saved: [Cursor::default(); 2],
            region: Region::whole(size),
            tabs: Tabs::default(),
            modes: Modes::default(),
            titles: Titles::default(),
            palette: Palette::default(),
            link: None,
            extra: None,
            last: Last::default(),
            hold: None,
            out: Outbox::default(),
            watch: None,
        }
    }

    /// The same without the lines above it.
    pub(crate) fn without_history(&self) -> Self {
        let Pages { main, alt, alternate, .. } = &self.pages;
        let pages = Pages {
            main: main.clone(),
            alt: alt.clone(),
            history: History::new(self.pages.history.limit()),
            alternate: *alternate,
        };
        Self {
            size: self.size,
            pages,
            cursor: self.cursor,
            saved: self.saved,
            region: self.region,
            tabs: self.tabs,
            modes: self.modes.clone(),
            titles: self.titles.clone(),
            palette: self.palette.clone(),
            link: self.link.clone(),
            extra: self.extra.clone(),
            last: self.last,
            hold: self.hold.clone(),
            out: Outbox { notices: Vec::new(), ..self.out },
            watch: None,
        }
    }

    pub(crate) fn cols(&self) -> usize {
        usize::from(self.size.cols)
    }

    pub(crate) fn rows(&self) -> usize {
        usize::from(self.size.rows)
    }

    /// What an erasure leaves now.
    pub(crate) fn blank(&self) -> Cell {
        Cell::erased(self.cursor.pen.style)
    }

    pub(crate) fn tell(&mut self, end: usize, what: Told) {
        self.out.notices.push(Notice { at: self.out.fed + end as u64, what });
    }

    pub(crate) fn answer(&mut self, end: usize, bytes: impl Into<Vec<u8>>) {
        self.tell(end, Told::Answer(bytes.into()));
    }

    /// The row under the cursor and the ink to write in it.
    #[inline]
    pub(crate) fn paper(&mut self) -> (&mut super::grid::row::Row, Ink<'_>) {
        let ink = Ink { style: self.cursor.pen.style, extra: self.extra.as_ref() };
        (self.pages.grid_mut().row_mut(self.cursor.row), ink)
    }

    /// Puts the cursor into a column and a row of the screen.
    pub(crate) fn jump(&mut self, row: usize, col: usize) {
        self.cursor.row = row.min(self.rows() - 1);
        self.cursor.col = col.min(self.cols() - 1);
        self.cursor.pending = false;
    }

    /// Puts the cursor where a program counts from: the screen, or the margins in origin mode.
    pub(crate) fn place(&mut self, row: usize, col: usize) {
        if self.cursor.origin {
            self.jump((self.region.top + row).min(self.region.bottom), col);
        } else {
            self.jump(row, col);
        }
    }

    /// Down one row; at the bottom margin the text goes up instead.
    #[inline]
    pub(crate) fn index(&mut self) {
        if self.cursor.row == self.region.bottom {
            self.scroll_up(self.region, 1);
        } else if self.cursor.row + 1 < self.rows() {
            self.cursor.row += 1;
        }
    }

    /// Up one row; at the top margin the text goes down instead.
    pub(crate) fn reverse_index(&mut self) {
        if self.cursor.row == self.region.top {
            self.scroll_down(self.region, 1);
        } else {
            self.cursor.row = self.cursor.row.saturating_sub(1);
        }
    }

    /// Moves a region's text up; what leaves the main screen goes to the history.
    pub(crate) fn scroll_up(&mut self, region: Region, count: usize) {
        let kept = !self.pages.alternate && region.top == 0;
        self.leave(region, region.top, count.min(region.height()), kept);
        let blank = self.blank();
        let pages = &mut self.pages;
        if pages.alternate {
            pages.alt.scroll_up(region, count, blank, None);
        } else {
            pages.main.scroll_up(region, count, blank, Some(&mut pages.history));
        }
    }

    /// Moves a region's text down.
    pub(crate) fn scroll_down(&mut self, region: Region, count: usize) {
        let count = count.min(region.height());
        self.leave(region, region.bottom + 1 - count, count, false);
        let blank = self.blank();
        self.pages.grid_mut().scroll_down(region, count, blank);
    }

    /// To be called when pen or link changed.
    pub(crate) fn refresh_extra(&mut self) {
        let extra =
            Extra { marks: String::new(), link: self.link.clone(), underline: self.cursor.pen.underline };
        self.extra = (!extra.is_none()).then_some(extra);
    }

    pub(crate) fn save_cursor(&mut self) {
        self.saved[usize::from(self.pages.alternate)] = self.cursor;
    }

    pub(crate) fn restore_cursor(&mut self) {
        let saved = self.saved[usize::from(self.pages.alternate)];
        self.cursor = Cursor {
            row: saved.row.min(self.rows() - 1),
            col: saved.col.min(self.cols() - 1),
            pending: saved.pending && saved.col + 1 == self.cols(),
            ..saved
        };
        if self.cursor.origin {
            self.cursor.row = self.cursor.row.clamp(self.region.top, self.region.bottom);
        }
        self.settle();
        self.refresh_extra();
    }

    /// A cursor that waits behind the last column stands behind text: no wide character left that column out.
    pub(crate) fn settle(&mut self) {
        if self.cursor.pending {
            self.paper().0.short = false;
        }
    }

    /// Shows the other screen. The alternate one is forgotten when it is left, as in tmux.
    pub(crate) fn switch_page(&mut self, alternate: bool) {
        if self.pages.alternate && !alternate {
            self.pages.alt = Grid::new(self.size);
            self.saved[1] = Cursor::default();
            self.modes.keys[1] = KeyFlags::default();
        }
        // The same as for the cursor itself in `settle`, and here, because a dump restores both in one.
        if alternate && self.saved[0].pending {
            self.pages.main.row_mut(self.saved[0].row).short = false;
        }
        self.pages.alternate = alternate;
        self.settle();
    }

    /// RIS: all but history and titles, as in tmux, and what the stream has brought so far.
    pub(crate) fn reset(&mut self) {
        let fresh = Self::new(self.size, 0);
        let old = std::mem::replace(self, fresh);
        self.pages.history = old.pages.history;
        self.titles = old.titles;
        self.out = old.out;
        self.watch = old.watch;
        // An update that was under way is over.
        self.uncover(self.out.undone() + 1);
    }

    /// DECSTR: what a program may have left behind, but not what is on the screen.
    pub(crate) fn soft_reset(&mut self) {
        let Cursor { row, col, .. } = self.cursor;
        self.cursor = Cursor { row, col, ..Cursor::default() };
        self.saved[usize::from(self.pages.alternate)] = Cursor::default();
        self.region = Region::whole(self.size);
        for mode in [Mode::AppCursor, Mode::AppKeypad, Mode::Insert] {
            self.modes.switches.put(mode, false);
        }
        self.modes.switches.put(Mode::AutoWrap, true);
        self.modes.switches.put(Mode::CursorVisible, true);
        self.modes.modify_other_keys = 0;
        self.refresh_extra();
    }

    /// Begins or ends a synchronized update.
    pub(crate) fn synchronize(&mut self, on: bool, end: usize) {
        let now = self.out.fed + end as u64;
        if !on {
            self.release(now);
        } else if !self.is_open() && self.hold.as_ref().is_none_or(|hold| hold.until <= now) {
            self.release(now);
            self.hold_back();
            self.hold = Some(Box::new(Hold {
                grid: self.pages.grid().clone(),
                cursor: self.cursor,
                cursor_visible: self.modes.has(Mode::CursorVisible),
                alternate: self.pages.alternate,
                until: now + HOLD_LIMIT,
                since: self.out.now,
            }));
        }
    }

    pub(crate) fn resize(&mut self, size: Size) {
        let size = clamp(size);
        if size == self.size {
            return;
        }
        // What was held is of another size; the program draws anew.
        self.release(self.out.fed);
        // Whatever stands before the cursor now need not be what would be joined.
        self.last.end = None;
        let Pages { main, alt, history, alternate } = &mut self.pages;
        let unseen = if *alternate {
            let mut points = [point(&self.saved[0])];
            let unseen = main.reflow(history, size, &mut points);
            put_point(&mut self.saved[0], points[0]);
            let lost = alt.crop(size, self.cursor.row);
            crop_cursor(&mut self.cursor, size, lost);
            crop_cursor(&mut self.saved[1], size, lost);
            unseen
        } else {
            let mut points = [point(&self.cursor), point(&self.saved[0])];
            let unseen = main.reflow(history, size, &mut points);
            put_point(&mut self.cursor, points[0]);
            put_point(&mut self.saved[0], points[1]);
            alt.crop(size, 0);
            crop_cursor(&mut self.saved[1], size, 0);
            unseen
        };
        self.size = size;
        self.region = Region::whole(size);
        self.settle();
        self.rewrapped(unseen);
    }
}

fn point(cursor: &Cursor) -> Point {
    Point { row: cursor.row, col: cursor.col, pending: cursor.pending }
}

fn put_point(cursor: &mut Cursor, point: Point) {
    (cursor.row, cursor.col, cursor.pending) = (point.row, point.col, point.pending);
}

/// A cursor of the alternate screen, after rows left at the top.
fn crop_cursor(cursor: &mut Cursor, size: Size, lost: usize) {
    cursor.row = cursor.row.saturating_sub(lost).min(usize::from(size.rows) - 1);
    cursor.pending &= cursor.col + 1 == usize::from(size.cols);
    cursor.col = cursor.col.min(usize::from(size.cols) - 1);
}

fn clamp(size: Size) -> Size {
    Size { cols: size.cols.clamp(1, LONGEST_SIDE), rows: size.rows.clamp(1, LONGEST_SIDE) }
}
