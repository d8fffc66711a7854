//! What is begun and not finished where typing is broken off: a character, a key's sequence, the brackets of a paste. Without
//! what finishes it, the next one's typing would become part of it. Fits into a word, so that it can be kept elsewhere.

use super::ESC;

/// The brackets around what is pasted.
pub(super) const BEGIN: &[u8] = b"\x1b[200~";
/// What ends a paste.
pub const END: &[u8] = b"\x1b[201~";

/// How what was typed so far ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unfinished {
    pasting: bool,
    inside: Inside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Inside {
    #[default]
    Nothing,
    /// So many bytes of a character are missing.
    Character(u8),
    Escape,
    /// A key's sequence after `ESC O`.
    Single,
    /// A key's sequence after `ESC [`, with the number that it has begun with; `OTHER` if it has another form.
    Sequence(u16),
}

const OTHER: u16 = u16::MAX;

impl Unfinished {
    /// Takes what was typed.
    pub fn take(&mut self, typed: &[u8]) {
        typed.iter().for_each(|&byte| self.take_byte(byte));
    }

    /// What finishes it: how much of what was to follow belongs to what is begun, and whether `END` has to stand behind that.
    #[must_use]
    pub fn finish(mut self, rest: &[u8]) -> (usize, bool) {
        let begun = rest.iter().take(super::LONGEST).take_while(|&&byte| {
            let open = self.inside != Inside::Nothing;
            if open {
                self.take_byte(byte);
            }
            open
        });
        (begun.count(), self.pasting)
    }

    /// As a word; 0 if nothing is begun.
    #[must_use]
    pub const fn to_word(self) -> u64 {
        let (kind, value) = match self.inside {
            Inside::Nothing => (0, 0),
            Inside::Character(missing) => (1, missing as u64),
            Inside::Escape => (2, 0),
            Inside::Single => (3, 0),
            Inside::Sequence(number) => (4, number as u64),
        };
        self.pasting as u64 | kind << 8 | value << 16
    }

    #[must_use]
    pub const fn from_word(word: u64) -> Self {
        let inside = match (word >> 8) & 0xff {
            1 => Inside::Character((word >> 16) as u8),
            2 => Inside::Escape,
            3 => Inside::Single,
            4 => Inside::Sequence((word >> 16) as u16),
            _ => Inside::Nothing,
        };
        Self { pasting: word & 1 == 1, inside }
    }

    fn take_byte(&mut self, byte: u8) {
        self.inside = match (self.inside, byte) {
            (_, ESC) => Inside::Escape,
            (Inside::Character(missing), 0x80..=0xbf) if missing > 1 => Inside::Character(missing - 1),
            (Inside::Character(_), 0x80..=0xbf) | (Inside::Single, _) => Inside::Nothing,
            (Inside::Escape, b'[') => Inside::Sequence(0),
            (Inside::Escape, b'O') => Inside::Single,
            (Inside::Sequence(number), b'0'..=b'9') => {
                let next = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                Inside::Sequence(if number == OTHER { OTHER } else { next })
            }
            (Inside::Sequence(number), b'@'..=b'~') => {
                match (number, byte) {
                    (200, b'~') => self.pasting = true,
                    (201, b'~') => self.pasting = false,
                    _ => {}
                }
                Inside::Nothing
            }
            (Inside::Sequence(_), b' '..=b'?') => Inside::Sequence(OTHER),
            (_, 0xc2..=0xdf) => Inside::Character(1),
            (_, 0xe0..=0xef) => Inside::Character(2),
            (_, 0xf0..=0xf4) => Inside::Character(3),
            (_, _) => Inside::Nothing,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(typed: &[u8]) -> Unfinished {
        let mut unfinished = Unfinished::default();
        unfinished.take(typed);
        Unfinished::from_word(unfinished.to_word())
    }

    #[test]
    fn a_paste_that_is_broken_off_anywhere_is_ended_and_nothing_of_it_torn() {
        let whole = [BEGIN, "a€b\u{1f600}\x1bx[200".as_bytes(), END].concat();
        for sent in 0..=whole.len() {
            let (more, ends) = after(&whole[..sent]).finish(&whole[sent..]);
            let shown = [&whole[..sent + more], if ends { END } else { b"" }].concat();
            assert_eq!(
                after(&shown),
                Unfinished::default(),
                "{sent}: {:?}",
                shown.escape_ascii().to_string()
            );
            assert!(more < BEGIN.len(), "no more than what is begun: {sent}");
            assert!(sent > 0 || shown.is_empty(), "nothing has begun");
        }
    }

    #[test]
    fn characters_and_keys_are_finished_and_nothing_else_is_typed() {
        for (sent, rest, finish) in [
            (&b"te"[..], &b"xt"[..], &b""[..]),
            (b"x\xe2", b"\x82\xacyy", b"\x82\xac"),
            (b"\xf0\x9f", b"\x98\x80", b"\x98\x80"),
            (b"\xe2", b"ab", b"a"),
            (b"\x1b", b"[1;5Aab", b"[1;5A"),
            (b"\x1b[1", b";5Aab", b";5A"),
            (b"\x1bO", b"Pq", b"P"),
            (b"\x1b[", b"<0;1;1Mx", b"<0;1;1M"),
            (b"\x1b", b"", b""),
            (b"\x1bx", b"y", b""),
        ] {
            assert_eq!(after(sent).finish(rest), (finish.len(), false), "{sent:?}");
            assert!(rest.starts_with(finish));
        }
    }

    #[test]
    fn no_bytes_are_finished_without_end() {
        let rest = b"\x1b[".repeat(40);
        assert!(after(b"\x1b[").finish(&rest).0 <= super::super::LONGEST);
        assert!(after(&[0x1b, b'[']).finish(&[b'1'; 500]).0 <= super::super::LONGEST);
    }
}
