//! Secrets in what is told piece by piece, and in pieces as small as a key press. A line is put together as a terminal would,
//! and its pieces are held until it is over: only then can it be told what of them was a secret. What is shown is held longer,
//! for a program may come back to a line; see `drawn.rs`.

use std::collections::VecDeque;
use std::ops::Range;

use super::Redact;
use super::drawn::Drawn;
use crate::screen::{Screen, Size};

/// So much is held. With so much that came since, lines that are not over are looked at, and no longer wait but for their end.
const HELD: usize = 1 << 20;
/// What a piece takes beside its text.
const PIECE: usize = 128;
/// So long is the end of a line that still waits, and of a line that long no more is known: more than tells what belongs together.
const PARTS: usize = 16;

/// Of a secret that is longer, so much is remembered before and behind its beginning.
const LONGEST_NAME: usize = 256;

/// For each byte of a line so many places of it may be looked at again, lest one that is long takes for ever; then so many
/// before and behind the cursor are.
const LOOKS: usize = 64;
const NEAR: usize = 256;

/// Which of the two streams a piece belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Shown,
    Typed,
    /// Neither: it passes in its order.
    Other,
}

/// Holds pieces until it is known what of them is secret, and gives them in their order. `T` is what a piece comes with.
#[derive(Debug)]
pub struct Redactor<T> {
    queue: VecDeque<Held<T>>,
    /// The number of the first piece in the queue.
    first: u64,
    bytes: usize,
    /// How much may be held, and with how much it is looked at again.
    most: usize,
    look_at: usize,
    shown: Line,
    typed: Line,
    /// None if nothing was ever shown to go on with.
    drawn: Option<Drawn>,
}

#[derive(Debug)]
struct Held<T> {
    with: T,
    text: String,
    /// What of it is secret.
    secrets: Vec<Range<usize>>,
}

/// A line that is being put together.
#[derive(Debug, Default)]
struct Line {
    cells: Vec<Cell>,
    column: usize,
    /// Where on the screen it stands, if a sequence said so.
    row: Option<usize>,
    /// The first piece that it was made of.
    first: Option<u64>,
    /// The cursor was moved: what is written next may cover what was never looked at.
    moved: bool,
    /// So many places may be looked at again.
    looks: usize,
    redact: Redact,
}

/// A place of the line: what it shows, and every place in the pieces that wrote there.
#[derive(Debug, Default)]
struct Cell {
    ch: Option<char>,
    written: Written,
}

/// Most are written once, and there may be many.
#[derive(Debug, Default)]
struct Written {
    first: Option<(u64, usize)>,
    more: Vec<(u64, usize)>,
}

impl Written {
    fn push(&mut self, place: (u64, usize)) {
        match self.first {
            None => self.first = Some(place),
            Some(_) => self.more.push(place),
        }
    }

    fn take(&mut self) -> impl Iterator<Item = (u64, usize)> + use<> {
        let Self { first, more } = std::mem::take(self);
        first.into_iter().chain(more)
    }

    /// Forgets those in pieces before this one.
    fn forget_before(&mut self, piece: u64) {
        self.more.retain(|(number, _)| *number >= piece);
        if self.first.is_some_and(|(number, _)| number < piece) {
            self.first = (!self.more.is_empty()).then(|| self.more.remove(0));
        }
    }
}

impl<T> Default for Redactor<T> {
    fn default() -> Self {
        let (shown, typed) = (Line::default(), Line::default());
        Self {
            queue: VecDeque::new(),
            first: 0,
            bytes: 0,
            most: HELD,
            look_at: HELD,
            shown,
            typed,
            drawn: None,
        }
    }
}

impl<T> Redactor<T> {
    /// This has been shown, and is a piece as well, made of the characters of the screen: what begins in it may be whole only
    /// with the pieces that go on with it.
    pub fn go_on(&mut self, with: T, screen: &Screen) {
        let number = self.first + self.queue.len() as u64;
        let shown: String = screen.characters().collect();
        self.bytes += shown.len() + PIECE;
        self.queue.push_back(Held { with, text: shown, secrets: Vec::new() });
        let (above, text) = super::before_cursor(screen);
        self.shown.row = Some(usize::from(screen.live().cursor().row) + 1);
        self.shown.redact = above;
        self.shown.cells =
            text.chars().map(|ch| Cell { ch: Some(ch), written: Written::default() }).collect();
        self.shown.column = self.shown.cells.len();
        self.shown.first = Some(number).filter(|_| self.shown.column > 0);
        self.drawn = Some(Drawn::new(number, screen));
    }

