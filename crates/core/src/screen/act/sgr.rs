//! SGR: the sequence that chooses how characters look, both ways: from numbers to a pen and back.

use std::fmt::Write as _;

use super::super::cursor::Pen;
use super::super::grid::cell::{Attrs, Color, Underline};
use super::super::parser::params::Params;
use super::super::term::Term;

impl Term {
    pub(super) fn select_graphics(&mut self, params: &Params) {
        let before = self.cursor.pen.underline;
        let pen = &mut self.cursor.pen;
        let mut index = 0;
        while index < params.len() {
            index += pen.take(params, index);
        }
        if self.cursor.pen.underline != before {
            self.refresh_extra();
        }
    }
}

impl Pen {
    /// Takes what begins at an index and says how many numbers that was.
    #[inline]
    fn take(&mut self, params: &Params, index: usize) -> usize {
        let group = params.group(index);
        let number = params.get(index);
        let attrs = &mut self.style.attrs;
        match number {
            0 => *self = Self::default(),
            1 => *attrs = attrs.with(Attrs::BOLD),
            2 => *attrs = attrs.with(Attrs::DIM),
            3 => *attrs = attrs.with(Attrs::ITALIC),
            4 => {
                let kind = if group > 1 { params.get(index + 1) } else { 1 };
                *attrs = attrs.underlined(Underline::from_number(kind).unwrap_or(Underline::Single));
            }
            5 | 6 => *attrs = attrs.with(Attrs::BLINK),
            7 => *attrs = attrs.with(Attrs::INVERSE),
            8 => *attrs = attrs.with(Attrs::INVISIBLE),
            9 => *attrs = attrs.with(Attrs::STRIKE),
            21 => *attrs = attrs.underlined(Underline::Double),
            22 => *attrs = attrs.without(Attrs::BOLD).without(Attrs::DIM),
            23 => *attrs = attrs.without(Attrs::ITALIC),
            24 => *attrs = attrs.underlined(Underline::None),
            25 => *attrs = attrs.without(Attrs::BLINK),
            27 => *attrs = attrs.without(Attrs::INVERSE),
            28 => *attrs = attrs.without(Attrs::INVISIBLE),
            29 => *attrs = attrs.without(Attrs::STRIKE),
            53 => *attrs = attrs.with(Attrs::OVERLINE),
            55 => *attrs = attrs.without(Attrs::OVERLINE),
            38 | 48 | 58 => return self.take_color(params, index, group),
            _ => self.take_simple_color(number),
        }
        group
    }

    fn take_simple_color(&mut self, number: u16) {
        match number {
            30..=37 => self.style.fg = Color::Indexed((number - 30) as u8),
            39 => self.style.fg = Color::Default,
            40..=47 => self.style.bg = Color::Indexed((number - 40) as u8),
            49 => self.style.bg = Color::Default,
            59 => self.underline = Color::Default,
            90..=97 => self.style.fg = Color::Indexed((number - 82) as u8),
            100..=107 => self.style.bg = Color::Indexed((number - 92) as u8),
            _ => {}
        }
    }

    /// `38;5;n`, `38;2;r;g;b`, `38:5:n`, `38:2:r:g:b` and `38:2:space:r:g:b`, the same for 48 and 58.
    fn take_color(&mut self, params: &Params, index: usize, group: usize) -> usize {
        let kind = params.get(index + 1);
        let (color, taken) = if group > 1 {
            let numbers = &params.numbers()[index + 2..index + group.max(2)];
            // With the colour space in between there is one number more.
            let skip = usize::from(kind == 2 && numbers.len() > 3);
            (color(kind, numbers.get(skip..).unwrap_or_default()), group)
        } else {
            let taken = match kind {
                5 => 3,
                2 => 5,
                _ => 2,
            };
            let numbers = params.numbers();
            let from = (index + 2).min(numbers.len());
            let to = (index + taken).min(numbers.len());
            (color(kind, &numbers[from..to.max(from)]), taken)
        };
        if let Some(color) = color {
            match params.get(index) {
                38 => self.style.fg = color,
                48 => self.style.bg = color,
                _ => self.underline = color,
            }
        }
        taken
    }
}

fn color(kind: u16, numbers: &[u16]) -> Option<Color> {
    let byte = |number: &u16| u8::try_from(*number).ok();
    match (kind, numbers) {
        (5, [index, ..]) => Some(Color::Indexed(byte(index)?)),
        (2, [r, g, b, ..]) => Some(Color::Rgb(byte(r)?, byte(g)?, byte(b)?)),
        _ => None,
    }
}

/// The numbers that make a fresh pen this one, without the frame of the sequence.
pub(crate) fn sgr_text(pen: &Pen) -> String {
    let mut text = "0".to_owned();
    let attrs = pen.style.attrs;
    for (attr, number) in [
        (Attrs::BOLD, 1),
        (Attrs::DIM, 2),
        (Attrs::ITALIC, 3),
        (Attrs::BLINK, 5),
        (Attrs::INVERSE, 7),
        (Attrs::INVISIBLE, 8),
        (Attrs::STRIKE, 9),
        (Attrs::OVERLINE, 53),
    ] {
        if attrs.has(attr) {
            put(&mut text, format_args!(";{number}"));
        }
    }
    match attrs.underline() {
        Underline::None => {}
        Underline::Single => text.push_str(";4"),
        kind @ (Underline::Double | Underline::Curly | Underline::Dotted | Underline::Dashed) => {
            put(&mut text, format_args!(";4:{}", kind as u8));
        }
    }
    put_color(&mut text, pen.style.fg, 30);
    put_color(&mut text, pen.style.bg, 40);
    match pen.underline {
        Color::Default => {}
        Color::Indexed(index) => put(&mut text, format_args!(";58:5:{index}")),
        Color::Rgb(r, g, b) => put(&mut text, format_args!(";58:2::{r}:{g}:{b}")),
    }
    text
}

fn put_color(text: &mut String, color: Color, base: u16) {
    match color {
        Color::Default => {}
        Color::Indexed(index @ 0..8) => put(text, format_args!(";{}", base + u16::from(index))),
        Color::Indexed(index @ 8..16) => put(text, format_args!(";{}", base + 52 + u16::from(index))),
        Color::Indexed(index) => put(text, format_args!(";{};5;{index}", base + 8)),
        Color::Rgb(r, g, b) => put(text, format_args!(";{};2;{r};{g};{b}", base + 8)),
    }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // A string takes everything that is written to it.
    let _ = text.write_fmt(what);
}
