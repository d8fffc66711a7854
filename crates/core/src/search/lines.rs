//! Lines: what was seen or typed, each distinct line once, with when it was first and last there and how often it came; one that
//! comes again later is another line, so that first and last tell when it came. A line that grows, as one that is typed does,
//! is one line. As bytes they are two columns: the texts, and all else.

use std::collections::{HashMap, HashSet};

use crate::instant::Instant;
use crate::screen::bytes::{Reader, put_number};

// What stands first of each line but its text.
const TYPED: u8 = 1;
const LASTED: u8 = 1 << 1;
const REDRAWN: u8 = 1 << 2;
const FIRST_WITHIN: u8 = 1 << 3;
const LAST_WITHIN: u8 = 1 << 4;
const DRAWN: u8 = 1 << 5;

/// With the name of a line: it stood here, and the place is blank since.
const BLANK: u32 = 1 << 31;

/// So many sorts of lines are remembered beyond the lines themselves.
const SORTS: usize = 1 << 16;

/// A line that comes again after so many microseconds is another one.
const APART: u64 = 2_000_000;

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    #[default]
    Shown,
    Typed,
}

/// One distinct line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub first: Instant,
    pub last: Instant,
    /// How often it came; a line that stays and is drawn again has not come again.
    pub count: u64,
    /// Another one, or none, stood in its place before or after it, and nothing scrolled.
    pub drawn: bool,
    /// And so with others that differ from it in numbers and signs alone.
    pub redrawn: bool,
}

/// What is known of a line beside its text.
#[derive(Debug, Clone, Copy)]
struct Record {
    kind: Kind,
    begin: usize,
    end: usize,
    first: Instant,
    last: Instant,
    count: u64,
    /// The turn in which it was last seen.
    turn: u32,
    /// It has grown into another one.
    outgrown: bool,
    drawn: bool,
}

/// Lines, as they come.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// Valid UTF-8, each line ended by a newline.
    text: Vec<u8>,
    records: Vec<Record>,
    /// By kind and checksum of the text.
    known: HashMap<(Kind, u32), usize>,
    /// How many lines there were before these, which are not known any more.
    before: u32,
    turn: u32,
    sorts: Sorts,
}

/// What is known of lines that were drawn, by the checksum of their letters.
#[derive(Debug, Clone, Default)]
struct Sorts {
    /// Of those that came in the place of others in this turn.
    came: HashSet<u32>,
    /// Of those that went.
    went: HashSet<u32>,
    /// Of those that came when one like them had gone.
    redrawn: HashSet<u32>,
}

impl Sorts {
    fn came(&mut self, letters: u32) {
        self.came.insert(letters);
        if self.went.contains(&letters) {
            self.redrawn.insert(letters);
        }
    }

    fn went(&mut self, letters: u32) {
        self.went.insert(letters);
        if self.came.contains(&letters) {
            self.redrawn.insert(letters);
        }
    }
}

