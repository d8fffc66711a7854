//! Print: characters into cells. Marks and what belongs to a picture join the cell before; see `cluster.rs`.

use super::super::cluster::{columns, joins, may_join, may_widen, width};
use super::super::cursor::Charset;
use super::super::modes::Mode;
use super::super::term::{Last, Term};

impl Term {
    #[inline]
    pub(super) fn print_ascii(&mut self, text: &[u8], end: usize) {
        let Some(last) = text.last() else { return };
        let of_one_set = self.cursor.charset() == Charset::Ascii && self.cursor.single == 0;
        if !of_one_set || self.modes.has(Mode::Insert) {
            for (left, byte) in (0..text.len()).rev().zip(text) {
                self.out.obey(end - left);
                let ch = self.cursor.take_charset().map(*byte);
                self.put(ch, 1);
            }
            return;
        }
        let last = char::from(*last);
        self.last = Last { ch: Some(last), end: Some(last) };
        let cols = self.cols();
        let mut rest = text;
        loop {
            if self.cursor.pending {
                self.out.obey(end + 1 - rest.len());
                self.wrap();
            }
            let col = self.cursor.col;
            let (now, later) = rest.split_at(rest.len().min(cols - col));
            let (row, ink) = self.paper();
            row.put_ascii(col, now, ink);
            self.advance(now.len());
            if later.is_empty() {
                return;
            }
            // Without wrapping, all that follows is written over the last column.
            rest = if self.modes.has(Mode::AutoWrap) { later } else { &later[later.len() - 1..] };
        }
    }

    #[inline]
    pub(super) fn print(&mut self, ch: char) {
        match width(ch) {
            None => {}
            Some(0) => self.combine(ch),
            Some(_) if self.last.end.is_some_and(|end| may_join(end, ch)) && self.join(ch) => {}
            Some(wide) => {
                // A single shift is for one character, of any set.
                let _ = self.cursor.take_charset();
                self.put(ch, wide);
            }
        }
    }

    /// REP: prints the last character again.
    pub(super) fn print_again(&mut self, count: usize) {
        let Some(ch) = self.last.ch else { return };
        let most = self.cols() * self.rows();
        let wide = width(ch).unwrap_or(1).max(1);
        for _ in 0..count.min(most) {
            self.put(ch, wide);
        }
    }

    #[inline]
    fn put(&mut self, ch: char, width: usize) {
        self.last = Last { ch: Some(ch), end: Some(ch) };
        let cols = self.cols();
        if width > cols {
            return;
        }
        if self.cursor.pending {
            self.wrap();
        }
        if self.cursor.col + width > cols {
            if self.modes.has(Mode::AutoWrap) {
                let (col, blank) = (self.cursor.col, self.blank());
                let row = self.pages.grid_mut().row_mut(self.cursor.row);
                row.erase(col, cols, blank);
                row.short = true;
                self.next_row();
            } else {
                self.cursor.col = cols - width;
            }
        }
        let col = self.cursor.col;
        if self.modes.has(Mode::Insert) {
            let blank = self.blank();
            let row = self.pages.grid_mut().row_mut(self.cursor.row);
            row.insert(col, width, cols, blank);
            row.wrapped = false;
        }
        let (row, ink) = self.paper();
        row.put(col, ch, width, ink);
        self.advance(width);
    }

    /// Goes behind what was written; behind the last column it waits for the next character.
    #[inline]
    fn advance(&mut self, width: usize) {
        self.cursor.col += width;
        if self.cursor.col >= self.cols() {
            self.cursor.col = self.cols() - 1;
            self.cursor.pending = true;
            self.settle();
        }
    }

    /// What was waiting for the next character; without wrapping that is written over the last column.
    #[inline]
    fn wrap(&mut self) {
        self.cursor.pending = false;
        if self.modes.has(Mode::AutoWrap) {
            self.next_row();
        }
    }

    /// Goes on in the next row, if there is one to go to.
    #[inline]
    fn next_row(&mut self) {
        let row = self.cursor.row;
        if row == self.region.bottom || row + 1 < self.rows() {
            self.pages.grid_mut().row_mut(row).wrapped = true;
        }
        self.cursor.col = 0;
        self.index();
    }

    /// The column of the character before the cursor. At the beginning of a row there is none.
    fn before(&self) -> Option<usize> {
        let col = if self.cursor.pending { self.cursor.col } else { self.cursor.col.checked_sub(1)? };
        let tail = self.pages.grid().row(self.cursor.row).cell(col).is_tail();
        col.checked_sub(usize::from(tail))
    }

    fn combine(&mut self, mark: char) {
        let Some(col) = self.before() else { return };
        let near = self.last.end.is_some();
        self.last.end = Some(mark);
        let added = self.pages.grid_mut().row_mut(self.cursor.row).add_mark(col, mark);
        if added && near && may_widen(mark) && self.modes.has(Mode::Clusters) {
            self.widen(col);
        }
    }

    /// Adds a character to the picture before it, if it belongs there and there is room for what they take together.
    fn join(&mut self, ch: char) -> bool {
        let Some(col) = self.before().filter(|_| self.modes.has(Mode::Clusters)) else { return false };
        let row = self.pages.grid().row(self.cursor.row);
        let mut text = row.cell_text(col);
        if !joins(&text, ch) {
            return false;
        }
        text.push(ch);
        let grows = columns(&text) > 1 + usize::from(row.cell(col).is_wide());
        let fits = !grows || !self.cursor.pending;
        let joined = fits && self.pages.grid_mut().row_mut(self.cursor.row).add_mark(col, ch);
        if joined {
            self.last.end = Some(ch);
            self.widen(col);
        }
        joined
    }

    /// Gives a cell right before the cursor a second column if its text takes one and there is one.
    fn widen(&mut self, col: usize) {
        let (cols, blank) = (self.cols(), self.blank());
        let insert = self.modes.has(Mode::Insert);
        let pending = self.cursor.pending;
        let row = self.pages.grid_mut().row_mut(self.cursor.row);
        if pending || row.cell(col).is_wide() || columns(&row.cell_text(col)) < 2 {
            return;
        }
        if insert {
            row.insert(col + 1, 1, cols, blank);
            row.wrapped = false;
        }
        row.widen(col);
        self.advance(1);
    }
}
