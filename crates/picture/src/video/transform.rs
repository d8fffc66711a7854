//! The transform of H.264 and its inverse, which a decoder does to the bit, and the quantiser between them.

/// Four by four numbers, line by line.
pub(super) type Block = [i32; 16];

/// The order in which the coefficients of a block are written.
pub(super) const ZIGZAG: [usize; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];

/// Factors for each remainder of the quantiser by 6: for the corners, for the middles, for what lies between them.
const QUANTISE: [[i32; 3]; 6] = [
    [13_107, 5_243, 8_066],
    [11_916, 4_660, 7_490],
    [10_082, 4_194, 6_554],
    [9_362, 3_647, 5_825],
    [8_192, 3_355, 5_243],
    [7_282, 2_893, 4_559],
];
const RESTORE: [[i32; 3]; 6] =
    [[10, 16, 13], [11, 18, 14], [13, 20, 16], [14, 23, 18], [16, 25, 20], [18, 29, 23]];

/// Which factor a place of a block has.
const fn class(place: usize) -> usize {
    match (place / 4 % 2, place % 2) {
        (0, 0) => 0,
        (1, 1) => 1,
        _ => 2,
    }
}

/// How coarsely numbers are kept, from 0 to 51.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantiser {
    value: usize,
    /// What is added before rounding down, as a share of a step: a third where pixels are predicted from within the
    /// picture, a sixth where from the one before.
    share: i32,
}

impl Quantiser {
    pub(super) const fn new(value: usize, intra: bool) -> Self {
        Self { value, share: if intra { 3 } else { 6 } }
    }

    /// The quantiser of colour that belongs to one of brightness.
    pub(super) const fn of_chroma(self) -> Self {
        const COARSE: [usize; 22] =
            [29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39];
        Self { value: if self.value < 30 { self.value } else { COARSE[self.value - 30] }, share: self.share }
    }

    fn round(self, value: i32, factor: i32, shift: usize) -> i32 {
        let magnitude =
            (i64::from(value.abs()) * i64::from(factor) + (1_i64 << shift) / i64::from(self.share)) >> shift;
        magnitude as i32 * value.signum()
    }

    pub(super) fn quantise(self, block: &Block) -> Block {
        let (factors, shift) = (QUANTISE[self.value % 6], 15 + self.value / 6);
        std::array::from_fn(|place| self.round(block[place], factors[class(place)], shift))
    }

    pub(super) fn restore(self, block: &Block) -> Block {
        let factors = RESTORE[self.value % 6];
        std::array::from_fn(|place| (block[place] * factors[class(place)]) << (self.value / 6))
    }

    /// The same for means, which were transformed once more.
    pub(super) fn quantise_mean(self, mean: i32) -> i32 {
        self.round(mean, QUANTISE[self.value % 6][0], 16 + self.value / 6)
    }

    pub(super) fn restore_luma_mean(self, mean: i32) -> i32 {
        let (factor, shift) = (RESTORE[self.value % 6][0], self.value / 6);
        if shift >= 2 {
            (mean * factor) << (shift - 2)
        } else {
            (mean * factor + (1 << (1 - shift))) >> (2 - shift)
        }
    }

    pub(super) fn restore_chroma_mean(self, mean: i32) -> i32 {
        ((mean * RESTORE[self.value % 6][0]) << (self.value / 6)) >> 1
    }
}

/// Does the same to the four lines of a block, then to its four columns.
fn both_ways(block: &Block, line: impl Fn([i32; 4]) -> [i32; 4]) -> Block {
    let mut result = *block;
    for start in [0, 4, 8, 12] {
        let four = line([result[start], result[start + 1], result[start + 2], result[start + 3]]);
        result[start..start + 4].copy_from_slice(&four);
    }
    for start in 0..4 {
        let four = line([result[start], result[start + 4], result[start + 8], result[start + 12]]);
        for (index, value) in four.into_iter().enumerate() {
            result[start + 4 * index] = value;
        }
    }
    result
}

pub(super) fn forward(block: &Block) -> Block {
    both_ways(block, |[a, b, c, d]| {
        let (sum, inner_sum, inner, outer) = (a + d, b + c, b - c, a - d);
        [sum + inner_sum, 2 * outer + inner, sum - inner_sum, outer - 2 * inner]
    })
}

/// What a decoder makes of the coefficients.
pub(super) fn inverse(block: &Block) -> Block {
    let result = both_ways(block, |[a, b, c, d]| {
        let (even, odd) = (a + c, a - c);
        let (low, high) = ((b >> 1) - d, b + (d >> 1));
        [even + high, odd + low, odd - low, even - high]
    });
    result.map(|value| (value + 32) >> 6)
}

/// The transform of means; its own inverse but for the scale.
pub(super) fn hadamard(block: &Block) -> Block {
    both_ways(block, |[a, b, c, d]| {
        let (sum, inner_sum, inner, outer) = (a + d, b + c, b - c, a - d);
        [sum + inner_sum, outer + inner, sum - inner_sum, outer - inner]
    })
}

pub(super) const fn small_hadamard([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_near_to_what_was_there() {
        let mut seed: u32 = 7;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as i32 - 128
        };
        for (value, most) in [(0, 2), (12, 4), (20, 9), (32, 36)] {
            let quantiser = Quantiser::new(value, true);
            for _ in 0..200 {
                let block: Block = std::array::from_fn(|_| next());
                let kept = inverse(&quantiser.restore(&quantiser.quantise(&forward(&block))));
                let far = block.iter().zip(kept).map(|(a, b)| (a - b).abs()).max().unwrap_or_default();
                assert!(far <= most, "{far} at {value}");
            }
        }
    }

    #[test]
    fn means_survive_their_own_transform() {
        let quantiser = Quantiser::new(20, true);
        let means: Block = std::array::from_fn(|index| 16 * (index as i32 * 13 % 200 - 100));
        let told = hadamard(&means).map(|mean| quantiser.quantise_mean((mean + 1) >> 1));
        let back = hadamard(&told).map(|mean| quantiser.restore_luma_mean(mean));
        for (before, after) in means.iter().zip(back) {
            // Restored means are 64 times a sample, as the others are.
            assert!((before * 4 - after).abs() < 64 * 8, "{before} {after}");
        }
    }
}
