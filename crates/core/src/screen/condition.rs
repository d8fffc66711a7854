//! Conditions on what is shown. With a baseline only what was shown since counts: a line that stood there before is not
//! taken for an answer, one that has scrolled by since is.

use regex::{Regex, RegexBuilder};

use super::Screen;

/// Something that may be shown.
#[derive(Debug, Clone)]
pub enum Condition {
    Text(String),
    Pattern(Regex),
    /// The text is not to be seen.
    Gone(String),
    /// The cursor is at this row and column, counted from 0.
    Cursor {
        row: u16,
        col: u16,
    },
    /// What is to be seen is not what it was.
    Changed,
}

/// No pattern takes more memory than this.
const PATTERN_BYTES: usize = 1 << 20;

impl Condition {
    /// A pattern, in which `^` and `$` are the ends of a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn pattern(text: &str) -> Result<Self, String> {
        let built = RegexBuilder::new(text).multi_line(true).size_limit(PATTERN_BYTES).build();
        built.map(Self::Pattern).map_err(|error| error.to_string())
    }

    fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Text(wanted) => {
                let short = wanted.trim_end_matches(' ');
                // Lines are kept without the blanks at their ends, and every line has some.
                let at_an_end = short.len() < wanted.len() && text.lines().any(|line| line.ends_with(short));
                at_an_end || text.contains(wanted.as_str())
            }
            Self::Pattern(pattern) => pattern.is_match(text),
            Self::Gone(_) | Self::Cursor { .. } | Self::Changed => false,
        }
    }
}

/// Conditions that a screen is watched for.
#[derive(Debug)]
pub struct Sought {
    conditions: Vec<Condition>,
    /// Which of them were met by what has left the screen since.
    passed: Vec<bool>,
    /// Only what was shown since counts.
    fresh: bool,
    hash: u64,
}

impl Sought {
    /// From now on this screen is watched. With `fresh`, what is to be seen now does not count.
    #[must_use]
    pub fn new(conditions: Vec<Condition>, fresh: bool, screen: &mut Screen) -> Self {
        screen.watch_from_now();
        let passed = vec![false; conditions.len()];
        Self { conditions, passed, fresh, hash: screen.hash() }
    }

    /// Which of the conditions hold, in their order. `shown` says whether anything was shown since.
    pub fn hold(&mut self, screen: &mut Screen, shown: bool) -> Vec<bool> {
        for line in screen.gone() {
            let text = String::from_utf8_lossy(&line.text);
            for (passed, condition) in self.passed.iter_mut().zip(&self.conditions) {
                *passed |= condition.is_in(&text);
            }
        }
        let all = text(screen, false);
        let counts = if self.fresh { text(screen, true) } else { all.clone() };
        let timely = shown || !self.fresh;
        let holds = |(condition, passed): (&Condition, &bool)| match condition {
            Condition::Text(_) | Condition::Pattern(_) => *passed || condition.is_in(&counts),
            Condition::Gone(text) => timely && !all.contains(text.as_str()),
            Condition::Cursor { row, col } => {
                let cursor = screen.view().cursor();
                timely && (cursor.row, cursor.col) == (*row, *col)
            }
            Condition::Changed => screen.hash() != self.hash,
        };
        self.conditions.iter().zip(&self.passed).map(holds).collect()
    }
}

