//! What others wrote while a line was typed for `exec`, such as what runs in the background: whole lines that are no
//! echo of what was typed. It is told apart only where the echo is known to be what was typed, word for word.

use super::ESC;
use super::between::between;
use super::sequence::{First, first};

/// So much of what was typed, where others wrote into it, is known again; at its beginning less is enough.
const KNOWN: usize = 12;
const BEGINS: usize = 3;

/// The lines of others in what came before the line began to run. What came behind the Enter may be the shell's own, unless
/// it says that it is quiet. Where the terminal itself echoed, that is exact; what an editor draws is guessed at.
pub(super) fn others(echo: &[u8], typed: &str, nonce: &str, quiet: bool) -> Vec<u8> {
    let typed = typed.as_bytes();
    if let Some(others) = between(echo, typed, nonce, quiet) {
        return others;
    }
    let mut lines = Vec::new();
    let mut take = |line: &[u8], drawn_again: bool| {
        let text = shown(line);
        let again = if drawn_again { ending(&text, typed) } else { 0 };
        let text = &text[known(&text, typed).max(again)..];
        if !text.is_empty() && memchr::memmem::find(text, nonce.as_bytes()).is_none() {
            lines.extend_from_slice(text);
            lines.extend_from_slice(b"\r\n");
        }
        !text.is_empty()
    };
    let mut rest = echo;
    let mut seen = false;
    while let Some(at) = memchr::memmem::find(rest, typed).filter(|_| !typed.is_empty()) {
        seen = true;
        whole_lines(&rest[..at]).for_each(|line| {
            take(line, false);
        });
        rest = &rest[at + typed.len()..];
    }
    for (number, line) in whole_lines(rest).enumerate().take_while(|_| seen) {
        // Of what fills its last row to the edge of the screen, readline moves back to draw the end once more; of what does not
        // fit on the screen, it draws each row again that does.
        let drawn_again = number == 0 && (line.contains(&ESC) || line.contains(&b'\r'));
        if !take(line, drawn_again) && !quiet {
            break;
        }
    }
    lines
}

/// Each without the new line that it ends with.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
    bytes[..whole].split_inclusive(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\n")?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// What of a line stands behind everything that moves the cursor.
fn shown(line: &[u8]) -> Vec<u8> {
    let (mut text, mut open) = (Vec::new(), Vec::new());
    for &byte in line {
        open.push(byte);
        match first(&open) {
            First::Open => continue,
            First::Text if byte >= b' ' && byte != 0x7f || byte == b'\t' => text.append(&mut open),
            First::Text | First::Sequence => text.clear(),
        }
        open.clear();
    }
    text
}

/// How much of this is the end of what was typed.
fn ending(text: &[u8], typed: &[u8]) -> usize {
    let is_end = |length: &usize| typed.ends_with(&text[..*length]);
    (0..=text.len().min(typed.len())).rev().find(is_end).unwrap_or(0)
}

/// How much of this is the echo of what was typed, which others wrote behind.
fn known(text: &[u8], typed: &[u8]) -> usize {
    let is_typed = |length: &usize| memchr::memmem::find(typed, &text[..*length]).is_some();
    let begins = text.iter().zip(typed).take_while(|(one, other)| one == other).count();
    let piece = (KNOWN..=text.len()).take_while(is_typed).last().unwrap_or(0);
    piece.max(if begins < BEGINS { 0 } else { begins })
}
