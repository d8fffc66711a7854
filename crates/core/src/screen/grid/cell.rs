//! Cell: one place of the grid, its character and how it looks, in 16 bytes.
//! What few cells have (marks, a link, an underline colour) stands in an `Extra` of the row, never here.

use std::sync::Arc;

/// A colour as the program asked for it; what it looks like is the palette's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Color {
    #[default]
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// How text is underlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Underline {
    #[default]
    None,
    Single,
    Double,
    Curly,
    Dotted,
    Dashed,
}

impl Underline {
    const ALL: [Self; 6] = [Self::None, Self::Single, Self::Double, Self::Curly, Self::Dotted, Self::Dashed];

    /// The style that `SGR 4:n` names.
    pub(crate) fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// Attributes of a cell, one bit each; the kind of underline takes three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Attrs(u16);

impl Attrs {
    pub const BOLD: Self = Self(1);
    pub const DIM: Self = Self(1 << 1);
    pub const ITALIC: Self = Self(1 << 2);
    pub const BLINK: Self = Self(1 << 3);
    pub const INVERSE: Self = Self(1 << 4);
    pub const INVISIBLE: Self = Self(1 << 5);
    pub const STRIKE: Self = Self(1 << 6);
    pub const OVERLINE: Self = Self(1 << 7);
    /// The first of the two cells of a wide character.
    pub(crate) const WIDE: Self = Self(1 << 8);
    /// The second of the two cells of a wide character.
    pub(crate) const TAIL: Self = Self(1 << 9);
    const UNDERLINE_SHIFT: u16 = 10;
    const UNDERLINE: u16 = 0b111 << Self::UNDERLINE_SHIFT;
    const LAYOUT: u16 = Self::WIDE.0 | Self::TAIL.0;
    const KNOWN: u16 = Self::UNDERLINE | ((1 << Self::UNDERLINE_SHIFT) - 1);

    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn underline(self) -> Underline {
        Underline::from_number((self.0 & Self::UNDERLINE) >> Self::UNDERLINE_SHIFT).unwrap_or_default()
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn underlined(self, underline: Underline) -> Self {
        Self((self.0 & !Self::UNDERLINE) | ((underline as u16) << Self::UNDERLINE_SHIFT))
    }

    /// What the pen set, without what the grid notes about widths.
    pub(crate) const fn of_pen(self) -> Self {
        Self(self.0 & !Self::LAYOUT)
    }

    /// What the grid notes about widths, without what the pen set.
    pub(crate) const fn of_layout(self) -> Self {
        Self(self.0 & Self::LAYOUT)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// Bits that no version wrote are refused.
    pub(crate) fn from_bits(bits: u16) -> Option<Self> {
        let underline = (bits & Self::UNDERLINE) >> Self::UNDERLINE_SHIFT;
        let known = bits & !Self::KNOWN == 0 && Underline::from_number(underline).is_some();
        known.then_some(Self(bits))
    }
}

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Style {
    pub fg: Color,
    pub bg: Color,
    pub attrs: Attrs,
}

/// A hyperlink (OSC 8). The id says which cells belong together; it may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    pub id: String,
    pub uri: String,
}

/// What few cells have. Cells of one row may share one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Extra {
    /// What combines with the cell's character.
    pub marks: String,
    pub link: Option<Arc<Link>>,
    pub underline: Color,
}

impl Extra {
    pub(crate) fn is_none(&self) -> bool {
        self.marks.is_empty() && self.link.is_none() && self.underline == Color::Default
    }
}

/// One place of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub ch: char,
    pub style: Style,
    /// One more than the index of its extra in the row; 0 for none.
    pub extra: u16,
}

const _: () = assert!(size_of::<Cell>() == 16);

impl Cell {
    pub(crate) const BLANK: Self =
        Self { ch: ' ', style: Style { fg: Color::Default, bg: Color::Default, attrs: Attrs(0) }, extra: 0 };

    /// What an erasure leaves: a blank in the pen's background colour.
    pub(crate) const fn erased(style: Style) -> Self {
        Self { ch: ' ', style: Style { fg: Color::Default, bg: style.bg, attrs: Attrs(0) }, extra: 0 }
    }

    /// ASCII in the default style.
    pub(crate) fn is_plain(&self) -> bool {
        self.ch.is_ascii() && self.style == Style::default() && self.extra == 0
    }

    /// The same style. What differs most often is asked first.
    #[inline]
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        let (a, b) = (&self.style, &other.style);
        a.attrs == b.attrs && a.fg == b.fg && a.bg == b.bg
    }

    pub(crate) const fn is_wide(&self) -> bool {
        self.style.attrs.has(Attrs::WIDE)
    }

    pub(crate) const fn is_tail(&self) -> bool {
        self.style.attrs.has(Attrs::TAIL)
    }

    /// The same look without its character: what remains of a wide character when its other half is overwritten.
    const fn vacated(self) -> Self {
        Self::erased(self.style)
    }

    pub(crate) const fn vacate(&mut self) {
        *self = self.vacated();
    }
}
