//! Output as plain lines: what a log of it would say. Sequences are dropped, and a line that is written over is
//! shown as it was last. For programs that move about the screen, the screen tells more than this can.

mod line;

use line::{LONGEST_LINE, Line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Escape,
    Control,
    Text,
    TextEscape,
}

/// Makes lines of output.
#[derive(Debug, Clone)]
pub struct Plain {
    within: Within,
    /// The numbers and marks of a control sequence so far.
    parameters: Vec<u8>,
    line: Line,
    /// Bytes of a character that is not whole.
    partial: Vec<u8>,
}

impl Default for Plain {
    fn default() -> Self {
        Self { within: Within::Nothing, parameters: Vec::new(), line: Line::default(), partial: Vec::new() }
    }
}

impl Plain {
    /// What follows is made for a terminal of so many columns; none for a pipe.
    pub fn resize(&mut self, cols: Option<u16>) {
        self.line.resize(cols.map(usize::from));
    }

    /// Takes output and gives every line that is whole.
    pub fn feed(&mut self, bytes: &[u8], line: &mut impl FnMut(&str)) {
        let mut held = std::mem::take(&mut self.partial);
        held.extend_from_slice(bytes);
        let mut rest = held.as_slice();
        while !rest.is_empty() {
            let (text, taken) = match std::str::from_utf8(rest) {
                Ok(text) => (text, rest.len()),
                Err(error) => {
                    let (whole, broken) = rest.split_at(error.valid_up_to());
                    let text = std::str::from_utf8(whole).unwrap_or_default();
                    let bad = error.error_len();
                    text.chars().for_each(|c| self.step(c, line));
                    match bad {
                        Some(length) => {
                            self.step(char::REPLACEMENT_CHARACTER, line);
                            rest = &broken[length..];
                            continue;
                        }
                        None => {
                            self.partial = broken.to_vec();
                            return;
                        }
                    }
                }
            };
            text.chars().for_each(|c| self.step(c, line));
            rest = &rest[taken..];
        }
    }

