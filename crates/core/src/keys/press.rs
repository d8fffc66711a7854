//! What a terminal would send for a key, a chord, a click or pasted text, by the modes that the program set: names -> bytes.
//! Sends nothing that a terminal in these modes could not send.

use super::unfinished::{BEGIN, END};
use crate::screen::{InputModes, Mouse, MouseEncoding, Size};

const ESC: char = '\u{1b}';
/// How many rows the wheel scrolls where it is told as arrow keys.
const WHEEL_ROWS: usize = 3;
/// The flag of the kitty keyboard protocol by which every key has a sequence.
const ALL_KEYS: u8 = 8;

/// Something that can be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    Key { key: Key, held: Held },
    Mouse { button: Button, row: u16, col: u16, held: Held },
}

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Escape,
    /// An arrow, Home or End: the letter that ends its sequence.
    Cursor(char),
    /// Insert, Delete and the paging keys: the number of its sequence.
    Editing(u8),
    Function(u8),
}

/// What is held down with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    pub shift: bool,
    pub alt: bool,
    pub ctrl: bool,
}

/// A button of the mouse, or a turn of its wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    Left,
    Middle,
    Right,
    WheelUp,
    WheelDown,
}

/// Why something cannot be pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpressable {
    /// No key has this name.
    Unknown,
    /// The program has not asked for keys that a plain terminal cannot tell from others.
    NoSequence,
    /// The program does not listen to the mouse.
    NoMouse,
    /// The program asked for pixels, and nobody knows how many a cell has.
    InPixels,
    /// That place is not on the screen.
    OffScreen,
    /// That place has no number in the encoding that the program asked for.
    TooFar,
}

impl Unpressable {
    #[must_use]
    pub const fn says(&self) -> &'static str {
        match self {
            Self::Unknown => "there is no such key",
            Self::NoSequence => "a terminal has nothing to send for it unless the program asks for such keys",
            Self::NoMouse => "the program does not listen to the mouse",
            Self::InPixels => {
                "the program wants the place of the mouse in pixels, and here are only rows and columns"
            }
            Self::OffScreen => "that place is not on the screen",
            Self::TooFar => "the program asked for the mouse in an encoding that does not reach that place",
        }
    }
}

const NAMED: [(&str, Key); 24] = [
    ("enter", Key::Enter),
    ("return", Key::Enter),
    ("tab", Key::Tab),
    ("backspace", Key::Backspace),
    ("bspace", Key::Backspace),
    ("escape", Key::Escape),
    ("esc", Key::Escape),
    ("space", Key::Char(' ')),
    ("minus", Key::Char('-')),
    ("plus", Key::Char('+')),
    ("up", Key::Cursor('A')),
    ("down", Key::Cursor('B')),
    ("right", Key::Cursor('C')),
    ("left", Key::Cursor('D')),
    ("home", Key::Cursor('H')),
    ("end", Key::Cursor('F')),
    ("insert", Key::Editing(2)),
    ("delete", Key::Editing(3)),
    ("del", Key::Editing(3)),
    ("pageup", Key::Editing(5)),
    ("pgup", Key::Editing(5)),
    ("pagedown", Key::Editing(6)),
    ("pgdn", Key::Editing(6)),
    ("backtab", Key::Tab),
];

const BUTTONS: [(&str, Button); 5] = [
    ("click", Button::Left),
    ("middle-click", Button::Middle),
    ("right-click", Button::Right),
    ("wheel-up", Button::WheelUp),
    ("wheel-down", Button::WheelDown),
];

