//! Sieve: what says at once that a text does not hold what is looked for. One bit for every four bytes in a row that
//! some place of the text has, upper and lower case alike; bits are shared, so a yes is a maybe.

use super::query::fold;

/// What is shorter than this passes.
const RUN: usize = 4;
/// Bits a byte of text: few enough to be small, enough to let little pass.
const LOG2_BITS: u32 = 18;

/// The sieve of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sieve(Vec<u8>);

impl Sieve {
    /// How many bytes a sieve takes.
    pub const BYTES: usize = 1 << (LOG2_BITS - 3);

    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let mut folded = text.to_vec();
        fold(&mut folded);
        let mut bits = vec![0; Self::BYTES];
        for run in runs(&folded) {
            bits[run / 8] |= 1 << (run % 8);
        }
        Self(bits)
    }

    /// None if no sieve is so long.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() == Self::BYTES).then_some(Self(bytes))
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the text that made it may hold this one.
    #[must_use]
    pub fn may_hold(&self, text: &[u8]) -> bool {
        let mut folded = text.to_vec();
        fold(&mut folded);
        runs(&folded).all(|run| self.0[run / 8] >> (run % 8) & 1 == 1)
    }
}

fn runs(text: &[u8]) -> impl Iterator<Item = usize> {
    text.array_windows::<RUN>().map(|run| {
        let mixed = u32::from_le_bytes(*run).wrapping_mul(0x9E37_79B1);
        (mixed >> (32 - LOG2_BITS)) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::query::{Query, Reading, Strictness};

    #[test]
    fn what_is_there_passes_and_most_of_what_is_not_does_not() {
        let text: String = (0..5000).map(|n| format!("line {n} of Größe and more 漢字\n")).collect();
        let sieve = Sieve::of(text.as_bytes());
        let passes = |text: &str, case| {
            let strictness = Strictness { case, whole_words: false };
            Query::parse(text, Reading::Words, strictness).unwrap().may_pass(&sieve)
        };
        for there in ["line 4711", "GRÖSSE", "größe", "漢字", "ne 12", "of", "x"] {
            assert!(there == "GRÖSSE" || passes(there, false), "{there}");
            assert!(there == "GRÖSSE" || passes(there, true), "{there}");
        }
        let absent = (0..1000).filter(|n| passes(&format!("ECONN{n}"), false)).count();
        assert!(absent < 100, "{absent} of 1000");
        assert!(Query::parse("nothing.*", Reading::Regex, Strictness::default()).unwrap().may_pass(&sieve));
        assert_eq!(Sieve::from_bytes(sieve.bytes().to_vec()), Some(sieve));
        assert_eq!(Sieve::from_bytes(vec![0; 7]), None);
    }
}
