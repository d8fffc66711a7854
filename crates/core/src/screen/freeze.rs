//! Freeze: a screen as a keyframe, bytes from which it comes back exactly, and goes on in the middle of a sequence.
//! One version byte, then every part in a fixed order. Whoever keeps the bytes sees to it that they stay whole;
//! what no screen can be is refused nevertheless, and costs no more memory than the bytes themselves are long.

use std::collections::VecDeque;
use std::sync::Arc;

use super::bytes::{Reader, put_bytes, put_color, put_number};
use super::cursor::{Charset, Cursor, Pen, Tabs};
use super::grid::cell::{Attrs, Link, Style};
use super::grid::history::History;
use super::grid::packed::Packed;
use super::grid::{Grid, Region};
use super::modes::{KeyFlags, Modes, Mouse, MouseEncoding, Switches};
use super::palette::{Palette, Slot};
use super::parser::Parser;
use super::term::{Hold, Last, Outbox, Pages, Term};
use super::title::{Names, Titles};
use super::{LONGEST_SIDE, Screen, Size};

/// Goes up when the order or meaning of a part changes; other versions are refused, and replayed instead.
const VERSION: u8 = 3;

impl Screen {
    /// The keyframe of this screen.
    #[must_use]
    pub fn freeze(&self) -> Vec<u8> {
        self.frozen(true)
    }

    /// The same without the lines above it, for those who only want to see what is shown.
    #[must_use]
    pub fn freeze_shown(&self) -> Vec<u8> {
        self.frozen(false)
    }

    fn frozen(&self, history: bool) -> Vec<u8> {
        let term = &self.term;
        let mut out = vec![VERSION];
        put_number(&mut out, u64::from(term.size.cols));
        put_number(&mut out, u64::from(term.size.rows));
        put_number(&mut out, term.out.fed);
        put_number(&mut out, term.out.now);
        put_pages(&mut out, &term.pages, history);
        for cursor in [&term.cursor, &term.saved[0], &term.saved[1]] {
            put_cursor(&mut out, cursor);
        }
        put_number(&mut out, term.region.top as u64);
        put_number(&mut out, term.region.bottom as u64);
        for word in term.tabs.words() {
            out.extend_from_slice(&word.to_le_bytes());
        }
        put_modes(&mut out, &term.modes);
        put_titles(&mut out, &term.titles);
        put_number(&mut out, term.palette.changed().len() as u64);
        for (slot, rgb) in term.palette.changed() {
            put_number(&mut out, u64::from(slot.number()));
            out.extend_from_slice(&rgb);
        }
        put_link(&mut out, term.link.as_deref());
        put_number(&mut out, term.last.ch.map_or(0, u64::from));
        put_number(&mut out, term.last.end.map_or(0, u64::from));
        put_hold(&mut out, term.hold.as_deref());
        put_bytes(&mut out, &self.parser.unfinished());
        out
    }

    /// The screen of a keyframe; `None` if the bytes are none of this version.
    #[must_use]
    pub fn thaw(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.byte()? != VERSION {
            return None;
        }
        let (cols, rows) = (reader.small(LONGEST_SIDE)?, reader.small(LONGEST_SIDE)?);
        if cols == 0 || rows == 0 {
            return None;
        }
        let size = Size { cols, rows };
        let (fed, now) = (reader.number()?, reader.number()?);
        let pages = take_pages(&mut reader, size)?;
        let cursor = take_cursor(&mut reader, size)?;
        let saved = [take_cursor(&mut reader, size)?, take_cursor(&mut reader, size)?];
        let region = take_region(&mut reader, size, &cursor)?;
        let mut words = [0; _];
        for word in &mut words {
            *word = u64::from_le_bytes(reader.take(8)?.try_into().ok()?);
        }
        let mut term = Term {
            size,
            pages,
            cursor,
            saved,
            region,
            tabs: Tabs::from_words(words),
            modes: take_modes(&mut reader)?,
            titles: take_titles(&mut reader)?,
            palette: take_palette(&mut reader)?,
            link: take_link(&mut reader)?,
            extra: None,
            last: take_last(&mut reader)?,
            hold: take_hold(&mut reader, size)?,
            out: Outbox { fed, now, ..Outbox::default() },
            watch: None,
        };
        term.refresh_extra();
        let unfinished = reader.bytes()?;
        let mut parser = Parser::default();
        parser.feed(unfinished, &mut term);
        // Bytes that finish something were no unfinished ones.
        let whole = reader.0.is_empty() && parser.unfinished() == unfinished;
        whole.then_some(Self { parser, term })
    }
}