impl Press {
    /// Reads `Enter`, `Ctrl-C`, `Alt-x`, `Shift-Tab`, `F5`, `ctrl+shift+Up`, a single character, or `click:ROW,COL`,
    /// `wheel-up:ROW,COL` with places counted from 0 as a snapshot counts them.
    ///
    /// # Errors
    /// If nothing is called so.
    pub fn parse(text: &str) -> Result<Self, Unpressable> {
        let (held, rest) = held(text);
        if let Some((name, place)) = rest.split_once(':') {
            let button = BUTTONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let place =
                place.split_once(',').and_then(|(row, col)| Some((row.parse().ok()?, col.parse().ok()?)));
            if let (Some((_, button)), Some((row, col))) = (button, place) {
                return Ok(Self::Mouse { button: *button, row, col, held });
            }
        }
        let mut held = held;
        held.shift |= rest.eq_ignore_ascii_case("backtab");
        let key = key(rest).ok_or(Unpressable::Unknown)?;
        Ok(Self::Key { key: if held.ctrl { lower(key) } else { key }, held })
    }

    /// The bytes that a terminal of this size sends for it.
    ///
    /// # Errors
    /// If it sends nothing in these modes.
    pub fn bytes(self, modes: &InputModes, size: Size) -> Result<Vec<u8>, Unpressable> {
        match self {
            Self::Key { key, held } if modes.key_flags != 0 => {
                Ok(kitty(key, held, modes.key_flags).into_bytes())
            }
            Self::Key { key, held } => plain(key, held, modes).map(String::into_bytes),
            Self::Mouse { button, row, col, held } => mouse(button, (row, col), held, (modes, size)),
        }
    }
}

/// What is sent for text that is typed, key by key. A new line is the Enter key.
#[must_use]
pub fn text(text: &str, modes: &InputModes) -> Vec<u8> {
    let text = text.replace("\r\n", "\n");
    let size = Size { cols: 0, rows: 0 };
    let key = |ch| match ch {
        '\n' | '\r' => Some(Key::Enter),
        '\t' => Some(Key::Tab),
        // Only where every key has a sequence is a character more than itself.
        ch if modes.key_flags & ALL_KEYS != 0 && !ch.is_control() => Some(Key::Char(ch)),
        _ => None,
    };
    let mut sent = Vec::with_capacity(text.len());
    for ch in text.chars() {
        let press = key(ch).map(|key| Press::Key { key, held: Held::default() });
        match press.map(|press| press.bytes(modes, size)) {
            Some(Ok(bytes)) => sent.extend(bytes),
            Some(Err(_)) | None => sent.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    sent
}

/// What pasted text is sent as: lines end as with the Enter key, and all of it is in brackets if the program asked for
/// them, never so that it ends them itself.
#[must_use]
pub fn paste(text: &[u8], modes: &InputModes) -> Vec<u8> {
    let mut inside: Vec<u8> = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && text[at - 1] == b'\r' => {}
            b'\n' => inside.push(b'\r'),
            byte => inside.push(*byte),
        }
        // A terminal leaves the end of the brackets out of what it sends within them, however it is nested.
        if modes.bracketed_paste && inside.ends_with(END) {
            inside.truncate(inside.len() - END.len());
        }
    }
    if !modes.bracketed_paste {
        return inside;
    }
    [BEGIN, inside.as_slice(), END].concat()
}

/// What is held down, and what is left of the name.
fn held(text: &str) -> (Held, &str) {
    let (mut held, mut rest) = (Held::default(), text);
    while let Some(at) = rest.find(['-', '+']).filter(|at| at + 1 < rest.len()) {
        let (word, after) = (&rest[..at], &rest[at + 1..]);
        let flag = match word.to_ascii_lowercase().as_str() {
            "ctrl" | "control" | "c" => &mut held.ctrl,
            "alt" | "meta" | "opt" | "m" => &mut held.alt,
            "shift" | "s" => &mut held.shift,
            _ => break,
        };
        *flag = true;
        rest = after;
    }
    (held, rest)
}

fn key(name: &str) -> Option<Key> {
    let mut characters = name.chars();
    if let (Some(ch), None) = (characters.next(), characters.next()) {
        return (!ch.is_control()).then_some(Key::Char(ch));
    }
    let named = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, key)| *key);
    let function = || name.strip_prefix(['F', 'f'])?.parse().ok().filter(|number| (1..=20).contains(number));
    named.or_else(|| function().map(Key::Function))
}

