//! Answer: what a program is told when it asks its terminal. The caller sends it, or lets it drop on a replay.

use std::fmt::Write as _;

use super::super::palette::{Slot, rgb_text};
use super::super::parser::params::Params;
use super::super::term::Term;
use super::sgr::sgr_text;

/// Nobody knows the size of the cells of a terminal that may have no viewer: a plain one.
const CELL_HEIGHT: u32 = 20;
const CELL_WIDTH: u32 = 10;

impl Term {
    /// DA1: a VT220 with colours, and a clipboard that can be set.
    pub(super) fn answer_attributes(&mut self, end: usize) {
        self.answer(end, "\x1b[?62;22;52c");
    }

    /// DA2.
    pub(super) fn answer_version_number(&mut self, end: usize) {
        self.answer(end, "\x1b[>1;3000;0c");
    }

    /// DA3.
    pub(super) fn answer_unit(&mut self, end: usize) {
        self.answer(end, "\x1bP!|00000000\x1b\\");
    }

    /// XTVERSION.
    pub(super) fn answer_version(&mut self, end: usize) {
        self.answer(end, concat!("\x1bP>|abide(", env!("CARGO_PKG_VERSION"), ")\x1b\\"));
    }

    /// DSR.
    pub(super) fn answer_report(&mut self, what: u16, end: usize) {
        match what {
            5 => self.answer(end, "\x1b[0n"),
            6 => {
                let (row, col) = self.reported_cursor();
                self.answer(end, format!("\x1b[{row};{col}R"));
            }
            _ => {}
        }
    }

    pub(super) fn answer_private_report(&mut self, what: u16, end: usize) {
        match what {
            6 => {
                let (row, col) = self.reported_cursor();
                self.answer(end, format!("\x1b[?{row};{col};1R"));
            }
            // Dark or light: what the background says.
            996 => {
                let [r, g, b] = self.palette.get(Slot::Background).map(u32::from);
                let light = 299 * r + 587 * g + 114 * b > 127_500;
                self.answer(end, format!("\x1b[?997;{}n", 1 + u8::from(light)));
            }
            _ => {}
        }
    }

    /// As the program counts: from one, and in origin mode from the top margin.
    fn reported_cursor(&self) -> (usize, usize) {
        let top = if self.cursor.origin { self.region.top } else { 0 };
        (self.cursor.row.saturating_sub(top) + 1, self.cursor.col + 1)
    }

    /// DECRQM.
    pub(super) fn answer_mode(&mut self, params: &Params, end: usize) {
        let (number, ansi) = (params.get(0), params.private == 0);
        let value = self.mode_value(number, ansi);
        let mark = if ansi { "" } else { "?" };
        self.answer(end, format!("\x1b[{mark}{number};{value}$y"));
    }

    /// The flags of the kitty keyboard protocol.
    pub(super) fn answer_keys(&mut self, end: usize) {
        let flags = self.modes.keys[usize::from(self.pages.alternate)].current();
        self.answer(end, format!("\x1b[?{flags}u"));
    }

    /// XTQMODKEYS, for modifyOtherKeys.
    pub(super) fn answer_modified_keys(&mut self, end: usize) {
        self.answer(end, format!("\x1b[>4;{}m", self.modes.modify_other_keys));
    }

    /// XTWINOPS, the questions about sizes.
    pub(super) fn answer_window(&mut self, what: u16, end: usize) {
        let (rows, cols) = (u32::from(self.size.rows), u32::from(self.size.cols));
        match what {
            14 => self.answer(end, format!("\x1b[4;{};{}t", rows * CELL_HEIGHT, cols * CELL_WIDTH)),
            16 => self.answer(end, format!("\x1b[6;{CELL_HEIGHT};{CELL_WIDTH}t")),
            18 => self.answer(end, format!("\x1b[8;{rows};{cols}t")),
            19 => self.answer(end, format!("\x1b[9;{rows};{cols}t")),
            _ => {}
        }
    }

    /// A colour, in the form of the question, ended as the question was.
    pub(super) fn answer_color(&mut self, slot: Slot, bell: bool, end: usize) {
        let close = if bell { "\x07" } else { "\x1b\\" };
        let text = format!("\x1b]{};{}{close}", slot.osc(), rgb_text(self.palette.get(slot)));
        self.answer(end, text);
    }

    /// DECRQSS and XTGETTCAP; every other device control string is let drop.
    pub(super) fn device_control(&mut self, text: &[u8], end: usize) {
        if let Some(what) = text.strip_prefix(b"$q") {
            self.answer_setting(what, end);
        } else if let Some(names) = text.strip_prefix(b"+q") {
            for name in names.split(|byte| *byte == b';') {
                self.answer_capability(name, end);
            }
        }
    }

    fn answer_setting(&mut self, what: &[u8], end: usize) {
        let value = match what {
            b"m" => Some(format!("{}m", sgr_text(&self.cursor.pen))),
            b"r" => Some(format!("{};{}r", self.region.top + 1, self.region.bottom + 1)),
            b" q" => Some(format!("{} q", self.modes.cursor_style)),
            b"\"p" => Some("62;1\"p".to_owned()),
            _ => None,
        };
        match value {
            Some(value) => self.answer(end, format!("\x1bP1$r{value}\x1b\\")),
            None => self.answer(end, "\x1bP0$r\x1b\\"),
        }
    }

    fn answer_capability(&mut self, name: &[u8], end: usize) {
        let Some(hex) = std::str::from_utf8(name).ok().filter(|hex| is_hex(hex)) else { return };
        let value = match unhex(hex).as_slice() {
            b"TN" | b"name" => Some("xterm-256color"),
            b"Co" | b"colors" => Some("256"),
            b"RGB" => Some("8/8/8"),
            b"Ms" => Some("\x1b]52;%p1%s;%p2%s\x1b\\"),
            b"Smulx" => Some("\x1b[4:%p1%dm"),
            b"Ss" => Some("\x1b[%p1%d q"),
            b"Se" => Some("\x1b[0 q"),
            // What is there or not has no value.
            b"Tc" | b"Su" => Some(""),
            _ => None,
        };
        match value {
            Some("") => self.answer(end, format!("\x1bP1+r{hex}\x1b\\")),
            Some(value) => {
                let mut text = format!("\x1bP1+r{hex}=");
                for byte in value.bytes() {
                    // A string takes everything that is written to it.
                    let _ = write!(text, "{byte:02X}");
                }
                self.answer(end, text + "\x1b\\");
            }
            None => self.answer(end, format!("\x1bP0+r{hex}\x1b\\")),
        }
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unhex(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len()).step_by(2).filter_map(|at| hex.get(at..at + 2));
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}
