//! Row: the cells of one line of the grid, without the blanks at its end.
//! Keeps the halves of wide characters together, whatever is written over them.

use std::sync::Arc;

use super::super::watch::News;
use super::cell::{Attrs, Cell, Extra, Link, Style};

/// More marks on one character than this many bytes are dropped.
const LONGEST_MARKS: usize = 62;

#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// At most as many as the grid has columns; the cells behind the last are blank.
    cells: Vec<Cell>,
    /// Empty in almost every row.
    extras: Vec<Extra>,
    /// The text goes on in the next row.
    pub wrapped: bool,
    /// And not in the last column, which stayed blank because a wide character did not fit.
    pub short: bool,
    /// Some cell may be other than ASCII in the default style.
    rich: bool,
    pub news: News,
}

/// A character with all that the pen gives it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ink<'a> {
    pub style: Style,
    pub extra: Option<&'a Extra>,
}

impl Ink<'_> {
    fn is_plain(&self) -> bool {
        self.extra.is_none() && self.style == Style::default()
    }
}

impl Row {
    pub(crate) fn from_parts(cells: Vec<Cell>, extras: Vec<Extra>) -> Self {
        let rich = !cells.iter().all(Cell::is_plain);
        Self { cells, extras, rich, ..Self::default() }
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn cell(&self, col: usize) -> Cell {
        self.cells.get(col).copied().unwrap_or(Cell::BLANK)
    }

    pub(crate) fn extra(&self, cell: &Cell) -> Option<&Extra> {
        let index = usize::from(cell.extra).checked_sub(1)?;
        self.extras.get(index)
    }

    /// All cells are ASCII in the default style.
    pub(crate) const fn is_plain(&self) -> bool {
        !self.rich
    }

    /// Whether the text goes on in the next row, and then whether it leaves the last column out.
    pub(crate) const fn continues(&self) -> (bool, bool) {
        (self.wrapped, self.wrapped && self.short)
    }

    /// How many cells remain when the blanks at the end are taken away.
    pub(crate) fn used(&self) -> usize {
        self.cells.iter().rposition(|cell| *cell != Cell::BLANK).map_or(0, |last| last + 1)
    }

    /// Makes it a row of blanks and keeps its memory.
    pub(crate) fn clear(&mut self, blank: Cell, cols: usize) {
        self.cells.clear();
        self.extras.clear();
        self.wrapped = false;
        self.short = false;
        self.rich = blank != Cell::BLANK;
        if self.rich {
            self.cells.resize(cols, blank);
        }
    }

    /// Writes ASCII from a column on. The caller sees to it that it fits.
    #[inline]
    pub(crate) fn put_ascii(&mut self, col: usize, text: &[u8], ink: Ink<'_>) {
        let end = col + text.len();
        if self.rich {
            self.part(col);
            self.part(end);
        }
        self.rich |= !ink.is_plain();
        let extra = ink.extra.map_or(0, |extra| self.share_extra(extra));
        if self.cells.len() < col {
            self.cells.resize(col, Cell::BLANK);
        }
        let cell = |byte: &u8| Cell { ch: char::from(*byte), style: ink.style, extra };
        let over = self.cells.len().min(end) - col;
        for (old, byte) in self.cells[col..col + over].iter_mut().zip(&text[..over]) {
            *old = cell(byte);
        }
        self.cells.extend(text[over..].iter().map(cell));
    }

    /// Puts a star in the place of a character; what it combined with is gone.
    pub(crate) fn star(&mut self, col: usize) {
        let wide = self.cell(col).is_wide();
        for (at, cell) in self.cells.iter_mut().enumerate().skip(col).take(1 + usize::from(wide)) {
            let style = Style { attrs: cell.style.attrs.of_pen(), ..cell.style };
            *cell = Cell { ch: if at == col || wide { '*' } else { cell.ch }, style, extra: 0 };
        }
    }

    /// Gives every cell another character of the same width.
    pub(crate) fn replace(&mut self, with: &mut impl FnMut(char) -> char) {
        self.cells.iter_mut().for_each(|cell| cell.ch = with(cell.ch));
        self.rich = !self.cells.iter().all(Cell::is_plain);
    }

    /// Leaves the text alone, marks included: no colours, attributes and links.
    pub(crate) fn forget_looks(&mut self) {
        for cell in &mut self.cells {
            cell.style = Style { attrs: cell.style.attrs.of_layout(), ..Style::default() };
        }
        for extra in &mut self.extras {
            *extra = Extra { marks: std::mem::take(&mut extra.marks), ..Extra::default() };
        }
    }

    /// Every link that its cells have.
    pub(crate) fn links_mut(&mut self) -> impl Iterator<Item = &mut Arc<Link>> {
        self.extras.iter_mut().filter_map(|extra| extra.link.as_mut())
    }

    /// Writes one character of one or two columns. The caller sees to it that it fits.
    #[inline]
    pub(crate) fn put(&mut self, col: usize, ch: char, width: usize, ink: Ink<'_>) {
        if self.rich {
            self.part(col);
            self.part(col + width);
        }
        self.rich = true;
        let extra = ink.extra.map_or(0, |extra| self.share_extra(extra));
        if self.cells.len() < col + width {
            self.cells.resize(col + width, Cell::BLANK);
        }
        let mut cell = Cell { ch, style: ink.style, extra };
        if width == 2 {
            cell.style.attrs = ink.style.attrs.with(Attrs::WIDE);
            self.cells[col + 1] = Cell {
                ch: ' ',
                style: Style { attrs: ink.style.attrs.with(Attrs::TAIL), ..ink.style },
                extra: 0,
            };
        }
        self.cells[col] = cell;
    }

    /// Gives the character in a column the next one too. The caller sees to it that there is one.
    pub(crate) fn widen(&mut self, col: usize) {
        self.part(col + 2);
        if self.cells.len() < col + 2 {
            self.cells.resize(col + 2, Cell::BLANK);
        }
        let style = self.cells[col].style;
        self.cells[col].style.attrs = style.attrs.with(Attrs::WIDE);
        self.cells[col + 1] =
            Cell { ch: ' ', style: Style { attrs: style.attrs.with(Attrs::TAIL), ..style }, extra: 0 };
    }

    /// Adds what combines with the character in a column. Too much of it is dropped, and the answer is no.
    pub(crate) fn add_mark(&mut self, col: usize, mark: char) -> bool {
        if self.cells.len() <= col {
            self.cells.resize(col + 1, Cell::BLANK);
        }
        let mut extra = self.extra(&self.cells[col]).cloned().unwrap_or_default();
        if extra.marks.len() + mark.len_utf8() > LONGEST_MARKS {
            return false;
        }
        extra.marks.push(mark);
        self.rich = true;
        let index = self.add_extra(extra);
        self.cells[col].extra = index;
        true
    }

    /// Blanks the columns `from..to`.
    pub(crate) fn erase(&mut self, from: usize, to: usize, blank: Cell) {
        if self.rich {
            self.part(from);
            self.part(to);
        }
        if blank == Cell::BLANK && to >= self.cells.len() {
            self.cells.truncate(from);
            return;
        }
        self.rich |= blank != Cell::BLANK;
        if self.cells.len() < to {
            self.cells.resize(to, Cell::BLANK);
        }
        if from < to {
            self.cells[from..to].fill(blank);
        }
    }

    /// Makes room for `count` blanks at a column; what goes beyond the last column is lost.
    pub(crate) fn insert(&mut self, col: usize, count: usize, cols: usize, blank: Cell) {
        self.part(col);
        let count = count.min(cols - col);
        if col < self.cells.len() {
            self.part(cols - count);
            self.cells.truncate(cols - count);
            let at = col.min(self.cells.len());
            self.cells.splice(at..at, std::iter::repeat_n(blank, count));
            self.rich |= blank != Cell::BLANK;
        } else {
            self.erase(col, col + count, blank);
        }
    }

    /// Takes `count` cells away at a column; blanks come in at the last column.
    pub(crate) fn delete(&mut self, col: usize, count: usize, cols: usize, blank: Cell) {
        let count = count.min(cols - col);
        self.part(col);
        self.part(col + count);
        if col < self.cells.len() {
            let end = (col + count).min(self.cells.len());
            self.cells.drain(col..end);
        }
        if blank != Cell::BLANK {
            self.erase(cols - count, cols, blank);
        }
    }

    /// Gives the row a last column; a wide character across it goes.
    pub(crate) fn cut(&mut self, cols: usize) {
        if self.cells.len() > cols {
            self.part(cols);
            self.cells.truncate(cols);
        }
    }

    /// Fills the row with blanks up to a column, so that it can be continued there.
    pub(crate) fn fill_to(&mut self, cols: usize) {
        if self.cells.len() < cols {
            self.cells.resize(cols, Cell::BLANK);
        }
    }

    /// Joins another row's cells to this one's.
    pub(crate) fn append(&mut self, cells: &[Cell], of: &Self) {
        self.rich |= of.rich;
        for cell in cells {
            let extra = of.extra(cell).map_or(0, |extra| self.share_extra(extra));
            self.cells.push(Cell { extra, ..*cell });
        }
    }

    /// A wide character whose halves would be parted before this column loses both.
    #[inline]
    fn part(&mut self, col: usize) {
        if self.cells.get(col).is_some_and(Cell::is_tail) {
            self.cells[col].vacate();
            if let Some(first) = col.checked_sub(1) {
                self.cells[first].vacate();
            }
        }
    }

    /// The same extra as the last one, if it is the same, else a new one.
    fn share_extra(&mut self, extra: &Extra) -> u16 {
        match self.extras.last() {
            Some(last) if last == extra => self.extras.len() as u16,
            Some(_) | None => self.add_extra(extra.clone()),
        }
    }

    /// Overwritten cells leave their extras behind, so they are swept when there are far more than cells.
    fn add_extra(&mut self, extra: Extra) -> u16 {
        if extra.is_none() {
            return 0;
        }
        if self.extras.len() >= 2 * self.cells.len() + 64 {
            self.sweep();
        }
        if self.extras.len() >= usize::from(u16::MAX) {
            return 0;
        }
        self.extras.push(extra);
        self.extras.len() as u16
    }

    fn sweep(&mut self) {
        let old = std::mem::take(&mut self.extras);
        let mut moved = vec![0_u16; old.len() + 1];
        for cell in &mut self.cells {
            let index = usize::from(cell.extra);
            if index > 0 && moved[index] == 0 {
                self.extras.push(old[index - 1].clone());
                moved[index] = self.extras.len() as u16;
            }
            cell.extra = moved[index];
        }
    }

    /// The characters of the columns `from..to`, with their marks, the blanks at the end included.
    pub(crate) fn push_text(&self, cells: &[Cell], text: &mut String) {
        for cell in cells.iter().filter(|cell| !cell.is_tail()) {
            text.push(cell.ch);
            if let Some(extra) = self.extra(cell) {
                text.push_str(&extra.marks);
            }
        }
    }

    /// The characters of all columns that were written, with their marks.
    pub(crate) fn push_utf8(&self, text: &mut Vec<u8>) {
        if self.is_plain() {
            text.extend(self.cells.iter().map(|cell| cell.ch as u8));
            return;
        }
        for cell in self.cells.iter().filter(|cell| !cell.is_tail()) {
            match u8::try_from(cell.ch) {
                Ok(byte) if byte < 0x80 => text.push(byte),
                Ok(_) | Err(_) => text.extend_from_slice(cell.ch.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            if let Some(extra) = self.extra(cell) {
                text.extend_from_slice(extra.marks.as_bytes());
            }
        }
    }

    /// The character in a column with its marks.
    pub(crate) fn cell_text(&self, col: usize) -> String {
        let mut text = String::new();
        self.push_text(&[self.cell(col)], &mut text);
        text
    }

    /// The row's text without blanks at its end.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        self.push_text(&self.cells, &mut text);
        text.truncate(text.trim_end_matches(' ').len());
        text
    }

    /// The text of so many cells, blanks at the end included.
    pub(crate) fn text_of(&self, count: usize) -> String {
        let cells = &self.cells[..self.cells.len().min(count)];
        let mut text = String::with_capacity(count);
        self.push_text(cells, &mut text);
        text.extend(std::iter::repeat_n(' ', count - cells.len()));
        text
    }
}

/// Equal as seen: the same cells with the same extras, whatever the blanks at the end.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        let (used, others) = (self.used(), other.used());
        let same = |col: usize| {
            let (mine, theirs) = (self.cells[col], other.cells[col]);
            (mine.ch, mine.style) == (theirs.ch, theirs.style) && self.extra(&mine) == other.extra(&theirs)
        };
        used == others && self.continues() == other.continues() && (0..used).all(same)
    }
}

impl Eq for Row {}
