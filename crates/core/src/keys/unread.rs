//! What the terminal answered a program that did not read it: then the shell behind it does, and it stands in the line that
//! this edits, or in the one that its terminal keeps for it.

use std::collections::VecDeque;

/// So many answers are minded: a program that asks for more reads them.
const MOST: usize = 8;
/// So much of the end of one is looked for.
const LOOKED_FOR: usize = 40;

/// The answers since a line was ended last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// As terminals echo them, controls as `^[` and `^G`.
    answers: VecDeque<String>,
    /// The end of what was shown since the last of them, which may be the beginning of such an echo.
    recent: Vec<u8>,
    /// A terminal echoed one, so that it kept it for a program that reads whole lines.
    echoed: bool,
}

impl Unread {
    /// Takes what the terminal answered.
    pub fn answered(&mut self, answer: &[u8]) {
        if self.answers.len() == MOST {
            self.answers.pop_front();
        }
        self.answers.push_back(echo(answer));
    }

    /// Takes what was shown since, and whether somebody begins to edit a line then, who reads keys at once.
    pub fn shown(&mut self, output: &[u8], edits: bool) {
        if self.answers.is_empty() {
            return;
        }
        if edits {
            (self.echoed, self.recent) = (false, Vec::new());
            return;
        }
        self.recent.extend_from_slice(output);
        let finds = |answer: &String| memchr::memmem::find(&self.recent, answer.as_bytes()).is_some();
        self.echoed |= self.answers.iter().any(finds);
        let longest = self.answers.iter().map(String::len).max().unwrap_or(0);
        self.recent.drain(..self.recent.len().saturating_sub(longest));
    }

    /// The terminal keeps one for whoever reads its next line.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.echoed
    }

    /// Whether the end of one stands before the cursor, whatever a line editor made of how it begins.
    #[must_use]
    pub fn ends(&self, before_cursor: &str) -> bool {
        let ends = |answer: &String| {
            let whole = answer.trim_end_matches("^[\\").trim_end_matches("^G");
            [answer, whole].iter().any(|text| text.chars().next_back() == before_cursor.chars().next_back())
        };
        self.answers.iter().any(ends)
    }
}

/// What a terminal shows of it.
fn echo(answer: &[u8]) -> String {
    let mut echo = String::new();
    for &byte in &answer[answer.len().saturating_sub(LOOKED_FOR)..] {
        match byte {
            control @ ..b' ' => echo.extend(['^', char::from(control ^ 0x40)]),
            shown => echo.push(char::from(shown)),
        }
    }
    echo
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(answers: &[&str]) -> Unread {
        let mut unread = Unread::default();
        answers.iter().for_each(|answer| unread.answered(answer.as_bytes()));
        unread
    }

    #[test]
    fn what_a_line_editor_left_of_an_answer_is_known_by_its_end() {
        let colour = "\x1b]11;rgb:0000/0000/0000\x1b\\";
        for (answers, before_cursor, ends) in [
            (&["\x1b[2;1R"][..], "$ 1R", true),
            (&["\x1b[2;1R"], "# [4;1R", true),
            (&["\x1b[2;1R"], "$ ", false),
            (&["\x1b[2;1R"], "", false),
            (&["\x1b[2;1R", "\x1b[?62;22c"], "$ 1R62;22c", true),
            (&["\x1b[2;1R", "\x1b[?62;22c"], "$ 1R", true),
            (&[colour], "$ 11;rgb:0000/0000/0000", true),
            (&[colour], "$ /0000^[\\", true),
            (&["\x1b]11;rgb:0000/0000/0000\x07"], "$ 11;rgb:0000/0000/0000", true),
            (&[], "", false),
        ] {
            assert_eq!(unread(answers).ends(before_cursor), ends, "{answers:?} {before_cursor}");
        }
    }

    #[test]
    fn an_answer_that_a_terminal_echoed_is_kept_for_whole_lines_until_somebody_edits() {
        let mut it = unread(&["\x1b[2;1R"]);
        it.shown(b"text ^[[2", false);
        assert!(!it.is_kept());
        it.shown(b";1R# ", false);
        assert!(it.is_kept());
        it.shown(b"\x1b[?2004h$ ", true);
        assert!(!it.is_kept());
        let mut colour = unread(&["\x1b]11;rgb:0000/0000/0000\x07"]);
        colour.shown(b"^[]11;rgb:0000/0000/0000^G$ ", false);
        assert!(colour.is_kept());
        let mut none = Unread::default();
        none.shown(b"^[[2;1R", false);
        assert!(!none.is_kept());
    }
}
