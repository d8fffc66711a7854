//! Aligned columns that fit the terminal. Text that does not fit ends in an ellipsis.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::page::{Page, READABLE, Tone};
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
    let natural = widths(rows, page.width().map(|width| width.saturating_sub(indent)));
    let mut widths = natural.clone();
    let gaps = GAP * widths.len().saturating_sub(1);
    let limit = page.width().map(|limit| limit.saturating_sub(indent));
    if let Some(limit) = limit {
        fit(&mut widths, fixed, limit.saturating_sub(gaps));
    }
    for row in rows {
        let Some((last, others)) = row.split_last() else { continue };
        page.blanks(indent);
        let mut used = 0;
        let mut spare = limit.map_or(usize::MAX, |limit| {
            let usual = widths.iter().rev().skip(1).map(|width| width + GAP).sum::<usize>();
            limit.saturating_sub(usual + NARROWEST)
        });
        for (at, cell) in others.iter().enumerate() {
            // An unusual cell moves what follows in its own row, as far as there is room to spare.
            let more = if widths[at] == natural[at] { spare } else { 0 };
            let shown = shorten(&cell.text, widths[at].saturating_add(more));
            spare -= spare.min(shown.width().saturating_sub(widths[at]));
            let cells = shown.width().max(widths[at]) + GAP;
            page.put(cell.tone, &shown).blanks(cells - shown.width());
            used += cells;
        }
        let room = limit.map_or(usize::MAX, |limit| limit.saturating_sub(used).max(NARROWEST));
        page.put(last.tone, &shorten(&last.text, room)).end();
    }
}

/// Puts rows on the page whose last cell takes as many lines as it needs: beside the others, or below them where that
/// would leave too little room.
pub(crate) fn put_flowing(page: &mut Page, indent: usize, rows: &[Vec<Cell>]) {
    let widths = widths(rows, None);
    let before = indent + widths.iter().rev().skip(1).map(|width| width + GAP).sum::<usize>();
    for row in rows {
        let Some((last, others)) = row.split_last() else { continue };
        let cells = |(at, cell): (usize, &Cell)| cell.text.width().max(widths[at]) + GAP;
        let used = indent + others.iter().enumerate().map(cells).sum::<usize>();
        let longest = last.text.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0);
        let whole = page.width().is_none_or(|width| before.max(used) + longest <= width);
        let beside = page.has_room(before) && page.has_room(used) && whole;
        page.blanks(indent);
        for (at, cell) in others.iter().enumerate() {
            let ends = !beside && at + 1 == others.len();
            page.put(cell.tone, if ends { cell.text.trim_end() } else { &cell.text });
            page.blanks(if ends { 0 } else { widths[at].saturating_sub(cell.text.width()) + GAP });
        }
        if beside {
            page.flow(last.tone, &last.text, used, before);
        } else {
            let below = indent + BELOW;
            page.end().blanks(below).flow(last.tone, &last.text, below, below);
        }
    }
}

/// How wide each column is: as its widest cell, but where there is no room for that, cells that are wider than usual do not
/// count. The last has no other behind it.
fn widths(rows: &[Vec<Cell>], limit: Option<usize>) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| Some(row.get(column)?.text.width()));
    let whole: Vec<usize> = (0..columns).map(|column| cells(column).max().unwrap_or(0)).collect();
    if let (Some(limit), [others @ .., last]) = (limit, whole.as_slice())
        && others.iter().map(|width| width + GAP).sum::<usize>() + last.min(&READABLE) <= limit
    {
        return whole;
    }
    let usual = |column: usize| cells(column).filter(|width| *width <= USUAL).max();
    // Where most are so wide, that is what is usual.
    let mostly =
        |column: usize| cells(column).filter(|width| *width > USUAL).count() * 2 >= cells(column).count();
    let width = |column: usize| match usual(column).filter(|_| column + 1 < columns && !mostly(column)) {
        Some(usual) => usual,
        None => whole[column],
    };
    (0..columns).map(width).collect()
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
        assert_eq!(shown(Some(3), rows), "k3v9q2zr  short  a ver…\n");
    }

    #[test]
    fn the_last_column_gives_way_before_the_others() {
        let rows: &[&[&str]] = &[&["k3v9q2zr", "lost, helpers died", "a very long command"]];
        assert_eq!(shown(Some(42), rows), "k3v9q2zr  lost, helpers died  a very long…\n");
        assert_eq!(shown(Some(38), rows), "k3v9q2zr  lost, helpers…  a very long…\n");
    }

    #[test]
    fn an_unusual_cell_moves_only_its_own_row() {
        let long = "exited 3, declared 0, stopping, stopped";
        let rows: &[&[&str]] =
            &[&["a", long, "make test all of it"], &["b", "exited 0", "make"], &["c", "failed", "x"]];
        let others = "b  exited 0  make\nc  failed    x\n";
        assert_eq!(shown(None, rows), format!("a  {long}  make test all of it\n{others}"));
        assert_eq!(shown(Some(60), rows), format!("a  {long}  make test all o…\n{others}"));
        let all =
            format!("a  {long}  make test all of it\nb  {:39}  make\nc  {:39}  x\n", "exited 0", "failed");
        assert_eq!(shown(Some(63), rows), all, "none, where there is room for all");
    }

    #[test]
    fn a_column_whose_cells_are_mostly_wide_is_as_wide_as_they_are() {
        let wide = "68899ca6-e67c-4c43-96e5-eea4873818cd";
        let rows: &[&[&str]] = &[&["AGENT", "CONVERSATION", "DIRECTORY"], &["claude", wide, "/srv"]];
        assert_eq!(
            shown(None, rows),
            format!("AGENT   {:36}  DIRECTORY\nclaude  {wide}  /srv\n", "CONVERSATION")
        );
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
