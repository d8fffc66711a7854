//! Drawn: what pieces have put on a screen, wherever and in whatever order, and which piece each character came with. So that a
//! token is known that a program draws in parts, with other places of the screen in between.
//!
//! The screen is a real one. It is fed a stand-in for each character: one of as many columns, that nobody else uses and that
//! tells where the character came from. So every sequence does what it does to the text, and nothing of it is done twice here.

use std::ops::Range;

use super::stream::sequence;
use crate::screen::{Screen, Sighted, Size, columns};

/// For one column: private use. For two: ideographs, each of which is itself replaced where it comes.
const FIRST: [u32; 2] = [0xF_0000, 0x2_0000];
const STAND_INS: usize = 0xFFFE;
/// So many bytes are drawn before characters are free again.
const AT_ONCE: usize = 32 * 1024;

/// Where a character came from, and which it is.
#[derive(Debug, Clone, Copy)]
struct Origin {
    piece: u64,
    at: usize,
    ch: char,
    /// It was told to be secret.
    told: bool,
}

#[derive(Debug)]
pub(super) struct Drawn {
    screen: Screen,
    narrow: StandIns,
    wide: StandIns,
}

/// The characters of one width that stand for others.
#[derive(Debug)]
struct StandIns {
    first: u32,
    origins: Vec<Option<Origin>>,
    free: Vec<u32>,
    /// So many characters come as they are before it is looked again whether any is free.
    pass: usize,
}

impl Drawn {
    /// What is on the screen was there before the other pieces: this one is its characters.
    pub(super) fn new(piece: u64, screen: &Screen) -> Self {
        let [narrow, wide] = FIRST.map(StandIns::new);
        let mut drawn = Self { screen: screen.at_rest(), narrow, wide };
        let mut at = 0;
        let Self { screen, narrow, wide } = &mut drawn;
        screen.replace_characters(&mut |ch| {
            let origin = Origin { piece, at, ch, told: false };
            at += ch.len_utf8();
            let stand_ins = of_width(ch, narrow, wide);
            stand_ins.and_then(|all| all.next(origin)).unwrap_or(ch)
        });
        // What was drawn is in the piece, seen or not.
        screen.watch_openly();
        drawn
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.screen.resize(size);
    }

    /// Takes a piece, in which sequences are whole, and tells what of this one and of those before is secret.
    pub(super) fn take(&mut self, piece: u64, text: &str, found: &mut Vec<(u64, Range<usize>)>) {
        let mut fed = String::with_capacity(text.len() * 2);
        let mut at = 0;
        while let Some(ch) = text[at..].chars().next() {
            let rest = &text[at..];
            let length = if ch == '\u{1b}' { sequence(rest) } else { ch.len_utf8() };
            if fed.len() > AT_ONCE || (ch == '\u{1b}' && takes_away(&rest[..length])) {
                self.feed(&mut fed, found);
            }
            let stand_ins = of_width(ch, &mut self.narrow, &mut self.wide);
            let origin = Origin { piece, at, ch, told: false };
            match stand_ins
                .filter(|_| ch != '\u{1b}')
                .and_then(|all| all.stand_in(origin, &self.screen, &fed))
            {
                Some(stand_in) => fed.push(stand_in),
                None => fed.push_str(&rest[..length]),
            }
            at += length;
        }
        self.feed(&mut fed, found);
    }

    /// Draws it and looks at what changed.
    fn feed(&mut self, fed: &mut String, found: &mut Vec<(u64, Range<usize>)>) {
        if fed.is_empty() {
            return;
        }
        // Nobody is told anything.
        let _ = self.screen.feed(fed.as_bytes());
        self.screen.note(1);
        fed.clear();
        let mut lines: Vec<Sighted> = self.screen.gone().collect();
        self.screen.look(&mut |line| {
            lines.push(line);
            0
        });
        lines.iter().for_each(|line| self.look_at(line, found));
    }

    fn look_at(&mut self, line: &Sighted, found: &mut Vec<(u64, Range<usize>)>) {
        let drawn = std::str::from_utf8(&line.text).unwrap_or_default();
        let mut text = String::with_capacity(drawn.len());
        text.extend(drawn.chars().map(|ch| self.origin(ch).map_or(ch, |origin| origin.ch)));
        let secrets = super::secrets(&text);
        if secrets.is_empty() {
            return;
        }
        let mut hidden = super::within(&secrets);
        for ((at, _), ch) in text.char_indices().zip(drawn.chars()) {
            if let (true, Some(Origin { piece, at, told: false, .. })) = (hidden(at), self.origin(ch)) {
                found.push((piece, at..at + 1));
                self.narrow.tell(ch);
                self.wide.tell(ch);
            }
        }
    }

    fn origin(&self, ch: char) -> Option<Origin> {
        self.narrow.origin(ch).or_else(|| self.wide.origin(ch))
    }
}

impl StandIns {
    fn new(first: u32) -> Self {
        Self { first, origins: vec![None; STAND_INS], free: (0..STAND_INS as u32).collect(), pass: 0 }
    }

    fn number(&self, ch: char) -> Option<usize> {
        u32::from(ch)
            .checked_sub(self.first)
            .map(|number| number as usize)
            .filter(|number| *number < STAND_INS)
    }

    fn origin(&self, ch: char) -> Option<Origin> {
        self.origins[self.number(ch)?]
    }

    /// The character that this one stands for was told to be secret.
    fn tell(&mut self, ch: char) {
        if let Some(origin) = self.number(ch).and_then(|number| self.origins[number].as_mut()) {
            origin.told = true;
        }
    }

    /// One that is on no screen and not about to be drawn; none if there is none.
    fn stand_in(&mut self, origin: Origin, screen: &Screen, fed: &str) -> Option<char> {
        const AGAIN: usize = 4096;
        if self.free.is_empty() && self.pass == 0 {
            let mut used = vec![false; STAND_INS];
            for ch in screen.characters().chain(fed.chars()) {
                if let Some(number) = self.number(ch) {
                    used[number] = true;
                }
            }
            self.free = (0..STAND_INS as u32).filter(|number| !used[*number as usize]).collect();
            self.pass = if self.free.is_empty() { AGAIN } else { 0 };
        }
        self.pass = self.pass.saturating_sub(1);
        self.next(origin)
    }

    /// One that is known to be free; none if none is.
    fn next(&mut self, origin: Origin) -> Option<char> {
        let number = self.free.pop()?;
        self.origins[number as usize] = Some(origin);
        char::from_u32(self.first + number)
    }
}

/// What stands for a character, if anything does.
fn of_width<'a>(ch: char, narrow: &'a mut StandIns, wide: &'a mut StandIns) -> Option<&'a mut StandIns> {
    match columns(ch) {
        Some(1) if ch != ' ' => Some(narrow),
        Some(2) => Some(wide),
        _ => None,
    }
}

/// Whether a sequence may take text off the screen.
fn takes_away(sequence: &str) -> bool {
    // What nearly every redraw begins and ends with: the cursor and the update.
    const KEEP: [&str; 4] = ["?25h", "?25l", "?2026h", "?2026l"];
    let control = sequence.strip_prefix("\u{1b}[");
    let takes = |rest: &str| rest.ends_with(|last| "JKPXLMST@".contains(last)) || rest.starts_with('?');
    sequence == "\u{1b}c" || control.is_some_and(|rest| takes(rest) && !KEEP.contains(&rest))
}
