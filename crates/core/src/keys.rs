//! What a terminal sends when someone uses it: bytes -> keys, whatever encoding the program asked for.
//! Knows the plain bytes, xterm's modifyOtherKeys and the kitty keyboard protocol; decides nothing. `detach` is about
//! one key, `press` the other way round, `half` and `unfinished` what was typed so far, `drawn` what a shell drew for it,
//! `unread` what else a shell may find in its line.

pub mod detach;
pub mod drawn;
pub mod half;
pub mod press;
pub mod shell;
pub mod unfinished;
pub mod unread;

const ESC: u8 = 0x1b;
/// No sequence of a key is longer.
const LONGEST: usize = 64;

/// One thing that a terminal sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// A character, with what was held down.
    Key(Stroke),
    /// A key without a character, a click, or part of what is none of these.
    Other,
    /// Nobody typed: a key was let go, the mouse moved, the focus changed, the terminal answered.
    Aside,
    /// Pasted text begins.
    PasteBegins,
    PasteEnds,
}

/// A key that has a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stroke {
    pub ctrl: bool,
    pub alt: bool,
    pub ch: char,
    /// The same key on the layout that the keyboard's own is a variant of, if the terminal says.
    pub base: Option<char>,
}

impl Stroke {
    const fn plain(ch: char) -> Self {
        Self { ctrl: false, alt: false, ch, base: None }
    }

    const fn with_ctrl(ch: char) -> Self {
        Self { ctrl: true, ..Self::plain(ch) }
    }
}

/// The first thing in these bytes and its length; none if it is a sequence that is not whole yet.
/// A lone ESC is a key: nobody who presses it shall wait.
#[must_use]
pub fn first(bytes: &[u8]) -> Option<(Sent, usize)> {
    match bytes {
        [ESC, b'[', rest @ ..] => control(rest).map(|(sent, length)| (sent, length + 2)),
        [ESC, b'O', _, ..] => Some((Sent::Other, 3)),
        [ESC, next, ..] => {
            let stroke = character(&bytes[1..]).filter(|_| *next != ESC);
            Some(match stroke {
                Some((stroke, length)) => (Sent::Key(Stroke { alt: true, ..stroke }), length + 1),
                None => (Sent::Other, 1),
            })
        }
        _ => Some(character(bytes).map_or((Sent::Other, 1), |(stroke, length)| (Sent::Key(stroke), length))),
    }
}

/// Whether someone typed, clicked or pasted, and it was not only the terminal that reported.
#[must_use]
pub fn is_typed(mut bytes: &[u8]) -> bool {
    while let Some((sent, length)) = first(bytes) {
        if sent != Sent::Aside {
            return !bytes.is_empty();
        }
        bytes = bytes.get(length..).unwrap_or_default();
    }
    false
}

/// A character as its own bytes, or as the control character that ctrl makes of it.
fn character(bytes: &[u8]) -> Option<(Stroke, usize)> {
    let stroke = match *bytes.first()? {
        0 => Stroke::with_ctrl(' '),
        letter @ 1..=26 => Stroke::with_ctrl(char::from(letter + b'a' - 1)),
        sign @ 0x1c..=0x1f => Stroke::with_ctrl(char::from(sign + 0x40)),
        ascii @ 0x20..=0x7e => Stroke::plain(char::from(ascii)),
        ESC | 0x7f => return None,
        0x80.. => {
            let chunk = bytes.utf8_chunks().next()?;
            let ch = chunk.valid().chars().next()?;
            return Some((Stroke::plain(ch), ch.len_utf8()));
        }
    };
    Some((stroke, 1))
}

/// What follows `ESC [`: parameters, and the byte that ends it.
fn control(rest: &[u8]) -> Option<(Sent, usize)> {
    let Some(at) = rest.iter().take(LONGEST).position(|b| !(0x20..=0x3f).contains(b)) else {
        return if rest.len() < LONGEST { None } else { Some((Sent::Other, 0)) };
    };
    let last = rest[at];
    if !(0x40..=0x7e).contains(&last) {
        // Broken off: what breaks it off is looked at by itself.
        return Some((Sent::Other, at));
    }
    let text = std::str::from_utf8(&rest[..at]).unwrap_or_default();
    Some((meaning(text, last), at + 1))
}

fn meaning(text: &str, last: u8) -> Sent {
    if let Some(report) = text.strip_prefix('<') {
        return if mouse_acts(report, last) { Sent::Other } else { Sent::Aside };
    }
    if text.starts_with(['?', '>', '=']) {
        return Sent::Aside;
    }
    let fields: Vec<Vec<Option<u32>>> =
        text.split(';').map(|field| field.split(':').map(|number| number.parse().ok()).collect()).collect();
    let number = |field: usize, part: usize| fields.get(field).and_then(|parts| *parts.get(part)?);
    const LET_GO: Option<u32> = Some(3);
    match (last, number(0, 0)) {
        (b'I' | b'O', None) => Sent::Aside,
        (b'~', Some(200)) => Sent::PasteBegins,
        (b'~', Some(201)) => Sent::PasteEnds,
        (b'~', Some(27)) if number(2, 0).is_some() => pressed([number(2, 0), None, None], number(1, 0)),
        (b'u', Some(key)) if number(1, 1) == LET_GO || is_modifier(key) => Sent::Aside,
        (b'u', Some(key)) => pressed([Some(key), number(0, 1), number(0, 2)], number(1, 0)),
        _ if number(1, 1) == LET_GO => Sent::Aside,
        _ => Sent::Other,
    }
}

