//! CSI: control sequences, each to the move that it names.

use super::super::grid::Region;
use super::super::parser::params::Params;
use super::super::term::Term;
use super::super::title::Which;

impl Term {
    #[inline]
    pub(super) fn control_sequence(&mut self, params: &Params, last: u8, end: usize) {
        match (params.private, params.between) {
            (0, 0) if last == b'm' => self.select_graphics(params),
            (0, 0) => self.plain_sequence(params, last, end),
            (b'?', 0) => self.private_sequence(params, last, end),
            (b'>', 0) => self.greater_sequence(params, last, end),
            (b'=', 0) => self.equal_sequence(params, last, end),
            (b'<', 0) if last == b'u' => self.keys_mut().pop(params.count(0) as u16),
            (0 | b'?', b'$') if last == b'p' => self.answer_mode(params, end),
            (0, b'!') if last == b'p' => self.soft_reset(),
            (0, b' ') if last == b'q' && params.get(0) <= 6 => {
                self.modes.cursor_style = params.get(0) as u8;
            }
            _ => {}
        }
    }

    fn plain_sequence(&mut self, params: &Params, last: u8, end: usize) {
        let count = params.count(0);
        match last {
            b'A' => self.up(count),
            b'B' | b'e' => self.down(count),
            b'C' | b'a' => self.jump(self.cursor.row, self.cursor.col + count),
            b'D' => self.jump(self.cursor.row, self.cursor.col.saturating_sub(count)),
            b'E' => {
                self.down(count);
                self.cursor.col = 0;
            }
            b'F' => {
                self.up(count);
                self.cursor.col = 0;
            }
            b'G' | b'`' => self.jump(self.cursor.row, count - 1),
            b'H' | b'f' => self.place(count - 1, params.count(1) - 1),
            b'd' => self.place(count - 1, self.cursor.col),
            b'I' => self.tab(count),
            b'Z' => self.back_tab(count),
            b'J' => self.erase_display(params.get(0)),
            b'K' => self.erase_line(params.get(0)),
            b'X' => self.erase_characters(count),
            b'@' => self.insert_characters(count),
            b'P' => self.delete_characters(count),
            b'L' => self.insert_lines(count),
            b'M' => self.delete_lines(count),
            b'S' => self.scroll_text_up(count),
            // With more numbers it is xterm's old highlight tracking.
            b'T' if params.len() == 1 => self.scroll_text_down(count),
            b'^' => self.scroll_text_down(count),
            b'b' => self.print_again(count),
            b'c' if params.get(0) == 0 => self.answer_attributes(end),
            b'g' => self.clear_tabs(params.get(0)),
            b'h' => self.switch_ansi(params, true),
            b'l' => self.switch_ansi(params, false),
            b'n' => self.answer_report(params.get(0), end),
            b'r' => self.set_region(params),
            b's' => self.save_cursor(),
            b't' => self.window(params, end),
            b'u' => self.restore_cursor(),
            _ => {}
        }
    }

    fn private_sequence(&mut self, params: &Params, last: u8, end: usize) {
        match last {
            b'h' => self.switch_private(params, true, end),
            b'l' => self.switch_private(params, false, end),
            // Nothing is protected here, so the selective erasures are the plain ones.
            b'J' => self.erase_display(params.get(0)),
            b'K' => self.erase_line(params.get(0)),
            b'n' => self.answer_private_report(params.get(0), end),
            b'u' => self.answer_keys(end),
            b'm' if params.len() == 1 && params.get(0) == 4 => self.answer_modified_keys(end),
            b'W' if params.get(0) == 5 => self.tabs = Default::default(),
            _ => {}
        }
    }

    fn greater_sequence(&mut self, params: &Params, last: u8, end: usize) {
        match last {
            b'c' if params.get(0) == 0 => self.answer_version_number(end),
            b'q' if params.get(0) == 0 => self.answer_version(end),
            b'm' if params.get(0) == 4 => self.modes.modify_other_keys = params.get(1).min(3) as u8,
            b'n' if params.get(0) == 4 => self.modes.modify_other_keys = 0,
            b'm' if params.len() == 1 && params.get(0) == 0 => self.modes.modify_other_keys = 0,
            b'u' => self.keys_mut().push(params.get(0)),
            _ => {}
        }
    }

    fn equal_sequence(&mut self, params: &Params, last: u8, end: usize) {
        match last {
            b'c' if params.get(0) == 0 => self.answer_unit(end),
            b'u' => {
                let how = if params.len() > 1 { params.get(1) } else { 1 };
                self.keys_mut().set(params.get(0), how);
            }
            _ => {}
        }
    }

    fn keys_mut(&mut self) -> &mut super::super::modes::KeyFlags {
        &mut self.modes.keys[usize::from(self.pages.alternate)]
    }

    /// Up, but not past the top margin if the cursor is below it.
    fn up(&mut self, count: usize) {
        let row = self.cursor.row;
        let stop = if row >= self.region.top { self.region.top } else { 0 };
        self.jump(row.saturating_sub(count).max(stop), self.cursor.col);
    }

    /// Down, but not past the bottom margin if the cursor is above it.
    fn down(&mut self, count: usize) {
        let row = self.cursor.row;
        let stop = if row <= self.region.bottom { self.region.bottom } else { self.rows() - 1 };
        self.jump((row + count).min(stop), self.cursor.col);
    }

    fn back_tab(&mut self, count: usize) {
        let mut col = self.cursor.col;
        for _ in 0..count.min(self.cols()) {
            col = self.tabs.before(col);
        }
        self.jump(self.cursor.row, col);
    }

    fn clear_tabs(&mut self, what: u16) {
        match what {
            0 => self.tabs.put(self.cursor.col, false),
            3 => self.tabs.clear(),
            _ => {}
        }
    }

    /// DECSTBM; the cursor goes home. Margins of less than two rows are refused.
    fn set_region(&mut self, params: &Params) {
        let top = params.count(0) - 1;
        let bottom = match usize::from(params.get(1)) {
            0 => self.rows() - 1,
            row => row.min(self.rows()) - 1,
        };
        if top < bottom {
            self.region = Region { top, bottom };
            self.place(0, 0);
        }
    }

    fn window(&mut self, params: &Params, end: usize) {
        match (params.get(0), Which::from_number(params.get(1))) {
            (22, Some(_)) => self.titles.push(),
            (23, Some(which)) => {
                self.titles.pop(which);
                if which.window() {
                    self.tell_title(end);
                }
            }
            (what, _) => self.answer_window(what, end),
        }
    }
}