impl Lines {
    /// How much text they hold.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.text.len()
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What is added from now on is seen later than what was added before.
    pub fn turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        self.sorts.came.clear();
    }

    /// Adds a line that stands where another one stood, if that one's name is not 0, and gives its name; for a blank line
    /// what is to be given as the name of the one that stood there.
    pub fn add(&mut self, kind: Kind, text: &[u8], at: Instant, was: u32) -> u32 {
        let text = text.trim_ascii_end();
        let (drawn, was) = (was != 0, if was & BLANK == 0 { was } else { 0 });
        let old = (was != 0).then(|| (was.wrapping_sub(self.before).wrapping_sub(1) & !BLANK) as usize);
        let old = old.filter(|index| *index < self.records.len());
        if text.is_empty() {
            old.into_iter().for_each(|old| self.went(old));
            return if drawn { was | BLANK } else { 0 };
        }
        let index = self.find(kind, text);
        let stayed = |index: usize| {
            old == Some(index) || (was != 0 && self.records[index].turn.wrapping_add(1) >= self.turn)
        };
        let later = |index: usize| at.micros > self.records[index].last.micros.saturating_add(APART);
        let index = match index.map(|index| (index, stayed(index))) {
            Some((index, false)) if later(index) => self.push(kind, text, at),
            Some((index, stayed)) => {
                let record = &mut self.records[index];
                record.count += u64::from(!stayed);
                record.turn = self.turn;
                record.last = if at.position > record.last.position { at } else { record.last };
                index
            }
            None => self.push(kind, text, at),
        };
        if drawn && old != Some(index) {
            self.succeed(old, index);
        }
        self.name(index)
    }

    /// What a line that was shown is called; 0 if it is not among these.
    #[must_use]
    pub fn name_of(&self, text: &[u8]) -> u32 {
        self.find(Kind::Shown, text.trim_ascii_end()).map_or(0, |index| self.name(index))
    }

    /// Takes all lines away as two columns.
    pub fn take(&mut self) -> (Vec<u8>, Vec<u8>) {
        let taken = self.columns();
        let before = self.before.wrapping_add(self.records.len() as u32);
        let mut sorts = std::mem::take(&mut self.sorts);
        [&mut sorts.went, &mut sorts.redrawn]
            .into_iter()
            .filter(|all| all.len() > SORTS)
            .for_each(HashSet::clear);
        *self = Self { before, turn: self.turn, sorts, ..Self::default() };
        taken
    }

    /// The texts, and all else.
    #[must_use]
    pub fn columns(&self) -> (Vec<u8>, Vec<u8>) {
        let mut text = Vec::with_capacity(self.text.len());
        let mut rest = Vec::with_capacity(self.records.len() * 8);
        let mut before = Instant::default();
        for record in self.records.iter().filter(|record| !record.outgrown) {
            text.extend_from_slice(&self.text[record.begin..=record.end]);
            let lasted = record.last != record.first || record.count != 1;
            let redrawn = record.drawn && self.sorts.redrawn.contains(&self.letters_of(record));
            let flags = [
                (record.kind == Kind::Typed, TYPED),
                (lasted, LASTED),
                (record.drawn, DRAWN),
                (redrawn, REDRAWN),
                (record.first.within, FIRST_WITHIN),
                (record.last.within, LAST_WITHIN),
            ];
            rest.push(flags.iter().filter(|(has, _)| *has).map(|(_, flag)| flag).sum());
            put_instant(&mut rest, record.first, before);
            if lasted {
                put_instant(&mut rest, record.last, record.first);
                put_number(&mut rest, record.count);
            }
            before = record.first;
        }
        (text, rest)
    }

    /// The lines that these columns hold; none if they are no columns.
    #[must_use]
    pub fn from_columns(text: &[u8], rest: &[u8]) -> Option<Self> {
        let mut lines = Self::default();
        for Line { kind, text, first, last, count, drawn, redrawn } in read(text, rest)? {
            let index = lines.push(kind, text.as_bytes(), first);
            let pushed = &mut lines.records[index];
            (pushed.last, pushed.count, pushed.drawn) = (last, count, drawn);
            if redrawn {
                lines.sorts.redrawn.insert(checksum_of_letters(text.as_bytes()));
            }
        }
        Some(lines)
    }

    const fn name(&self, index: usize) -> u32 {
        self.before.wrapping_add(index as u32 + 1) & !BLANK
    }

    fn find(&self, kind: Kind, text: &[u8]) -> Option<usize> {
        let same = |index: &usize| {
            let record = &self.records[*index];
            !record.outgrown && self.text[record.begin..record.end] == *text
        };
        self.known.get(&(kind, crc32fast::hash(text))).copied().filter(same)
    }

    fn push(&mut self, kind: Kind, text: &[u8], first: Instant) -> usize {
        let begin = self.text.len();
        self.text.extend_from_slice(text);
        self.text.push(b'\n');
        let (end, turn) = (begin + text.len(), self.turn);
        let (outgrown, drawn) = (false, false);
        self.records.push(Record { kind, begin, end, first, last: first, count: 1, turn, outgrown, drawn });
        let index = self.records.len() - 1;
        self.known.insert((kind, crc32fast::hash(text)), index);
        index
    }

    /// A line has come into the place of another, if that one is known, else of one of long ago or that was gone already.
    fn succeed(&mut self, old: Option<usize>, new: usize) {
        let text = |index: usize| &self.text[self.records[index].begin..self.records[index].end];
        if let Some(old) = old {
            if text(new).starts_with(text(old)) && self.records[old].count == 1 {
                // Whoever wants the old line finds it in the new one.
                self.records[old].outgrown = true;
                return;
            }
            self.went(old);
        }
        self.records[new].drawn = true;
        self.sorts.came(self.letters_of(&self.records[new]));
    }

    /// A line was taken off its place.
    fn went(&mut self, index: usize) {
        self.records[index].drawn = true;
        self.sorts.went(self.letters_of(&self.records[index]));
    }

    fn letters_of(&self, record: &Record) -> u32 {
        checksum_of_letters(&self.text[record.begin..record.end])
    }
}

/// The letters of a line: what stays when a clock, a counter or a bar in it is drawn anew.
pub fn letters(text: &[u8]) -> impl Iterator<Item = char> {
    let chars = text.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    chars.filter(|ch| ch.is_alphabetic())
}

