//! Scroll: what a terminal showed as lines of text, from first to last: each line once, when it leaves the screen at its top, is
//! cleared away with all others or is cut off below by another size, and at the end those that are still there. Of the alternate
//! page, what stood there when it was left, behind the line that it was called from. What is erased or drawn over in its place
//! is no line of it: programs draw the same again and again. Nothing else is lost however long it is, and little is held.

use std::collections::VecDeque;

use crate::screen::{Line, Screen, Size, View};

/// So few bytes make no more lines than the scrollback keeps.
const PIECE: usize = 128;
const ESC: u8 = 0x1b;
/// A longer line is given in parts, each as a line, so that what never ends is not held for ever.
const LONGEST: usize = 8 << 20;

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
    /// What stood on alternate pages that were left, or was cut off below, and how many lines of the main page come before it.
    called: VecDeque<(usize, Vec<String>)>,
    /// The page that was cleared last.
    cleared: Vec<String>,
}

/// What a sequence is about to take from the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// All of the main page, if it is shown.
    Page,
    /// The alternate page, if it is shown.
    Alternate,
    Both,
    /// What has been given already.
    Scrollback,
}

impl Scroll {
    /// Collects what is shown from here on; what is on the screen already belongs to it, what scrolled away does not.
    #[must_use]
    pub fn new(screen: Screen) -> Self {
        let given = rows_so_far(&screen);
        let (called, cleared) = (VecDeque::new(), Vec::new());
        Self { screen, given, begun: String::new(), skipped: 0, called, cleared }
    }

    /// Takes what the program showed, and gives the lines that are over.
    pub fn feed(&mut self, bytes: &[u8], line: &mut impl FnMut(&str)) {
        let mut sequence = self.screen.unfinished();
        let mut rest = bytes;
        while !rest.is_empty() {
            // A sequence is looked at before it is obeyed.
            let next = rest.iter().skip(1).take(PIECE).position(|byte| *byte == ESC);
            let mut length = next.map_or(rest.len().min(PIECE), |at| at + 1);
            let begun = sequence.len();
            sequence.extend_from_slice(&rest[..length]);
            let takes = self.takes(&sequence);
            if takes != Takes::Nothing {
                length = length.min(end_of(&sequence).saturating_sub(begun).max(1));
            }
            let (piece, later) = rest.split_at(length);
            self.feed_piece(piece, takes, line);
            sequence.clear();
            rest = later;
        }
    }

    fn feed_piece(&mut self, piece: &[u8], takes: Takes, line: &mut impl FnMut(&str)) {
        let alternate = self.screen.alternate();
        if takes == Takes::Both || (takes == Takes::Page && !alternate) {
            self.clear(line);
        }
        let leaves = alternate && [Takes::Alternate, Takes::Both].contains(&takes);
        let left = if leaves { used_rows(&self.screen.live()) } else { Vec::new() };
        // What it tells beside the text is no text.
        let _ = self.screen.feed(piece);
        if takes == Takes::Scrollback {
            self.given = rows_so_far(&self.screen);
        }
        self.collect(line);
        if !left.is_empty() {
            let cursor = self.screen.live().cursor();
            let above = usize::from(cursor.row) + usize::from(cursor.col > 0);
            let rows = rows_of(&self.screen.main());
            let before = rows.iter().take(above).filter(|(_, wrapped)| !wrapped).count();
            let left: Vec<String> = left.into_iter().map(|(text, _)| text.trim_end().to_owned()).collect();
            self.called.push_back((before.saturating_sub(self.skipped), left));
            self.give_called(0, line);
        }
    }

    /// What this sequence takes away: ED of all, RIS, and what leads back from the alternate page.
    fn takes(&self, sequence: &[u8]) -> Takes {
        let Some(body) = sequence.strip_prefix(b"\x1b") else { return Takes::Nothing };
        let end = end_of(sequence) - 2;
        let numbers = body.get(1..end.max(1)).unwrap_or_default();
        match (body.first(), body.get(end)) {
            (Some(b'c'), _) => Takes::Both,
            (Some(b'['), Some(b'J')) => {
                let cursor = self.screen.live().cursor();
                let from_home = (cursor.row, cursor.col) == (0, 0) && [&b""[..], b"0"].contains(&numbers);
                match numbers {
                    b"3" => Takes::Scrollback,
                    b"2" => Takes::Page,
                    _ if from_home => Takes::Page,
                    _ => Takes::Nothing,
                }
            }
            (Some(b'['), Some(b'l')) => {
                let private = numbers.strip_prefix(b"?").unwrap_or_default();
                let mut modes = private.split(|byte| *byte == b';');
                let leaves = modes.any(|mode| [&b"47"[..], b"1047", b"1049"].contains(&mode));
                if leaves { Takes::Alternate } else { Takes::Nothing }
            }
            (_, _) => Takes::Nothing,
        }
    }