/// `Ctrl-C` and `ctrl-c` are one key.
const fn lower(key: Key) -> Key {
    match key {
        Key::Char(ch) => Key::Char(ch.to_ascii_lowercase()),
        other @ (Key::Enter
        | Key::Tab
        | Key::Backspace
        | Key::Escape
        | Key::Cursor(_)
        | Key::Editing(_)
        | Key::Function(_)) => other,
    }
}

impl Held {
    const fn number(self) -> u8 {
        1 + self.shift as u8 + 2 * self.alt as u8 + 4 * self.ctrl as u8
    }

    const fn any(self) -> bool {
        self.shift || self.alt || self.ctrl
    }
}

/// As xterm sends it.
fn plain(key: Key, held: Held, modes: &InputModes) -> Result<String, Unpressable> {
    let alt = if held.alt { "\u{1b}" } else { "" };
    Ok(match key {
        Key::Char(ch) => return character(ch, held, modes),
        Key::Enter if (held.ctrl || held.shift) && modes.modify_other_keys > 0 => other(13, held),
        Key::Enter if held.alt && modes.modify_other_keys > 1 => other(13, held),
        Key::Enter => format!("{alt}\r{}", if modes.new_line { "\n" } else { "" }),
        Key::Tab if held.ctrl && modes.modify_other_keys > 0 => other(9, held),
        Key::Tab if held.shift => format!("{alt}\u{1b}[Z"),
        Key::Tab => format!("{alt}\t"),
        Key::Backspace => format!("{alt}{}", if held.ctrl { '\u{8}' } else { '\u{7f}' }),
        Key::Escape => format!("{alt}\u{1b}"),
        Key::Cursor(letter) if modes.app_cursor && !held.any() => format!("{ESC}O{letter}"),
        Key::Function(number @ 1..=4) if !held.any() => format!("{ESC}O{}", function_letter(number)),
        Key::Cursor(_) | Key::Function(_) | Key::Editing(_) => sequence(key, held),
    })
}

fn character(ch: char, held: Held, modes: &InputModes) -> Result<String, Unpressable> {
    let ch = if held.shift { ch.to_uppercase().next().unwrap_or(ch) } else { ch };
    let alt = if held.alt { "\u{1b}" } else { "" };
    if !held.ctrl && held.alt && modes.modify_other_keys > 1 {
        return Ok(other(u32::from(ch), held));
    }
    if !held.ctrl {
        return Ok(format!("{alt}{ch}"));
    }
    let control = match ch.to_ascii_lowercase() {
        letter @ 'a'..='z' if !held.shift => Some(letter as u8 & 0x1f),
        '@' | ' ' | '2' => Some(0),
        '[' | '3' => Some(0x1b),
        '\\' | '4' => Some(0x1c),
        ']' | '5' => Some(0x1d),
        '^' | '6' => Some(0x1e),
        '_' | '/' | '7' => Some(0x1f),
        '?' | '8' => Some(0x7f),
        _ => None,
    };
    match control {
        Some(byte) if modes.modify_other_keys < 2 => Ok(format!("{alt}{}", char::from(byte))),
        Some(_) | None if modes.modify_other_keys > 0 => Ok(other(u32::from(ch), held)),
        Some(_) | None => Err(Unpressable::NoSequence),
    }
}

/// xterm's way to tell what has no sequence.
fn other(code: u32, held: Held) -> String {
    format!("{ESC}[27;{};{code}~", held.number())
}

