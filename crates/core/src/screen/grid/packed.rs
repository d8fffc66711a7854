//! Packed: a row as few bytes, for lines that scrolled away and for keyframes.
//! One byte of flags; a plain line then is its ASCII text, any other a list of runs of equal look.

use std::sync::Arc;

use super::super::LONGEST_SIDE;
use super::super::bytes::{Reader, put_bytes, put_character, put_color, put_number};
use super::cell::{Attrs, Cell, Color, Extra, Link, Style};
use super::row::Row;

const WRAPPED: u8 = 1;
const PLAIN: u8 = 1 << 1;
const SHORT: u8 = 1 << 2;

// What a run has besides its characters.
const FG: u8 = 1;
const BG: u8 = 1 << 1;
const ATTRS: u8 = 1 << 2;
const UNDERLINE: u8 = 1 << 3;
const LINK: u8 = 1 << 4;
const MARKS: u8 = 1 << 5;

/// A row in its packed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed(Box<[u8]>);

impl Packed {
    /// Without the blanks at its end. In a row that is continued they are part of the text: who joins rows fills it.
    pub(crate) fn of(row: &Row) -> Self {
        let cells = &row.cells()[..row.used()];
        let (wrapped, short) = row.continues();
        let flags = (u8::from(wrapped) * WRAPPED) | (u8::from(short) * SHORT);
        // A row that once held more may be plain again; equal rows are packed alike.
        if row.is_plain() || cells.iter().all(Cell::is_plain) {
            let mut out = Vec::with_capacity(cells.len() + 1);
            out.push(flags | PLAIN);
            out.extend(cells.iter().map(|cell| cell.ch as u8));
            return Self(out.into_boxed_slice());
        }
        let mut out = Vec::with_capacity(cells.len() + cells.len() / 2 + 16);
        out.push(flags);
        let mut rest = cells;
        while let Some(first) = rest.first() {
            let len = put_run(&mut out, row, rest, *first);
            rest = &rest[len..];
        }
        Self(out.into_boxed_slice())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn is_wrapped(&self) -> bool {
        self.0.first().is_some_and(|flags| flags & WRAPPED != 0)
    }

    /// How many cells a plain line has; `None` for any other.
    pub(crate) fn plain_len(&self) -> Option<usize> {
        self.0.first().filter(|flags| **flags & PLAIN != 0).map(|_| self.0.len() - 1)
    }

    /// How many cells it has.
    pub(crate) fn cells(&self) -> usize {
        self.plain_len().unwrap_or_else(|| self.row().cells().len())
    }

    /// What was packed here is read back whole; only foreign bytes are not.
    pub(crate) fn row(&self) -> Row {
        unpack(&self.0).unwrap_or_default()
    }

    /// Takes bytes that came from elsewhere, if they are a row.
    pub(crate) fn check(bytes: &[u8]) -> Option<Self> {
        unpack(bytes)?;
        Some(Self(bytes.into()))
    }
}

/// Writes the longest run of cells that look like the first; how many cells it has.
fn put_run(out: &mut Vec<u8>, row: &Row, cells: &[Cell], first: Cell) -> usize {
    let none = Extra::default();
    let extra = row.extra(&first).unwrap_or(&none);
    // The second half of a wide character looks as the first one does.
    let step = 1 + usize::from(first.is_wide());
    let (mut len, mut ascii) = (step, first.ch.is_ascii());
    while let Some(cell) = cells.get(len)
        && extra.marks.is_empty()
        && cell.looks_like(&first)
        && (cell.extra == first.extra || row.extra(cell) == row.extra(&first))
    {
        ascii &= cell.ch.is_ascii();
        len += step;
    }
    let len = len.min(cells.len());
    let link = extra.link.as_deref();
    let Style { fg, bg, attrs } = first.style;
    let mut tag = (u8::from(fg != Color::Default) * FG) | (u8::from(bg != Color::Default) * BG);
    tag |= (u8::from(attrs != Attrs::default()) * ATTRS) | (u8::from(link.is_some()) * LINK);
    tag |= u8::from(extra.underline != Color::Default) * UNDERLINE;
    tag |= u8::from(!extra.marks.is_empty()) * MARKS;
    out.push(tag);
    if tag & FG != 0 {
        put_color(out, fg);
    }
    if tag & BG != 0 {
        put_color(out, bg);
    }
    if tag & ATTRS != 0 {
        out.extend_from_slice(&attrs.bits().to_le_bytes());
    }
    if tag & UNDERLINE != 0 {
        put_color(out, extra.underline);
    }
    if let Some(link) = link {
        put_bytes(out, link.id.as_bytes());
        put_bytes(out, link.uri.as_bytes());
    }
    if tag & MARKS != 0 {
        put_bytes(out, extra.marks.as_bytes());
    }
    put_number(out, (len / step) as u64);
    if ascii && step == 1 {
        out.extend(cells[..len].iter().map(|cell| cell.ch as u8));
    } else {
        for cell in cells[..len].iter().step_by(step) {
            put_character(out, cell.ch);
        }
    }
    len
}

fn unpack(bytes: &[u8]) -> Option<Row> {
    let mut reader = Reader(bytes);
    let flags = reader.byte()?;
    let longest = usize::from(LONGEST_SIDE);
    let mut cells = Vec::with_capacity(reader.0.len().min(longest));
    let mut extras = Vec::new();
    match flags & !(WRAPPED | SHORT) {
        PLAIN => {
            let printable = reader.0.iter().all(|byte| (b' '..=b'~').contains(byte));
            if !printable || reader.0.len() > longest {
                return None;
            }
            cells.extend(reader.0.iter().map(|byte| Cell { ch: char::from(*byte), ..Cell::BLANK }));
        }
        0 => {
            while !reader.0.is_empty() {
                take_run(&mut reader, &mut cells, &mut extras)?;
            }
        }
        _ => return None,
    }
    let mut row = Row::from_parts(cells, extras);
    (row.wrapped, row.short) = (flags & WRAPPED != 0, flags & SHORT != 0);
    Some(row)
}

fn take_run(reader: &mut Reader<'_>, cells: &mut Vec<Cell>, extras: &mut Vec<Extra>) -> Option<()> {
    let tag = reader.byte()?;
    let has = |bit: u8| tag & bit != 0;
    let fg = if has(FG) { reader.color()? } else { Color::Default };
    let bg = if has(BG) { reader.color()? } else { Color::Default };
    let attrs = if has(ATTRS) { u16::from_le_bytes(reader.take(2)?.try_into().ok()?) } else { 0 };
    let attrs = Attrs::from_bits(attrs).filter(|attrs| !attrs.has(Attrs::TAIL))?;
    let mut extra = Extra::default();
    if has(UNDERLINE) {
        extra.underline = reader.color()?;
    }
    if has(LINK) {
        let (id, uri) = (reader.text()?.to_owned(), reader.text()?.to_owned());
        extra.link = Some(Arc::new(Link { id, uri }));
    }
    if has(MARKS) {
        extra.marks = reader.text()?.to_owned();
    }
    let index = if extra.is_none() { 0 } else { u16::try_from(extras.len() + 1).ok()? };
    if index > 0 {
        extras.push(extra);
    }
    let style = Style { fg, bg, attrs };
    let width = 1 + usize::from(attrs.has(Attrs::WIDE));
    let room = usize::from(LONGEST_SIDE) - cells.len();
    for _ in 0..reader.at_most(room / width)? {
        cells.push(Cell { ch: reader.character()?, style, extra: index });
        if width == 2 {
            let attrs = attrs.without(Attrs::WIDE).with(Attrs::TAIL);
            cells.push(Cell { ch: ' ', style: Style { attrs, ..style }, extra: 0 });
        }
    }
    Some(())
}
