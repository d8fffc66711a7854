//! View: what is to be seen at one instant, for readers and renderers. Borrowed from the screen, read only.

use std::collections::VecDeque;

use super::Size;
use super::grid::cell::{Cell, Color, Link, Style};
use super::grid::row::Row;
use super::palette::{Palette, Slot};

/// Where the cursor is and how it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorView {
    pub row: u16,
    pub col: u16,
    pub visible: bool,
    /// DECSCUSR: 0 as the viewer likes, 1 and 2 a block, 3 and 4 an underline, 5 and 6 a bar; the odd ones blink.
    pub style: u8,
}

/// One place as a renderer wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellView<'a> {
    /// The first character; a blank is a space.
    pub ch: char,
    /// What combines with it.
    pub marks: &'a str,
    /// 1 or 2 columns.
    pub width: u8,
    pub style: Style,
    pub underline_color: Color,
    pub link: Option<&'a Link>,
}

/// The screen as it is to be seen.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub(super) rows: &'a VecDeque<Row>,
    pub(super) size: Size,
    pub(super) cursor: CursorView,
    pub(super) alternate: bool,
    pub(super) palette: &'a Palette,
}

impl<'a> View<'a> {
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    #[must_use]
    pub const fn cursor(&self) -> CursorView {
        self.cursor
    }

    /// Whether it is the alternate screen.
    #[must_use]
    pub const fn alternate(&self) -> bool {
        self.alternate
    }

    /// What the program made of a colour that has a name, if it did; red, green and blue.
    #[must_use]
    pub fn redefined(&self, color: Slot) -> Option<[u8; 3]> {
        self.palette.redefined(color)
    }

    /// A row's text without blanks at its end; empty for a row that is not there.
    #[must_use]
    pub fn row_text(&self, row: u16) -> String {
        self.rows.get(usize::from(row)).map_or_else(String::new, Row::text)
    }

    /// What stands before the cursor in its row, with blanks up to it.
    #[must_use]
    pub fn before_cursor(&self) -> String {
        let CursorView { row, col, .. } = self.cursor;
        let (mut text, mut column) = (String::new(), 0);
        for cell in self.cells(row) {
            if column >= col {
                break;
            }
            text.push(cell.ch);
            text.push_str(cell.marks);
            column += u16::from(cell.width);
        }
        text.extend((column..col).map(|_| ' '));
        text
    }

    /// A row's text as a part of its line: with the blanks at its end if the line goes on in the next row.
    #[must_use]
    pub fn row_part(&self, row: u16) -> String {
        self.rows.get(usize::from(row)).map_or_else(String::new, |row| part(row, self.size.cols))
    }

    /// Whether a row's text goes on in the next one.
    #[must_use]
    pub fn is_wrapped(&self, row: u16) -> bool {
        self.rows.get(usize::from(row)).is_some_and(|row| row.wrapped)
    }

    /// All rows, each ended by a newline.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows {
            text.push_str(&row.text());
            text.push('\n');
        }
        text
    }

    /// The cells of a row up to the last that was written; those behind it are blank.
    pub fn cells(&self, row: u16) -> impl Iterator<Item = CellView<'a>> + use<'a> {
        self.rows.get(usize::from(row)).into_iter().flat_map(cell_views)
    }

    /// FNV-1a with 64 bits over `text`: the same text has the same hash in every version.
    #[must_use]
    pub fn hash(&self) -> u64 {
        const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01B3;
        self.text().bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
    }
}

fn cell_views(row: &Row) -> impl Iterator<Item = CellView<'_>> {
    row.cells()[..row.used()].iter().filter(|cell| !cell.is_tail()).map(|cell| cell_view(row, cell))
}

fn cell_view<'a>(row: &'a Row, cell: &Cell) -> CellView<'a> {
    let extra = row.extra(cell);
    CellView {
        ch: cell.ch,
        marks: extra.map_or("", |extra| &extra.marks),
        width: 1 + u8::from(cell.is_wide()),
        style: Style { attrs: cell.style.attrs.of_pen(), ..cell.style },
        underline_color: extra.map_or(Color::Default, |extra| extra.underline),
        link: extra.and_then(|extra| extra.link.as_deref()),
    }
}

fn part(row: &Row, cols: u16) -> String {
    match row.continues() {
        (true, short) => row.text_of(usize::from(cols) - usize::from(short)),
        (false, _) => row.text(),
    }
}

/// A line of the scrollback, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line(pub(super) Row);

impl Line {
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The text as a part of its line, on a screen of so many columns: with the blanks at its end if the line goes on.
    #[must_use]
    pub fn part(&self, cols: u16) -> String {
        part(&self.0, cols)
    }

    /// Whether the text goes on in the next line.
    #[must_use]
    pub const fn is_wrapped(&self) -> bool {
        self.0.wrapped
    }

    pub fn cells(&self) -> impl Iterator<Item = CellView<'_>> {
        cell_views(&self.0)
    }
}
