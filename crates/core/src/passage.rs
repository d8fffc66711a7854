//! What of a program's output may reach an attached terminal: everything but the questions, for the host has
//! answered those. Sequences and characters pass whole or not yet, so that nobody joins in the middle of one.
//! What sets the clipboard is marked: it is for the driver alone.

use std::borrow::Cow;
use std::ops::Range;

/// Longer sequences pass unexamined: no question is that long.
const HELD: usize = 4096;

const ESC: u8 = 0x1b;
const ENQUIRY: u8 = 0x05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    /// After ESC.
    Escape,
    /// `ESC [` and what follows.
    Control,
    /// OSC, DCS, APC, PM or SOS: up to BEL or ST.
    Text,
    /// The same, after an ESC in it.
    TextEscape,
    /// A character of so many more bytes.
    Character(u8),
}

/// Holds back what is not whole.
#[derive(Debug, Clone)]
pub struct Passage {
    within: Within,
    held: Vec<u8>,
    /// The sequence sets the clipboard, and part of it has passed.
    clipboard: bool,
}

impl Default for Passage {
    fn default() -> Self {
        Self { within: Within::Nothing, held: Vec::new(), clipboard: false }
    }
}

/// What may pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passed {
    bytes: Vec<u8>,
    /// Where in them the clipboard is set.
    clipboard: Vec<Range<usize>>,
}

impl Passed {
    /// All of it: for the driver.
    #[must_use]
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    /// For everyone else: nobody's clipboard changes by looking on.
    #[must_use]
    pub fn without_clipboard(&self) -> Cow<'_, [u8]> {
        if self.clipboard.is_empty() {
            return Cow::Borrowed(&self.bytes);
        }
        let mut kept = Vec::with_capacity(self.bytes.len());
        let mut from = 0;
        for set in &self.clipboard {
            kept.extend_from_slice(&self.bytes[from..set.start]);
            from = set.end;
        }
        kept.extend_from_slice(&self.bytes[from..]);
        Cow::Owned(kept)
    }
}

impl Passage {
    /// What may pass now that these bytes came.
    #[must_use]
    pub fn pass(&mut self, bytes: &[u8]) -> Passed {
        let mut passed = Passed { bytes: Vec::with_capacity(bytes.len()), clipboard: Vec::new() };
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            // Most of it is text and how it looks, which need no thought.
            let plain = match self.within {
                Within::Nothing => harmless(rest),
                Within::Escape
                | Within::Control
                | Within::Text
                | Within::TextEscape
                | Within::Character(_) => 0,
            };
            passed.bytes.extend_from_slice(&rest[..plain]);
            if plain == 0 {
                self.step(first, &mut passed);
            }
            rest = &rest[plain.max(1)..];
        }
        passed
    }

    /// What is held back.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    fn step(&mut self, byte: u8, passed: &mut Passed) {
        let next = match (self.within, byte) {
            (Within::Nothing, ENQUIRY) => return,
            (Within::Nothing | Within::Character(_), ESC) => {
                self.let_pass(passed);
                Some(Within::Escape)
            }
            (Within::Nothing, 0xC2..=0xDF) => Some(Within::Character(1)),
            (Within::Nothing, 0xE0..=0xEF) => Some(Within::Character(2)),
            (Within::Nothing, 0xF0..=0xF4) => Some(Within::Character(3)),
            (Within::Nothing, _) => None,
            (Within::Character(more), 0x80..=0xBF) if more > 1 => Some(Within::Character(more - 1)),
            (Within::Character(_), _) => None,
            (Within::Escape, b'[') => Some(Within::Control),
            (Within::Escape, b']' | b'P' | b'_' | b'^' | b'X') => Some(Within::Text),
            (Within::Escape, 0x20..=0x2F | ESC) => Some(Within::Escape),
            (Within::Escape, _) => None,
            (Within::Control, 0x40..=0x7E | 0x18 | 0x1A) => None,
            (Within::Control, ESC) => Some(Within::Escape),
            (Within::Control, _) => Some(Within::Control),
            (Within::Text | Within::TextEscape, 0x07 | 0x18 | 0x1A) | (Within::TextEscape, b'\\') => None,
            (Within::Text | Within::TextEscape, ESC) => Some(Within::TextEscape),
            (Within::Text | Within::TextEscape, _) => Some(Within::Text),
        };
        self.held.push(byte);
        match next {
            Some(within) => {
                self.within = within;
                if self.held.len() > HELD {
                    self.let_pass(passed);
                }
            }
            None => {
                let question = is_question(self.within, &self.held);
                self.within = Within::Nothing;
                if question {
                    self.held.clear();
                } else {
                    self.let_pass(passed);
                }
                self.clipboard = false;
            }
        }
    }

    fn let_pass(&mut self, passed: &mut Passed) {
        let start = passed.bytes.len();
        self.clipboard |= self.held.starts_with(b"\x1b]52;");
        passed.bytes.append(&mut self.held);
        if self.clipboard {
            passed.clipboard.push(start..passed.bytes.len());
        }
    }
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7E | b'\r' | b'\n' | b'\t' | 0x08)
}

