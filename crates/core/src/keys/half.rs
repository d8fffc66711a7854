//! What stands half typed at a prompt, as far as what was typed and what is shown tell; and what a cursor stands behind
//! when a shell waits for the rest of a command, or its own `read` for an answer.

use super::unread::Unread;

const ESC: u8 = 0x1b;
const ENTER: &[u8] = b"\x1b[13u";
const CTRL_C: &[u8] = b"\x1b[99;5u";
const CTRL_Z: &[u8] = b"\x1b[122;5u";
/// Who edits a line wants to know what is pasted; who runs it does not.
const PASTES: &[u8] = b"\x1b[?2004h";
const PASTES_NOT: &[u8] = b"\x1b[?2004l";
/// So much of a half-typed line is looked for.
const LOOKED_FOR: usize = 40;

/// What was typed since the last Enter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HalfTyped {
    /// Plain characters, if nothing else was typed.
    text: String,
    /// A key whose effect nobody knows: Escape, arrows, completion.
    unclear: bool,
    pasting: bool,
    /// The beginning of a key's sequence.
    sequence: Vec<u8>,
    /// The beginning of a character.
    partial: Vec<u8>,
    /// What the terminal answered since.
    unread: Unread,
}

impl HalfTyped {
    /// Takes what was typed.
    pub fn take(&mut self, typed: &[u8]) {
        for &byte in typed {
            if !self.sequence.is_empty() || byte == ESC {
                self.sequence.push(byte);
                self.take_sequence();
            } else if self.pasting {
                self.put(byte);
            } else {
                self.take_key(byte);
            }
        }
    }

    /// Takes a question that a program asked its terminal, up to here.
    pub fn asked(&mut self, position: u64) {
        self.unread.asked(position);
    }

    /// The terminal is to echo the answer that comes.
    pub const fn to_be_echoed(&mut self) {
        self.unread.to_be_echoed();
    }

    /// Takes what the terminal answered a program.
    pub fn answered(&mut self, answer: &[u8]) {
        self.unread.answered(answer);
    }

    /// Takes what the program showed here: whoever begins to edit a line, or leaves the screen, knows no keys of before, and finds
    /// answers that nobody read.
    pub fn shown(&mut self, output: &[u8], position: u64) {
        let edits = begins_to_edit(output);
        self.unread.shown(output, position, edits);
        if self.is_unclear() && edits {
            *self = Self { unread: std::mem::take(&mut self.unread), ..Self::default() };
        }
    }

    /// A line was typed, or none is there any more.
    pub fn clear(&mut self) {
        self.unread.erased(true);
        *self = Self { unread: std::mem::take(&mut self.unread), ..Self::default() };
    }

    /// Whether something may stand there, if this is shown before the cursor.
    #[must_use]
    pub fn stands(&self, before_cursor: &str) -> bool {
        let skipped = self.text.chars().count().saturating_sub(LOOKED_FOR);
        let text: String = self.text.chars().skip(skipped).collect();
        // What another program took is not there. A line that is longer than its row ends in this one.
        let goes_on = !before_cursor.is_empty() && text.ends_with(before_cursor);
        let there = before_cursor.ends_with(&text) || goes_on;
        self.is_unclear() || (!text.is_empty() && there)
    }

    /// What the terminal answered since, which may stand there too.
    #[must_use]
    pub const fn unread(&self) -> &Unread {
        &self.unread
    }

    fn is_unclear(&self) -> bool {
        self.unclear || !self.sequence.is_empty()
    }

    fn take_key(&mut self, byte: u8) {
        match byte {
            b'\r' | b'\n' | 0x03 => self.clear(),
            // Erase: all of it, or one.
            0x15 if !self.unclear => {
                self.text.clear();
                self.unread.erased(false);
            }
            0x08 | 0x7f => drop(self.text.pop()),
            // The end of input, and the screen drawn anew.
            0x04 | 0x0c => {}
            // Where there is nothing, nothing is moved or erased.
            0x01 | 0x02 | 0x05 | 0x06 | 0x0b | 0x17 if self.text.is_empty() => {}
            // Ctrl-Z and Ctrl-\ stop and end what runs, and are no keys of a line.
            0x1a | 0x1c if self.text.is_empty() => {}
            0..=0x1f => self.unclear = true,
            0x20..=0xff => self.put(byte),
        }
    }

