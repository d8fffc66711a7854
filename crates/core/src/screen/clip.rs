//! Clip: as much of a screen as a terminal of another size has room for. A whole picture each time, whatever that
//! terminal showed before: the rows around the cursor, cut at the right. Keys, mouse and pasted text send what the
//! program asked for; titles and redefined colours are not carried over.

use super::dump::Painter;
use super::grid::row::Row;
use super::modes::{Mode, Mouse, MouseEncoding};
use super::{Screen, Size};

/// Nothing wraps, scrolls or is pushed aside while it is drawn, and nothing is seen before all of it is.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l\x1b[?6l\x1b[4l\x1b[20l\x1b[r\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[0m\x1b]8;;\x1b\\";

impl Screen {
    /// Bytes that show this screen on a terminal of another size, and leave keys and mouse as the program wants them.
    #[must_use]
    pub fn clipped(&self, size: Size) -> Vec<u8> {
        self.drawn(size, true)
    }

    /// The same as a picture only: keys and mouse stay as they are.
    #[must_use]
    pub fn picture(&self, size: Size) -> Vec<u8> {
        self.drawn(size, false)
    }

    /// The lines above, as many as there are of so many, and the visible rows as lines in their looks, each ended by a newline:
    /// for a file, or below whatever a terminal shows. It is left as it was.
    #[must_use]
    pub fn in_lines(&self, scrollback: usize) -> Vec<u8> {
        let (view, cols) = (self.view(), self.term.cols());
        let mut painter = Painter::begun("");
        painter.still = Some(view.palette.clone());
        let (above, _) = self.scrollback_len();
        for line in self.scrollback().skip(above.saturating_sub(scrollback)) {
            painter.beginning(&line.0, cols);
            painter.say("\n");
        }
        for row in view.rows {
            painter.beginning(row, cols);
            painter.say("\n");
        }
        painter.out
    }

    fn drawn(&self, size: Size, input: bool) -> Vec<u8> {
        let view = self.view();
        let cursor = view.cursor();
        let top = (cursor.row + 1).saturating_sub(size.rows);
        let mut painter = Painter::begun(BEGIN);
        for row in 0..size.rows {
            painter.say(&format!("\x1b[{};1H\x1b[2K", row + 1));
            if let Some(shown) = view.rows.get(usize::from(top + row)) {
                painter.beginning(shown, usize::from(size.cols));
            }
        }
        if input {
            painter.input_modes(self);
        }
        let col = cursor.col.min(size.cols.saturating_sub(1));
        painter.say(&format!("\x1b[{};{}H\x1b[?7h", cursor.row - top + 1, col + 1));
        painter.say(&format!("\x1b[{} q", cursor.style));
        painter.say(if cursor.visible { "\x1b[?25h\x1b[?2026l" } else { "\x1b[?2026l" });
        painter.out
    }
}

impl Painter {
    /// What of a row fits into so many columns; a wide character that would stick out is left out.
    fn beginning(&mut self, row: &Row, cols: usize) {
        self.cells(row, row.used().min(cols), cols);
        self.plain();
    }

    /// Each mode in the position that it has, for it is not known in which one it was.
    fn input_modes(&mut self, screen: &Screen) {
        let modes = &screen.term.modes;
        for mode in Mode::ALL.iter().filter(|mode| !is_for_drawing(**mode)) {
            self.switch(*mode, modes.has(*mode));
        }
        let mouse = Mouse::ALL.map(|mouse| (mouse.number(), mouse == modes.mouse));
        let encodings = MouseEncoding::ALL.map(|encoding| (encoding.number(), encoding == modes.encoding));
        let numbered = mouse.into_iter().chain(encodings).filter(|(number, _)| *number > 0);
        let (on, off): (Vec<_>, Vec<_>) = numbered.partition(|(_, on)| *on);
        // One that is switched off may switch off all.
        off.iter().for_each(|(number, _)| self.say(&format!("\x1b[?{number}l")));
        on.iter().for_each(|(number, _)| self.say(&format!("\x1b[?{number}h")));
        let flags = screen.input_modes().key_flags;
        self.say(&format!("\x1b[>4;{}m\x1b[={flags};1u", modes.modify_other_keys));
    }
}

/// Modes that say how the program draws: we draw.
const fn is_for_drawing(mode: Mode) -> bool {
    match mode {
        Mode::AutoWrap
        | Mode::Insert
        | Mode::Synchronized
        | Mode::CursorVisible
        | Mode::NewLine
        | Mode::ColumnChange
        | Mode::Clusters => true,
        Mode::AppCursor
        | Mode::ReverseVideo
        | Mode::CursorBlinks
        | Mode::AppKeypad
        | Mode::Focus
        | Mode::AlternateScroll
        | Mode::BracketedPaste
        | Mode::ColorScheme => false,
    }
}