/// How much of it, from its beginning, is text and whole control sequences that ask nothing.
fn harmless(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += bytes[at..].iter().take_while(|byte| is_plain(**byte)).count();
        let Some(body) = bytes[at..].strip_prefix(b"\x1b[") else { return at };
        let parameters = body.iter().take_while(|byte| (0x20..=0x3F).contains(*byte)).count();
        let whole = body.get(parameters).is_some_and(|last| (0x40..=0x7E).contains(last));
        if !whole || parameters > HELD || control_asks(&body[..=parameters]) {
            return at;
        }
        at += 2 + parameters + 1;
    }
}

/// Whether a whole sequence is a question to the terminal.
pub(crate) fn asks(sequence: &[u8]) -> bool {
    let within = match sequence.get(1) {
        Some(b'[') => Within::Control,
        Some(b']' | b'P' | b'_' | b'^' | b'X') => Within::Text,
        Some(_) | None => Within::Escape,
    };
    is_question(within, sequence)
}

fn is_question(within: Within, sequence: &[u8]) -> bool {
    match within {
        Within::Control => sequence.strip_prefix(b"\x1b[").is_some_and(control_asks),
        Within::Text | Within::TextEscape => text_asks(sequence),
        Within::Escape => sequence == b"\x1bZ",
        Within::Nothing | Within::Character(_) => false,
    }
}

/// DA, DSR, DECRQM, XTVERSION, XTQMODKEYS, the kitty keyboard's flags, window reports.
fn control_asks(body: &[u8]) -> bool {
    let Some((&last, parameters)) = body.split_last() else {
        return false;
    };
    match last {
        b'c' => true,
        b'n' => !parameters.starts_with(b">"),
        b'p' => parameters.ends_with(b"$"),
        b'q' => parameters.starts_with(b">"),
        b'u' | b'm' => parameters.starts_with(b"?"),
        b't' => {
            let first = parameters.split(|&b| b == b';').next().unwrap_or_default();
            matches!(first, b"11" | b"13" | b"14" | b"15" | b"16" | b"18" | b"19" | b"20" | b"21")
        }
        b'x' => !parameters.contains(&b'$'),
        _ => false,
    }
}