/// As the kitty keyboard protocol has it.
fn kitty(key: Key, held: Held, flags: u8) -> String {
    const ALTERNATES: u8 = 4;
    const TEXT: u8 = 16;
    let all = flags & ALL_KEYS != 0;
    let code = |code: u32| match held.any() {
        true => format!("{ESC}[{code};{}u", held.number()),
        false => format!("{ESC}[{code}u"),
    };
    match key {
        Key::Char(ch) if !all && !held.ctrl && !held.alt => {
            String::from(if held.shift { ch.to_uppercase().next().unwrap_or(ch) } else { ch })
        }
        Key::Char(ch) => {
            let own = ch.to_lowercase().next().unwrap_or(ch);
            let shifted = Held { shift: held.shift || own != ch, ..held };
            let text = flags & TEXT != 0 && all && !held.ctrl && !held.alt;
            let number = if shifted.any() { shifted.number().to_string() } else { String::new() };
            let shown = if shifted.shift { ch.to_uppercase().next().unwrap_or(ch) } else { ch };
            let with_shift = flags & ALTERNATES != 0 && shown != own;
            let alternate = if with_shift { format!(":{}", u32::from(shown)) } else { String::new() };
            let key = format!("{ESC}[{}{alternate}", u32::from(own));
            match (text, number.is_empty()) {
                (true, _) => format!("{key};{number};{}u", u32::from(shown)),
                (false, true) => format!("{key}u"),
                (false, false) => format!("{key};{number}u"),
            }
        }
        Key::Enter if !all && !held.any() => "\r".to_owned(),
        Key::Tab if !all && !held.any() => "\t".to_owned(),
        Key::Backspace if !all && !held.any() => "\u{7f}".to_owned(),
        Key::Enter => code(13),
        Key::Tab => code(9),
        Key::Backspace => code(127),
        Key::Escape => code(27),
        Key::Function(number @ 13..) => code(57_376 - 13 + u32::from(number)),
        Key::Cursor(_) | Key::Editing(_) | Key::Function(_) => sequence(key, held),
    }
}

/// The keys whose sequences are numbers or letters in brackets.
fn sequence(key: Key, held: Held) -> String {
    let numbered = |number: u8| match held.any() {
        true => format!("{ESC}[{number};{}~", held.number()),
        false => format!("{ESC}[{number}~"),
    };
    match key {
        Key::Function(number @ 1..=4) if held.any() => {
            format!("{ESC}[1;{}{}", held.number(), function_letter(number))
        }
        // Alone it would be the answer to where the cursor is.
        Key::Function(3) => numbered(13),
        Key::Function(number @ 1..=4) => format!("{ESC}[{}", function_letter(number)),
        Key::Function(number) => numbered(match number {
            5 => 15,
            6..=10 => number + 11,
            11..=14 => number + 12,
            15 | 16 => number + 13,
            _ => number + 14,
        }),
        Key::Editing(number) => numbered(number),
        Key::Cursor(letter) if held.any() => format!("{ESC}[1;{}{letter}", held.number()),
        Key::Cursor(letter) => format!("{ESC}[{letter}"),
        Key::Char(_) | Key::Enter | Key::Tab | Key::Backspace | Key::Escape => String::new(),
    }
}

const fn function_letter(number: u8) -> char {
    (b'P' + number - 1) as char
}

fn mouse(
    button: Button,
    (row, col): (u16, u16),
    held: Held,
    (modes, size): (&InputModes, Size),
) -> Result<Vec<u8>, Unpressable> {
    if row >= size.rows || col >= size.cols {
        return Err(Unpressable::OffScreen);
    }
    let (code, wheel) = match button {
        Button::Left => (0, false),
        Button::Middle => (1, false),
        Button::Right => (2, false),
        Button::WheelUp => (64, true),
        Button::WheelDown => (65, true),
    };
    if modes.mouse == Mouse::Off {
        let arrow = Key::Cursor(if button == Button::WheelUp { 'A' } else { 'B' });
        return match wheel && modes.alternate_scroll {
            true => plain(arrow, Held::default(), modes).map(|arrow| arrow.repeat(WHEEL_ROWS).into_bytes()),
            false => Err(Unpressable::NoMouse),
        };
    }
    // The oldest way to tell a click knows nothing of keys.
    let held = if modes.mouse == Mouse::Press { Held::default() } else { held };
    let code = code + 4 * u32::from(held.shift) + 8 * u32::from(held.alt) + 16 * u32::from(held.ctrl);
    let releases = !wheel && modes.mouse != Mouse::Press;
    let (x, y) = (u32::from(col) + 1, u32::from(row) + 1);
    let mut bytes = report(modes.mouse_encoding, code, (x, y), true)?;
    if releases {
        bytes.extend(report(modes.mouse_encoding, code, (x, y), false)?);
    }
    Ok(bytes)
}

