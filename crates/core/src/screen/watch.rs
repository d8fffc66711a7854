//! Watch: what of the screen changed since somebody last looked, line by line, and what left it in between. Rows that
//! are wrapped make one line. Whoever does not watch pays for one store a change.

use std::collections::VecDeque;

use super::Screen;
use super::grid::row::Row;
use super::term::{Pages, Term};

/// A line that goes on for longer is given in pieces, each of which begins with the last row of the one before.
const LONGEST_LINE: usize = 8 * 1024;

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

    /// The row has changed.
    #[inline]
    pub(crate) const fn tell(&mut self) {
        self.since = Self::FRESH;
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
    since: u32,
}

impl Sighted {
    /// The number of the note since which all of it is to be seen; none if that is yet to be noted.
    #[must_use]
    pub const fn since(&self) -> Option<u32> {
        if self.since == News::FRESH { None } else { Some(self.since) }
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
}

/// What left the screen since that was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    gone: Vec<Sighted>,
    /// The rows that left the main page and go on in the one that is at its top now.
    above: Sighted,
}

impl Watch {
    fn leave(&mut self, row: &Row, cols: usize) {
        self.above.add(row, cols);
        if row.wrapped && self.above.text.len() < LONGEST_LINE {
            return;
        }
        let line = std::mem::take(&mut self.above);
        if row.wrapped {
            self.above.add(row, cols);
            self.above.since = 0;
        }
        if line.is_new() {
            self.gone.push(line);
        }
    }
}

impl Term {
    /// To be called before rows are wrapped anew. Whatever has not been looked at is told of again by `rewrapped`.
    pub(crate) fn rewraps(&mut self) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        let above = std::mem::take(&mut watch.above);
        watch.gone.extend(Some(above).filter(Sighted::is_new));
        let Pages { main, alt, .. } = &self.pages;
        main.rows().iter().chain(alt.rows()).any(|row| row.news.since > 0)
    }

    /// To be called when rows were wrapped anew of which some had not been looked at.
    pub(crate) fn rewrapped(&mut self) {
        let Pages { main, alt, .. } = &mut self.pages;
        main.rows_mut().iter_mut().chain(alt.rows_mut()).for_each(|row| row.news.tell());
    }

    /// To be called before so many rows leave the screen, from this one on.
    #[inline]
    pub(crate) fn leave(&mut self, first: usize, count: usize) {
        if let Some(watch) = &mut self.watch {
            let grid = self.pages.grid();
            for row in grid.rows().range(first..first + count) {
                watch.leave(row, grid.cols());
            }
        }
    }
}

impl Screen {
    /// From now on what changes is kept for `look`, and what leaves the screen for `gone`. What is to be seen now is
    /// taken for looked at; `name` says what each line of it is called.
    pub fn watch(&mut self, name: &mut impl FnMut(&[u8]) -> u32) {
        self.term.watch = Some(Box::default());
        let (rows, _) = self.seen_rows();
        rows.iter_mut().for_each(|row| row.news.tell());
        self.note(1);
        self.look(&mut |line| name(&line.text));
        let Term { pages, hold, .. } = &mut self.term;
        // What is covered may never have been looked at.
        let covered = match hold {
            Some(_) => Some(pages.grid_mut()),
            None if pages.alternate => Some(&mut pages.main),
            None => None,
        };
        if let Some(covered) = covered {
            covered.rows_mut().iter_mut().for_each(|row| row.news.tell());
        }
    }

    /// What has changed and is to be seen now is to be seen since this note. Notes are numbered from 1 on, and from 1
    /// on again after a look.
    pub fn note(&mut self, number: u32) {
        let (rows, _) = self.seen_rows();
        for row in rows.iter_mut().filter(|row| row.news.since == News::FRESH) {
            row.news.since = number;
        }
    }

    /// Gives the lines that were changed since the last look and are to be seen now. The answer is what a line is to
    /// be called until it is gone.
    pub fn look(&mut self, sighted: &mut impl FnMut(Sighted) -> u32) {
        let cols = self.term.cols();
        let mut watch = self.term.watch.take();
        let (rows, alternate) = self.seen_rows();
        let mut line = Sighted::default();
        if let Some(watch) = watch.as_mut().filter(|_| !alternate) {
            line = watch.above.clone();
            watch.above.since = 0;
        }
        let mut first = 0;
        while first < rows.len() {
            let goes_on = rows.range(first..).take_while(|row| row.wrapped).count();
            let end = (first + goes_on + 1).min(rows.len());
            let changed = rows.range(first..end).any(|row| row.news.since > 0) || line.since > 0;
            if changed {
                rows.range(first..end).for_each(|row| line.add(row, cols));
                let name = if line.is_new() { sighted(std::mem::take(&mut line)) } else { 0 };
                rows.range_mut(first..end).for_each(|row| row.news = News { since: 0, line: name });
            }
            line = Sighted::default();
            first = end;
        }
        // What is covered has yet to be seen, and the notes that were taken of it are over.
        let Term { pages, .. } = &mut self.term;
        for row in pages.main.rows_mut().iter_mut().chain(pages.alt.rows_mut()) {
            if row.news.since > 0 {
                row.news.tell();
            }
        }
        self.term.watch = watch;
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
            let goes_on = rows.range(first..).take_while(|row| row.wrapped).count();
            let end = (first + goes_on + 1).min(rows.len());
            let mut line = Sighted::default();
            rows.range(first..end).for_each(|row| line.add(row, cols));
            if line.is_new() || !changed {
                lines.push((first, line));
            }
            first = end;
        }
        lines
    }

    /// Takes the lines that left the screen after they were changed and before they were looked at.
    pub fn gone(&mut self) -> impl Iterator<Item = Sighted> {
        self.term.watch.as_mut().into_iter().flat_map(|watch| watch.gone.drain(..))
    }

    fn shown_rows(&self) -> &VecDeque<Row> {
        let Term { pages, hold, .. } = &self.term;
        match hold {
            Some(hold) => hold.grid.rows(),
            None if pages.alternate => pages.alt.rows(),
            None => pages.main.rows(),
        }
    }

    /// The rows that are to be seen, and whether they are of the alternate page.
    fn seen_rows(&mut self) -> (&mut VecDeque<Row>, bool) {
        let Term { pages, hold, .. } = &mut self.term;
        match hold {
            Some(hold) => (hold.grid.rows_mut(), hold.alternate),
            None if pages.alternate => (pages.alt.rows_mut(), true),
            None => (pages.main.rows_mut(), false),
        }
    }
}
