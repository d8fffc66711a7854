//! Harvest: the lines that a person could have read, out of a recording, each with the first instant at which it was to
//! be seen. A screen was seen if it stood for a moment, or if it has not stood still for a while; what
//! scrolls away was seen too, however fast. What a synchronized update covers was not, unless it stands above the screen when
//! that is over.

use crate::instant::Instant;
use crate::recording::Kind as EntryKind;
use crate::screen::{Screen, Sighted};

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
        let replaced = [EntryKind::Resize, EntryKind::Screen].contains(&kind);
        if settled || overdue || replaced {
            self.look(screen, lines);
        }
    }

    /// To be called when the screen has taken in some of an entry's output, the last of which came at this instant. `place`
    /// says which position some place of the stream that the screen was fed stands at, if at any.
    pub fn during(
        &mut self,
        at: Instant,
        place: impl Fn(u64) -> Option<u64>,
        screen: &mut Screen,
        lines: &mut Lines,
    ) {
        for line in screen.gone() {
            let passed = || {
                let position = place(line.left?)?;
                // What an update let scroll away may stand there when all was taken in.
                Some(if position == at.position { at } else { Instant { position, within: true, ..at } })
            };
            // What stands nowhere in the stream, as what is shown around an `exec`, was there by now.
            let seen = self.noted(&line).or_else(passed).unwrap_or(at);
            lines.add(Kind::Shown, &line.text, seen, line.line);
        }
    }

    /// To be called when the screen has taken in all of an entry's output, or let go of an update.
    pub fn after(&mut self, at: Instant, screen: &mut Screen, lines: &mut Lines) {
        self.notes.push(at);
        screen.note(self.notes.len() as u32);
        self.pass(at, screen, lines);
    }

    /// Takes what is to be seen at this instant for seen, and what an update that is under way let scroll away too: no more may
    /// come.
    pub fn rest(&mut self, at: Instant, screen: &mut Screen, lines: &mut Lines) {
        screen.uncover();
        self.pass(at, screen, lines);
        self.look(screen, lines);
    }

    /// Takes what has left the screen for seen, at this instant at the latest.
    fn pass(&self, at: Instant, screen: &mut Screen, lines: &mut Lines) {
        for line in screen.gone() {
            lines.add(Kind::Shown, &line.text, self.noted(&line).unwrap_or(at), line.line);
        }
    }

    /// Takes what is to be seen now for seen.
    pub fn look(&mut self, screen: &mut Screen, lines: &mut Lines) {
        let Some(now) = self.notes.last().copied() else {
            return;
        };
        lines.turn();
        screen.look(&mut |line| {
            let seen = self.noted(&line).unwrap_or(now);
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

    /// The instant of the note since which all of a line is to be seen.
    fn noted(&self, line: &Sighted) -> Option<Instant> {
        self.notes.get((line.since()? as usize).checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Size;
    use crate::search::lines;

    const SIZE: Size = Size { cols: 20, rows: 5 };
    const SCROLLBACK: usize = 100;

    /// What a recording of output at these times, in ms, shows: each line, and how much output there was when it was
    /// first to be seen.
    fn harvested(output: &[(u64, &str)]) -> Vec<(String, u64)> {
        let mut screen = Screen::new(SIZE, SCROLLBACK);
        screen.watch(&mut |_| 0);
        let (mut harvest, mut lines) = (Harvest::default(), Lines::default());
        let (mut position, mut at) = (0, Instant::default());
        for (number, (ms, text)) in output.iter().enumerate() {
            let micros = ms * 1000;
            harvest.before(EntryKind::Output, micros, &mut screen, &mut lines);
            let _ = screen.feed(text.as_bytes());
            position += text.len() as u64;
            at = Instant { entry: number as u64, position, micros, ..Instant::default() };
            harvest.during(at, Some, &mut screen, &mut lines);
            harvest.after(at, &mut screen, &mut lines);
        }
        harvest.rest(at, &mut screen, &mut lines);
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
    fn what_stands_nowhere_in_the_stream_and_leaves_the_screen_is_found_where_that_was_taken_in() {
        let mut screen = Screen::new(SIZE, SCROLLBACK);
        screen.watch(&mut |_| 0);
        let (mut harvest, mut lines) = (Harvest::default(), Lines::default());
        let text: String = (0..50).map(|n| format!("line {n}\r\n")).collect();
        let _ = screen.feed(text.as_bytes());
        let at = Instant { position: 7, ..Instant::default() };
        harvest.during(at, |_| None, &mut screen, &mut lines);
        harvest.after(at, &mut screen, &mut lines);
        harvest.rest(at, &mut screen, &mut lines);
        let (text, rest) = lines.columns();
        let found: Vec<u64> =
            lines::read(&text, &rest).unwrap().iter().map(|line| line.first.position).collect();
        assert_eq!(found, [7; 50]);
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
    fn a_line_that_went_and_came_back_in_its_row_has_come_again() {
        let mut screen = Screen::new(SIZE, 0);
        screen.watch(&mut |_| 0);
        let (mut harvest, mut lines) = (Harvest::default(), Lines::default());
        let shown = ["\x1b[2J\x1b[Hcomeback", "\x1b[2J\x1b[H"];
        for number in 0..8 {
            let at = Instant { micros: number * 500_000, position: number + 1, ..Instant::default() };
            harvest.before(EntryKind::Output, at.micros, &mut screen, &mut lines);
            let _ = screen.feed(shown[number as usize % 2].as_bytes());
            harvest.during(at, Some, &mut screen, &mut lines);
            harvest.after(at, &mut screen, &mut lines);
        }
        harvest.rest(Instant::default(), &mut screen, &mut lines);
        let (text, rest) = lines.columns();
        let counts: Vec<u64> = lines::read(&text, &rest).unwrap().iter().map(|line| line.count).collect();
        assert_eq!(counts, [4]);
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
    fn what_an_update_covers_and_takes_away_before_it_is_over_was_never_there() {
        let printed: String = (0..9).map(|n| format!("line {n}\r\n")).collect();
        let many: String = (0..200).map(|n| format!("line {n}\r\n")).collect();
        for (covered, left) in [
            (format!("{printed}\x1b[3J\x1b[H\x1b[2Jend"), vec!["end"]),
            (
                format!("{printed}\x1b[3J\x1b[H\x1b[2J{printed}end"),
                vec!["line 0", "line 4", "line 5", "line 8", "end"],
            ),
            (format!("\x1b[?1049h{printed}\x1b[H\x1b[2Jend"), vec!["end"]),
            (format!("{printed}\x1b[3J\x1b[H\x1b[5M\x1b[2;4r\x1b[4;1H{printed}\x1b[2Jend"), vec!["end"]),
            (format!("{many}\x1b[H\x1b[2Jend"), vec!["line 96", "line 195", "end"]),
        ] {
            let seen = seen(&[(0, "\x1b[?2026h"), (1, &covered), (2, "\x1b[?2026l")]);
            for line in &left {
                assert!(seen.contains(&(*line).to_owned()), "{line} of {covered:?}: {seen:?}");
            }
            assert!(left.len() > 1 || seen.len() == 1, "{covered:?}: {seen:?}");
            assert!(seen.len() <= SCROLLBACK + 1, "{covered:?}: {seen:?}");
        }
    }
}