fn put_grid(out: &mut Vec<u8>, grid: &Grid) {
    for row in grid.rows() {
        put_bytes(out, Packed::of(row).bytes());
    }
}

fn take_grid(reader: &mut Reader<'_>, size: Size) -> Option<Grid> {
    let mut rows = VecDeque::new();
    for _ in 0..size.rows {
        rows.push_back(Packed::check(reader.bytes()?)?.row());
    }
    let last_goes_on = rows.back().is_some_and(|row| row.wrapped);
    Grid::from_rows(rows, usize::from(size.cols)).filter(|_| !last_goes_on)
}

fn put_pages(out: &mut Vec<u8>, pages: &Pages, history: bool) {
    let kept = if history { pages.history.len() } else { 0 };
    put_number(out, pages.history.limit() as u64);
    put_number(out, pages.history.evicted());
    put_number(out, kept as u64);
    for line in pages.history.iter().take(kept) {
        put_bytes(out, line.bytes());
    }
    put_grid(out, &pages.main);
    out.push(u8::from(pages.alternate));
    // When it is not shown it is empty.
    if pages.alternate {
        put_grid(out, &pages.alt);
    }
}

fn take_pages(reader: &mut Reader<'_>, size: Size) -> Option<Pages> {
    let mut history = History::new(reader.at_most(usize::MAX)?);
    let evicted = reader.number()?;
    let count = reader.at_most(history.limit())?;
    for _ in 0..count {
        let line = Packed::check(reader.bytes()?)?;
        if line.cells() > usize::from(size.cols) {
            return None;
        }
        history.push_packed(line);
    }
    if history.len() != count {
        return None;
    }
    history.set_evicted(evicted);
    let main = take_grid(reader, size)?;
    let alternate = reader.flag()?;
    let alt = if alternate { take_grid(reader, size)? } else { Grid::new(size) };
    Some(Pages { main, alt, history, alternate })
}

fn put_cursor(out: &mut Vec<u8>, cursor: &Cursor) {
    put_number(out, cursor.row as u64);
    put_number(out, cursor.col as u64);
    out.extend([cursor.pending, cursor.origin].map(u8::from));
    out.extend([cursor.shift, cursor.single]);
    put_color(out, cursor.pen.style.fg);
    put_color(out, cursor.pen.style.bg);
    put_color(out, cursor.pen.underline);
    out.extend_from_slice(&cursor.pen.style.attrs.bits().to_le_bytes());
    out.extend(cursor.sets.map(Charset::byte));
}

fn take_cursor(reader: &mut Reader<'_>, size: Size) -> Option<Cursor> {
    let row = usize::from(reader.small(size.rows - 1)?);
    let col = usize::from(reader.small(size.cols - 1)?);
    let (pending, origin) = (reader.flag()?, reader.flag()?);
    let shift = reader.byte().filter(|shift| *shift < 4)?;
    let single = reader.byte().filter(|single| [0, 2, 3].contains(single))?;
    let (fg, bg, underline) = (reader.color()?, reader.color()?, reader.color()?);
    let attrs = Attrs::from_bits(u16::from_le_bytes(reader.take(2)?.try_into().ok()?))?;
    let mut sets = [Charset::Ascii; 4];
    for set in &mut sets {
        *set = Charset::from_byte(reader.byte()?);
    }
    let last_col = col + 1 == usize::from(size.cols);
    let sound = attrs == attrs.of_pen() && (last_col || !pending);
    let pen = Pen { style: Style { fg, bg, attrs }, underline };
    sound.then_some(Cursor { row, col, pending, origin, pen, sets, shift, single })
}

fn take_region(reader: &mut Reader<'_>, size: Size, cursor: &Cursor) -> Option<Region> {
    let bottom_most = size.rows - 1;
    let region = Region {
        top: usize::from(reader.small(bottom_most)?),
        bottom: usize::from(reader.small(bottom_most)?),
    };
    let sound = region.top < region.bottom || region == Region::whole(size);
    (sound && (!cursor.origin || region.holds(cursor.row))).then_some(region)
}

