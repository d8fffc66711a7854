//! A line as it is written, cell by cell, in the rows of a terminal: what is written over, erased or moved there is so here.
//! Rows that were wrapped make one line; on pipes there is one endless row.

use crate::screen::cluster::{columns, joins, may_join, may_widen, width};

/// A longer line is given in pieces.
pub(super) const LONGEST_LINE: usize = 64 * 1024;
/// What a cell has whose column belongs to the one before: the second half of a wide character, or what a tab passed over.
const TAIL: char = '\0';
/// What the last column of a row has where a wide character found no room.
const MARGIN: char = '\u{1}';
const TAB: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    ch: char,
    /// What joined it: marks, and the rest of a picture.
    joined: Option<Box<str>>,
}

const fn cell(ch: char) -> Cell {
    Cell { ch, joined: None }
}

/// A line, and where it is written next.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    cells: Vec<Cell>,
    /// Of the terminal, if there is one.
    cols: Option<usize>,
    /// Where the row begins that is written to.
    row: usize,
    /// Within it. Behind its last column the next character goes to the next row.
    col: usize,
}

impl Line {
    pub(super) const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Where it is written next.
    pub(super) const fn at(&self) -> usize {
        self.row + self.col
    }

    /// What follows is made for a terminal of so many columns.
    pub(super) fn resize(&mut self, cols: Option<usize>) {
        let cols = cols.filter(|cols| *cols > 0);
        if self.cols == cols {
            return;
        }
        let at = self.at();
        self.cols = cols;
        // Behind the last column of a row is not yet in the next one.
        self.row = cols.map_or(0, |cols| at.saturating_sub(1) / cols * cols);
        self.col = at - self.row;
    }

    /// Takes the line out: the next one begins.
    pub(super) fn take(&mut self) -> String {
        (self.row, self.col) = (0, 0);
        text(self.cells.drain(..))
    }

    pub(super) fn put(&mut self, ch: char) {
        match width(ch) {
            None => {}
            Some(0) => self.join(ch),
            Some(_) if self.continues_picture(ch) => self.join(ch),
            Some(wide) => self.write(ch, wide),
        }
    }

    fn write(&mut self, ch: char, wide: usize) {
        if let Some(cols) = self.cols.filter(|cols| self.col + wide > *cols) {
            let end = self.row + cols;
            let at = self.at();
            if at < end {
                self.part(at);
                self.cells.resize(self.cells.len().max(end), cell(' '));
                self.cells[at..end].fill(cell(MARGIN));
            }
            (self.row, self.col) = (end, 0);
        }
        let at = self.at();
        if at < self.cells.len() {
            self.part(at);
            self.part(at + wide);
        }
        if self.cells.len() < at + wide {
            self.cells.resize(at + wide, cell(' '));
        }
        self.cells[at] = cell(ch);
        self.cells[at + 1..at + wide].fill(cell(TAIL));
        self.col += wide;
    }

    /// To the next stop. A line that ends here keeps it; over what is there it only moves.
    pub(super) fn tab(&mut self) {
        let last = self.cols.map_or(usize::MAX, |cols| cols - 1);
        let (at, stop) = (self.at(), ((self.col / TAB + 1) * TAB).min(last));
        let ends = self.cells.len() <= at;
        if stop <= self.col {
            if ends {
                self.join('\t');
            }
            return;
        }
        if ends {
            self.cells.resize(at, cell(' '));
            self.cells.push(cell('\t'));
            self.cells.resize(self.row + stop, cell(TAIL));
        }
        self.col = stop;
    }

    /// Back to the beginning of the row. Gives the line before it, where this row begins one of its own: blanks were
    /// written up to the end of a row, this one or the one before, from wherever that was. So shells make sure that a
    /// prompt begins a line (zsh, fish).
    pub(super) fn return_carriage(&mut self) -> Option<String> {
        let written = &self.cells[..self.at().min(self.cells.len())];
        let blanks = written.iter().rev().take_while(|written| **written == cell(' ')).count();
        let parts = self.cols.is_some_and(|cols| {
            let filled = blanks >= self.col || self.col == cols;
            self.row > 0 && self.col > 0 && filled && blanks >= (cols / 2).max(2)
        });
        self.col = 0;
        parts.then(|| text(self.cells.drain(..std::mem::take(&mut self.row))))
    }

    pub(super) fn left(&mut self, count: usize) {
        self.settle();
        self.col = self.col.saturating_sub(count);
    }

    pub(super) fn right(&mut self, count: usize) {
        self.go_to_column(self.col + count);
    }

    pub(super) fn go_to_column(&mut self, col: usize) {
        self.col = col;
        self.settle();
    }

    /// To a row above or below, if that is one of this line; any other is the screen's business.
    pub(super) fn go_to_row(&mut self, up: bool, count: usize) {
        let Some(by) = self.cols.map(|cols| cols.saturating_mul(count)) else { return };
        let row = if up { self.row.checked_sub(by) } else { self.row.checked_add(by) };
        if let Some(row) = row.filter(|row| *row == 0 || *row < self.cells.len()) {
            self.settle();
            self.row = row;
        }
    }

