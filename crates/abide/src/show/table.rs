//! Aligned columns that fit the terminal. Text that does not fit ends in an ellipsis.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

use super::page::{Page, Tone};
use super::safe;

const GAP: usize = 2;
/// A cell that is wider than this does not make its column wider for all.
const USUAL: usize = 32;
/// How far what has no room beside is indented below.
const BELOW: usize = 4;
/// So much of the last column is left before any other gives way.
const SHORT: usize = 12;
/// No column is made narrower than this to fit.
const NARROWEST: usize = 6;

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    tone: Tone,
    /// Safe already, so that its width is the width that is shown.
    text: String,
    width: usize,
}

impl Cell {
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        let text = safe::line(text).into_owned();
        Self { tone, width: text.width(), text }
    }

    pub(crate) fn plain(text: &str) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub(crate) fn faint(text: &str) -> Self {
        Self::new(Tone::Faint, text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Its text, cut to a width in cells, and how wide it is then.
    fn shortened(&self, width: usize) -> (Cow<'_, str>, usize) {
        if self.width <= width {
            return (Cow::Borrowed(&self.text), self.width);
        }
        let text = &self.text;
        // Some characters change how wide the one before them is: only a whole text has a width.
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let kept = ends.partition_point(|end| text[..*end].width() < width).saturating_sub(1);
        let cut = [&text[..ends.get(kept).copied().unwrap_or(0)], "…"].concat();
        let width = cut.width();
        (Cow::Owned(cut), width)
    }
}

/// Puts rows on the page, indented by some blanks. The first `fixed` columns are never cut.
pub(crate) fn put(page: &mut Page, indent: usize, fixed: usize, rows: &[Vec<Cell>]) {
    let mut widths = widest(rows);
    if let Some(limit) = page.width() {
        let gaps = GAP * widths.len().saturating_sub(1);
        fit(&mut widths, fixed, limit.saturating_sub(indent + gaps));
    }
    for row in rows {
        page.blanks(indent);
        for (at, cell) in row.iter().enumerate() {
            let (shown, width) = cell.shortened(widths[at]);
            page.put(cell.tone, &shown);
            if at + 1 < row.len() {
                page.blanks((widths[at] + GAP).saturating_sub(width));
            }
        }
        page.end();
    }
}

/// Puts rows on the page whose last cell takes as many lines as it needs: beside the others, or below them where that
/// would leave too little room.
pub(crate) fn put_flowing(page: &mut Page, indent: usize, rows: &[Vec<Cell>]) {
    let widths = usual(rows);
    let before = indent + widths.iter().rev().skip(1).map(|width| width + GAP).sum::<usize>();
    for row in rows {
        let Some((last, others)) = row.split_last() else { continue };
        let cells = |(at, cell): (usize, &Cell)| cell.width.max(widths[at]) + GAP;
        let used = indent + others.iter().enumerate().map(cells).sum::<usize>();
        let longest = last.text.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0);
        let whole = page.width().is_none_or(|width| before.max(used) + longest <= width);
        let fits = page.width().is_none_or(|width| used + last.width <= width);
        let beside = fits || page.has_room(before) && page.has_room(used) && whole;
        page.blanks(indent);
        for (at, cell) in others.iter().enumerate() {
            let ends = !beside && at + 1 == others.len();
            page.put(cell.tone, if ends { cell.text.trim_end() } else { &cell.text });
            page.blanks(if ends { 0 } else { widths[at].saturating_sub(cell.width) + GAP });
        }
        if beside {
            page.flow(last.tone, &last.text, used, before);
        } else {
            let below = indent + BELOW;
            page.end().blanks(below).flow(last.tone, &last.text, below, below);
        }
    }
}

/// How wide each column is: as its widest cell.
fn widest(rows: &[Vec<Cell>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns).map(|column| cells(rows, column).max().unwrap_or(0)).collect()
}

/// The same, but for cells that are wider than usual: these move only what follows in their own row. The last column has no
/// other behind it.
fn usual(rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut widths = widest(rows);
    let others = widths.len().saturating_sub(1);
    for (column, width) in widths.iter_mut().enumerate().take(others) {
        *width = cells(rows, column).filter(|width| *width <= USUAL).max().unwrap_or(*width);
    }
    widths
}

