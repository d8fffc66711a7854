//! Output as plain lines: what a log of it would say. Sequences are dropped, and a line that is written over is
//! shown as it was last. For programs that move about the screen, the screen tells more than this can.

/// A longer line is given in pieces.
const LONGEST_LINE: usize = 64 * 1024;

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
    line: Vec<char>,
    column: usize,
    /// Bytes of a character that is not whole.
    partial: Vec<u8>,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            within: Within::Nothing,
            parameters: Vec::new(),
            line: Vec::new(),
            column: 0,
            partial: Vec::new(),
        }
    }
}

impl Plain {
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
        let number = std::str::from_utf8(&self.parameters).ok().and_then(|text| text.parse::<usize>().ok());
        let count = number.unwrap_or(1).clamp(1, LONGEST_LINE);
        match last {
            'K' if number.unwrap_or(0) == 0 => self.line.truncate(self.column),
            'K' => self.line.clear(),
            'G' => self.column = count - 1,
            'C' => self.column = (self.column + count).min(LONGEST_LINE),
            'D' => self.column = self.column.saturating_sub(count),
            _ => {}
        }
    }

    fn show(&mut self, c: char, line: &mut impl FnMut(&str)) {
        match c {
            '\n' => self.end_line(line),
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\t' => self.put('\t', line),
            c if c.is_control() => {}
            c => self.put(c, line),
        }
    }

    fn put(&mut self, c: char, line: &mut impl FnMut(&str)) {
        if self.column >= LONGEST_LINE {
            self.end_line(line);
        }
        if self.line.len() <= self.column {
            self.line.resize(self.column + 1, ' ');
        }
        self.line[self.column] = c;
        self.column += 1;
    }

    fn end_line(&mut self, line: &mut impl FnMut(&str)) {
        let text: String = self.line.drain(..).collect();
        self.column = 0;
        line(text.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut plain = Plain::default();
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
