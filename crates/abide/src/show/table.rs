//! Aligned columns that fit the terminal. Text that does not fit ends in an ellipsis.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::page::{Page, Tone};
use super::safe;

const GAP: usize = 2;
/// No column is made narrower than this to fit.
const NARROWEST: usize = 8;

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    tone: Tone,
    /// Safe already, so that its width is the width that is shown.
    text: String,
}

impl Cell {
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        Self { tone, text: safe::line(text).into_owned() }
    }

    pub(crate) fn plain(text: &str) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub(crate) fn faint(text: &str) -> Self {
        Self::new(Tone::Faint, text)
    }
}

/// Puts rows on the page, indented by some blanks. The first `fixed` columns are never cut.
pub(crate) fn put(page: &mut Page, indent: usize, fixed: usize, rows: &[Vec<Cell>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.text.width())).max();
    let mut widths: Vec<usize> = (0..columns).map(|column| width_of(column).unwrap_or(0)).collect();
    if let Some(limit) = page.width() {
        fit(&mut widths, fixed, limit.saturating_sub(indent + GAP * columns.saturating_sub(1)));
    }
    for row in rows {
        page.blanks(indent);
        for (at, cell) in row.iter().enumerate() {
            let shown = shorten(&cell.text, widths[at]);
            page.put(cell.tone, &shown);
            if at + 1 < row.len() {
                page.blanks(widths[at] - shown.width() + GAP);
            }
        }
        page.end();
    }
}

/// Takes from the widest column until all fit or none can give.
fn fit(widths: &mut [usize], fixed: usize, limit: usize) {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(limit);
    while excess > 0 {
        let widest = widths.iter_mut().skip(fixed).max_by_key(|width| **width);
        let Some(width) = widest.filter(|width| **width > NARROWEST) else {
            return;
        };
        *width -= 1;
        excess -= 1;
    }
}

/// The text, cut to a width in cells.
fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let (mut kept, mut used) = (String::new(), 0);
    for c in text.chars() {
        let cells = c.width().unwrap_or(0);
        if used + cells + 1 > width {
            break;
        }
        used += cells;
        kept.push(c);
    }
    kept.push('…');
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<usize>, rows: &[&[&str]]) -> String {
        let rows: Vec<Vec<Cell>> =
            rows.iter().map(|row| row.iter().map(|text| Cell::plain(text)).collect()).collect();
        let mut page = Page::new(false, width);
        put(&mut page, 0, 1, &rows);
        page.text().to_owned()
    }

    #[test]
    fn columns_are_aligned_by_what_is_shown() {
        let rows: &[&[&str]] = &[&["a", "漢字", "x"], &["bbb", "c", "y"]];
        assert_eq!(shown(None, rows), "a    漢字  x\nbbb  c     y\n");
    }

    #[test]
    fn the_widest_column_gives_way_and_says_so() {
        let rows: &[&[&str]] = &[&["k3v9q2zr", "short", "a very long command line indeed"]];
        assert_eq!(shown(Some(30), rows), "k3v9q2zr  short  a very long …\n");
        assert_eq!(shown(Some(3), rows), "k3v9q2zr  short  a very …\n");
    }

    #[test]
    fn a_cell_cannot_break_its_line() {
        assert_eq!(shown(None, &[&["a\nb\u{1b}[0m", "c"]]), "a\\nb\\x1b[0m  c\n");
    }
}
