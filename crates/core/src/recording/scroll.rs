//! Scroll: everything that a terminal showed as lines of text, from first to last: each line once, when it leaves the screen
//! at its top, and at the end those that are still there. Nothing is lost however long it is, and little is held.

use crate::screen::{Line, Screen, Size, View};

/// So few bytes make no more lines than the scrollback keeps.
const PIECE: usize = 128;

/// A screen whose lines are collected.
#[derive(Debug)]
pub struct Scroll {
    screen: Screen,
    /// How many rows of the scrollback, with those that are no more, have been given.
    given: u64,
    /// The beginning of a line whose rest is not given yet.
    begun: String,
    /// So many lines at the top of the screen have been given before: a larger screen took them back.
    skipped: usize,
}

impl Scroll {
    /// Collects what is shown from here on; what is on the screen already belongs to it, what scrolled away does not.
    #[must_use]
    pub fn new(screen: Screen) -> Self {
        let given = rows_so_far(&screen);
        Self { screen, given, begun: String::new(), skipped: 0 }
    }

    /// Takes what the program showed, and gives the lines that are over.
    pub fn feed(&mut self, bytes: &[u8], line: &mut impl FnMut(&str)) {
        for piece in bytes.chunks(PIECE) {
            // What it tells beside the text is no text.
            let _ = self.screen.feed(piece);
            self.collect(line);
        }
    }

    /// The terminal has another size from here on.
    pub fn resize(&mut self, size: Size, line: &mut impl FnMut(&str)) {
        // Lines are wrapped anew, so rows are no measure; lines that were not given yet are.
        let waiting = lines_of(&self.screen.main()).saturating_sub(self.skipped);
        self.screen.resize(size);
        let on_screen = lines_of(&self.screen.main());
        self.skipped = on_screen.saturating_sub(waiting);
        self.begun.clear();
        let mut left = waiting.saturating_sub(on_screen);
        let (kept, gone) = self.screen.scrollback_len();
        let mut first = kept;
        for (index, row) in self.screen.scrollback().enumerate().rev().take_while(|_| self.skipped == 0) {
            if !row.is_wrapped() {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            first = index;
        }
        self.given = gone + first as u64;
        self.collect(line);
    }

    /// Gives the lines that are still on the screen: those of the main page, then of the alternate one if it is shown.
    pub fn finish(mut self, line: &mut impl FnMut(&str)) {
        let main = self.screen.main();
        let rows: Vec<(String, bool)> = rows_of(&main);
        let used = rows.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
        for (text, wrapped) in rows.into_iter().take(used) {
            self.add(&text, wrapped, line);
        }
        if !self.begun.is_empty() {
            line(self.begun.trim_end());
        }
        if self.screen.alternate() {
            let rows = rows_of(&self.screen.live());
            let used = rows.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
            rows.iter().take(used).for_each(|(text, _)| line(text));
        }
    }

    fn collect(&mut self, line: &mut impl FnMut(&str)) {
        let so_far = rows_so_far(&self.screen);
        let new = usize::try_from(so_far.saturating_sub(self.given)).unwrap_or(usize::MAX);
        if new == 0 {
            return;
        }
        self.given = so_far;
        // From the end, where they are: whatever is passed over from the beginning would be unpacked.
        let rows: Vec<Line> = self.screen.scrollback().rev().take(new).collect();
        for row in rows.into_iter().rev() {
            self.add(&row.part(self.screen.size().cols), row.is_wrapped(), line);
        }
    }

    fn add(&mut self, text: &str, wrapped: bool, line: &mut impl FnMut(&str)) {
        self.begun.push_str(text);
        if wrapped {
            return;
        }
        match self.skipped.checked_sub(1) {
            Some(left) => self.skipped = left,
            None => line(&self.begun),
        }
        self.begun.clear();
    }
}

fn rows_so_far(screen: &Screen) -> u64 {
    let (kept, gone) = screen.scrollback_len();
    gone + kept as u64
}

fn rows_of(view: &View<'_>) -> Vec<(String, bool)> {
    (0..view.size().rows).map(|row| (view.row_part(row), view.is_wrapped(row))).collect()
}

/// How many lines end within a screen that is not blank there.
fn lines_of(view: &View<'_>) -> usize {
    let rows = rows_of(view);
    let used = rows.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
    rows.iter().take(used).filter(|(_, wrapped)| !wrapped).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(cols: u16, rows: u16) -> Size {
        Size { cols, rows }
    }

    /// All lines of what was shown, with the sizes that came in between.
    fn all(steps: &[(&str, Option<Size>)]) -> Vec<String> {
        let mut scroll = Scroll::new(Screen::new(size(10, 3), 1_000));
        let mut lines = Vec::new();
        let mut add = |line: &str| lines.push(line.to_owned());
        for (text, size) in steps {
            scroll.feed(text.as_bytes(), &mut add);
            if let Some(size) = size {
                scroll.resize(*size, &mut add);
            }
        }
        scroll.finish(&mut add);
        lines
    }

    #[test]
    fn every_line_is_given_once_and_whole_however_long_and_however_many() {
        let many: String = (0..5_000).map(|n| format!("line {n} of many\r\n")).collect();
        let lines = all(&[(&many, None)]);
        assert_eq!(lines.len(), 5_000);
        let other = lines.iter().enumerate().find(|(n, line)| **line != format!("line {n} of many"));
        assert_eq!(other, None);
    }

    #[test]
    fn another_size_doubles_nothing_and_loses_nothing() {
        let text: String = (0..20).map(|n| format!("a line of {n}\r\n")).collect();
        let expected: Vec<String> = (0..40).map(|n| format!("a line of {}", n % 20)).collect();
        for (cols, rows) in [(10, 8), (10, 2), (4, 3), (30, 3), (5, 9), (30, 1)] {
            assert_eq!(all(&[(&text, Some(size(cols, rows))), (&text, None)]), expected, "{cols}x{rows}");
        }
    }

    #[test]
    fn what_stands_on_the_alternate_page_at_the_end_comes_last() {
        assert_eq!(all(&[("one\r\ntwo\x1b[?1049h\x1b[Hthree", None)]), ["one", "two", "three"]);
        assert_eq!(all(&[("one\x1b[?1049h\x1b[Hthree\x1b[?1049l two", None)]), ["one two"]);
    }
}
