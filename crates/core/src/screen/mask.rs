//! Mask: a screen with some of its text made unreadable, for showing it to others.

use std::ops::Range;
use std::sync::Arc;

use super::Screen;
use super::grid::Grid;
use super::parser::Parser;

impl Screen {
    /// This screen without scrollback, and without the beginning of what is not whole yet.
    #[must_use]
    pub fn at_rest(&self) -> Self {
        Self { parser: Parser::default(), term: self.term.without_history() }
    }

    /// Every character that stands in a cell of either page.
    pub(crate) fn characters(&self) -> impl Iterator<Item = char> {
        let pages = &self.term.pages;
        let rows = pages.main.rows().iter().chain(pages.alt.rows());
        rows.flat_map(|row| row.cells().iter().map(|cell| cell.ch))
    }

    /// Gives each of them another of the same width, in the same order.
    pub(crate) fn replace_characters(&mut self, with: &mut impl FnMut(char) -> char) {
        let pages = &mut self.term.pages;
        let rows = pages.main.rows_mut().iter_mut().chain(pages.alt.rows_mut());
        rows.for_each(|row| row.replace(with));
    }

    /// Puts a star into every cell for which there is one among these, given in the order of `characters`. What a
    /// synchronized update holds back is shown then, for what it covers may say what was starred.
    pub fn star(&mut self, starred: &str) {
        let pages = &mut self.term.pages;
        let rows = pages.main.rows_mut().iter_mut().chain(pages.alt.rows_mut());
        let (mut starred, mut any) = (starred.chars(), false);
        for row in rows {
            for col in 0..row.cells().len() {
                if starred.next() == Some('*') && row.cell(col).ch != '*' {
                    row.star(col);
                    any = true;
                }
            }
        }
        if any {
            self.let_go();
        }
    }

    /// This screen with a star in every cell of what `find` finds: it is given each line's text, rows that belong to one
    /// line as one, from the first of the main page on, and gives ranges of its bytes. Without scrollback; none if nothing
    /// was found.
    #[must_use]
    pub fn masked(&self, find: &mut impl FnMut(&str) -> Vec<Range<usize>>) -> Option<Self> {
        let mut masked = Self { parser: self.parser.clone(), term: self.term.without_history() };
        let term = &mut masked.term;
        let mut any = mask(&mut term.pages.main, find);
        any |= mask(&mut term.pages.alt, find);
        if let Some(hold) = &mut term.hold {
            any |= mask(&mut hold.grid, find);
        }
        let stack = term.titles.stack.iter_mut().chain([&mut term.titles.current]);
        for name in stack.flat_map(|names| [&mut names.icon, &mut names.window]) {
            any |= mask_text(name, find);
        }
        if let Some(link) = &mut term.link {
            any |= mask_text(&mut Arc::make_mut(link).uri, find);
        }
        any.then_some(masked)
    }
}

fn mask(grid: &mut Grid, find: &mut impl FnMut(&str) -> Vec<Range<usize>>) -> bool {
    let (mut any, mut row) = (false, 0);
    while row < grid.rows().len() {
        let mut last = row;
        while grid.row(last).wrapped && last + 1 < grid.rows().len() {
            last += 1;
        }
        any |= mask_line(grid, row..last + 1, find);
        for row in row..=last {
            for link in grid.row_mut(row).links_mut() {
                any |= mask_text(&mut Arc::make_mut(link).uri, find);
            }
        }
        row = last + 1;
    }
    any
}

/// What stands in no cell.
fn mask_text(text: &mut String, find: &mut impl FnMut(&str) -> Vec<Range<usize>>) -> bool {
    let secrets = find(text);
    let any = !secrets.is_empty();
    secrets.into_iter().rev().for_each(|secret| text.replace_range(secret, "***"));
    any
}

/// The rows of one line.
fn mask_line(grid: &mut Grid, rows: Range<usize>, find: &mut impl FnMut(&str) -> Vec<Range<usize>>) -> bool {
    let mut text = String::new();
    let mut places = Vec::new();
    for number in rows {
        let row = grid.row(number);
        for col in (0..row.used()).filter(|col| !row.cell(*col).is_tail()) {
            places.push((text.len(), number, col));
            text.push(row.cell(col).ch);
        }
    }
    let secrets = find(text.trim_end());
    for (at, row, col) in places {
        if secrets.iter().any(|secret| secret.contains(&at)) {
            grid.row_mut(row).star(col);
        }
    }
    !secrets.is_empty()
}
