//! Switch: modes set and reset. Most are bits of the table; these here also do something.

use super::super::grid::Region;
use super::super::modes::{Mode, Mouse, MouseEncoding};
use super::super::parser::params::Params;
use super::super::term::Term;

impl Term {
    pub(super) fn switch_ansi(&mut self, params: &Params, on: bool) {
        for number in params.numbers() {
            if let Some(mode) = find(*number, true) {
                self.modes.switches.put(mode, on);
            }
        }
    }

    pub(super) fn switch_private(&mut self, params: &Params, on: bool, end: usize) {
        for number in params.numbers() {
            match *number {
                3 if self.modes.has(Mode::ColumnChange) => self.change_columns(),
                6 => {
                    self.cursor.origin = on;
                    self.place(0, 0);
                }
                47 | 1047 => self.switch_page(on),
                1048 if on => self.save_cursor(),
                1048 => self.restore_cursor(),
                1049 => self.switch_page_and_cursor(on),
                number => self.switch_other(number, on, end),
            }
        }
    }

    fn switch_other(&mut self, number: u16, on: bool, end: usize) {
        if let Some(mode) = find(number, false) {
            self.modes.switches.put(mode, on);
            if mode == Mode::Synchronized {
                self.synchronize(on, end);
            }
        } else if let Some(mouse) = Mouse::ALL[1..].iter().find(|mouse| mouse.number() == number) {
            self.modes.mouse = if on { *mouse } else { Mouse::Off };
        } else if let Some(encoding) = MouseEncoding::ALL[1..].iter().find(|kind| kind.number() == number) {
            if on {
                self.modes.encoding = *encoding;
            } else if self.modes.encoding == *encoding {
                self.modes.encoding = MouseEncoding::Bytes;
            }
        }
    }

    /// DECCOLM, where mode 40 allows it: the columns stay as many as they are, the rest happens.
    fn change_columns(&mut self) {
        self.region = Region::whole(self.size);
        self.erase_display(2);
        self.place(0, 0);
    }

    /// 1049 saves the cursor too, and clears with the pen's background. As in xterm, its end restores the cursor even on
    /// the main screen.
    fn switch_page_and_cursor(&mut self, on: bool) {
        if on && !self.pages.alternate {
            self.save_cursor();
            self.switch_page(true);
            let (rows, blank) = (self.rows(), self.blank());
            self.pages.alt.erase_rows(0, rows, blank);
        } else if !on {
            self.switch_page(false);
            self.restore_cursor();
        }
    }

    /// What DECRQM says: 1 set, 2 reset, 0 unknown.
    pub(super) fn mode_value(&self, number: u16, ansi: bool) -> u8 {
        let on = match (ansi, number) {
            (false, 6) => self.cursor.origin,
            (false, 47 | 1047 | 1049) => self.pages.alternate,
            _ => match find(number, ansi) {
                Some(mode) => self.modes.has(mode),
                None if ansi => return 0,
                None => match self.mouse_value(number) {
                    Some(on) => on,
                    None => return 0,
                },
            },
        };
        if on { 1 } else { 2 }
    }

    fn mouse_value(&self, number: u16) -> Option<bool> {
        let mouse = Mouse::ALL[1..].iter().find(|mouse| mouse.number() == number);
        let encoding = MouseEncoding::ALL[1..].iter().find(|kind| kind.number() == number);
        match (mouse, encoding) {
            (Some(mouse), _) => Some(self.modes.mouse == *mouse),
            (None, Some(encoding)) => Some(self.modes.encoding == *encoding),
            (None, None) => None,
        }
    }
}

fn find(number: u16, ansi: bool) -> Option<Mode> {
    Mode::ALL.iter().copied().find(|mode| mode.number() == number && mode.is_ansi() == ansi)
}