    fn put(&mut self, byte: u8) {
        self.partial.push(byte);
        let whole = std::str::from_utf8(&self.partial).map(str::to_owned);
        match whole {
            // More lines than one: all but the last stand above the cursor.
            Ok(text) if text.contains(char::is_control) => self.unclear = true,
            Ok(text) => self.text.push_str(&text),
            Err(error) if error.error_len().is_none() => return,
            Err(_) => self.unclear = true,
        }
        self.partial.clear();
    }

    fn take_sequence(&mut self) {
        let whole = match self.sequence.as_slice() {
            [ESC] | [ESC, b'[' | b'O'] => false,
            [ESC, b'[', .., last] => (0x40..=0x7e).contains(last),
            _ => true,
        };
        if !whole {
            return;
        }
        let sequence = std::mem::take(&mut self.sequence);
        match sequence.as_slice() {
            b"\x1b[200~" => self.pasting = true,
            b"\x1b[201~" => self.pasting = false,
            ENTER | CTRL_C => self.clear(),
            // The window was entered or left; the mouse.
            b"\x1b[I" | b"\x1b[O" => {}
            CTRL_Z if self.text.is_empty() => {}
            [ESC, b'[', b'<', ..] => {}
            _ => self.unclear = true,
        }
    }
}

/// How much stands in the line that was begun, for a program that reads whole ones. Who reads keys takes them at once, so
/// that none of it may be there; it is not less than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineSoFar(u64);

impl LineSoFar {
    /// With so much typed of it.
    #[must_use]
    pub const fn of(length: u64) -> Self {
        Self(length)
    }

    /// So much was typed of it.
    #[must_use]
    pub const fn length(self) -> u64 {
        self.0
    }

    /// Takes what is typed, and gives how long the longest line grew by that, its end included.
    pub fn take(&mut self, typed: &[u8]) -> u64 {
        let mut longest = 0;
        for &byte in typed {
            match byte {
                b'\r' | b'\n' => {
                    longest = longest.max(self.0 + 1);
                    self.0 = 0;
                }
                // Ctrl-C, Ctrl-D, Ctrl-U, Ctrl-Z and Ctrl-\ leave nothing of it, and are no part of it.
                0x03 | 0x04 | 0x15 | 0x1a | 0x1c => self.0 = 0,
                // Whatever is erased with a word is no part of it either.
                0x17 => {}
                0x08 | 0x7f => self.0 = self.0.saturating_sub(1),
                _ => {
                    self.0 += 1;
                    longest = longest.max(self.0);
                }
            }
        }
        longest
    }

    /// Takes what the program showed here: whoever begins or ends to read keys has taken those of before.
    pub fn shown(&mut self, output: &[u8]) {
        if self.0 > 0 && begins_to_edit(output) {
            self.0 = 0;
        }
    }
}

fn begins_to_edit(output: &[u8]) -> bool {
    const BEGINS: [&[u8]; 3] = [PASTES, b"\x1b[?1049l", b"\x1b[?1l"];
    BEGINS.iter().any(|begins| memchr::memmem::find(output, begins).is_some())
}

/// Whether a shell, as it last said here, edits a line or has taken it; none if it says neither.
pub(super) fn edits(output: &[u8]) -> Option<bool> {
    edits_at(output).map(|edits| edits.is_some())
}

/// The same, and where it begins to.
pub(super) fn edits_at(output: &[u8]) -> Option<Option<usize>> {
    let [begins, ends] = [PASTES, PASTES_NOT].map(|sign| memchr::memmem::rfind(output, sign));
    (begins.is_some() || ends.is_some()).then_some(begins.filter(|_| begins > ends))
}

/// Whether the last line that was typed ended with this, and nothing was typed behind it.
pub(super) fn ends_line(typed: &[u8]) -> bool {
    const ENDS: [&[u8]; 8] = [b"\r", b"\n", b"\x03", b"\x04", b"\x1a", b"\x1c", ENTER, CTRL_C];
    ENDS.iter().any(|end| typed.ends_with(end))
}

