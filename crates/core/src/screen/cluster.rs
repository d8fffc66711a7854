//! Cluster: the characters that make one picture, and the columns they take together. Which program counts how:
//! libc, ncurses and readline count each character by itself; what draws emoji today (every coding agent does: Ink,
//! ratatui, opentui, rich) counts the picture, as do kitty, Ghostty, foot, WezTerm, iTerm2 and Windows Terminal. So
//! pictures are joined unless a program resets mode 2027, and it is told so if it asks. Only emoji are joined: the
//! letters of other scripts take the same columns either way.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const JOINER: char = '\u{200D}';
/// Asks for the picture where a character can be a letter too.
const PICTURE: char = '\u{FE0F}';

/// How many columns a character takes by itself; `None` for what is not printed.
#[inline]
pub(crate) fn width(ch: char) -> Option<usize> {
    match ch {
        '\u{A0}'..'\u{300}' | '\u{2500}'..'\u{2600}' => Some(1),
        '\u{4E00}'..'\u{A000}' | '\u{AC00}'..'\u{D7A4}' => Some(2),
        // Unicode calls it ignorable, wcwidth and terminals show it.
        '\u{3164}' => Some(2),
        _ => ch.width(),
    }
}

/// Whether a character that takes columns could join another one, of which `end` is the last: quick, and rarely true.
#[inline]
pub(crate) const fn may_join(end: char, ch: char) -> bool {
    end == JOINER || (is_flag_half(end) && is_flag_half(ch)) || is_skin(ch)
}

/// Whether a mark could give the character before it another width.
#[inline]
pub(crate) const fn may_widen(mark: char) -> bool {
    mark == PICTURE
}

const fn is_flag_half(ch: char) -> bool {
    '\u{1F1E6}' <= ch && ch <= '\u{1F1FF}'
}

const fn is_skin(ch: char) -> bool {
    '\u{1F3FB}' <= ch && ch <= '\u{1F3FF}'
}

/// Whether a character that takes columns belongs to the picture before it: two halves of a flag do, and what takes
/// fewer columns together than apart.
pub(crate) fn joins(text: &str, ch: char) -> bool {
    if is_flag_half(ch) {
        let mut chars = text.chars();
        return chars.next().is_some_and(is_flag_half) && !chars.any(is_flag_half);
    }
    let mut whole = text.to_owned();
    let apart = text.width() + [ch, PICTURE].iter().collect::<String>().width();
    whole.extend([ch, PICTURE]);
    whole.width() < apart
}

/// How many columns a cell with this text has. As it came, character by character: no cell ever gets narrower.
pub(crate) fn columns(text: &str) -> usize {
    let ends = text.char_indices().map(|(at, ch)| at + ch.len_utf8());
    ends.map(|end| text[..end].width()).max().unwrap_or(1).clamp(1, 2)
}