/// A key by the numbers of its characters: its own, with shift, and on the base layout.
fn pressed([own, shifted, base]: [Option<u32>; 3], modifiers: Option<u32>) -> Sent {
    const SHIFT: u32 = 1;
    const ALT: u32 = 2;
    const CTRL: u32 = 4;
    /// Super, hyper and meta: with them it is another key. Caps lock and num lock are not held down.
    const FOREIGN: u32 = 8 | 16 | 32;
    let held = modifiers.unwrap_or(1).saturating_sub(1);
    let character = |number: Option<u32>| number.and_then(char::from_u32);
    let Some(own) = character(own).filter(|_| held & FOREIGN == 0) else {
        return Sent::Other;
    };
    let upper = || own.to_uppercase().next().unwrap_or(own);
    let shift = held & SHIFT != 0;
    let ch = if shift { character(shifted).unwrap_or_else(upper) } else { own };
    let base = character(base).filter(|_| !shift);
    Sent::Key(Stroke { ctrl: held & CTRL != 0, alt: held & ALT != 0, ch, base })
}

/// The locks, and the modifiers as keys of their own.
const fn is_modifier(key: u32) -> bool {
    matches!(key, 57358..=57360 | 57441..=57454)
}

/// A button or the wheel was used, rather than let go or only moved over.
fn mouse_acts(report: &str, last: u8) -> bool {
    const MOVED: u32 = 32;
    const NO_BUTTON: u32 = 3;
    let button: Option<u32> = report.split(';').next().and_then(|button| button.parse().ok());
    last == b'M' && button.is_none_or(|button| button & (MOVED | NO_BUTTON) != MOVED | NO_BUTTON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ctrl: bool, alt: bool, ch: char) -> Sent {
        Sent::Key(Stroke { ctrl, alt, ch, base: None })
    }

    #[test]
    fn keys_are_known_in_every_encoding() {
        let table: [(&[u8], Sent); 24] = [
            (b"a", key(false, false, 'a')),
            ("é".as_bytes(), key(false, false, 'é')),
            (b"\0", key(true, false, ' ')),
            (b"\x02", key(true, false, 'b')),
            (b"\x1c", key(true, false, '\\')),
            (b"\x1f", key(true, false, '_')),
            (b"\x1bd", key(false, true, 'd')),
            (b"\x1b\x02", key(true, true, 'b')),
            (b"\x1b[92;5u", key(true, false, '\\')),
            (b"\x1b[92;5:1u", key(true, false, '\\')),
            (b"\x1b[98;69u", key(true, false, 'b')),
            (b"\x1b[100u", key(false, false, 'd')),
            (b"\x1b[100;2u", key(false, false, 'D')),
            (b"\x1b[100;;100u", key(false, false, 'd')),
            (b"\x1b[45:95;6u", key(true, false, '_')),
            (b"\x1b[1092::97;5u", Sent::Key(Stroke { ctrl: true, alt: false, ch: 'ф', base: Some('a') })),
            (b"\x1b[27;5;92~", key(true, false, '\\')),
            (b"\x1b[92;13u", Sent::Other),
            (b"\x1b", Sent::Other),
            (b"\x7f", Sent::Other),
            (b"\x1b[A", Sent::Other),
            (b"\x1bOP", Sent::Other),
            (b"\x1b[<0;3;4M", Sent::Other),
            (b"\x1b[200~", Sent::PasteBegins),
        ];
        for (bytes, expected) in table {
            assert_eq!(first(bytes), Some((expected, bytes.len())), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn reports_are_nobodys_typing() {
        let reports: [&[u8]; 9] = [
            b"\x1b[I",
            b"\x1b[O",
            b"\x1b[92;5:3u",
            b"\x1b[57442;5:1u",
            b"\x1b[1;1:3A",
            b"\x1b[<35;10;10M",
            b"\x1b[<0;3;4m",
            b"\x1b[?62c",
            b"\x1b[I\x1b[O",
        ];
        for report in reports {
            assert!(!is_typed(report), "{}", report.escape_ascii());
            assert!(is_typed(&[report, b"x"].concat()), "{}", report.escape_ascii());
        }
        assert!(!is_typed(b"") && is_typed(b"\x1b") && is_typed(b"\x1b[A") && is_typed(b"\x1b[<64;1;1M"));
    }

    #[test]
    fn a_sequence_that_is_not_whole_is_waited_for_and_one_without_end_is_not() {
        let whole = b"\x1b[92;5u";
        for cut in 2..whole.len() {
            assert_eq!(first(&whole[..cut]), None, "cut at {cut}");
        }
        let endless = [b"\x1b[".as_slice(), &[b'1'; LONGEST]].concat();
        assert_eq!(first(&endless), Some((Sent::Other, 2)));
        assert_eq!(first(b"\x1b[9\x1c"), Some((Sent::Other, 3)), "broken off");
    }
}
