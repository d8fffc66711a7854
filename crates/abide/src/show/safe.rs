//! Text that cannot do anything to the terminal it is shown on, and JSON with the same promise.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Whether a character moves the cursor, changes the terminal, or makes text look like other text.
const fn is_unsafe(c: char) -> bool {
    match c {
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Bidirectional controls, invisible characters and separators that break a line. Joiners stay: emoji and the
        // words of many languages are made with them.
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Whether a character takes no room and does nothing: in a name it deceives, in what a program showed it is text.
const fn is_unseen(c: char) -> bool {
    match c {
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => true,
        _ => false,
    }
}

/// The text on one line, with every unsafe character spelled out.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    spelled(text, is_unsafe)
}

/// The same for what a program showed, as it did.
pub(crate) fn printed(text: &str) -> Cow<'_, str> {
    spelled(text, |c| is_unsafe(c) && !is_unseen(c))
}

fn spelled(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Most text is plain, which its bytes tell without being read as characters.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(&is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c if !is_unsafe(c) => safe.push(c),
            // Writing into a string cannot fail.
            c if c.is_ascii() => drop(write!(safe, "\\x{:02x}", u32::from(c))),
            c => drop(write!(safe, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(safe)
}

/// The same for text that has lines of its own.
pub(crate) fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// One line of JSON. Unsafe characters are escaped in it, which changes nothing of its meaning.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut bytes = Vec::with_capacity(1024);
    write_json(value, &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

/// The same, to whoever knows what became of it.
pub(crate) fn write_json(value: &impl Serialize, mut out: &mut impl Write) {
    let written = value.serialize(&mut Serializer::with_formatter(&mut out, SafeJson));
    let is_json = written.as_ref().err().is_none_or(serde_json::Error::is_io);
    debug_assert!(is_json, "the twins have no keys or numbers that JSON lacks: {written:?}");
    let _ = out.write_all(b"\n");
}

struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let c = rest[at..].chars().next().unwrap_or_default();
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let evil = "a\u{1b}[31m\u{9b}2J\u{7f}\u{202e}b\u{2066}\n\r\t\0\u{200b}\u{e0041}é漢";
        let safe = line(evil);
        assert!(!safe.contains(is_unsafe));
        assert_eq!(safe, r"a\x1b[31m\u{9b}2J\x7f\u{202e}b\u{2066}\n\r\t\x00\u{200b}\u{e0041}é漢");
        assert_eq!(lines("a\nb\u{7}"), "a\nb\\x07");
        assert_eq!(printed("a\u{200b}\u{feff}b\u{202e}\u{1b}"), "a\u{200b}\u{feff}b\\u{202e}\\x1b");
    }

    #[test]
    fn what_joins_and_varies_characters_is_text() {
        for text in
            ["👩\u{200d}💻", "می\u{200c}خواهم", "❤\u{fe0f}", "字\u{e0100}", "e\u{301}", "👍🏽", "क\u{200d}ष"]
        {
            assert_eq!((line(text), json(&text)), (text.into(), format!("\"{text}\"\n")));
        }
    }

    #[test]
    fn json_says_the_same_without_the_characters() {
        let evil = "\u{1b}[0m \u{9b} \u{7f} \u{202e} \u{e0041} \" \\ é";
        let text = json(&evil);
        assert!(!text.trim_end().contains(is_unsafe), "{text:?}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), evil);
    }
}
