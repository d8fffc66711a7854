//! Harvest: the lines that a person could have read, out of a recording, each with the first instant at which it was to
//! be seen. A screen was seen if it stood for a moment, or if it has not stood still for a while; what
//! scrolls away was seen too, however fast. What a synchronized update covers was not.

use crate::instant::Instant;
use crate::recording::Kind as EntryKind;
use crate::screen::{Screen, Sighted, Size};

use super::lines::{Kind, Lines};
use super::typed::Typed;

/// A screen that stands for so long, in microseconds, was seen.
const SETTLED: u64 = 20_000;
/// A screen that has not stood still for so long is taken for seen as it is.
const WHILE: u64 = 100_000;
/// The most notes between two looks.
const NOTES: usize = 1 << 16;

/// Watches a screen that is fed a recording.
#[derive(Debug, Clone, Default)]
pub struct Harvest {
    /// The instants since the last look, in the order of their notes.
    notes: Vec<Instant>,
    /// A synchronized update was under way at the last note.
    held: bool,
    typed: Typed,
}

impl Harvest {
    /// Goes on with what was being typed when another one was kept.
    #[must_use]
    pub fn resume(kept: &[u8]) -> Option<Self> {
        Some(Self { typed: Typed::thaw(kept)?, ..Self::default() })
    }

    /// What the next one needs to go on. What is on the screen must have been looked at.
    #[must_use]
    pub fn keep(&self) -> Vec<u8> {
        self.typed.freeze()
    }

    /// To be called before the screen takes in an entry of this kind, which came so many microseconds after the start.
    pub fn before(&mut self, kind: EntryKind, micros: u64, screen: &mut Screen, lines: &mut Lines) {
        let (Some(first), Some(last)) = (self.notes.first(), self.notes.last()) else {
            return;
        };
        let settled = micros >= last.micros.saturating_add(SETTLED);
        let overdue = micros >= first.micros.saturating_add(WHILE) || self.notes.len() >= NOTES;
        if settled || overdue || kind == EntryKind::Resize {
            self.look(screen, lines);
        }
    }

    /// To be called when the screen has taken in a piece of output.
    pub fn after(&mut self, at: Instant, screen: &mut Screen, lines: &mut Lines) {
        self.notes.push(at);
        screen.note(self.notes.len() as u32);
        // What an update let scroll away came to be seen when that was over.
        let was_held = std::mem::replace(&mut self.held, screen.is_held());
        if self.held {
            return;
        }
        for line in screen.gone() {
            let seen = if was_held { at } else { self.seen(&line, at) };
            lines.add(Kind::Shown, &line.text, seen, line.line);
        }
    }

    /// Takes what is to be seen now for seen, and what an update that is under way let scroll away too: no more may come.
    pub fn rest(&mut self, screen: &mut Screen, lines: &mut Lines) {
        if let Some(now) = self.notes.last().copied() {
            screen.gone().for_each(|line| {
                lines.add(Kind::Shown, &line.text, now, line.line);
            });
        }
        self.look(screen, lines);
    }

    fn look(&mut self, screen: &mut Screen, lines: &mut Lines) {
        let Some(now) = self.notes.last().copied() else {
            return;
        };
        lines.turn();
        screen.look(&mut |line| {
            let seen = self.seen(&line, now);
            lines.add(Kind::Shown, &line.text, seen, line.line)
        });
        self.notes.clear();
    }

    /// Takes what a client typed.
    pub fn typed(&mut self, bytes: &[u8], at: Instant, lines: &mut Lines) {
        self.typed.take(bytes, &mut |text| {
            lines.add(Kind::Typed, text.as_bytes(), at, 0);
        });
    }

    /// Takes what is being typed as it stands.
    pub fn finish_typed(&mut self, at: Instant, lines: &mut Lines) {
        self.typed.finish(&mut |text| {
            lines.add(Kind::Typed, text.as_bytes(), at, 0);
        });
    }

    fn seen(&self, line: &Sighted, now: Instant) -> Instant {
        let noted = line.since().and_then(|number| self.notes.get((number as usize).checked_sub(1)?));
        noted.copied().unwrap_or(now)
    }
}

/// Cuts output so that whatever one piece shows is still on the screen at its end, unless it was rubbed out.
pub fn pieces(output: &[u8], size: Size) -> impl Iterator<Item = &[u8]> {
    let (rows, cols) = (usize::from(size.rows).max(2), usize::from(size.cols));
    let mut rest = output;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = piece(rest, rows - 1, cols);
        let (piece, later) = rest.split_at(end);
        rest = later;
        Some(piece)
    })
}

