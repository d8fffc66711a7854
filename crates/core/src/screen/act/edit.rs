//! Edit: erasing, inserting and deleting. None of it moves the cursor, and almost all of it ends a pending wrap, as in
//! xterm. Only what erases from the cursor on finds nothing in a row whose last column was just written, and leaves the
//! wrap pending, as in tmux, VTE, kitty, iTerm2 and others: grep, top and every Ink program write a full row and
//! then EL, and would lose its last character.

use super::super::grid::Region;
use super::super::term::Term;

impl Term {
    /// ED: 0 from the cursor on, 1 up to the cursor, 2 all, 3 the history.
    pub(super) fn erase_display(&mut self, what: u16) {
        let (row, rows, blank) = (self.cursor.row, self.rows(), self.blank());
        match what {
            0 => {
                self.erase_line(0);
                self.pages.grid_mut().erase_rows(row + 1, rows, blank);
                return;
            }
            1 => {
                self.erase_line(1);
                self.pages.grid_mut().erase_rows(0, row, blank);
            }
            2 => self.pages.grid_mut().erase_rows(0, rows, blank),
            3 => {
                drop(self.pages.history.take());
                self.forget_covered();
            }
            _ => return,
        }
        self.cursor.pending = false;
    }

    /// EL: 0 from the cursor on, 1 up to the cursor, 2 all.
    pub(super) fn erase_line(&mut self, what: u16) {
        let (col, cols, blank) = (self.cursor.col, self.cols(), self.blank());
        let (from, to) = match what {
            0 if self.cursor.pending => return,
            0 => (col, cols),
            1 => (0, col + 1),
            2 => (0, cols),
            _ => return,
        };
        self.pages.grid_mut().erase(self.cursor.row, from, to, blank);
        self.cursor.pending = false;
    }

    pub(super) fn erase_characters(&mut self, count: usize) {
        let (col, blank) = (self.cursor.col, self.blank());
        let to = col.saturating_add(count).min(self.cols());
        self.pages.grid_mut().erase(self.cursor.row, col, to, blank);
        self.cursor.pending = false;
    }

    pub(super) fn insert_characters(&mut self, count: usize) {
        let (col, cols, blank) = (self.cursor.col, self.cols(), self.blank());
        let row = self.pages.grid_mut().row_mut(self.cursor.row);
        row.insert(col, count, cols, blank);
        row.wrapped = false;
        self.cursor.pending = false;
    }

    pub(super) fn delete_characters(&mut self, count: usize) {
        let (col, cols, blank) = (self.cursor.col, self.cols(), self.blank());
        let row = self.pages.grid_mut().row_mut(self.cursor.row);
        row.delete(col, count, cols, blank);
        row.wrapped = false;
        self.cursor.pending = false;
    }

    /// IL: only within the margins, and the cursor goes to the first column.
    pub(super) fn insert_lines(&mut self, count: usize) {
        if let Some(region) = self.below_cursor() {
            self.scroll_down(region, count);
            self.jump(self.cursor.row, 0);
        }
    }

    /// DL: only within the margins, and the cursor goes to the first column. Deleted lines are no history.
    pub(super) fn delete_lines(&mut self, count: usize) {
        if let Some(region) = self.below_cursor() {
            self.leave(region, region.top, count.min(region.height()), false);
            let blank = self.blank();
            self.pages.grid_mut().scroll_up(region, count, blank, None);
            self.jump(self.cursor.row, 0);
        }
    }

    fn below_cursor(&self) -> Option<Region> {
        let row = self.cursor.row;
        self.region.holds(row).then_some(Region { top: row, bottom: self.region.bottom })
    }

    pub(super) fn scroll_text_down(&mut self, count: usize) {
        self.scroll_down(self.region, count);
        self.settle();
    }

    pub(super) fn scroll_text_up(&mut self, count: usize) {
        self.scroll_up(self.region, count);
        self.settle();
    }
}
