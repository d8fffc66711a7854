//! Typed: what clients typed, as the lines that they meant: a key that takes one back does so here too, Enter ends one.
//! What is typed at a password prompt is not in a recording, so it is not here.

use crate::keys::{self, Sent, Stroke};

/// A longer line is given in pieces.
const LONGEST: usize = 4096;
/// A sequence that is longer is none.
const LONGEST_SEQUENCE: usize = 128;

/// A line that is being typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Typed {
    line: String,
    /// The beginning of a sequence or character.
    begun: Vec<u8>,
}

impl Typed {
    /// Takes what was typed, and gives every line that is done.
    pub(super) fn take(&mut self, bytes: &[u8], line: &mut impl FnMut(&str)) {
        let mut held = std::mem::take(&mut self.begun);
        held.extend_from_slice(bytes);
        let mut rest = held.as_slice();
        while let Some(first) = rest.first() {
            if is_cut_character(rest) {
                break;
            }
            if *first == 0x7f {
                self.line.pop();
                rest = &rest[1..];
                continue;
            }
            let Some((sent, length)) = keys::first(rest) else {
                break;
            };
            match sent {
                Sent::Key(stroke) => self.key(stroke, line),
                // Escape ends what was typed, as it does in editors and agents.
                Sent::Other if length == 1 && *first == 0x1b => self.finish(line),
                Sent::Other | Sent::Aside | Sent::PasteBegins | Sent::PasteEnds => {}
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        if rest.len() <= LONGEST_SEQUENCE {
            self.begun = rest.to_vec();
        }
    }

    /// Gives the line as it stands.
    pub(super) fn finish(&mut self, line: &mut impl FnMut(&str)) {
        let text = std::mem::take(&mut self.line);
        if !text.trim().is_empty() {
            line(text.trim_end());
        }
    }

    pub(super) fn freeze(&self) -> Vec<u8> {
        let mut bytes = self.line.clone().into_bytes();
        // No line holds a NUL.
        bytes.push(0);
        bytes.extend_from_slice(&self.begun);
        bytes
    }

    pub(super) fn thaw(bytes: &[u8]) -> Option<Self> {
        let at = memchr::memchr(0, bytes)?;
        let line = std::str::from_utf8(&bytes[..at]).ok()?.to_owned();
        Some(Self { line, begun: bytes[at + 1..].to_vec() })
    }

    fn key(&mut self, stroke: Stroke, line: &mut impl FnMut(&str)) {
        let Stroke { ctrl, alt, ch, .. } = stroke;
        match (ctrl, alt, ch) {
            // Enter is ctrl-m or ctrl-j where it is no key of its own; ctrl-c and ctrl-d end what is typed too.
            (true, _, 'm' | 'j' | 'c' | 'd') | (_, _, '\r' | '\n') => self.finish(line),
            (true, _, 'h') | (false, false, '\u{8}' | '\u{7f}') => drop(self.line.pop()),
            (true, _, 'u') => self.line.clear(),
            (true, _, 'w') => {
                let kept = self.line.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.line.truncate(kept);
            }
            (false, false, '\t') | (true, false, 'i') => self.line.push(' '),
            (false, false, ch) if !ch.is_control() => {
                self.line.push(ch);
                if self.line.len() >= LONGEST {
                    self.finish(line);
                }
            }
            _ => {}
        }
    }
}

/// Whether these bytes begin with a character of which some are yet to come.
fn is_cut_character(bytes: &[u8]) -> bool {
    let first = bytes[0] >= 0x80;
    first
        && std::str::from_utf8(&bytes[..bytes.len().min(4)])
            .is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(typed: &[&[u8]]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut typing = Typed::default();
        for bytes in typed {
            // As if another one had gone on.
            typing = Typed::thaw(&typing.freeze()).unwrap();
            typing.take(bytes, &mut |line| lines.push(line.to_owned()));
        }
        typing.finish(&mut |line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn what_was_typed_is_the_line_that_was_meant() {
        assert_eq!(lines(&[b"make\r", b"ls -l", b"\x7f\x7fa\r"]), ["make", "ls a"]);
        assert_eq!(lines(&[b"one two three\x17\x17four\n"]), ["one four"]);
        assert_eq!(lines(&[b"wrong\x15right\x03", b"next"]), ["right", "next"]);
        assert_eq!(lines(&[b"ihello\x1b", b":wq\r"]), ["ihello", ":wq"]);
        assert_eq!(lines(&[b"a\x1b[D\x1b[Cb\x1bOPc\x1b[I\r"]), ["abc"], "keys without characters");
    }

    #[test]
    fn characters_and_sequences_may_come_in_pieces() {
        assert_eq!(lines(&[b"gr\xc3", b"\xbc\xe6", b"\xbc", b"\xa2\r"]), ["grü漢"]);
        assert_eq!(lines(&[b"a\x1b[9", b"8u\x1b[13u"]), ["ab"], "keys of the kitty protocol");
        assert_eq!(lines(&[b"\x1b[200~pasted\rtext\x1b[201~\r"]), ["pasted", "text"]);
        assert_eq!(lines(&[b"\xff\xfea\xc3\x28"]), ["a("], "what is no text");
    }

    #[test]
    fn nothing_is_kept_of_what_never_ends() {
        let endless = vec![b'1'; 100_000];
        let mut typing = Typed::default();
        typing.take(b"\x1b[", &mut |_| {});
        typing.take(&endless, &mut |_| {});
        assert!(typing.freeze().len() < 10_000);
    }
}