fn checksum_of_letters(text: &[u8]) -> u32 {
    crc32fast::hash(letters(text).collect::<String>().as_bytes())
}

/// The lines that two columns hold, in their order; none if they are no columns.
#[must_use]
pub fn read<'a>(text: &'a [u8], rest: &[u8]) -> Option<Vec<Line<'a>>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut rest = Reader(rest);
    let mut before = Instant::default();
    let mut lines = Vec::new();
    for text in text.split_terminator('\n') {
        let flags = rest.byte()?;
        let kind = if flags & TYPED == 0 { Kind::Shown } else { Kind::Typed };
        let mut first = take_instant(&mut rest, before)?;
        let (mut last, mut count) = (first, 1);
        if flags & LASTED != 0 {
            last = take_instant(&mut rest, first)?;
            count = rest.number()?;
        }
        (first.within, last.within) = (flags & FIRST_WITHIN != 0, flags & LAST_WITHIN != 0);
        before = first;
        let (drawn, redrawn) = (flags & DRAWN != 0, flags & REDRAWN != 0);
        if redrawn && !drawn {
            return None;
        }
        lines.push(Line { kind, text, first, last, count, drawn, redrawn });
    }
    rest.0.is_empty().then_some(lines)
}

/// As what has changed since another.
fn put_instant(out: &mut Vec<u8>, at: Instant, before: Instant) {
    let wall = at.wall.wrapping_sub((at.micros / 1000).cast_signed());
    let wall_before = before.wall.wrapping_sub((before.micros / 1000).cast_signed());
    put_change(out, at.entry.wrapping_sub(before.entry));
    put_change(out, at.position.wrapping_sub(before.position));
    put_change(out, at.micros.wrapping_sub(before.micros));
    put_change(out, wall.wrapping_sub(wall_before).cast_unsigned());
}

fn take_instant(rest: &mut Reader<'_>, before: Instant) -> Option<Instant> {
    let entry = before.entry.wrapping_add(take_change(rest)?);
    let position = before.position.wrapping_add(take_change(rest)?);
    let micros = before.micros.wrapping_add(take_change(rest)?);
    let wall_before = before.wall.wrapping_sub((before.micros / 1000).cast_signed());
    let wall = wall_before.wrapping_add(take_change(rest)?.cast_signed());
    let wall = wall.wrapping_add((micros / 1000).cast_signed());
    Some(Instant { entry, position, micros, wall, within: false })
}

/// Small ones, up or down, are short.
fn put_change(out: &mut Vec<u8>, change: u64) {
    let signed = change.cast_signed();
    put_number(out, (signed << 1 ^ signed >> 63).cast_unsigned());
}