/// Whether this, before the cursor, is what a shell shows where it waits for more of a command, or its own `read` for an
/// answer: nothing, or `> ` behind nothing but words.
#[must_use]
pub fn is_no_prompt(before_cursor: &str) -> bool {
    let words = before_cursor.strip_suffix("> ");
    let is_words = |text: &str| text.chars().all(|letter| letter.is_ascii_lowercase() || letter == ' ');
    before_cursor.trim().is_empty() || words.is_some_and(is_words)
}

/// Whether a prompt says that keys are commands: fish does so in its vi mode.
#[must_use]
pub fn takes_commands(before_cursor: &str) -> bool {
    ["[N] ", "[V] ", "[R] "].iter().any(|mode| before_cursor.starts_with(mode))
}

/// Whether a prompt that is shown now is of the kind of one before: a time or a directory in it may be another.
#[must_use]
pub fn is_alike(prompt: &str, before: &str) -> bool {
    const ALIKE: usize = 2;
    let tail = |text: &str| text.chars().rev().take(ALIKE).collect::<String>();
    !prompt.trim().is_empty() && tail(prompt) == tail(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_half_typed_is_told_by_keys_and_screen() {
        for (typed, before_cursor, stands) in [
            (&b"ls\r"[..], "$ ", false),
            (b"ls", "$ ls", true),
            (b"ls", "$ ", false),
            (b"ls\x7f\x7f", "$ ", false),
            (b"q", "", false),
            (b"ls\x15", "$ ", false),
            (b"ls\x03", "$ ", false),
            (b"\x0c", "$ ", false),
            (b"sleep 9\r\x1a", "$ ", false),
            (b"sleep 9\r\x1b[122;5u", "$ ", false),
            (b"ls\x1a", "$ ls", true),
            (b"\x1b", "$ ", true),
            (b"\x1b[A", "$ make", true),
            (b"\x1b[A\r", "$ ", false),
            (b"\x1b[I", "$ ", false),
            (b"\x1b[200~a\rb\x1b[201~", "> b", true),
            (b"\x1b[200~a\rb\x1b[201~\r", "$ ", false),
            ("\u{e4}".as_bytes(), "$ \u{e4}", true),
        ] {
            let mut half = HalfTyped::default();
            half.take(typed);
            assert_eq!(half.stands(before_cursor), stands, "{}", typed.escape_ascii());
        }
        let mut half = HalfTyped::default();
        half.take(b"\x1b[Bq");
        half.shown(b"\x1b[?1l\x1b>$ ", 0);
        assert!(!half.stands("$ "), "a pager took the keys");
    }

    #[test]
    fn a_line_grows_over_whatever_is_typed_until_it_ends_or_is_erased() {
        for (typed, longest, length) in [
            (&["aaa", "bb"][..], 5, 5),
            (&["aaa", "bb\r", "c"], 6, 1),
            (&["aaa\nbb"], 4, 2),
            (&["aaa", "\x15", "b"], 3, 1),
            (&["aaa\x7f\x7f", "b"], 3, 2),
            (&["aaa", "\x04"], 3, 0),
            (&["aaa", "\x03b"], 3, 1),
        ] {
            let mut line = LineSoFar::default();
            let seen = typed.iter().map(|typed| line.take(typed.as_bytes())).max();
            assert_eq!((seen, line.length()), (Some(longest), length), "{typed:?}");
        }
        let mut line = LineSoFar::of(4_000);
        line.shown(b"out");
        assert_eq!(line.length(), 4_000);
        assert_eq!(LineSoFar::of(5_000).take(b"\x15"), 0, "what empties it adds nothing to it");
        line.shown(b"\x1b[?1049l$ ");
        assert_eq!(line.length(), 0, "another program took it");
    }

    #[test]
    fn a_prompt_is_told_from_the_wait_for_more_of_a_command() {
        for text in ["", "    ", "> ", "quote> ", "cmdand cmdor> ", "read> "] {
            assert!(is_no_prompt(text), "{text:?}");
        }
        for text in ["$ ", "# ", "user@host ~> ", "bash-5.2# ", "\u{276f} ", "a b", ">>> "] {
            assert!(!is_no_prompt(text), "{text:?}");
        }
        assert!(takes_commands("[N] user@host ~> ") && !takes_commands("[I] user@host ~> "));
        assert!(is_alike("12:01 $ ", "12:00 $ ") && !is_alike("> ", "$ ") && !is_alike(" ", " "));
    }
}