    /// A cursor that is moved stands in a column.
    fn settle(&mut self) {
        self.col = self.col.min(self.cols.map_or(LONGEST_LINE, |cols| cols - 1));
    }

    /// Erases in the row: from here on, up to here, or all of it.
    pub(super) fn erase(&mut self, what: usize) {
        self.settle();
        let (at, end) = (self.at(), self.row_end());
        match what {
            0 => self.blank(at, end),
            1 => self.blank(self.row, (at + 1).min(end)),
            2 => self.blank(self.row, end),
            _ => {}
        }
    }

    /// Erases from here on, the rows behind included.
    pub(super) fn erase_rest(&mut self) {
        self.settle();
        self.blank(self.at(), self.cells.len());
    }

    /// Erases so many cells from here on.
    pub(super) fn erase_cells(&mut self, count: usize) {
        self.settle();
        self.blank(self.at(), (self.at() + count).min(self.row_end()));
    }

    /// Takes out so many cells; the rest of the row moves up.
    pub(super) fn delete(&mut self, count: usize) {
        self.settle();
        let (at, end) = (self.at(), self.row_end());
        let to = (at + count).min(end);
        if at >= to {
            return;
        }
        self.part(at);
        self.part(to);
        if end < self.cells.len() {
            let blanks = vec![cell(' '); to - at];
            self.cells.splice(end..end, blanks);
        }
        self.cells.drain(at..to);
    }

    /// Makes room for so many cells; what has none in the row any more is gone.
    pub(super) fn insert(&mut self, count: usize) {
        self.settle();
        let (at, end) = (self.at(), self.row_end());
        let room = self.cols.map_or(count, |cols| count.min(cols - self.col));
        if at >= end {
            return;
        }
        self.part(at);
        let is_last = end == self.cells.len();
        self.cells.splice(at..at, vec![cell(' '); room]);
        let most = self.cols.map_or(end + room, |cols| self.row + cols);
        let kept = if is_last { most.min(end + room) } else { end };
        self.part(kept);
        self.cells.drain(kept..end + room);
    }

    /// Where the cells of this row end.
    fn row_end(&self) -> usize {
        self.cols.map_or(self.cells.len(), |cols| self.cells.len().min(self.row + cols))
    }

    /// Makes these cells blank; where nothing comes behind them, there are none.
    fn blank(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.part(from);
        self.part(to);
        if to == self.cells.len() {
            self.cells.truncate(from);
        } else {
            self.cells[from..to].fill(cell(' '));
        }
    }

    /// Where something begins at this cell that is written, what reached over it is blank.
    fn part(&mut self, at: usize) {
        if self.cells.get(at).is_none_or(|cell| cell.ch != TAIL) {
            return;
        }
        let Some(begin) = self.cells[..at].iter().rposition(|cell| cell.ch != TAIL) else { return };
        let end = self.cells[at..]
            .iter()
            .position(|cell| cell.ch != TAIL)
            .map_or(self.cells.len(), |more| at + more);
        self.cells[begin..end].fill(cell(' '));
    }

    /// The cell before the cursor that has text.
    fn before(&self) -> Option<usize> {
        let at = self.at().checked_sub(1).filter(|at| *at >= self.row && *at < self.cells.len())?;
        self.cells[..=at].iter().rposition(|cell| cell.ch != TAIL).filter(|at| self.cells[*at].ch != MARGIN)
    }

    fn continues_picture(&self, ch: char) -> bool {
        let Some(before) = self.before() else { return false };
        let last =
            |cell: &Cell| cell.joined.as_ref().and_then(|joined| joined.chars().last()).unwrap_or(cell.ch);
        may_join(last(&self.cells[before]), ch)
            && joins(&text(self.cells[before..=before].iter().cloned()), ch)
    }

    fn join(&mut self, ch: char) {
        let Some(before) = self.before() else { return };
        let had = self.cells[before].joined.take();
        let joined: String = had.iter().flat_map(|had| had.chars()).chain([ch]).collect();
        self.cells[before].joined = Some(joined.into());
        let narrow = before + 1 == self.at() && self.cols.is_none_or(|cols| self.col < cols);
        if narrow && may_widen(ch) && columns(&text(self.cells[before..=before].iter().cloned())) > 1 {
            let at = self.at();
            self.part(at + 1);
            self.cells.resize(self.cells.len().max(at + 1), cell(' '));
            self.cells[at] = cell(TAIL);
            self.col += 1;
        }
    }
}

fn text(cells: impl Iterator<Item = Cell>) -> String {
    let mut text = String::new();
    for cell in cells.filter(|cell| ![TAIL, MARGIN].contains(&cell.ch)) {
        text.push(cell.ch);
        text.extend(cell.joined.as_deref());
    }
    text
}
