//! Act: what the pieces of the stream do to the terminal. Controls and escapes stand here, the rest one level down.

mod answer;
mod csi;
mod edit;
mod osc;
mod print;
mod sgr;
mod switch;

pub(crate) use sgr::sgr_text;

use super::cursor::Charset;
use super::grid::cell::Cell;
use super::modes::Mode;
use super::notice::Told;
use super::parser::Actor;
use super::parser::params::Params;
use super::term::Term;

impl Actor for Term {
    #[inline]
    fn ascii(&mut self, text: &[u8], end: usize) {
        self.print_ascii(text, end);
    }

    #[inline]
    fn character(&mut self, ch: char, end: usize) {
        self.out.obey(end);
        self.print(ch);
    }

    #[inline]
    fn control(&mut self, byte: u8, end: usize) {
        self.out.obey(end);
        self.last.end = None;
        match byte {
            0x07 => self.tell(end, Told::Bell),
            0x08 => {
                self.cursor.col = self.cursor.col.saturating_sub(1);
                self.cursor.pending = false;
            }
            0x09 => self.tab(1),
            0x0A..=0x0C => {
                self.index();
                self.cursor.pending = false;
                if self.modes.has(Mode::NewLine) {
                    self.cursor.col = 0;
                }
            }
            0x0D => {
                self.part_line();
                self.cursor.col = 0;
                self.cursor.pending = false;
            }
            0x0E => self.cursor.shift_to(1),
            0x0F => self.cursor.shift_to(0),
            _ => {}
        }
    }

    fn escape(&mut self, before: &[u8], last: u8, end: usize) {
        self.out.obey(end);
        self.last.end = None;
        match (before, last) {
            (b"", b'7') => self.save_cursor(),
            (b"", b'8') => self.restore_cursor(),
            (b"", b'=') => self.modes.switches.put(Mode::AppKeypad, true),
            (b"", b'>') => self.modes.switches.put(Mode::AppKeypad, false),
            (b"", b'D') => {
                self.index();
                self.cursor.pending = false;
            }
            (b"", b'E') => {
                self.index();
                self.jump(self.cursor.row, 0);
            }
            (b"", b'M') => {
                self.reverse_index();
                self.cursor.pending = false;
            }
            (b"", b'H') => self.tabs.put(self.cursor.col, true),
            (b"", b'c') => self.reset(),
            (b"", b'n') => self.cursor.shift_to(2),
            (b"", b'o') => self.cursor.shift_to(3),
            (b"", b'N') => self.cursor.single = 2,
            (b"", b'O') => self.cursor.single = 3,
            (b"", b'Z') => self.answer_attributes(end),
            (b"(", set) => self.cursor.sets[0] = Charset::from_byte(set),
            (b")", set) => self.cursor.sets[1] = Charset::from_byte(set),
            (b"*", set) => self.cursor.sets[2] = Charset::from_byte(set),
            (b"+", set) => self.cursor.sets[3] = Charset::from_byte(set),
            (b"#", b'8') => self.align(),
            _ => {}
        }
    }

    #[inline]
    fn csi(&mut self, params: &Params, last: u8, end: usize) {
        self.out.obey(end);
        self.last.end = None;
        self.control_sequence(params, last, end);
    }

    fn osc(&mut self, text: &[u8], bell: bool, end: usize) {
        self.system_command(text, bell, end);
    }

    fn dcs(&mut self, text: &[u8], end: usize) {
        self.device_control(text, end);
    }
}

impl Term {
    /// Blanks were written up to the end of a row, this one or the one before, from wherever that was: then this row
    /// begins a line of its own. So shells make sure that a prompt does (zsh, fish).
    fn part_line(&mut self) {
        let (cols, row) = (self.cols(), self.cursor.row);
        let grid = self.pages.grid_mut();
        let Some(before) = row.checked_sub(1).filter(|before| grid.row(*before).wrapped) else { return };
        let used = |row: usize, of: usize| {
            let cells = grid.row(row).cells();
            let written = |cell: &Cell| cell.ch != ' ' || cell.is_tail();
            cells[..cells.len().min(of)].iter().rposition(written).map_or(0, |last| last + 1)
        };
        let col = self.cursor.col + usize::from(self.cursor.pending);
        let blanks = match used(row, col) {
            0 if col > 0 => cols - used(before, cols) + col,
            used if self.cursor.pending => cols - used,
            _ => return,
        };
        if blanks >= (cols / 2).max(2) {
            let before = grid.row_mut(before);
            before.wrapped = false;
            before.news.tell();
        }
    }

    /// To the next tab stops. As in xterm and tmux, a wrap that is pending stays so.
    fn tab(&mut self, count: usize) {
        for _ in 0..count.min(self.cols()) {
            self.cursor.col = self.tabs.after(self.cursor.col, self.cols());
        }
    }

    /// DECALN: the screen full of E.
    fn align(&mut self) {
        let cols = self.cols();
        let full = vec![b'E'; cols];
        self.region = super::grid::Region::whole(self.size);
        self.jump(0, 0);
        for row in 0..self.rows() {
            let row = self.pages.grid_mut().row_mut(row);
            row.clear(Cell::BLANK, cols);
            row.put_ascii(0, &full, super::grid::row::Ink { style: Default::default(), extra: None });
        }
    }
}