fn cells(rows: &[Vec<Cell>], column: usize) -> impl Iterator<Item = usize> {
    rows.iter().filter_map(move |row| Some(row.get(column)?.width))
}

/// Takes from the widest column until all fit or none can give; first from the last, as long as that says something.
fn fit(widths: &mut [usize], fixed: usize, limit: usize) {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(limit);
    if let Some(last) = widths.iter_mut().skip(fixed).last() {
        let given = last.saturating_sub(SHORT).min(excess);
        *last -= given;
        excess -= given;
    }
    while excess > 0 {
        let widest = widths.iter_mut().skip(fixed).max_by_key(|width| **width);
        let Some(width) = widest.filter(|width| **width > NARROWEST) else {
            return;
        };
        *width -= 1;
        excess -= 1;
    }
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
        assert_eq!(shown(Some(3), rows), "k3v9q2zr  short  a ver…\n");
    }

    #[test]
    fn signs_that_are_wider_together_than_apart_are_cut_as_wide_as_they_are() {
        let (hearts, other) = ("❤️".repeat(40), "y".repeat(40));
        let rows: &[&[&str]] = &[&["a", &hearts, "x"], &["b", &other, "x"]];
        let (hearts, other) = ("❤️".repeat(17), "y".repeat(35));
        assert_eq!(shown(Some(42), rows), format!("a  {hearts}❤…  x\nb  {other}…  x\n"));
    }

    #[test]
    fn the_last_column_gives_way_before_the_others() {
        let rows: &[&[&str]] = &[&["k3v9q2zr", "lost, helpers died", "a very long command"]];
        assert_eq!(shown(Some(42), rows), "k3v9q2zr  lost, helpers died  a very long…\n");
        assert_eq!(shown(Some(38), rows), "k3v9q2zr  lost, helpers…  a very long…\n");
    }

    #[test]
    fn every_cell_stands_below_its_title_however_long_another_is() {
        let long = "a-name-that-is-longer-than-those-of-others";
        let rows: &[&[&str]] =
            &[&["ID", "NAME", "COMMAND"], &["a", long, "make test all of it"], &["b", "x", "y"]];
        let aligned = |name: &str, command: &str| {
            let cells = name.chars().count();
            format!("ID  {:cells$}  COMMAND\na   {name}  {command}\nb   {:cells$}  y\n", "NAME", "x")
        };
        for width in [None, Some(80)] {
            assert_eq!(shown(width, rows), aligned(long, "make test all of it"), "{width:?}");
        }
        let cut = aligned("a-name-that-is-longer-than…", "make test a…");
        assert_eq!(shown(Some(45), rows), cut);
    }

    #[test]
    fn what_flows_is_whole_beside_the_others_or_below_them() {
        let rows = [["when", "what was said about it at length"]];
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.map(Cell::plain).to_vec()).collect();
        let flowing = |width| {
            let mut page = Page::new(false, width);
            put_flowing(&mut page, 1, &rows);
            page.text().to_owned()
        };
        assert_eq!(flowing(None), " when  what was said about it at length\n");
        assert_eq!(flowing(Some(38)), " when  what was said about it at\n       length\n");
        assert_eq!(flowing(Some(30)), " when\n     what was said about it at\n     length\n");
        let short = vec![Cell::plain("when"), Cell::plain("at noon")];
        let mut page = Page::new(false, Some(14));
        put_flowing(&mut page, 1, &[short]);
        assert_eq!(page.text(), " when  at noon\n", "what is short needs little room");
        let rows = [["when", "it stands in /a/path/that/is/quite/long/itself"]];
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.map(Cell::plain).to_vec()).collect();
        let mut page = Page::new(false, Some(38));
        put_flowing(&mut page, 1, &rows);
        assert_eq!(page.text(), " when\n     it stands in\n     /a/path/that/is/quite/long/itself\n");
    }

    #[test]
    fn a_cell_cannot_break_its_line() {
        assert_eq!(shown(None, &[&["a\nb\u{1b}[0m", "c"]]), "a\\nb\\x1b[0m  c\n");
    }
}
