//! Numbers that a seed decides: the same seed gives the same schedule on any machine (SplitMix64).

/// A source of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` up to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True so many times in a hundred.
    pub const fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// One of some, which are not none.
    pub const fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }

    /// One of some, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, from: &[(u64, T)]) -> T {
        let mut left = self.next() % from.iter().map(|(weight, _)| weight).sum::<u64>();
        for (weight, value) in from {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        from[0].1
    }
}
