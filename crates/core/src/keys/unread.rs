//! What the terminal answered a program that did not read it: then the shell behind it does, and it stands in the line that
//! this edits, or in the one that its terminal keeps for it.

use std::collections::VecDeque;

use super::half::edits_at;
use crate::recording::veil;

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
    /// A terminal echoed one, so that it kept it for a program that reads whole lines; or one came when whoever asked was gone.
    echoed: bool,
    /// A terminal was to echo one: if it did not, somebody began to read keys before it came, and got it.
    overtaken: bool,
    /// Where the line of an `exec` told its end last.
    over: Option<u64>,
    /// Where the questions end that are not answered yet.
    asked: VecDeque<u64>,
    /// Where whoever edits a line began to do so, if somebody does.
    edits: Option<u64>,
    /// One came to whoever edits a line and had not asked: as keys, of which nothing need be shown.
    left: bool,
}

impl Unread {
    /// Takes a question that a program asked, up to here.
    pub fn asked(&mut self, position: u64) {
        push(&mut self.asked, position);
    }

    /// The terminal reads whole lines and echoes them, just before it gets the answer that comes.
    pub const fn to_be_echoed(&mut self) {
        self.overtaken = true;
    }

    /// Takes what the terminal answered.
    pub fn answered(&mut self, answer: &[u8]) {
        let asked = self.asked.pop_front();
        let is_behind = |sign: Option<u64>| asked.zip(sign).is_some_and(|(asked, sign)| asked <= sign);
        self.left |= is_behind(self.edits);
        // What reads keys at once from now on may not have said so yet.
        self.echoed |= self.edits.is_none() && is_behind(self.over);
        push(&mut self.answers, echo(answer));
    }

    /// Takes what was shown since, here, and whether somebody begins to edit a line then, who reads keys at once.
    pub fn shown(&mut self, output: &[u8], position: u64, begins: bool) {
        if !self.answers.is_empty() {
            self.recent.extend_from_slice(output);
            let finds = |answer: &String| memchr::memmem::find(&self.recent, answer.as_bytes()).is_some();
            self.echoed |= self.answers.iter().any(finds);
            let longest = self.answers.iter().map(String::len).max().unwrap_or(0);
            self.recent.drain(..self.recent.len().saturating_sub(longest));
        }
        if let Some(at) = veil::end_told(output) {
            self.over = Some(position + at as u64);
        }
        if let Some(edits) = edits_at(output) {
            self.edits = edits.map(|at| position + at as u64);
            self.left = self.edits.is_some() && (self.echoed || self.overtaken);
        }
        if begins {
            (self.echoed, self.overtaken, self.recent) = (false, false, Vec::new());
        }
    }

    /// What stood in the line was erased, or the line was ended.
    pub fn erased(&mut self, ended: bool) {
        let (asked, edits, over) = (std::mem::take(&mut self.asked), self.edits, self.over);
        *self = Self { asked, edits, over, left: self.left && !ended, ..Self::default() };
    }

    /// The terminal keeps one for whoever reads its next line.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.echoed
    }

    /// One was taken for keys by whoever edits a line there now, whatever these did.
    #[must_use]
    pub const fn is_left(&self) -> bool {
        self.left
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

fn push<T>(queue: &mut VecDeque<T>, one: T) {
    if queue.len() == MOST {
        queue.pop_front();
    }
    queue.push_back(one);
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
        it.shown(b"text ^[[2", 0, false);
        assert!(!it.is_kept());
        it.shown(b";1R# ", 9, false);
        assert!(it.is_kept());
        it.shown(b"\x1b[?2004h$ ", 14, true);
        assert!(!it.is_kept() && it.is_left(), "who edits has it");
        let mut colour = unread(&["\x1b]11;rgb:0000/0000/0000\x07"]);
        colour.shown(b"^[]11;rgb:0000/0000/0000^G$ ", 0, false);
        assert!(colour.is_kept());
        let mut none = Unread::default();
        none.shown(b"^[[2;1R", 0, false);
        assert!(!none.is_kept());
    }

    #[test]
    fn an_answer_is_left_to_whoever_edits_a_line_unless_they_asked_themselves() {
        const EDITS: &[u8] = b"\x1b[?2004h$ ";
        let after = |asked: u64| {
            let mut it = Unread::default();
            it.asked(asked);
            it.shown(EDITS, 10, true);
            it.answered(b"\x1b[?62;22c");
            it
        };
        assert!(!after(12).is_left(), "a shell asks what it wants to know");
        for ends in [&b"\x1b[?2004l"[..], b"\x1b[?2004l\r\n\x1b[?2004h$ "] {
            let mut it = after(5);
            assert!(it.is_left());
            it.erased(false);
            assert!(it.is_left(), "of keys more may be left than what they put there");
            it.shown(ends, 30, true);
            assert!(!it.is_left(), "that line is over");
        }
        let mut it = after(5);
        it.erased(true);
        assert!(!it.is_left());
        let mut between = Unread::default();
        between.asked(5);
        between.shown(format!("{}0\x07", veil::ends("n0nce")).as_bytes(), 5, false);
        between.answered(b"\x1b[2;1R");
        between.shown(EDITS, 30, true);
        assert!(between.is_left(), "its line was over, and nobody had said yet that they edit the next");
        for (echoes, left) in [(true, true), (false, false)] {
            let mut overtaken = Unread::default();
            overtaken.asked(5);
            if echoes {
                overtaken.to_be_echoed();
            }
            overtaken.answered(b"\x1b[2;1R");
            overtaken.shown(EDITS, 5, true);
            assert_eq!(overtaken.is_left(), left, "it was to be echoed, and was read as keys");
            overtaken.shown(b"\x1b[?2004l\r\n\x1b[?2004h$ ", 30, true);
            assert!(!overtaken.is_left(), "that line is over");
        }
        let mut read = Unread::default();
        read.asked(5);
        read.answered(b"\x1b[?62;22c");
        read.shown(EDITS, 10, true);
        read.asked(20);
        read.answered(b"\x1b[2;1R");
        assert!(!read.is_left(), "each was read by who asked");
    }
}
