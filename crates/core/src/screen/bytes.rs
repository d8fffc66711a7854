//! Bytes: numbers, texts and colours as a keyframe and a packed line hold them.
//! A reader takes any bytes and gives `None` for what no writer made; it never trusts a length.

use super::grid::cell::Color;

/// Seven bits a byte, the lowest first; the high bit says that more follow.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// UTF-8, by lengths that are known: most of a row is one of them.
#[inline]
pub(crate) fn put_character(out: &mut Vec<u8>, ch: char) {
    let mut bytes = [0; 4];
    match ch.encode_utf8(&mut bytes).len() {
        1 => out.push(bytes[0]),
        2 => out.extend_from_slice(&bytes[..2]),
        3 => out.extend_from_slice(&bytes[..3]),
        _ => out.extend_from_slice(&bytes),
    }
}

pub(crate) fn put_color(out: &mut Vec<u8>, color: Color) {
    match color {
        Color::Default => out.push(0),
        Color::Indexed(index) => out.extend_from_slice(&[1, index]),
        Color::Rgb(r, g, b) => out.extend_from_slice(&[2, r, g, b]),
    }
}

/// What is left to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A number that is at most `most`.
    pub(crate) fn at_most(&mut self, most: usize) -> Option<usize> {
        let number = usize::try_from(self.number()?).ok()?;
        (number <= most).then_some(number)
    }

    pub(crate) fn small(&mut self, most: u16) -> Option<u16> {
        u16::try_from(self.at_most(usize::from(most))?).ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.at_most(self.0.len())?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn color(&mut self) -> Option<Color> {
        match self.byte()? {
            0 => Some(Color::Default),
            1 => Some(Color::Indexed(self.byte()?)),
            2 => Some(Color::Rgb(self.byte()?, self.byte()?, self.byte()?)),
            _ => None,
        }
    }

    /// The next UTF-8 character, if it is one that a cell can hold.
    pub(crate) fn character(&mut self) -> Option<char> {
        let len = match self.0.first()? {
            0..=0x7F => 1,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => return None,
        };
        let ch = std::str::from_utf8(self.take(len)?).ok()?.chars().next()?;
        (!ch.is_control()).then_some(ch)
    }
}