    /// The main page is about to be cleared: what is on it is over, unless it is drawn again and again.
    fn clear(&mut self, line: &mut impl FnMut(&str)) {
        let rows = used_rows(&self.screen.main());
        let texts: Vec<String> = rows.iter().map(|(text, _)| text.clone()).collect();
        if self.begun.is_empty() && texts == self.cleared {
            return;
        }
        for (text, wrapped) in rows {
            self.add(&text, wrapped, line);
        }
        if !self.begun.is_empty() {
            line(self.begun.trim_end());
        }
        self.begun.clear();
        (self.skipped, self.cleared) = (0, texts);
        self.give_called(usize::MAX, line);
    }

    /// The terminal has another size from here on.
    pub fn resize(&mut self, size: Size, line: &mut impl FnMut(&str)) {
        // Lines are wrapped anew, so rows are no measure; lines that were not given yet are.
        let before = lines(&self.screen.main());
        let above = lines_above_cursor(&self.screen);
        self.screen.resize(size);
        let on_screen = lines_of(&self.screen.main());
        // The cursor stays with its line: so many lines went up, and what is behind all others is on the screen no more.
        let went_up = above.saturating_sub(lines_above_cursor(&self.screen));
        let cut_off = if self.screen.alternate() { Vec::new() } else { self.cut_off(&before, went_up) };
        let waiting = before.len().saturating_sub(self.skipped + cut_off.len());
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
        if !cut_off.is_empty() {
            self.called.push_back((waiting, cut_off));
        }
        self.collect(line);
    }

