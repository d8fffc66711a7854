//! Grid: the rows that a program can address, and how they scroll.
//! Knows nothing of cursors and sequences; whoever calls keeps rows and columns within bounds.

pub(crate) mod cell;
pub(crate) mod history;
pub(crate) mod packed;
mod reflow;
pub(crate) mod row;

use std::collections::VecDeque;

use self::cell::Cell;
use self::history::History;
use self::row::Row;
pub(crate) use reflow::Point;

use super::Size;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    rows: VecDeque<Row>,
    cols: usize,
}

/// The rows `top..=bottom` that scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub top: usize,
    pub bottom: usize,
}

impl Region {
    pub(crate) fn whole(size: Size) -> Self {
        Self { top: 0, bottom: usize::from(size.rows) - 1 }
    }

    pub(crate) const fn holds(self, row: usize) -> bool {
        self.top <= row && row <= self.bottom
    }

    pub(crate) const fn height(self) -> usize {
        self.bottom - self.top + 1
    }
}

impl Grid {
    pub(crate) fn new(size: Size) -> Self {
        let rows = std::iter::repeat_with(Row::default).take(usize::from(size.rows)).collect();
        Self { rows, cols: usize::from(size.cols) }
    }

    /// `None` unless the rows fit.
    pub(crate) fn from_rows(rows: VecDeque<Row>, cols: usize) -> Option<Self> {
        let fit = !rows.is_empty() && rows.iter().all(|row| row.cells().len() <= cols);
        fit.then_some(Self { rows, cols })
    }

    pub(crate) const fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn rows(&self) -> &VecDeque<Row> {
        &self.rows
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    /// For watchers, who change nothing.
    pub(crate) const fn rows_mut(&mut self) -> &mut VecDeque<Row> {
        &mut self.rows
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut Row {
        let row = &mut self.rows[row];
        row.news.tell();
        row
    }

    /// Moves the region's text up. Lines that leave at the top of the screen go to the history, if there is one.
    pub(crate) fn scroll_up(
        &mut self,
        region: Region,
        count: usize,
        blank: Cell,
        history: Option<&mut History>,
    ) {
        let mut history = history.filter(|_| region.top == 0);
        if let Some(above) = region.top.checked_sub(1) {
            self.rows[above].wrapped = false;
        }
        let last = self.rows.len() - 1;
        for _ in 0..count.min(region.height()) {
            let Some(mut row) = self.rows.remove(region.top) else { return };
            if let Some(history) = &mut history {
                history.push(&row);
            }
            row.news.forget_line();
            row.clear(blank, self.cols);
            if region.bottom == last {
                self.rows.push_back(row);
            } else {
                self.rows.insert(region.bottom, row);
            }
        }
    }

    /// Moves the region's text down; what leaves at the bottom is lost.
    pub(crate) fn scroll_down(&mut self, region: Region, count: usize, blank: Cell) {
        for _ in 0..count.min(region.height()) {
            let Some(mut row) = self.rows.remove(region.bottom) else { return };
            row.news.forget_line();
            row.clear(blank, self.cols);
            self.rows.insert(region.top, row);
        }
        if let Some(above) = region.top.checked_sub(1) {
            self.rows[above].wrapped = false;
        }
        self.rows[region.bottom].wrapped = false;
    }

    /// Blanks the columns `from..to` of a row.
    pub(crate) fn erase(&mut self, row: usize, from: usize, to: usize, blank: Cell) {
        let cols = self.cols;
        let row = self.row_mut(row);
        row.erase(from, to.min(cols), blank);
        row.wrapped &= to < cols;
    }

    /// Blanks the rows `from..to`.
    pub(crate) fn erase_rows(&mut self, from: usize, to: usize, blank: Cell) {
        for row in self.rows.range_mut(from..to) {
            row.clear(blank, self.cols);
            row.news.tell();
        }
    }

    /// Puts the alternate screen's rows into another size: it is cut or padded, never rewrapped.
    /// The row of the cursor stays; the answer is how many rows left at the top.
    pub(crate) fn crop(&mut self, size: Size, cursor_row: usize) -> usize {
        let rows = usize::from(size.rows);
        let lost = (cursor_row + 1).saturating_sub(rows);
        self.rows.drain(..lost);
        self.rows.resize_with(rows, Row::default);
        let same_width = self.cols == usize::from(size.cols);
        self.cols = usize::from(size.cols);
        for row in &mut self.rows {
            row.cut(self.cols);
            row.wrapped &= same_width;
        }
        if let Some(last) = self.rows.back_mut() {
            last.wrapped = false;
        }
        lost
    }

    /// The last row with anything in it, and one more.
    pub(crate) fn used(&self) -> usize {
        self.rows.iter().rposition(|row| row.used() > 0 || row.wrapped).map_or(0, |last| last + 1)
    }
}
