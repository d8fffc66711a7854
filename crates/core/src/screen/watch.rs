//! Watch: what of the screen changed since somebody last looked, line by line, and what left it in between. Rows that
//! are wrapped make one line. What a synchronized update lets scroll away waits until the update is over, and is told as it stands
//! above the screen then. Whoever does not watch pays for one store a change.

use std::collections::VecDeque;
use std::ops::Range;

use super::Screen;
use super::grid::packed::Packed;
use super::grid::row::Row;
use super::grid::{Grid, Region};
use super::term::{Hold, Pages, Term};

/// What a watcher knows of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct News {
    /// 0 for a row that was looked at and has not changed since, else since which note it is to be seen.
    since: u32,
    /// What the watcher called the line that began in this row when it last looked.
    line: u32,
}

impl News {
    /// Changed, and not noted yet.
    const FRESH: u32 = u32::MAX;
    /// Changed before the synchronized update that is under way and not since, and not noted yet.
    const HELD: u32 = u32::MAX - 1;
    /// There before the watch began, below another page: news once it is to be seen.
    const COVERED: u32 = u32::MAX - 2;

    /// The row has changed.
    #[inline]
    pub(crate) const fn tell(&mut self) {
        self.since = Self::FRESH;
    }

    /// Whether the row was to be seen, or could have been, since it was looked at.
    pub(crate) const fn has_come(self) -> bool {
        self.since > 0 && self.since != Self::COVERED
    }

    /// What is known of a row that this one and the next are made into.
    pub(crate) fn join(&mut self, next: Self) {
        self.since = self.since.max(next.since);
        self.line = if self.line == 0 { next.line } else { self.line };
    }

    /// Whatever the row holds now is no later form of what it held.
    #[inline]
    pub(crate) const fn forget_line(&mut self) {
        self.line = 0;
    }
}

/// A line of text, as long as it was before it was wrapped, without blanks at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sighted {
    /// Valid UTF-8.
    pub text: Vec<u8>,
    /// What the watcher called the line that was here when it last looked; 0 for none.
    pub line: u32,
    /// Of one that left the screen and is not noted: where in the stream all of it was last to be seen, or where the update was
    /// over that let it scroll away unseen.
    pub left: Option<u64>,
    since: u32,
}

impl Sighted {
    /// The number of the note since which all of it is to be seen; none if that is yet to be noted.
    #[must_use]
    pub const fn since(&self) -> Option<u32> {
        if self.since >= News::HELD { None } else { Some(self.since) }
    }

    fn add(&mut self, row: &Row, cols: usize) {
        if self.text.is_empty() {
            self.line = row.news.line;
        }
        self.since = self.since.max(row.news.since);
        row.push_utf8(&mut self.text);
        if let (true, short) = row.continues() {
            let (room, cells) = (cols - usize::from(short), row.cells().len());
            self.text.extend(std::iter::repeat_n(b' ', room.saturating_sub(cells)));
            // The last column, where a wide character found no room.
            self.text.pop_if(|last| cells > room && *last == b' ');
        } else {
            let used = self.text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            self.text.truncate(used);
        }
    }

    const fn is_new(&self) -> bool {
        self.since > 0 && !self.text.is_empty()
    }

    /// Whether it is news also that no text stands there any more.
    const fn is_new_or_gone(&self) -> bool {
        self.since > 0 && (!self.text.is_empty() || self.line != 0)
    }
}

/// What left the screen since that was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    gone: Vec<Sighted>,
    /// What left within the synchronized update that is under way, and is to be seen until that is over.
    parted: Vec<Sighted>,
    /// What the synchronized update that is under way let scroll into the history unseen: how many rows had gone there before
    /// each row, and what was known of it.
    covered: VecDeque<(u64, News)>,
    /// The row that left last went on in the next one, and the line of both never stood whole on the screen.
    endless: bool,
    /// The watcher must see all: no synchronized update hides anything.
    openly: bool,
}

