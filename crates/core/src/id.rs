//! Names of sessions, parsed once at the border. Knows nothing of where sessions are kept.

use std::fmt;

/// A session's ID: eight lower-case letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

const ID_LENGTH: usize = 8;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

impl SessionId {
    /// `None` unless the text has the form of an ID.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits =
            text.len() == ID_LENGTH && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        fits.then(|| Self(text.to_owned()))
    }

    /// An ID from random bytes. `None` if they run out: bytes that would favour some letters are skipped.
    #[must_use]
    pub fn from_random(bytes: &[u8]) -> Option<Self> {
        let fair = 256 / ALPHABET.len() * ALPHABET.len();
        let letters: String = bytes
            .iter()
            .filter(|&&byte| usize::from(byte) < fair)
            .map(|&byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]))
            .take(ID_LENGTH)
            .collect();
        Self::parse(&letters)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name that a person gave a session: 1 to 64 letters, digits, `.`, `_` or `-`, the first a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// `None` unless the text has the form of a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let first = text.bytes().next()?.is_ascii_alphanumeric();
        let rest = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        (first && rest && text.len() <= 64).then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_eight_lower_case_letters_and_digits() {
        assert!(SessionId::parse("k3v9q2zr").is_some());
        for bad in ["", "k3v9q2z", "k3v9q2zrr", "K3v9q2zr", "../../..", "k3v9q2z\n", "k3v9q2zé"] {
            assert_eq!(SessionId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn random_bytes_make_an_id_unless_they_run_out() {
        assert_eq!(SessionId::from_random(&[0, 1, 2, 255, 35, 36, 37, 38, 39]).unwrap().as_str(), "abc9abcd");
        assert_eq!(SessionId::from_random(&[0, 1, 2, 255, 254, 253, 252, 3, 4]), None);
    }

    #[test]
    fn a_name_cannot_be_a_path_or_an_option_or_carry_control_characters() {
        assert!(SessionName::parse("nightly-build_2.1").is_some());
        for bad in ["", "-rf", ".hidden", "a/b", "a b", "a\u{1b}[31m", "@last"] {
            assert_eq!(SessionName::parse(bad), None, "{bad:?}");
        }
        assert_eq!(SessionName::parse(&"x".repeat(65)), None);
    }
}