    /// What follows is shown in another size.
    pub fn resize(&mut self, size: Size) {
        if let Some(drawn) = &mut self.drawn {
            drawn.resize(size);
        }
    }

    /// Takes the next piece, in which sequences and characters are whole, and gives those that are settled.
    pub fn push(&mut self, with: T, side: Side, text: String, give: &mut impl FnMut(T, String)) {
        let number = self.first + self.queue.len() as u64;
        self.bytes += text.len() + PIECE;
        let line = match side {
            Side::Shown => Some(&mut self.shown),
            Side::Typed => Some(&mut self.typed),
            Side::Other => None,
        };
        let mut found = Vec::new();
        if let Some(line) = line {
            line.take(number, &text, &mut found);
        }
        if let (Side::Shown, Some(drawn)) = (side, &mut self.drawn) {
            drawn.take(number, &text, &mut found);
        }
        self.queue.push_back(Held { with, text, secrets: Vec::new() });
        self.note(found);
        if self.bytes > self.look_at {
            self.look();
        }
        let held = if self.drawn.is_some() { self.most } else { 0 };
        self.release(held, give);
        self.look_at = self.look_at.min(self.bytes + self.most);
    }

    /// Somebody waits for what is here: gives all but the lines that are not over.
    pub fn catch_up(&mut self, give: &mut impl FnMut(T, String)) {
        self.release(0, give);
    }

    /// Gives what is left.
    pub fn finish(&mut self, give: &mut impl FnMut(T, String)) {
        self.settle();
        self.release(0, give);
    }

    /// Looks at lines that are not over, and forgets what they were made of, but for the last pieces.
    fn look(&mut self) {
        let (mut found, known) = (Vec::new(), self.most / PARTS);
        let (mut kept, mut bytes) = (self.first + self.queue.len() as u64 - 1, 0);
        for held in self.queue.iter().rev().skip(1) {
            bytes += held.text.len();
            if bytes > known {
                break;
            }
            kept -= 1;
        }
        for line in [&mut self.shown, &mut self.typed] {
            line.look(false, &mut found);
            line.forget_before(kept, known);
        }
        self.note(found);
        self.look_at = usize::MAX;
    }

    /// Takes both lines as over.
    fn settle(&mut self) {
        let mut found = Vec::new();
        self.shown.end(&mut found);
        self.typed.end(&mut found);
        self.note(found);
    }

    fn note(&mut self, found: Vec<(u64, Range<usize>)>) {
        for (number, range) in found {
            let held = number.checked_sub(self.first).and_then(|at| self.queue.get_mut(at as usize));
            let Some(Held { secrets, .. }) = held else { continue };
            match secrets.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                Some(_) | None => secrets.push(range),
            }
        }
    }

    /// Gives what waits for no line, but for so much.
    fn release(&mut self, held: usize, give: &mut impl FnMut(T, String)) {
        let open = [self.shown.first, self.typed.first].into_iter().flatten().min();
        while self.bytes > held && open.is_none_or(|open| self.first < open) {
            let Some(held) = self.queue.pop_front() else { return };
            self.first += 1;
            self.bytes -= held.text.len() + PIECE;
            let Held { with, text, secrets } = held;
            let text = if secrets.is_empty() { text } else { super::starred(&text, &secrets) };
            give(with, text);
        }
    }
}