    /// The last of these lines that are on the main page no more, so many of the first having gone up.
    fn cut_off(&self, before: &[String], went_up: usize) -> Vec<String> {
        let kept = went_up + lines_of(&self.screen.main());
        let cut_off = before.get(kept..).unwrap_or_default();
        cut_off.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Gives the lines that are still on the screen: those of the main page, then of the alternate one if it is shown.
    pub fn finish(mut self, line: &mut impl FnMut(&str)) {
        self.cleared.clear();
        self.clear(line);
        if self.screen.alternate() {
            used_rows(&self.screen.live()).iter().for_each(|(text, _)| line(text.trim_end()));
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
        if wrapped && self.begun.len() < LONGEST {
            return;
        }
        let whole = std::mem::take(&mut self.begun);
        match self.skipped.checked_sub(1) {
            Some(left) => self.skipped = left,
            None => {
                line(&whole);
                self.give_called(1, line);
            }
        }
    }

    /// So many more lines of the main page were given: gives the alternate pages that come behind them.
    fn give_called(&mut self, lines: usize, line: &mut impl FnMut(&str)) {
        self.called.iter_mut().for_each(|(before, _)| *before = before.saturating_sub(lines));
        while let Some((_, left)) = self.called.pop_front_if(|(before, _)| *before == 0) {
            left.iter().for_each(|text| line(text));
        }
    }
}

/// How long a control sequence is, as far as it is there; any other is two bytes.
fn end_of(sequence: &[u8]) -> usize {
    let last = |(at, byte): (usize, &u8)| (0x40..=0x7e).contains(byte).then_some(at + 1);
    match sequence.get(1) {
        Some(b'[') => sequence.iter().enumerate().skip(2).find_map(last).unwrap_or(sequence.len().max(2)),
        Some(_) | None => 2,
    }
}

fn rows_so_far(screen: &Screen) -> u64 {
    let (kept, gone) = screen.scrollback_len();
    gone + kept as u64
}

fn rows_of(view: &View<'_>) -> Vec<(String, bool)> {
    (0..view.size().rows).map(|row| (view.row_part(row), view.is_wrapped(row))).collect()
}

/// The rows up to the last that is not blank.
fn used_rows(view: &View<'_>) -> Vec<(String, bool)> {
    let mut rows = rows_of(view);
    rows.truncate(rows.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1));
    rows
}

/// The lines that end within a screen that is not blank there.
fn lines(view: &View<'_>) -> Vec<String> {
    let (mut lines, mut begun) = (Vec::new(), String::new());
    for (text, wrapped) in used_rows(view) {
        begun.push_str(&text);
        if !wrapped {
            lines.push(std::mem::take(&mut begun));
        }
    }
    lines
}

/// How many lines end above the cursor.
fn lines_above_cursor(screen: &Screen) -> usize {
    let live = screen.live();
    (0..live.cursor().row).filter(|row| !live.is_wrapped(*row)).count()
}

/// How many of them there are.
fn lines_of(view: &View<'_>) -> usize {
    used_rows(view).iter().filter(|(_, wrapped)| !wrapped).count()
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
    fn of_a_line_that_never_ends_no_more_is_held_than_a_part() {
        let mut scroll = Scroll::new(Screen::new(size(100, 3), 1_000));
        let (mut parts, mut held) = (Vec::new(), 0);
        for _ in 0..20 {
            scroll.feed(&[b'x'; 1 << 20], &mut |line: &str| parts.push(line.len()));
            held = held.max(scroll.begun.len());
        }
        scroll.finish(&mut |line: &str| parts.push(line.len()));
        assert!(held < LONGEST && parts.len() == 3, "{held}, {parts:?}");
        assert_eq!(parts.iter().sum::<usize>(), 20 << 20);
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
    fn what_another_size_cuts_off_below_the_cursor_is_there_and_in_its_place() {
        let four = "one\r\ntwo\r\nthree\r\nfour";
        let expected = ["one", "two", "three", "four"];
        let large = Some(size(10, 4));
        for small in [size(10, 2), size(10, 1), size(4, 2)] {
            let steps = [("", large), (four, None), ("\x1b[H", Some(small)), ("", large)];
            assert_eq!(all(&steps), expected, "{small:?}");
            let steps =
                [("", large), ("zero\r\n", None), (four, None), ("\x1b[2;1H", Some(small)), ("", large)];
            assert_eq!(all(&steps)[..2], ["zero", "one"], "{small:?}");
            assert_eq!(all(&steps).len(), 5, "{small:?}: {:?}", all(&steps));
        }
        // What is written there afterwards comes behind it.
        let steps = [("", large), (four, None), ("\x1b[H", Some(size(10, 2))), ("\x1b[2;1H\nlast", None)];
        assert_eq!(all(&steps), ["one", "two", "three", "four", "last"]);
    }

    #[test]
    fn what_stood_on_the_alternate_page_comes_behind_the_line_that_it_was_called_from() {
        assert_eq!(all(&[("one\r\ntwo\x1b[?1049h\x1b[Hthree", None)]), ["one", "two", "three"]);
        assert_eq!(all(&[("one\x1b[?1049h\x1b[Hthree\x1b[?1049l two", None)]), ["one two", "three"]);
        let paged = "$ less\r\n\x1b[?1049h\x1b[Hold\x1b[2J\x1b[Htext\r\nend\x1b[?1049;25l$ next\r\nlast";
        assert_eq!(all(&[(paged, None)]), ["$ less", "text", "end", "$ next", "last"]);
        let much: String = (0..9).map(|n| format!("{n}\r\n")).collect();
        let lines = all(&[(&format!("{paged}\r\n{much}"), Some(size(20, 5)))]);
        assert_eq!(lines[..6], ["$ less", "text", "end", "$ next", "last", "0"]);
    }

    #[test]
    fn what_was_cleared_away_is_there_and_a_page_that_is_drawn_again_and_again_is_not() {
        for clear in [
            "\x1b[H\x1b[2J",
            "\x1b[2J\x1b[H",
            "\x1b[H\x1b[J",
            "\x1b[H\x1b[0J",
            "\x1bc",
            "\x1b[H\x1b[2J\x1b[3J",
        ] {
            let text = format!("a line of 1\r\ntwo\r\nthree\r\nfour{clear}five\r\nsix\r\nseven\r\neight");
            let expected = ["a line of 1", "two", "three", "four", "five", "six", "seven", "eight"];
            assert_eq!(all(&[(&text, None)]), expected, "{clear:?}");
            for cut in 1..text.len() {
                let parts = [(&text[..cut], None), (&text[cut..], None)];
                assert_eq!(all(&parts), expected, "{clear:?} cut at {cut}");
            }
        }
        let frame = "\x1b[H\x1b[2Jone\r\ntwo";
        assert_eq!(all(&[(&frame.repeat(5), None)]), ["one", "two", "one", "two"]);
        assert_eq!(
            all(&[("one\r\ntwo\x1b[1A\x1b[J", None)]),
            ["one"],
            "what is below the cursor is drawn again"
        );
    }
}