/// How long the first piece is: at most so many rows. One that is cut ends with a line where it can.
fn piece(output: &[u8], rows: usize, cols: usize) -> usize {
    let longest = output.len().min(rows * cols);
    let mut left = rows;
    let mut end = 0;
    for line in memchr::memchr_iter(b'\n', &output[..longest]) {
        // What is written over the end of a row takes another one.
        let taken = 1 + (line - end) / cols.max(1);
        if taken > left {
            break;
        }
        left -= taken;
        end = line + 1;
    }
    let rest = longest - end;
    if longest == output.len() && rest / cols.max(1) < left {
        longest
    } else if end > 0 {
        end
    } else {
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::lines;

    const SIZE: Size = Size { cols: 20, rows: 5 };

    /// What a recording of output at these times, in ms, shows: each line, and how much output there was when it was
    /// first to be seen.
    fn harvested(output: &[(u64, &str)]) -> Vec<(String, u64)> {
        let mut screen = Screen::new(SIZE, 0);
        screen.watch(&mut |_| 0);
        let (mut harvest, mut lines) = (Harvest::default(), Lines::default());
        let mut position = 0;
        for (number, (ms, text)) in output.iter().enumerate() {
            let micros = ms * 1000;
            harvest.before(EntryKind::Output, micros, &mut screen, &mut lines);
            for piece in pieces(text.as_bytes(), SIZE) {
                let _ = screen.feed(piece);
                position += piece.len() as u64;
                let at = Instant { entry: number as u64, position, micros, wall: 0 };
                harvest.after(at, &mut screen, &mut lines);
            }
        }
        harvest.rest(&mut screen, &mut lines);
        let (text, rest) = lines.columns();
        let lines = lines::read(&text, &rest).unwrap();
        lines.iter().map(|line| (line.text.to_owned(), line.first.position)).collect()
    }

    fn seen(output: &[(u64, &str)]) -> Vec<String> {
        harvested(output).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_screen_that_stood_for_a_moment_was_seen_and_one_that_did_not_was_not() {
        let seen = seen(&[
            (0, "\x1b[Hfirst"),
            (5, "\x1b[H\x1b[Khalf of the"),
            (6, "\x1b[H\x1b[Ksecond"),
            (50, "\x1b[H\x1b[Kthird"),
        ]);
        assert_eq!(seen, ["second", "third"]);
    }

    #[test]
    fn a_screen_that_never_rests_is_seen_now_and_then() {
        let output: Vec<(u64, String)> = (0..100).map(|n| (n * 10, format!("\x1b[H{n:03}"))).collect();
        let output: Vec<(u64, &str)> = output.iter().map(|(ms, text)| (*ms, text.as_str())).collect();
        let seen = seen(&output);
        assert!((9..12).contains(&seen.len()), "{seen:?}");
        assert_eq!(seen.last().unwrap(), "099", "what stands at the end was seen");
    }

    #[test]
    fn nothing_that_is_printed_is_missed_and_each_line_is_where_it_was_on_the_screen() {
        let text: String = (0..500).map(|n| format!("line {n}\r\n")).collect();
        let seen = harvested(&[(0, &text)]);
        assert_eq!(seen.len(), 500);
        for (number, (line, position)) in seen.iter().enumerate() {
            assert_eq!(*line, format!("line {number}"));
            let mut screen = Screen::new(SIZE, 0);
            let _ = screen.feed(&text.as_bytes()[..usize::try_from(*position).unwrap()]);
            assert!(screen.visible_text().lines().any(|row| row == line), "{line} at {position}");
        }
    }

    #[test]
    fn a_word_of_one_repaint_is_there_once_and_at_the_first_instant_of_it() {
        let mut output: Vec<(u64, String)> = Vec::new();
        for frame in 0..50 {
            let word = if (20..25).contains(&frame) { "word" } else { "" };
            output.push((frame * 100, format!("\x1b[2J\x1b[Hframe {frame}\x1b[3;1H{word}\x1b[5;1Hstatus")));
        }
        let before: usize = output[..=20].iter().map(|(_, text)| text.len()).sum();
        let output: Vec<(u64, &str)> = output.iter().map(|(ms, text)| (*ms, text.as_str())).collect();
        let mut seen = harvested(&output);
        assert_eq!(seen.len(), 52, "50 frames and two lines");
        seen.retain(|(line, _)| line == "word");
        assert_eq!(seen, [("word".to_owned(), before as u64)]);
    }

    #[test]
    fn what_an_update_prints_is_there_when_the_update_is_over() {
        let printed: String = (0..30).map(|n| format!("line {n}\r\n")).collect();
        let seen = harvested(&[(0, "\x1b[?2026h"), (1, &printed), (2, "prompt"), (3, "\x1b[?2026l")]);
        assert_eq!(seen.len(), 31);
        let end = printed.len() as u64 + 8 + 6 + 8;
        assert!(seen.iter().all(|(_, position)| *position == end), "{seen:?}");
    }

    #[test]
    fn pieces_are_the_whole_and_end_with_lines_that_are_still_there() {
        for text in ["", "a", "one\ntwo\nthree\nfour\nfive\nsix\nseven", &"x".repeat(1000), &"\n".repeat(99)]
        {
            let all: Vec<&[u8]> = pieces(text.as_bytes(), SIZE).collect();
            assert_eq!(all.concat(), text.as_bytes());
            for piece in all {
                let mut screen = Screen::new(SIZE, 100);
                let _ = screen.feed(b"\x1b[20h\x1b[5;1H");
                let _ = screen.feed(piece);
                let (left, _) = screen.scrollback_len();
                assert!(left < usize::from(SIZE.rows), "{left} rows of {piece:?} have left");
            }
        }
        let tiny = Size { cols: 1, rows: 1 };
        assert_eq!(pieces(b"abc\ndef", tiny).collect::<Vec<_>>().concat(), b"abc\ndef");
    }
}
