//! Print: characters into cells. Columns are counted like wcwidth: each character by itself, marks none.
//! A wide character right behind a zero width joiner joins the one before it, as in tmux.

use unicode_width::UnicodeWidthChar;

use super::super::cursor::Charset;
use super::super::modes::Mode;
use super::super::term::{Last, Term};

const JOINER: char = '\u{200D}';

impl Term {
    #[inline]
    pub(super) fn print_ascii(&mut self, text: &[u8]) {
        let Some(last) = text.last() else { return };
        if self.cursor.charset() != Charset::Ascii || self.modes.has(Mode::Insert) {
            let set = self.cursor.charset();
            for byte in text {
                self.put(set.map(*byte), 1);
            }
            return;
        }
        self.last = Last { ch: Some(char::from(*last)), joining: false };
        let cols = self.cols();
        let mut rest = text;
        loop {
            if self.cursor.pending {
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
            Some(2) if self.last.joining => self.combine(ch),
            Some(wide) => self.put(ch, wide),
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
        self.last = Last { ch: Some(ch), joining: false };
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
        if let Some(col) = self.before() {
            self.pages.grid_mut().row_mut(self.cursor.row).add_mark(col, mark);
            self.last.joining = mark == JOINER;
        }
    }
}

/// How many columns a character takes; `None` for what is not printed.
#[inline]
fn width(ch: char) -> Option<usize> {
    match ch {
        '\u{A0}'..'\u{300}' | '\u{2500}'..'\u{2600}' => Some(1),
        '\u{4E00}'..'\u{A000}' | '\u{AC00}'..'\u{D7A4}' => Some(2),
        // Unicode calls it ignorable, wcwidth and terminals show it.
        '\u{3164}' => Some(2),
        _ => ch.width(),
    }
}