impl Line {
    fn take(&mut self, number: u64, text: &str, found: &mut Vec<(u64, Range<usize>)>) {
        self.looks = self.looks.saturating_add(LOOKS * text.len());
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let length = if c == '\u{1b}' { sequence(rest) } else { c.len_utf8() };
            match c {
                '\u{1b}' => self.obey(number, at, &rest[..length], found),
                '\n' | '\u{b}' | '\u{c}' => self.end(found),
                '\r' => self.go(0),
                '\u{8}' | '\u{7f}' => self.go(self.column.saturating_sub(1)),
                c if c.is_control() => {}
                c => {
                    self.uncover(c, found);
                    self.write(number, at, c);
                }
            }
            at += length;
        }
    }

    fn go(&mut self, column: usize) {
        (self.column, self.moved) = (column, true);
    }

    /// Looks at the line before this is written over something else in it, once for text that comes together.
    fn uncover(&mut self, c: char, found: &mut Vec<(u64, Range<usize>)>) {
        let covered = self.cells.get(self.column).and_then(|cell| cell.ch);
        if self.moved && covered.is_some_and(|covered| covered != c && covered != ' ') {
            self.look_before_change(found);
            self.moved = false;
        }
    }

    fn write(&mut self, number: u64, at: usize, c: char) {
        if self.cells.len() <= self.column {
            self.cells.resize_with(self.column + 1, Cell::default);
        }
        let cell = &mut self.cells[self.column];
        cell.ch = Some(c);
        cell.written.push((number, at));
        self.column += 1;
        self.first.get_or_insert(number);
    }

    /// What a sequence does to the line.
    fn obey(&mut self, number: u64, at: usize, sequence: &str, found: &mut Vec<(u64, Range<usize>)>) {
        if let Some(string) = sequence.get(2..).filter(|_| "]P_^X".contains(&sequence[1..2])) {
            let secrets = super::secrets(string);
            found.extend(secrets.into_iter().map(|range| (number, at + 2 + range.start..at + 2 + range.end)));
            return;
        }
        let Some(control) = sequence.strip_prefix("\u{1b}[") else { return };
        let Some(last) = control.chars().last() else { return };
        let count = control.trim_end_matches(last).parse::<usize>().unwrap_or(1).clamp(1, 10_000);
        match last {
            'C' => self.go(self.column + count),
            'D' => self.go(self.column.saturating_sub(count)),
            'G' => self.go(count - 1),
            // What goes may have been a secret too.
            'K' if self.column < self.cells.len() => {
                self.look_before_change(found);
                self.cells.truncate(self.column);
            }
            // Elsewhere on the screen another line begins.
            'H' | 'f' => {
                let (row, column) = control.trim_end_matches(last).split_once(';').unwrap_or((control, ""));
                let [row, column] = [row, column].map(|text| text.parse().unwrap_or(1).clamp(1, 10_000));
                if self.row != Some(row) {
                    self.end(found);
                    self.row = Some(row);
                }
                self.go(column - 1);
            }
            'A' | 'B' | 'E' | 'F' | 'J' | 'L' | 'M' | 'S' | 'T' | 'd' | 'r' => self.end(found),
            _ => {}
        }
    }

    /// Looks for secrets in the line, some of which is about to go.
    fn look_before_change(&mut self, found: &mut Vec<(u64, Range<usize>)>) {
        let whole = 0..self.cells.len();
        let near = self.column.saturating_sub(NEAR)..whole.end.min(self.column + NEAR);
        let part = if near.len() < whole.len() && self.looks < whole.len() { near } else { whole };
        self.looks = self.looks.saturating_sub(part.len());
        self.look_at(part, &mut self.redact.clone(), found);
    }

    /// Looks for secrets in the line as it is; only one that is over counts for the next.
    fn look(&mut self, over: bool, found: &mut Vec<(u64, Range<usize>)>) {
        let mut redact = self.redact.clone();
        self.look_at(0..self.cells.len(), &mut redact, found);
        if over {
            self.redact = redact;
        }
    }

    /// Every place of the pieces that is found is told once.
    fn look_at(&mut self, part: Range<usize>, redact: &mut Redact, found: &mut Vec<(u64, Range<usize>)>) {
        let cells = self.cells.get_mut(part).unwrap_or_default();
        let text = text(cells);
        let secrets = redact.line(&text);
        let mut hidden = super::within(&secrets);
        for (cell, (at, _)) in cells.iter_mut().zip(text.char_indices()) {
            if hidden(at) {
                found.extend(cell.written.take().map(|(number, start)| (number, start..start + 1)));
            }
        }
    }

    /// Forgets the pieces before this one. Of a line that is too long its last part is kept, and the beginning of the secret
    /// that it ends with, if it does: so that what follows is known to belong to that.
    fn forget_before(&mut self, piece: u64, known: usize) {
        for cell in &mut self.cells {
            cell.written.forget_before(piece);
        }
        self.first = self.cells.iter().filter_map(|cell| cell.written.first).map(|(number, _)| number).min();
        let Some(from) = self.cells.len().checked_sub(known).filter(|from| *from > 0) else { return };
        let text = text(&self.cells);
        let open = self.redact.clone().line(&text).pop().filter(|secret| secret.end == text.len());
        let begins = open.map_or(from, |secret| text[..secret.start].chars().count());
        let named = begins.saturating_sub(LONGEST_NAME)..(begins + LONGEST_NAME).min(from);
        let before = self.cells.len();
        let kept: Vec<Cell> = self.cells.drain(..from).skip(named.start).take(named.len()).collect();
        self.cells.splice(0..0, kept);
        self.column = self.column.saturating_sub(before - self.cells.len());
    }

    fn end(&mut self, found: &mut Vec<(u64, Range<usize>)>) {
        self.look(true, found);
        self.cells.clear();
        (self.column, self.row, self.first) = (0, None, None);
    }
}