impl Watch {
    /// The rows of the line of a row that is about to leave, if it is news; no line goes on behind the last row. One that
    /// is longer than the screen is given in pieces, each of which begins with the last row of the one before.
    fn leave(&mut self, rows: &VecDeque<Row>, row: usize, last: usize) -> Option<Range<usize>> {
        let end = row + 1 + rows.range(row..last).take_while(|row| row.wrapped).count();
        let (goes_on, whole) = (rows[row].wrapped, !rows[end - 1].wrapped && !self.endless);
        self.endless = goes_on && !whole;
        let start =
            if whole { row - rows.range(..row).rev().take_while(|row| row.wrapped).count() } else { row };
        let telling = if whole { end } else { end.min(row + 2) };
        rows.range(start..telling).any(|row| row.news.since > 0).then_some(start..end)
    }
}

/// Behind which row the line ends that begins or goes on in this one.
fn line_end(rows: &VecDeque<Row>, first: usize) -> usize {
    (first + rows.range(first..).take_while(|row| row.wrapped).count() + 1).min(rows.len())
}

impl Term {
    /// To be called when rows were wrapped anew and these, which are news, have gone into the history.
    pub(crate) fn rewrapped(&mut self, gone: Vec<(u64, News)>) {
        if let Some(watch) = &mut self.watch {
            watch.covered.extend(gone);
            self.uncover(self.out.fed);
        }
    }

    /// To be called before so many rows leave a region of the screen, from this one on, into the history or for good.
    #[inline]
    pub(crate) fn leave(&mut self, region: Region, first: usize, count: usize, kept: bool) {
        let Some(watch) = &mut self.watch else { return };
        let Pages { main, history, .. } = &self.pages;
        let (evicted, cols) = (history.evicted(), main.cols());
        let above = evicted + history.len() as u64;
        let alternate = self.pages.alternate;
        let rows = self.pages.grid_mut().rows_mut();
        for row in first..first + count {
            let Some(line) = watch.leave(rows, row, region.bottom) else { continue };
            let unseen = rows.range(line.clone()).any(|row| row.news.since == News::FRESH);
            if self.hold.is_some() && unseen {
                // What stays of it is told where it stands.
                if kept {
                    let lost = watch.covered.iter().take_while(|(row, _)| *row < evicted).count();
                    watch.covered.drain(..lost);
                    watch.covered.push_back((above + (row - first) as u64, rows[row].news));
                }
                continue;
            }
            let mut sighted = Sighted::default();
            rows.range(line.clone()).for_each(|row| sighted.add(row, cols));
            rows.range_mut(line).for_each(|row| row.news = News::default());
            sighted.left = match &self.hold {
                None => Some(self.out.undone()),
                Some(hold) => (sighted.since == News::HELD).then(|| hold.began()),
            };
            let parted = self.hold.as_ref().is_some_and(|hold| hold.alternate == alternate);
            if sighted.is_new() {
                if parted { &mut watch.parted } else { &mut watch.gone }.push(sighted);
            }
        }
    }

    /// Ends a synchronized update, if one is under way: what is above the screen now is to be seen there from this place of
    /// the stream on.
    pub(crate) fn release(&mut self, at: u64) {
        if self.hold.take().is_some() {
            self.uncover(at);
        }
    }

    /// Tells what scrolled into the history unseen, as it stands there now and as far down as it goes.
    pub(crate) fn uncover(&mut self, at: u64) {
        let Some(watch) = &mut self.watch else { return };
        if self.hold.is_none() {
            watch.gone.append(&mut watch.parted);
        }
        let Pages { main, history, .. } = &mut self.pages;
        let (cols, evicted) = (main.cols(), history.evicted());
        let mut next = evicted;
        for (first, news) in watch.covered.drain(..).filter(|(row, _)| *row >= evicted) {
            if first < next {
                continue;
            }
            next = first;
            let (mut line, mut goes_on) = (Sighted::default(), true);
            let mut above = history.iter().skip((first - evicted) as usize).map(Packed::row);
            while goes_on && let Some(row) = above.next() {
                line.add(&row, cols);
                next += 1;
                goes_on = row.wrapped;
            }
            if goes_on {
                let rest = line_end(main.rows(), 0);
                main.rows().range(..rest).for_each(|row| line.add(row, cols));
                // On the page of an update that is under way it has yet to be seen.
                let told = if self.hold.is_none() { rest } else { 0 };
                main.rows_mut().range_mut(..told).for_each(|row| row.news = News::default());
            }
            (line.since, line.line, line.left) = (News::FRESH, news.line, Some(at));
            if line.is_new() {
                watch.gone.push(line);
            }
        }
    }

