//! Seen: a screen as any emulator can tell it: cells with text, width, colours and attributes, and the cursor.

use std::fmt::Write as _;

use abide_core::screen::{Attrs, CellView, Color, Screen, Size, Underline};
use unicode_width::UnicodeWidthStr;

/// Attributes that are there or not, by their number in SGR.
pub const FLAGS: [(u8, &str); 8] = [
    (1, "bold"),
    (2, "dim"),
    (3, "italic"),
    (5, "blink"),
    (7, "inverse"),
    (8, "invisible"),
    (9, "strike"),
    (53, "overline"),
];

/// How a cell looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    pub fg: Color,
    pub bg: Color,
    /// A bit for each of `FLAGS`.
    pub flags: u8,
    pub underline: Underline,
    pub underline_color: Color,
    pub link: String,
}

impl Look {
    /// Sets or takes away one of `FLAGS`.
    pub fn put(&mut self, number: u8, on: bool) {
        if let Some(bit) = FLAGS.iter().position(|(known, _)| *known == number) {
            self.flags = if on { self.flags | 1 << bit } else { self.flags & !(1 << bit) };
        }
    }

    pub fn flag_names(&self) -> String {
        let named = FLAGS.iter().enumerate().filter(|(bit, _)| self.flags >> bit & 1 == 1);
        named.map(|(_, (_, name))| *name).collect::<Vec<_>>().join("+")
    }
}

/// One place. The second half of a wide character has no text and no width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub width: u8,
    pub look: Look,
}

impl Cell {
    pub fn blank() -> Self {
        Self { text: " ".to_owned(), width: 1, look: Look::default() }
    }

    pub fn tail(look: Look) -> Self {
        Self { text: String::new(), width: 0, look }
    }
}

/// A screen as it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub rows: Vec<Vec<Cell>>,
    pub cursor: (usize, usize),
    pub cursor_visible: bool,
    pub alternate: bool,
}

impl Seen {
    /// Our own, with what a synchronized update has drawn so far.
    pub fn ours(screen: &Screen) -> Self {
        let view = screen.live();
        let Size { cols, rows } = screen.size();
        let rows = (0..rows).map(|row| {
            let mut cells = Vec::new();
            for cell in view.cells(row) {
                push(&mut cells, our_cell(&cell));
            }
            cells.resize_with(usize::from(cols), Cell::blank);
            cells
        });
        let cursor = view.cursor();
        Self {
            rows: rows.collect(),
            cursor: (usize::from(cursor.row), usize::from(cursor.col)),
            cursor_visible: cursor.visible,
            alternate: view.alternate(),
        }
    }

    /// A line about the cursor, then the rows as text with SGR, from which a terminal gets the same cells.
    pub fn ansi(&self) -> String {
        let (row, col) = self.cursor;
        let visible = if self.cursor_visible { "shown" } else { "hidden" };
        let page = if self.alternate { "alternate" } else { "main" };
        let mut out = format!("{row} {col} {visible} {page}\n");
        for row in &self.rows {
            let used = row.iter().rposition(|cell| *cell != Cell::blank()).map_or(0, |last| last + 1);
            let mut look = Look::default();
            for cell in row[..used].iter().filter(|cell| cell.width > 0) {
                if cell.look != look {
                    change(&mut out, &look, &cell.look);
                    look = cell.look.clone();
                }
                if cell.text.as_str() > "\u{1f000}" || out.ends_with('\u{200d}') {
                    // Any sequence keeps it from joining the one before it.
                    out.push_str("\x1b(B");
                }
                if cell.text.width().clamp(1, 2) == usize::from(cell.width) {
                    out.push_str(&cell.text);
                } else {
                    let _ = write!(out, "\x1b[?2027l{}\x1b[?2027h", cell.text);
                }
            }
            change(&mut out, &look, &Look::default());
            out.push('\n');
        }
        out
    }
}

/// Adds a cell, and its second half if it is wide.
pub fn push(cells: &mut Vec<Cell>, cell: Cell) {
    let tail = (cell.width == 2).then(|| Cell::tail(cell.look.clone()));
    cells.push(cell);
    cells.extend(tail);
}

fn our_cell(cell: &CellView<'_>) -> Cell {
    let mut look = Look {
        fg: cell.style.fg,
        bg: cell.style.bg,
        flags: 0,
        underline: cell.style.attrs.underline(),
        underline_color: cell.underline_color,
        link: cell.link.map_or_else(String::new, |link| link.uri.clone()),
    };
    let attrs = [
        Attrs::BOLD,
        Attrs::DIM,
        Attrs::ITALIC,
        Attrs::BLINK,
        Attrs::INVERSE,
        Attrs::INVISIBLE,
        Attrs::STRIKE,
        Attrs::OVERLINE,
    ];
    for (attr, (number, _)) in attrs.into_iter().zip(FLAGS) {
        look.put(number, cell.style.attrs.has(attr));
    }
    Cell { text: format!("{}{}", cell.ch, cell.marks), width: cell.width, look }
}

fn change(out: &mut String, from: &Look, to: &Look) {
    if (Look { link: String::new(), ..from.clone() }) != (Look { link: String::new(), ..to.clone() }) {
        out.push_str("\x1b[0");
        for (bit, (number, _)) in FLAGS.iter().enumerate() {
            if to.flags >> bit & 1 == 1 {
                let _ = write!(out, ";{number}");
            }
        }
        if to.underline != Underline::None {
            let _ = write!(out, ";4:{}", to.underline as u8);
        }
        for (number, color) in [(38, to.fg), (48, to.bg), (58, to.underline_color)] {
            match color {
                Color::Default => {}
                Color::Indexed(index) => drop(write!(out, ";{number}:5:{index}")),
                Color::Rgb(r, g, b) => drop(write!(out, ";{number}:2::{r}:{g}:{b}")),
            }
        }
        out.push('m');
    }
    if from.link != to.link {
        let _ = write!(out, "\x1b]8;;{}\x1b\\", to.link);
    }
}