/// All lines, or those that were changed since, which are no neighbours of each other if others stand between them.
fn text(screen: &Screen, changed: bool) -> String {
    let mut text = String::new();
    let mut last = None;
    for (row, line) in screen.lines(changed) {
        if changed && last.is_some_and(|last| row > last + 1) {
            text.push_str("\0\n");
        }
        text.push_str(&String::from_utf8_lossy(&line.text));
        text.push('\n');
        last = Some(row);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Size;
    use super::*;

    fn screen(text: &str) -> Screen {
        let mut screen = Screen::new(Size { cols: 20, rows: 4 }, 10);
        let _ = screen.feed(text.as_bytes());
        screen
    }

    fn wanted(wanted: &str) -> Vec<Condition> {
        vec![Condition::Text(wanted.to_owned())]
    }

    #[test]
    fn what_stood_there_before_is_no_answer_and_the_same_drawn_again_is() {
        let mut screen = screen("$ make\r\ndone\r\n$ ");
        let mut stale = Sought::new(wanted("done"), false, &mut screen.clone());
        assert_eq!(stale.hold(&mut screen, false), [true]);
        let mut sought = Sought::new(wanted("done"), true, &mut screen);
        assert_eq!(sought.hold(&mut screen, false), [false]);
        let _ = screen.feed(b"\x1b[2;1Hdone");
        assert_eq!(sought.hold(&mut screen, true), [true]);
    }

    #[test]
    fn what_another_size_moves_below_an_editor_was_not_shown_and_is_once_that_is_gone() {
        for (before, meanwhile, met) in [("needle\r\n", "", false), ("", "needle\r\n", true)] {
            let mut screen = screen(&format!("{before}1\r\n2\r\n\x1b[?1049h"));
            let _ = screen.feed(if meanwhile.is_empty() { b"" } else { b"\x1b[?1049l" });
            let mut sought = Sought::new(wanted("needle"), true, &mut screen);
            let _ = screen.feed(format!("{meanwhile}\x1b[?1049h").as_bytes());
            screen.resize(Size { cols: 20, rows: 1 });
            assert_eq!(sought.hold(&mut screen, false), [met], "{before:?} {meanwhile:?}");
        }
        let mut screen = screen("needle\r\n\x1b[?1049h");
        let mut sought = Sought::new(wanted("needle"), true, &mut screen);
        let _ = screen.feed(b"\x1b[?1049l");
        assert_eq!(sought.hold(&mut screen, true), [true]);
    }

    #[test]
    fn what_has_scrolled_by_was_shown() {
        let mut screen = screen("$ ");
        let mut sought = Sought::new(wanted("needle"), true, &mut screen);
        let _ = screen.feed(b"needle\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6");
        assert!(!screen.visible_text().contains("needle"));
        assert_eq!(sought.hold(&mut screen, true), [true]);
        assert_eq!(sought.hold(&mut screen, true), [true], "it was");
    }

    #[test]
    fn what_an_update_let_scroll_away_was_shown_when_that_was_over() {
        let mut screen = screen("$ ");
        let mut sought = Sought::new(wanted("needle"), true, &mut screen);
        let _ = screen.feed(b"\x1b[?2026hneedle\r\n1\r\n2\r\n3\r\n4");
        assert_eq!(sought.hold(&mut screen, true), [false]);
        let _ = screen.feed(b"\x1b[?2026l");
        assert_eq!(sought.hold(&mut screen, true), [true]);
    }

    #[test]
    fn another_size_hides_nothing_and_has_nothing_come_again() {
        let mut screen = screen("old\r\n1\r\n2\r\n3\r\nneed");
        let mut sought = Sought::new(wanted("old"), true, &mut screen);
        let mut needle = Sought::new(wanted("needle"), true, &mut screen);
        let _ = screen.feed(b"le\r\n\x1b[?1049h");
        screen.resize(Size { cols: 30, rows: 1 });
        assert_eq!(needle.hold(&mut screen, true), [true], "it went above the screen");
        screen.resize(Size { cols: 20, rows: 9 });
        let _ = screen.feed(b"\x1b[?1049l");
        assert_eq!(sought.hold(&mut screen, true), [false], "it came back from there");
    }

    #[test]
    fn patterns_see_lines_and_a_text_that_is_gone_is_gone_only_after_something_was_shown() {
        let mut screen = screen("Proceed? [y/n]");
        let conditions =
            vec![Condition::pattern("^ok$").unwrap(), Condition::Gone("Proceed".into()), Condition::Changed];
        let mut sought = Sought::new(conditions, true, &mut screen);
        assert_eq!(sought.hold(&mut screen, false), [false, false, false]);
        let _ = screen.feed(b"\x1b[2J\x1b[Hok\r\n");
        assert_eq!(sought.hold(&mut screen, true), [true, true, true]);
        assert!(Condition::pattern("(").is_err());
    }

    #[test]
    fn a_prompt_is_found_with_the_blank_behind_it() {
        let mut screen = screen("ready\r\n% ");
        assert_eq!(Sought::new(wanted("% "), false, &mut screen.clone()).hold(&mut screen, false), [true]);
        assert_eq!(Sought::new(wanted("y % "), false, &mut screen.clone()).hold(&mut screen, false), [false]);
    }

    #[test]
    fn a_line_that_is_wrapped_is_one_line() {
        let mut screen = screen("");
        let mut sought = Sought::new(wanted("forty-nine fifty"), true, &mut screen);
        let _ = screen.feed(b"forty-eight forty-nine fifty fifty-one");
        assert_eq!(sought.hold(&mut screen, true), [true]);
    }
}
