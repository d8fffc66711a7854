//! Cursor: where the next character goes and how it will look, and the tab stops it jumps to.

use super::grid::cell::{Color, Style};

/// A set of characters that the letters may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Charset {
    #[default]
    Ascii,
    /// Lines and corners in place of small letters.
    Graphics,
    British,
}

impl Charset {
    /// The set that `ESC ( x` names; all that are not known are ASCII.
    pub(crate) const fn from_byte(byte: u8) -> Self {
        match byte {
            b'0' | b'2' => Self::Graphics,
            b'A' => Self::British,
            _ => Self::Ascii,
        }
    }

    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Ascii => b'B',
            Self::Graphics => b'0',
            Self::British => b'A',
        }
    }

    pub(crate) fn map(self, byte: u8) -> char {
        match (self, byte) {
            (Self::British, b'#') => '£',
            (Self::Graphics, b'_'..=b'~') => GRAPHICS[usize::from(byte - b'_')],
            (Self::Ascii | Self::British | Self::Graphics, _) => char::from(byte),
        }
    }
}

/// DEC special graphics, from `_` to `~`.
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽',
    '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// How characters will look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pen {
    pub style: Style,
    pub underline: Color,
}

/// The cursor, and all that DECSC saves with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    pub row: usize,
    pub col: usize,
    /// The last column was written and the next character wraps.
    pub pending: bool,
    /// Rows are counted from the top margin, and the margins hold the cursor.
    pub origin: bool,
    pub pen: Pen,
    /// G0 to G3.
    pub sets: [Charset; 4],
    /// Which of them is in use.
    pub shift: u8,
    /// Which one is in use for the next character only; 0 for none.
    pub single: u8,
}

impl Cursor {
    /// The set that the next character is of.
    #[inline]
    pub(crate) const fn charset(&self) -> Charset {
        self.sets[if self.single > 0 { self.single } else { self.shift } as usize & 3]
    }

    /// The same, when that character has come.
    #[inline]
    pub(crate) const fn take_charset(&mut self) -> Charset {
        let set = self.charset();
        self.single = 0;
        set
    }

    /// Puts a set into use, until another is.
    pub(crate) const fn shift_to(&mut self, shift: u8) {
        self.shift = shift;
        self.single = 0;
    }
}

const TAB_WORDS: usize = super::LONGEST_SIDE.div_ceil(64) as usize;
const EVERY_EIGHTH: u64 = 0x0101_0101_0101_0101;

/// The tab stops, a bit a column, beyond the last column too: a wider screen finds them there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tabs([u64; TAB_WORDS]);

impl Default for Tabs {
    fn default() -> Self {
        Self([EVERY_EIGHTH; TAB_WORDS])
    }
}

impl Tabs {
    pub(crate) fn put(&mut self, col: usize, stop: bool) {
        let bit = 1 << (col % 64);
        if let Some(word) = self.0.get_mut(col / 64) {
            *word = if stop { *word | bit } else { *word & !bit };
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0 = [0; TAB_WORDS];
    }

    pub(crate) fn has(&self, col: usize) -> bool {
        self.0.get(col / 64).is_some_and(|word| word >> (col % 64) & 1 == 1)
    }

    /// The stop after a column, or the last column.
    pub(crate) fn after(&self, col: usize, cols: usize) -> usize {
        (col + 1..cols).find(|col| self.has(*col)).unwrap_or(cols - 1)
    }

    /// The stop before a column, or the first column.
    pub(crate) fn before(&self, col: usize) -> usize {
        (0..col).rev().find(|col| self.has(*col)).unwrap_or(0)
    }

    pub(crate) const fn words(&self) -> &[u64; TAB_WORDS] {
        &self.0
    }

    pub(crate) const fn from_words(words: [u64; TAB_WORDS]) -> Self {
        Self(words)
    }
}