/// What places of a line show.
fn text(cells: &[Cell]) -> String {
    cells.iter().map(|cell| cell.ch.unwrap_or(' ')).collect()
}

/// How long the sequence is that a text begins with.
pub(super) fn sequence(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let Some((_, second)) = chars.next() else {
        return text.len();
    };
    let ends = |(at, c): (usize, char)| at + c.len_utf8();
    match second {
        '[' => chars.find(|(_, c)| ('@'..='~').contains(c)).map_or(text.len(), ends),
        ']' | 'P' | '_' | '^' | 'X' => {
            let bell = text.find('\u{7}').map(|at| at + 1);
            let string = text.find("\u{1b}\\").filter(|at| *at > 0).map(|at| at + 2);
            [bell, string].into_iter().flatten().min().unwrap_or(text.len())
        }
        ' '..='/' => chars.find(|(_, c)| !(' '..='/').contains(c)).map_or(text.len(), ends),
        c => 1 + c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(pieces: &[(Side, &str)]) -> Vec<String> {
        let mut redactor = Redactor::default();
        let mut given = Vec::new();
        for (at, (side, text)) in pieces.iter().enumerate() {
            redactor.push(at, *side, (*text).to_owned(), &mut |at, text| given.push((at, text)));
        }
        redactor.finish(&mut |at, text| given.push((at, text)));
        assert!(given.iter().enumerate().all(|(at, (number, _))| at == *number), "in their order: {given:?}");
        given.into_iter().map(|(_, text)| text).collect()
    }

    fn shown(pieces: &[&str]) -> String {
        let pieces: Vec<(Side, &str)> = pieces.iter().map(|text| (Side::Shown, *text)).collect();
        through(&pieces).join("|")
    }

    #[test]
    fn a_secret_that_comes_letter_by_letter_is_hidden_to_its_first() {
        let secret = "ghp_0123456789ab";
        let letters: Vec<String> = secret.chars().map(String::from).collect();
        let mut pieces = vec!["$ echo "];
        pieces.extend(letters.iter().map(String::as_str));
        pieces.push("\r\nghp\r\n");
        let told = shown(&pieces).replace('|', "");
        assert_eq!(told, format!("$ echo {}\r\nghp\r\n", "*".repeat(secret.len())));
    }

    #[test]
    fn colours_and_redrawn_letters_hide_nothing_from_it() {
        let told = shown(&["x \x1b[32mghp_\x1b[1m01234", "\x1b[5D01234567\x1b[0m y\r\n"]);
        assert_eq!(told, "x \x1b[32m****\x1b[1m*****|\x1b[5D********\x1b[0m y\r\n");
        let told = shown(&["TOKEN=abc", "\x1b[K", "\r\n"]);
        assert_eq!(told, "TOKEN=***|\x1b[K|\r\n");
    }

    #[test]
    fn what_is_typed_is_looked_at_by_itself_and_keeps_its_place() {
        let typed = [
            (Side::Shown, "$ "),
            (Side::Typed, "API_KEY=a"),
            (Side::Shown, "API_KEY=a"),
            (Side::Other, "80x24"),
            (Side::Typed, "b\r"),
            (Side::Shown, "b\r\n"),
        ];
        assert_eq!(through(&typed), ["$ ", "API_KEY=*", "API_KEY=*", "80x24", "*\r", "*\r\n"]);
    }

    #[test]
    fn text_that_stands_elsewhere_is_another_line_and_titles_are_looked_at_too() {
        assert_eq!(shown(&["TOKEN=\x1b[2;1Habc\r\n"]), "TOKEN=\x1b[2;1Habc\r\n");
        assert_eq!(shown(&["\x1b]2;TOKEN=abc\x07x"]), "\x1b]2;TOKEN=***\x07x");
        assert_eq!(shown(&["\x1b_TOKEN=abc\x1b\\x"]), "\x1b_TOKEN=***\x1b\\x");
    }

    #[test]
    fn text_that_is_put_into_the_same_row_letter_by_letter_is_one_line() {
        let put = |(column, letter): (usize, char)| format!("\x1b[3;{}H{letter}", column + 5);
        let pieces: Vec<String> = "ghp_0123456789ab".chars().enumerate().map(put).collect();
        let told = shown(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(told.matches('*').count(), 16, "{told}");
    }

    fn screen(bytes: &[u8]) -> Screen {
        let mut screen = Screen::new(Size { cols: 40, rows: 10 }, 0);
        let _ = screen.feed(bytes);
        screen
    }

    /// What is left of pieces that go on with a screen.
    fn drawn(before: &Screen, pieces: &[&str]) -> String {
        beginning_and_rest(before, pieces).1
    }

    /// What is left of the screen that pieces go on with, and of them.
    fn beginning_and_rest(before: &Screen, pieces: &[&str]) -> (String, String) {
        let mut redactor = Redactor::default();
        redactor.go_on((), before);
        let mut given = Vec::new();
        for piece in pieces {
            redactor.push((), Side::Shown, (*piece).to_owned(), &mut |(), text| given.push(text));
        }
        redactor.finish(&mut |(), text| given.push(text));
        let rest = given.split_off(1).concat();
        (given.concat(), rest)
    }

    #[test]
    fn of_a_token_that_had_begun_before_the_first_piece_nothing_is_left() {
        let (begun, rest) = beginning_and_rest(&screen(b"$ echo\r\nghp_ab1"), &["cdefghijklm2nop\r\n"]);
        assert_eq!((begun.trim_end(), rest.as_str()), ("$ echo*******", "***************\r\n"));
        let apart = screen("\u{6f22}\x1b[5;5Hghp_01\x1b[9;1Hstatus".as_bytes());
        let (begun, rest) =
            beginning_and_rest(&apart, &["\x1b[5;11H2345\x1b[9;1H3", "\x1b[5;15H6789\x1b[9;1H"]);
        assert!(begun.contains("******") && !begun.contains("ghp_") && begun.contains("status"), "{begun}");
        assert_eq!(rest, "\x1b[5;11H****\x1b[9;1H3\x1b[5;15H****\x1b[9;1H");
        let mut seen = apart.at_rest();
        seen.star(&begun);
        assert_eq!(seen.visible_text().trim_end(), "\u{6f22}\n\n\n\n    ******\n\n\n\nstatus");
        // What stands before the cursor waits for the end of its line, also where somebody waits for it.
        let mut redactor = Redactor::default();
        redactor.go_on((), &screen(b"ghp_ab1"));
        let mut given = Vec::new();
        redactor.catch_up(&mut |(), text| given.push(text));
        assert_eq!(given, Vec::<String>::new());
        redactor.push((), Side::Shown, "cdefghijklm\r\n".to_owned(), &mut |(), text| given.push(text));
        redactor.catch_up(&mut |(), text| given.push(text));
        assert_eq!(given.concat().trim_end(), "*".repeat(18));
    }

    #[test]
    fn what_was_shown_before_the_first_piece_belongs_to_its_line() {
        assert_eq!(drawn(&screen(b"$ export TOKEN="), &["abc\r\n"]), "***\r\n");
        let half = screen(b"\x1b[5;5HTOKEN=\x1b[9;1Hstatus");
        assert_eq!(drawn(&half, &["\x1b[5;11Habc\x1b[9;1H"]), "\x1b[5;11H***\x1b[9;1H");
    }

    #[test]
    fn a_token_that_is_drawn_in_parts_with_other_places_in_between_is_hidden() {
        let parts = ["\x1b[5;5Hghp_01234\x1b[7;1Hother", "\x1b[5;14H56789abcdef"];
        let hidden = "\x1b[5;5H*********\x1b[7;1Hother\x1b[5;14H***********";
        assert_eq!(drawn(&screen(b""), &parts), hidden);
        assert_eq!(drawn(&screen(b""), &[&parts.concat()]), hidden);
        assert_eq!(drawn(&screen(b"\x1b[?1049h"), &[&parts.concat(), "\x1b[2J"]), format!("{hidden}\x1b[2J"));
        let letters: Vec<String> = "ghp_0123456789ab"
            .chars()
            .enumerate()
            .map(|(at, letter)| format!("\x1b[3;{}H{letter}\x1b[9;1H{at} letters\x1b[K", at + 5))
            .collect();
        let told = drawn(&screen(b""), &letters.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(told.matches('*').count(), 16, "{told}");
        // It went up with the rest before it was whole, and around the edge of the screen.
        let scrolled = ["\x1b[3;1Hghp_01234", "\x1b[10;1H\n\n", "\x1b[1;10H56789ab"];
        assert_eq!(drawn(&screen(b""), &scrolled).matches('*').count(), 16);
        let wrapped = ["\x1b[3;31Hghp_01", "\x1b[1;1H!", "\x1b[3;37H234567", "\x1b[1;1H?", "\x1b[4;3H89"];
        assert_eq!(drawn(&screen(b""), &wrapped).matches('*').count(), 14);
    }

    #[test]
    fn a_token_that_is_drawn_in_parts_within_an_update_is_hidden_wherever_it_goes() {
        let parts = "\x1b[2;1Hghp_01234\x1b[4;1Hother\x1b[2;10H56789abcdef\x1b[10;1H";
        let gone = "\r\n".repeat(12);
        for begin in ["\x1b[?2026h", "\x1b[?25;2026h", "\x1b[?1049h\x1b[?2026h", "\x1b[?2026h\x1b[1;9r"] {
            for end in ["", "\x1b[?2026l", "\x1b[1;1H\x1b[9M", "\x1b[2J\x1b[?2026l"] {
                let shown = format!("{begin}{parts}{gone}{end}");
                let told = drawn(&screen(b""), &[&shown]);
                assert_eq!(told.matches('*').count(), 20, "{shown:?}: {told:?}");
            }
        }
        let (first, second) = parts.split_at(26);
        let held = screen(b"\x1b[?2026h");
        let told = drawn(&held, &[first, &format!("{second}{gone}")]);
        assert_eq!(told.matches('*').count(), 20, "the update was under way before: {told:?}");
    }

    #[test]
    fn text_that_covers_a_token_does_not_save_it() {
        let token = "ghp_0123456789ab";
        for over in
            ["\r                \r\n", "\x1b[16D----------------\r\n", "\x1b[5G\x1b[2J", "\x1b[1;1H\x1b[J"]
        {
            for pieces in [vec![format!("{token}{over}")], vec![token.to_owned(), over.to_owned()]] {
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                assert_eq!(drawn(&screen(b""), &pieces), format!("{}{over}", "*".repeat(16)));
            }
        }
    }

    #[test]
    fn whoever_waits_is_given_the_lines_that_are_over() {
        let mut redactor = Redactor::default();
        redactor.go_on((), &screen(b""));
        let mut given = Vec::new();
        redactor.catch_up(&mut |(), text| assert_eq!(text, ""));
        redactor.push((), Side::Shown, "one\r\n".to_owned(), &mut |(), text| given.push(text));
        redactor.push((), Side::Shown, "\x1b[5;1Hghp_01234".to_owned(), &mut |(), text| given.push(text));
        assert_eq!(given, Vec::<String>::new());
        redactor.catch_up(&mut |(), text| given.push(text));
        assert_eq!(given, ["one\r\n"]);
        redactor.push((), Side::Shown, "\x1b[7;1Hother".to_owned(), &mut |(), text| given.push(text));
        redactor.catch_up(&mut |(), text| given.push(text));
        redactor.push((), Side::Shown, "\x1b[5;10H56789ab\r\n".to_owned(), &mut |(), text| given.push(text));
        redactor.finish(&mut |(), text| given.push(text));
        // What was given is; of the rest nothing is.
        assert_eq!(given[1..], ["\x1b[5;1Hghp_01234", "\x1b[7;1Hother", "\x1b[5;10H*******\r\n"]);
    }

    #[test]
    fn characters_never_run_out() {
        let mut redactor = Redactor::default();
        redactor.go_on((), &screen(b""));
        let mut given = String::new();
        let flood = "\x1b[2;1Hx\u{6f22}y".repeat(40_000);
        redactor
            .push((), Side::Shown, "\x1b[5;5Hghp_01234".to_owned(), &mut |(), text| given.push_str(&text));
        redactor.push((), Side::Shown, flood, &mut |(), text| given.push_str(&text));
        redactor.push((), Side::Shown, "\x1b[5;14H56789ab".to_owned(), &mut |(), text| given.push_str(&text));
        redactor.finish(&mut |(), text| given.push_str(&text));
        assert_eq!(given.matches('*').count(), 16);
    }

    #[test]
    fn a_value_that_is_longer_than_what_is_held_is_hidden_to_its_end() {
        const MOST: usize = 16 * 1024;
        let short = |pieces: &[String]| {
            let mut redactor = Redactor { most: MOST, look_at: MOST, ..Redactor::default() };
            let (mut given, mut held) = (Vec::new(), 0);
            for piece in pieces {
                redactor.push((), Side::Shown, piece.clone(), &mut |(), text| given.push(text));
                held = held.max(redactor.shown.cells.len());
            }
            assert!(held < 3 * MOST, "{held}");
            redactor.finish(&mut |(), text| given.push(text));
            given.join("|")
        };
        let part = "s3cr3t".repeat(100);
        for (name, end) in
            [("x password=", " and"), ("\"api_key\": \"", "\" and"), ("x ghp_0123456789", " and")]
        {
            let mut pieces = vec![" y".repeat(MOST / 2 - 3), name.to_owned()];
            pieces.extend(std::iter::repeat_n(part.clone(), 200));
            pieces.push(format!("{end} more\r\n"));
            let told = short(&pieces);
            assert!(!told.contains("s3cr") && !told.contains("3t"), "{name}");
            assert!(told.ends_with(&format!("*|{end} more\r\n")), "{name}: {}", &told[told.len() - 40..]);
        }
        // One that begins where all that came before is given.
        let told = short(&["y".repeat(MOST - 3), " ghp_0".into(), "123456".into(), "789ab and\r\n".into()]);
        assert!(told.ends_with(" *****|******|***** and\r\n"), "{}", &told[told.len() - 40..]);
        // A long piece is done with in no time.
        let told = short(&[format!("password={}", "x".repeat(8 * MOST))]);
        assert_eq!(told.matches('*').count(), 8 * MOST);
    }

    #[test]
    fn however_a_long_line_is_made_it_is_done_with_in_no_time() {
        // Each takes many times as long if anything of it is looked at as often as there are parts of it.
        for (part, times, hidden) in [
            ("://a:", 25_000, 0),
            ("curl -u=", 8_000, 0),
            ("\rtoken=12345 of 9", 2_500, 5 * 2_500),
            ("token=1 xy\x1b[D\x1b[K", 2_500, 2_500),
            ("xy\u{8}", 8_000, 0),
        ] {
            let mut redactor = Redactor::default();
            let (mut given, mut places) = (String::new(), 0);
            for piece in part.repeat(times).as_bytes().chunks(part.len() * 1000) {
                let piece = String::from_utf8(piece.to_vec()).unwrap();
                redactor.push((), Side::Shown, piece, &mut |(), text| given.push_str(&text));
                places = redactor.queue.iter().map(|held| held.secrets.len()).sum();
            }
            redactor.finish(&mut |(), text| given.push_str(&text));
            assert_eq!(given.matches('*').count(), hidden, "{part}");
            assert!(places <= hidden, "{part}: each place is told once, {places} were");
        }
        let mut redactor = Redactor::default();
        redactor.go_on((), &screen(b""));
        redactor.push((), Side::Shown, format!("token={}", "a".repeat(300)), &mut |(), _| {});
        for _ in 0..2_000 {
            redactor.push((), Side::Shown, "\x1b[2;3Hb\x1b[9;1H!\x1b[K".to_owned(), &mut |(), _| {});
        }
        let places: usize = redactor.queue.iter().map(|held| held.secrets.len()).sum();
        assert!(places < 5_000, "{places}");
    }

    #[test]
    fn nothing_is_held_for_ever() {
        let mut redactor = Redactor::default();
        let mut given = 0;
        for _ in 0..4_000 {
            redactor.push((), Side::Shown, "\rloading 37 %".repeat(40), &mut |(), _| given += 1);
        }
        assert!(given > 1_000, "{given}");
    }
}