fn put_modes(out: &mut Vec<u8>, modes: &Modes) {
    out.extend_from_slice(&modes.switches.bits().to_le_bytes());
    out.extend([modes.mouse as u8, modes.encoding as u8, modes.modify_other_keys, modes.cursor_style]);
    for keys in &modes.keys {
        put_bytes(out, keys.all());
    }
}

fn take_modes(reader: &mut Reader<'_>) -> Option<Modes> {
    Some(Modes {
        switches: Switches::from_bits(u16::from_le_bytes(reader.take(2)?.try_into().ok()?))?,
        mouse: *Mouse::ALL.get(usize::from(reader.byte()?))?,
        encoding: *MouseEncoding::ALL.get(usize::from(reader.byte()?))?,
        modify_other_keys: reader.byte().filter(|level| *level <= 3)?,
        cursor_style: reader.byte().filter(|style| *style <= 6)?,
        keys: [KeyFlags::from_all(reader.bytes()?)?, KeyFlags::from_all(reader.bytes()?)?],
    })
}

fn put_titles(out: &mut Vec<u8>, titles: &Titles) {
    put_number(out, titles.stack.len() as u64);
    for names in std::iter::once(&titles.current).chain(&titles.stack) {
        put_bytes(out, names.icon.as_bytes());
        put_bytes(out, names.window.as_bytes());
    }
}

fn take_titles(reader: &mut Reader<'_>) -> Option<Titles> {
    let deep = reader.at_most(reader.0.len())?;
    let mut take = || Some(Names { icon: reader.text()?.to_owned(), window: reader.text()?.to_owned() });
    let current = take()?;
    let stack = (0..deep).map(|_| take()).collect::<Option<Vec<Names>>>()?;
    Titles::restore(current, stack)
}

fn take_palette(reader: &mut Reader<'_>) -> Option<Palette> {
    let mut palette = Palette::default();
    for _ in 0..reader.at_most(reader.0.len())? {
        let slot = Slot::from_number(reader.small(u16::MAX)?)?;
        palette.set(slot, reader.take(3)?.try_into().ok()?);
    }
    Some(palette)
}

fn put_link(out: &mut Vec<u8>, link: Option<&Link>) {
    out.push(u8::from(link.is_some()));
    if let Some(link) = link {
        put_bytes(out, link.id.as_bytes());
        put_bytes(out, link.uri.as_bytes());
    }
}

#[expect(clippy::option_option, reason = "no link, or no keyframe")]
fn take_link(reader: &mut Reader<'_>) -> Option<Option<Arc<Link>>> {
    if !reader.flag()? {
        return Some(None);
    }
    let link = Link { id: reader.text()?.to_owned(), uri: reader.text()?.to_owned() };
    Some(Some(Arc::new(link)))
}

fn take_last(reader: &mut Reader<'_>) -> Option<Last> {
    let mut take = || match u32::try_from(reader.number()?).ok()? {
        0 => Some(None),
        code => Some(Some(char::from_u32(code).filter(|ch| !ch.is_control())?)),
    };
    Some(Last { ch: take()?, end: take()? })
}

fn put_hold(out: &mut Vec<u8>, hold: Option<&Hold>) {
    out.push(u8::from(hold.is_some()));
    if let Some(hold) = hold {
        put_grid(out, &hold.grid);
        put_cursor(out, &hold.cursor);
        out.extend([hold.cursor_visible, hold.alternate].map(u8::from));
        put_number(out, hold.until);
        put_number(out, hold.since);
    }
}

#[expect(clippy::option_option, reason = "nothing held, or no keyframe")]
fn take_hold(reader: &mut Reader<'_>, size: Size) -> Option<Option<Box<Hold>>> {
    if !reader.flag()? {
        return Some(None);
    }
    let grid = take_grid(reader, size)?;
    let cursor = take_cursor(reader, size)?;
    let (cursor_visible, alternate) = (reader.flag()?, reader.flag()?);
    let (until, since) = (reader.number()?, reader.number()?);
    Some(Some(Box::new(Hold { grid, cursor, cursor_visible, alternate, until, since })))
}