    /// To be called when the history is erased. Whoever does that begins anew: what comes into the rows that it cleared is no
    /// later form of what they held.
    pub(crate) fn forget_covered(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.covered.clear();
            let cleared = self.pages.grid_mut().rows_mut().iter_mut().filter(|row| row.used() == 0);
            cleared.for_each(|row| row.news.forget_line());
        }
    }

    /// Whether the watcher must see what a synchronized update would hide.
    pub(crate) fn is_open(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.openly)
    }

    /// To be called before a synchronized update begins: what is to be seen now stays so.
    pub(crate) fn hold_back(&mut self) {
        if self.watch.is_some() {
            let rows = self.pages.grid_mut().rows_mut();
            rows.iter_mut()
                .filter(|row| row.news.since == News::FRESH)
                .for_each(|row| row.news.since = News::HELD);
        }
    }
}

impl Hold {
    /// The page that it covers.
    fn page<'a>(&self, pages: &'a mut Pages) -> &'a mut Grid {
        if self.alternate { &mut pages.alt } else { &mut pages.main }
    }

    /// What the watcher knows of a row that it covers goes for one that is the same.
    fn tell_same(&self, pages: &mut Pages) {
        let rows = self.page(pages).rows_mut().iter_mut().zip(self.grid.rows());
        rows.filter(|(row, seen)| row == seen).for_each(|(row, seen)| row.news = seen.news);
    }
}

/// Has every line of a page called something, and told of or not.
fn call(grid: &mut Grid, since: u32, name: &mut impl FnMut(&[u8]) -> u32) {
    let cols = grid.cols();
    let rows = grid.rows_mut();
    let mut first = 0;
    while first < rows.len() {
        let mut line = Sighted::default();
        let end = line_end(rows, first);
        rows.range(first..end).for_each(|row| line.add(row, cols));
        let line = if line.text.is_empty() { 0 } else { name(&line.text) };
        rows.range_mut(first..end).for_each(|row| row.news = News { since, line });
        first = end;
    }
}

impl Screen {
    /// From now on what changes is kept for `look`, and what leaves the screen for `gone`. What is to be seen now is
    /// taken for looked at; `name` says what each line of it is called.
    pub fn watch(&mut self, name: &mut impl FnMut(&[u8]) -> u32) {
        self.term.watch = Some(Box::default());
        let Term { pages, hold, .. } = &mut self.term;
        // What is covered may never have been looked at.
        let news = |covered: bool| if covered { News::FRESH } else { 0 };
        call(&mut pages.main, news(hold.is_some() || pages.alternate), name);
        call(&mut pages.alt, news(hold.is_some() || !pages.alternate), name);
        if let Some(hold) = hold {
            call(&mut hold.grid, 0, name);
            hold.tell_same(pages);
        }
    }

    /// The same for one to whom only what is to be seen from now on counts.
    pub(crate) fn watch_from_now(&mut self) {
        self.watch(&mut |_| 1);
        let Term { pages, hold, .. } = &mut self.term;
        let hidden = if pages.alternate { &mut pages.main } else { &mut pages.alt };
        if hold.is_none() {
            hidden.rows_mut().iter_mut().for_each(|row| row.news.since = News::COVERED);
        }
    }

    /// The same for one who must see all that is drawn: from now on synchronized updates hide nothing.
    pub(crate) fn watch_openly(&mut self) {
        self.let_go();
        self.watch(&mut |_| 0);
        if let Some(watch) = &mut self.term.watch {
            watch.openly = true;
        }
    }