fn take_change(rest: &mut Reader<'_>) -> Option<u64> {
    let number = rest.number()?;
    Some((number >> 1) ^ (number & 1).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u64) -> Instant {
        Instant {
            entry: number,
            position: number * 10,
            micros: number * 1000,
            wall: 1_000_000 + number.cast_signed(),
            within: number % 3 == 2,
        }
    }

    fn all(lines: &Lines) -> Vec<(String, u64, u64, u64)> {
        let (text, rest) = lines.columns();
        let lines = read(&text, &rest).unwrap();
        lines
            .iter()
            .map(|line| (line.text.to_owned(), line.first.entry, line.last.entry, line.count))
            .collect()
    }

    fn line(text: &str, first: u64, last: u64, count: u64) -> (String, u64, u64, u64) {
        (text.to_owned(), first, last, count)
    }

    #[test]
    fn a_line_that_is_drawn_again_has_not_come_again() {
        let mut lines = Lines::default();
        let name = lines.add(Kind::Shown, b"status: idle", at(1), 0);
        for turn in 2..9 {
            lines.turn();
            assert_eq!(lines.add(Kind::Shown, b"status: idle  ", at(turn), name), name);
        }
        lines.add(Kind::Shown, b"status: idle", at(9), 0);
        assert_eq!(all(&lines), [line("status: idle", 1, 9, 2)]);
    }

    #[test]
    fn a_line_that_comes_again_much_later_is_told_with_when_it_came() {
        let mut lines = Lines::default();
        let second = |seconds: u64| at(seconds * 1000);
        let name = lines.add(Kind::Shown, b"again", second(0), 0);
        lines.turn();
        lines.add(Kind::Shown, b"again", second(60), name);
        for seconds in [61, 62, 70, 71] {
            lines.turn();
            lines.add(Kind::Shown, b"again", second(seconds), 0);
        }
        let stood = line("again", 0, 62_000, 3);
        assert_eq!(all(&lines), [stood.clone(), line("again", 70_000, 71_000, 2)]);
        let (text, rest) = lines.columns();
        let mut later = Lines::from_columns(&text, &rest).unwrap();
        later.add(Kind::Shown, b"again", second(72), 0);
        assert_eq!(all(&later), [stood, line("again", 70_000, 72_000, 3)], "the latest goes on");
    }

    #[test]
    fn a_line_that_grows_is_one_line_from_when_it_is_whole() {
        let mut lines = Lines::default();
        let mut name = 0;
        for (number, text) in ["$ m", "$ ma", "$ mak", "$ make"].into_iter().enumerate() {
            name = lines.add(Kind::Shown, text.as_bytes(), at(number as u64), name);
        }
        lines.add(Kind::Shown, b"$ make", at(7), 0);
        lines.add(Kind::Shown, b"something else", at(8), name);
        assert_eq!(all(&lines), [line("$ make", 3, 7, 2), line("something else", 8, 8, 1)]);
    }

    #[test]
    fn lines_that_are_drawn_over_each_other_and_differ_in_numbers_alone_are_told_so() {
        let mut lines = Lines::default();
        let mut name = 0;
        for (number, text) in ["⠋ Thinking (1s)", "⠙ Thinking (2s)", "done (3s)"].into_iter().enumerate()
        {
            name = lines.add(Kind::Shown, text.as_bytes(), at(number as u64), name);
        }
        lines.add(Kind::Shown, b"done (4s)", at(9), 0);
        let (text, rest) = lines.columns();
        let redrawn: Vec<bool> = read(&text, &rest).unwrap().iter().map(|line| line.redrawn).collect();
        assert_eq!(redrawn, [true, true, false, false], "printed elsewhere is not drawn over");
    }

    /// Lines of screens that are drawn over each other, each in its turn, and which of them are told so.
    fn drawn(screens: &[&[&str]]) -> Vec<(String, bool)> {
        let mut lines = Lines::default();
        let mut names = [0; 9];
        for (turn, screen) in screens.iter().enumerate() {
            lines.turn();
            for (name, text) in names.iter_mut().zip(screen.iter()) {
                *name = lines.add(Kind::Shown, text.as_bytes(), at(turn as u64), *name);
            }
        }
        let (text, rest) = lines.columns();
        let told = read(&text, &rest).unwrap();
        told.iter().map(|line| (line.text.to_owned(), line.redrawn)).collect()
    }

    #[test]
    fn lines_that_are_drawn_over_each_other_in_other_rows_are_told_so() {
        let moved = drawn(&[&["busy 1", "idle"], &["idle", "busy 2"], &["busy 3", "idle"], &["x", "y"]]);
        assert!(moved[..4].iter().filter(|(text, _)| text.starts_with("busy")).all(|(_, redrawn)| *redrawn));
        assert_eq!(moved[4..], [("x".to_owned(), false), ("y".to_owned(), false)], "{moved:?}");
        let blinks = drawn(&[&["busy 1"], &[""], &[""], &["busy 2"], &[""], &["other"], &["busy 3"]]);
        let redrawn: Vec<bool> = blinks.iter().map(|(_, redrawn)| *redrawn).collect();
        assert_eq!(redrawn, [true, true, false, true], "{blinks:?}");
        let below = drawn(&[&["$ log", "try 1", "try 2", "try 3"], &["", "", "", ""], &["$ ls", "a b"]]);
        assert!(below.iter().all(|(_, redrawn)| !redrawn), "printed below each other and cleared: {below:?}");
    }

    #[test]
    fn columns_come_back_as_they_were_and_lines_go_on_from_them() {
        let mut lines = Lines::default();
        lines.add(Kind::Shown, "漢字 ─│ text".as_bytes(), at(5), 0);
        lines.add(Kind::Typed, b"make", at(3), 0);
        lines.add(Kind::Shown, b"make", at(u64::MAX >> 20), 0);
        let (text, rest) = lines.columns();
        let mut again = Lines::from_columns(&text, &rest).unwrap();
        assert_eq!(again.columns(), (text.clone(), rest.clone()));
        again.add(Kind::Typed, b"make", at(9), 0);
        assert_eq!(all(&again)[1], line("make", 3, 9, 2));
        assert_eq!(again.take().0, text);
        assert!(again.is_empty() && again.add(Kind::Shown, b"x", at(1), 0) == 4, "names are not given twice");
        for cut in 0..rest.len() {
            assert!(read(&text, &rest[..cut]).is_none(), "cut at {cut}");
        }
        assert!(read(b"\xff\n", &rest).is_none() && read(&text, &[&rest[..], b"x"].concat()).is_none());
    }
}