/// A button pressed or let go, in the encoding that was asked for.
fn report(
    encoding: MouseEncoding,
    code: u32,
    (x, y): (u32, u32),
    down: bool,
) -> Result<Vec<u8>, Unpressable> {
    /// Without numbers for it, any button that is let go is this one.
    const LET_GO: u32 = 3;
    let plain = if down { code } else { code & !LET_GO | LET_GO };
    Ok(match encoding {
        MouseEncoding::Sgr => format!("{ESC}[<{code};{x};{y}{}", if down { 'M' } else { 'm' }).into_bytes(),
        MouseEncoding::Urxvt => format!("{ESC}[{};{x};{y}M", plain + 32).into_bytes(),
        MouseEncoding::Utf8 => {
            let character = |number: u32| char::from_u32(number + 32).ok_or(Unpressable::TooFar);
            format!("{ESC}[M{}{}{}", character(plain)?, character(x)?, character(y)?).into_bytes()
        }
        MouseEncoding::Bytes => {
            let byte = |number: u32| u8::try_from(number + 32).map_err(|_| Unpressable::TooFar);
            vec![0x1b, b'[', b'M', byte(plain)?, byte(x)?, byte(y)?]
        }
        MouseEncoding::SgrPixels => return Err(Unpressable::InPixels),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { cols: 300, rows: 50 };

    fn modes() -> InputModes {
        crate::screen::Screen::new(SIZE, 0).input_modes()
    }

    fn sent(name: &str, modes: &InputModes) -> String {
        match Press::parse(name).and_then(|press| press.bytes(modes, SIZE)) {
            Ok(bytes) => bytes.escape_ascii().to_string(),
            Err(why) => format!("{why:?}"),
        }
    }

    fn check(modes: &InputModes, table: &[(&str, &str)]) {
        for (name, expected) in table {
            assert_eq!(sent(name, modes), *expected, "{name}");
        }
    }

    #[test]
    fn a_plain_terminal_sends_what_xterm_sends() {
        check(
            &modes(),
            &[
                ("a", "a"),
                ("A", "A"),
                ("shift-a", "A"),
                ("é", "\\xc3\\xa9"),
                ("-", "-"),
                ("Enter", "\\r"),
                ("Alt-Enter", "\\x1b\\r"),
                ("Tab", "\\t"),
                ("Shift-Tab", "\\x1b[Z"),
                ("BackTab", "\\x1b[Z"),
                ("Backspace", "\\x7f"),
                ("Ctrl-C", "\\x03"),
                ("c-c", "\\x03"),
                ("ctrl+\\", "\\x1c"),
                ("Ctrl-Space", "\\x00"),
                ("Ctrl-Alt-x", "\\x1b\\x18"),
                ("Alt-x", "\\x1bx"),
                ("Ctrl--", "NoSequence"),
                ("Up", "\\x1b[A"),
                ("Ctrl-Up", "\\x1b[1;5A"),
                ("Shift-End", "\\x1b[1;2F"),
                ("Delete", "\\x1b[3~"),
                ("Ctrl-PageUp", "\\x1b[5;5~"),
                ("F1", "\\x1bOP"),
                ("Shift-F1", "\\x1b[1;2P"),
                ("F5", "\\x1b[15~"),
                ("F10", "\\x1b[21~"),
                ("F12", "\\x1b[24~"),
                ("F20", "\\x1b[34~"),
                ("Nonsense", "Unknown"),
                ("F21", "Unknown"),
                ("click:3,4", "NoMouse"),
            ],
        );
    }

    #[test]
    fn what_the_program_asked_for_changes_what_is_sent() {
        check(
            &InputModes { app_cursor: true, new_line: true, ..modes() },
            &[("Up", "\\x1bOA"), ("Ctrl-Up", "\\x1b[1;5A"), ("Enter", "\\r\\n")],
        );
        check(
            &InputModes { modify_other_keys: 2, ..modes() },
            &[
                ("Ctrl-i", "\\x1b[27;5;105~"),
                ("Ctrl-1", "\\x1b[27;5;49~"),
                ("Ctrl-Enter", "\\x1b[27;5;13~"),
                ("Alt-x", "\\x1b[27;3;120~"),
                ("Alt-Enter", "\\x1b[27;3;13~"),
                ("A", "A"),
            ],
        );
        check(
            &InputModes { modify_other_keys: 1, ..modes() },
            &[("Alt-x", "\\x1bx"), ("Ctrl-a", "\\x01"), ("Shift-Enter", "\\x1b[27;2;13~")],
        );
        check(
            &InputModes { key_flags: 1, ..modes() },
            &[
                ("a", "a"),
                ("Ctrl-C", "\\x1b[99;5u"),
                ("Escape", "\\x1b[27u"),
                ("Enter", "\\r"),
                ("Shift-Enter", "\\x1b[13;2u"),
                ("Up", "\\x1b[A"),
                ("F3", "\\x1b[13~"),
                ("F1", "\\x1b[P"),
                ("F12", "\\x1b[24~"),
                ("F13", "\\x1b[57376u"),
                ("Ctrl-F20", "\\x1b[57383;5u"),
            ],
        );
        check(
            &InputModes { key_flags: 8 | 16, ..modes() },
            &[
                ("a", "\\x1b[97;;97u"),
                ("A", "\\x1b[97;2;65u"),
                ("Enter", "\\x1b[13u"),
                ("Ctrl-a", "\\x1b[97;5u"),
            ],
        );
        check(
            &InputModes { key_flags: 1 | 2 | 4, ..modes() },
            &[("A", "A"), ("Ctrl-Shift-a", "\\x1b[97:65;6u"), ("Ctrl-a", "\\x1b[97;5u")],
        );
    }

    #[test]
    fn the_mouse_is_told_as_the_program_wants_it() {
        let listening = InputModes { mouse: Mouse::Click, ..modes() };
        let sgr = InputModes { mouse_encoding: MouseEncoding::Sgr, ..listening };
        check(
            &sgr,
            &[
                ("click:3,4", "\\x1b[<0;5;4M\\x1b[<0;5;4m"),
                ("ctrl-right-click:0,0", "\\x1b[<18;1;1M\\x1b[<18;1;1m"),
                ("wheel-up:3,4", "\\x1b[<64;5;4M"),
                ("click:50,0", "OffScreen"),
            ],
        );
        check(&listening, &[("click:0,0", "\\x1b[M !!\\x1b[M#!!"), ("click:0,250", "TooFar")]);
        let oldest = InputModes { mouse: Mouse::Press, ..listening };
        check(&oldest, &[("ctrl-click:0,0", "\\x1b[M !!")]);
        let pixels = InputModes { mouse_encoding: MouseEncoding::SgrPixels, ..listening };
        check(&pixels, &[("click:0,0", "InPixels"), ("click:50,0", "OffScreen")]);
        let scrolling = InputModes { alternate_scroll: true, ..modes() };
        check(&scrolling, &[("wheel-down:0,0", "\\x1b[B\\x1b[B\\x1b[B"), ("click:0,0", "NoMouse")]);
    }

    #[test]
    fn pasted_text_stands_in_brackets_only_where_they_are_wanted_and_never_ends_them() {
        assert_eq!(paste(b"a\nb\r\nc", &modes()), b"a\rb\rc", "a new line is the Enter key");
        let bracketed = InputModes { bracketed_paste: true, ..modes() };
        assert_eq!(paste(b"x\x1b[20\x1b[201~1~y", &bracketed), b"\x1b[200~xy\x1b[201~");
    }
}