    /// What has changed and is to be seen now is to be seen since this note. Notes are numbered from 1 on, and from 1
    /// on again after a look.
    pub fn note(&mut self, number: u32) {
        let Term { pages, hold, watch, .. } = &mut self.term;
        let parted = watch.iter_mut().flat_map(|watch| &mut watch.parted);
        parted.filter(|line| line.since == News::HELD).for_each(|line| line.since = number);
        let (seen, behind) = match hold {
            Some(hold) if hold.alternate => (&mut hold.grid, Some(&mut pages.alt)),
            Some(hold) => (&mut hold.grid, Some(&mut pages.main)),
            None => (pages.grid_mut(), None),
        };
        let seen = seen.rows_mut().iter_mut().filter(|row| row.news.since >= News::HELD);
        seen.for_each(|row| row.news.since = number);
        let behind = behind.into_iter().flat_map(|grid| grid.rows_mut().iter_mut());
        behind.filter(|row| row.news.since == News::HELD).for_each(|row| row.news.since = number);
    }

    /// Gives the lines that were changed since the last look and are to be seen now, blank ones where another one was
    /// called something. The answer is what a line is to be called until it is gone.
    pub fn look(&mut self, sighted: &mut impl FnMut(Sighted) -> u32) {
        let cols = self.term.cols();
        let rows = self.seen_rows();
        let mut first = 0;
        while first < rows.len() {
            let end = line_end(rows, first);
            if rows.range(first..end).any(|row| row.news.since > 0) {
                let mut line = Sighted::default();
                rows.range(first..end).for_each(|row| line.add(row, cols));
                let name = if line.is_new_or_gone() { sighted(line) } else { 0 };
                rows.range_mut(first..end).for_each(|row| row.news = News { since: 0, line: name });
            }
            first = end;
        }
        let Term { pages, hold, watch, .. } = &mut self.term;
        if let Some(hold) = hold {
            // What the update left as it was has been seen with what it covers.
            watch.iter_mut().for_each(|watch| watch.parted.clear());
            let rows = hold.page(pages).rows_mut().iter_mut();
            rows.filter(|row| row.news.since != News::FRESH).for_each(|row| row.news.since = 0);
            hold.tell_same(pages);
        }
        // What is covered has yet to be seen, and the notes that were taken of it are over.
        for row in pages.main.rows_mut().iter_mut().chain(pages.alt.rows_mut()) {
            if row.news.since > 0 {
                row.news.tell();
            }
        }
    }

    /// The lines that are to be seen now, or only those of them that were changed since the last look, with the number of
    /// the row in which each begins. They stay changed.
    #[must_use]
    pub fn lines(&self, changed: bool) -> Vec<(usize, Sighted)> {
        let cols = self.term.cols();
        let rows = self.shown_rows();
        let mut lines = Vec::new();
        let mut first = 0;
        while first < rows.len() {
            let end = line_end(rows, first);
            let mut line = Sighted::default();
            rows.range(first..end).for_each(|row| line.add(row, cols));
            if line.is_new() || !changed {
                lines.push((first, line));
            }
            first = end;
        }
        lines
    }

    /// Has `gone` give what an update that is under way let scroll away so far: nobody may hear of its end.
    pub fn uncover(&mut self) {
        self.term.uncover(self.term.out.fed);
    }

    /// Takes the lines that left the screen after they were to be seen and before they were looked at, and those that
    /// stood above the screen when the update was over that let them scroll away.
    pub fn gone(&mut self) -> impl Iterator<Item = Sighted> {
        self.term.watch.as_mut().into_iter().flat_map(|watch| watch.gone.drain(..))
    }

    /// Takes over whoever watched the screen in the place of which this one stands: all of it is news.
    pub(super) fn go_on_watching(&mut self, before: &mut Self) {
        let Term { pages, hold, watch, .. } = &mut self.term;
        *watch = before.term.watch.take();
        if let Some(watch) = watch {
            watch.endless = false;
        }
        let held = hold.as_mut().map(|hold| &mut hold.grid);
        for grid in [&mut pages.main, &mut pages.alt].into_iter().chain(held) {
            grid.rows_mut().iter_mut().for_each(|row| row.news.tell());
        }
    }

    fn shown_rows(&self) -> &VecDeque<Row> {
        let Term { pages, hold, .. } = &self.term;
        match hold {
            Some(hold) => hold.grid.rows(),
            None => pages.grid().rows(),
        }
    }

    fn seen_rows(&mut self) -> &mut VecDeque<Row> {
        let Term { pages, hold, .. } = &mut self.term;
        match hold {
            Some(hold) => hold.grid.rows_mut(),
            None => pages.grid_mut().rows_mut(),
        }
    }
}