/// Colours and clipboard (`?` in the place of a value), DECRQSS, XTGETTCAP.
fn text_asks(sequence: &[u8]) -> bool {
    let body = sequence.get(2..).unwrap_or_default();
    let body = body.strip_suffix(b"\x1b\\").or_else(|| body.strip_suffix(b"\x07")).unwrap_or(body);
    match sequence.get(1) {
        Some(b']') => {
            let mut fields = body.split(|&b| b == b';');
            let number = fields.next().unwrap_or_default();
            let colour =
                matches!(number, b"4" | b"5" | b"10" | b"11" | b"12" | b"13" | b"14" | b"17" | b"19" | b"52");
            colour && fields.any(|field| field == b"?")
        }
        Some(b'P') => body.starts_with(b"$q") || body.starts_with(b"+q"),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(bytes: &[u8]) -> Vec<u8> {
        Passage::default().pass(bytes).all().to_vec()
    }

    #[test]
    fn questions_do_not_pass_and_everything_around_them_does() {
        let questions: [&[u8]; 19] = [
            b"\x1b[c",
            b"\x1b[0c",
            b"\x1b[>c",
            b"\x1b[=c",
            b"\x1b[5n",
            b"\x1b[6n",
            b"\x1b[?6n",
            b"\x1b[?2026$p",
            b"\x1b[>q",
            b"\x1b[?u",
            b"\x1b[?4m",
            b"\x1b[18t",
            b"\x1b]11;?\x07",
            b"\x1b]10;?\x1b\\",
            b"\x1b]4;1;?\x07",
            b"\x1bP$qm\x1b\\",
            b"\x1bP+q544e\x1b\\",
            b"\x05",
            b"\x1bZ",
        ];
        for question in questions {
            let stream = [b"a\x1b[1m", question, "é".as_bytes()].concat();
            assert_eq!(
                through(&stream),
                [b"a\x1b[1m", "é".as_bytes()].concat(),
                "{}",
                question.escape_ascii()
            );
        }
    }

    #[test]
    fn what_is_no_question_passes_unchanged() {
        let statements: [&[u8]; 12] = [
            b"plain\r\n",
            b"\x1b[31;1mred\x1b[m",
            b"\x1b[2;5H",
            b"\x1b[?1049h",
            b"\x1b]0;title\x07",
            b"\x1b[8;24;80t",
            b"\x1b]11;#000000\x07",
            b"\x1b[ q",
            b"\x1b[2 q",
            b"\x1b[>1u",
            b"\x1b(0lqk\x1b(B",
            "日本🎉".as_bytes(),
        ];
        for statement in statements {
            assert_eq!(through(statement), statement, "{}", statement.escape_ascii());
        }
    }

    #[test]
    fn what_is_cut_anywhere_passes_as_a_whole_and_as_the_same_bytes() {
        let stream = "a\x1b[31mé\x1b]0;t\x07\x1b[6n日\x1b]52;c;Zm9v\x1b\\z".as_bytes();
        let whole = through(stream);
        for cut in 0..=stream.len() {
            let mut passage = Passage::default();
            let first = passage.pass(&stream[..cut]);
            let second = passage.pass(&stream[cut..]);
            assert_eq!([first.all(), second.all()].concat(), whole, "cut at {cut}");
            assert!(std::str::from_utf8(first.all()).is_ok(), "no half character at {cut}");
        }
    }

    #[test]
    fn a_sequence_without_end_is_not_held_for_ever() {
        let mut passage = Passage::default();
        let long = [b"\x1b]52;c;".as_slice(), &vec![b'A'; 3 * HELD]].concat();
        let passed = passage.pass(&long);
        assert!(passed.all().len() >= 2 * HELD);
        let rest = passage.pass(b"\x07z");
        assert_eq!([passed.all(), rest.all()].concat(), [long.as_slice(), b"\x07z"].concat());
    }

    #[test]
    fn only_what_sets_the_clipboard_is_kept_from_those_who_look_on() {
        let long = [b"\x1b]52;c;".as_slice(), &vec![b'A'; 2 * HELD], b"\x07"].concat();
        let stream =
            [b"a\x1b]52;c;Zm9v\x1b\\b\x1b]2;t\x07".as_slice(), &long, b"c\x1b]523;x\x07\x1b]52;p;!\x07"]
                .concat();
        // Everywhere but in the middle of what goes on and on.
        let edges = [0, 30, 30 + HELD, 30 + 2 * HELD, stream.len()];
        for cut in edges.into_iter().flat_map(|edge| edge.saturating_sub(50)..=(edge + 50).min(stream.len()))
        {
            let mut passage = Passage::default();
            let pieces = [passage.pass(&stream[..cut]), passage.pass(&stream[cut..])];
            assert_eq!(pieces.each_ref().map(Passed::all).concat(), stream, "cut at {cut}");
            let others: Vec<u8> =
                pieces.iter().flat_map(|piece| piece.without_clipboard().to_vec()).collect();
            assert_eq!(others, b"ab\x1b]2;t\x07c\x1b]523;x\x07", "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_characters_pass_too() {
        let wild: Vec<u8> = (0..=255).filter(|&b| b != ENQUIRY && b != ESC).collect();
        let mut passage = Passage::default();
        let pieces = [passage.pass(&wild), passage.pass(b".")];
        assert_eq!(pieces.each_ref().map(Passed::all).concat(), [wild.as_slice(), b"."].concat());
    }
}