    /// Gives the last line if it has no end.
    pub fn finish(&mut self, line: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.end_line(line);
        }
    }

    fn step(&mut self, c: char, line: &mut impl FnMut(&str)) {
        self.within = match (self.within, c) {
            (_, '\u{1b}') if self.within != Within::Text && self.within != Within::TextEscape => {
                Within::Escape
            }
            (Within::Nothing, _) => {
                self.show(c, line);
                Within::Nothing
            }
            (Within::Escape, '[') => {
                self.parameters.clear();
                Within::Control
            }
            (Within::Escape, ']' | 'P' | '_' | '^' | 'X') => Within::Text,
            (Within::Escape, ' '..='/') => Within::Escape,
            (Within::Escape, _) => Within::Nothing,
            (Within::Control, '@'..='~') => {
                self.control(c);
                Within::Nothing
            }
            (Within::Control, '\u{18}' | '\u{1a}') => Within::Nothing,
            (Within::Control, _) => {
                if self.parameters.len() < 64 {
                    self.parameters.extend(u8::try_from(c));
                }
                Within::Control
            }
            (Within::Text | Within::TextEscape, '\u{7}' | '\u{18}' | '\u{1a}') => Within::Nothing,
            (Within::TextEscape, '\\') => Within::Nothing,
            (Within::Text | Within::TextEscape, '\u{1b}') => Within::TextEscape,
            (Within::Text | Within::TextEscape, _) => Within::Text,
        };
    }

    /// Moves within the line and erases in it; everything else is the screen's business.
    fn control(&mut self, last: char) {
        let number = match self.parameters.as_slice() {
            [] => None,
            digits => match std::str::from_utf8(digits).ok().and_then(|text| text.parse::<usize>().ok()) {
                Some(number) => Some(number),
                None => return,
            },
        };
        let count = number.unwrap_or(1).clamp(1, LONGEST_LINE);
        let line = &mut self.line;
        match last {
            'K' => line.erase(number.unwrap_or(0)),
            'J' if number.unwrap_or(0) == 0 => line.erase_rest(),
            'X' => line.erase_cells(count),
            'P' => line.delete(count),
            '@' => line.insert(count),
            'G' => line.go_to_column(count - 1),
            'C' => line.right(count),
            'D' => line.left(count),
            'A' | 'B' => line.go_to_row(last == 'A', count),
            _ => {}
        }
    }

    fn show(&mut self, c: char, line: &mut impl FnMut(&str)) {
        match c {
            '\n' => self.end_line(line),
            '\r' => {
                if let Some(before) = self.line.return_carriage() {
                    line(before.trim_end());
                }
            }
            '\u{8}' => self.line.left(1),
            c if c.is_control() && c != '\t' => {}
            _ if self.line.at() >= LONGEST_LINE => {
                self.end_line(line);
                self.show(c, line);
            }
            '\t' => self.line.tab(),
            c => self.line.put(c),
        }
    }

    fn end_line(&mut self, line: &mut impl FnMut(&str)) {
        line(self.line.take().trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        lines_of(None, bytes)
    }

    fn lines_of(cols: Option<u16>, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut plain = Plain::default();
        plain.resize(cols);
        plain.feed(bytes, &mut |line| lines.push(line.to_owned()));
        plain.finish(&mut |line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn colours_and_titles_are_dropped_and_text_is_kept() {
        assert_eq!(lines(b"\x1b]0;t\x07\x1b[1;31mred\x1b[0m\r\nnext\r\n"), ["red", "next"]);
        assert_eq!(lines("\x1bP+q\x1b\\a\x1b(Bé日".as_bytes()), ["aé日"]);
    }

    #[test]
    fn a_line_that_is_written_over_is_shown_as_it_was_last() {
        assert_eq!(lines(b"10%\r50%\r100%\r\n"), ["100%"]);
        assert_eq!(lines(b"a long line\rshort\x1b[K\n"), ["short"]);
        assert_eq!(lines(b"abc\x08\x08X\n"), ["aXc"]);
    }

    #[test]
    fn what_is_erased_moved_and_inserted_in_a_line_is_so() {
        assert_eq!(lines(b"abcdef\x1b[3D\x1b[1KZ\n"), ["   Zef"]);
        assert_eq!(lines(b"abcdef\x1b[3D\x1b[2KZ\n"), ["   Z"]);
        assert_eq!(lines(b"abcdef\x1b[4D\x1b[2P\x1b[1@X\n"), ["abXef"]);
        assert_eq!(lines(b"abcdef\x1b[4D\x1b[2X\n"), ["ab  ef"]);
        assert_eq!(lines(b"a\tb\r\tc\x1b[?7K\n"), ["a\tc"], "and a private sequence is none of these");
        assert_eq!(lines(b"abcdefghij\r\tX\n"), ["abcdefghXj"]);
        assert_eq!(lines(b"a\tb\x1b[4GX\n"), ["a  X    b"]);
    }

    #[test]
    fn columns_are_counted_and_not_characters() {
        assert_eq!(lines("echo 漢字x\x08\x08\x08Y字x\x08\x08\x08\r\n".as_bytes()), ["echo 漢Y字x"]);
        assert_eq!(lines("漢字\x1b[3GY\n".as_bytes()), ["漢Y"]);
        assert_eq!(lines("漢字\x1b[2GY\n".as_bytes()), [" Y字"], "half of it is gone, so all of it is");
        assert_eq!(lines("e\u{301}x\x08\x08a\n".as_bytes()), ["ax"]);
        assert_eq!(
            lines("👩\u{200d}💻x\x08Y \u{1f1e9}\u{1f1ea}!\n".as_bytes()),
            ["👩\u{200d}💻Y \u{1f1e9}\u{1f1ea}!"]
        );
    }

    #[test]
    fn rows_that_are_wrapped_make_one_line_and_a_row_is_returned_to_by_itself() {
        let ten = |bytes: &[u8]| lines_of(Some(10), bytes);
        assert_eq!(ten(b"0123456789abcdef\r\nnext"), ["0123456789abcdef", "next"]);
        assert_eq!(ten(b"0123456789\r\nnext"), ["0123456789", "next"], "it waits for the next character");
        assert_eq!(
            ten(b"0123456789 \rabc\x1b[A\x1b[1CX\x1b[K\r\n"),
            ["0123X     abc"],
            "as a shell edits it"
        );
        assert_eq!(ten("012345678漢\r\n".as_bytes()), ["012345678漢"]);
        assert_eq!(ten(b"12345678\t\t9\r\n"), ["12345678\t\t9"]);
        let mut got = Vec::new();
        let mut plain = Plain::default();
        plain.resize(Some(10));
        plain.feed(b"0123456789ab", &mut |line| got.push(line.to_owned()));
        plain.resize(Some(5));
        plain.feed(b"\rX\n", &mut |line| got.push(line.to_owned()));
        assert_eq!(got, ["0123456789Xb"]);
    }

    #[test]
    fn output_without_a_new_line_stands_before_the_prompt_that_a_shell_puts_into_a_line_of_its_own() {
        // zsh, then fish: a mark, blanks until the next row is come to, and back.
        let zsh = |text: &str| format!("{text}%{:79}\r \r\r\x1b[J$ ls\r\nfile\r\n", "");
        let fish = |text: &str| format!("{text}⏎{:79}\r⏎ \r\x1b[K$ ls\r\nfile\r\n", "");
        for length in [1, 19, 77, 78, 79, 80, 81, 159, 160] {
            let text = "x".repeat(length);
            // A mark that has a row to itself is written over.
            let marks = if length % 80 == 0 { ["", ""] } else { ["%", "⏎"] };
            for (mark, output) in marks.iter().zip([zsh(&text), fish(&text)]) {
                let expected = [&format!("{text}{mark}"), "$ ls", "file"];
                assert_eq!(lines_of(Some(80), output.as_bytes()), expected, "{length}");
            }
        }
        assert_eq!(lines_of(Some(80), zsh("").as_bytes()), ["$ ls", "file"]);
    }

    #[test]
    fn bytes_cut_anywhere_make_the_same_lines() {
        let stream = "é\x1b[31mx\x1b[0m\r\n\x1b]0;日\x07b\u{fffd}\r\nc".as_bytes();
        let whole = lines(stream);
        for cut in 0..=stream.len() {
            let mut got = Vec::new();
            let mut plain = Plain::default();
            plain.feed(&stream[..cut], &mut |line| got.push(line.to_owned()));
            plain.feed(&stream[cut..], &mut |line| got.push(line.to_owned()));
            plain.finish(&mut |line| got.push(line.to_owned()));
            assert_eq!(got, whole, "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such_and_never_hold_up_the_rest() {
        assert_eq!(lines(b"a\xff\xfeb\nc"), ["a\u{fffd}\u{fffd}b", "c"]);
        assert_eq!(lines(&[b"x".repeat(LONGEST_LINE), b"y".to_vec()].concat()).len(), 2);
    }
}
