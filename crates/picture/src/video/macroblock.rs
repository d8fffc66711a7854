//! A macroblock: what is left of it after prediction, quantised, and what a decoder makes of that.

use super::planes::{BLOCK, Plane, Planes};
use super::predict::Expected;
use super::transform::{Block, Quantiser, ZIGZAG, forward, hadamard, inverse, small_hadamard};

/// Where the 16 squares of a macroblock's brightness lie, in the order in which they are written.
pub(super) const SQUARES: [(usize, usize); 16] = [
    (0, 0),
    (4, 0),
    (0, 4),
    (4, 4),
    (8, 0),
    (12, 0),
    (8, 4),
    (12, 4),
    (0, 8),
    (4, 8),
    (0, 12),
    (4, 12),
    (8, 8),
    (12, 8),
    (8, 12),
    (12, 12),
];
const CHROMA_SQUARES: [(usize, usize); 4] = [(0, 0), (4, 0), (0, 4), (4, 4)];

/// The coefficients of a macroblock, each block in the order in which it is scanned.
#[derive(Debug, Clone)]
pub(super) struct Coefficients {
    /// The means of brightness, where they are told apart from the rest.
    pub(super) luma_means: Option<Block>,
    pub(super) luma: [Block; 16],
    pub(super) chroma_means: [[i32; 4]; 2],
    pub(super) chroma: [[Block; 4]; 2],
}

impl Coefficients {
    /// What is left of a macroblock of a picture. The means are told apart if it is predicted from its neighbours.
    pub(super) fn of(
        source: &Planes,
        place: (usize, usize),
        expected: &Expected,
        quantiser: Quantiser,
        apart: bool,
    ) -> Self {
        let mut luma = SQUARES.map(|square| forward(&left(&source.luma, place, &expected.luma, square)));
        let luma_means = apart.then(|| {
            let mut means = [0; 16];
            for (block, (x, y)) in luma.iter().zip(SQUARES) {
                means[y + x / 4] = block[0];
            }
            let means = hadamard(&means).map(|mean| (mean + 1) >> 1);
            scan(&means.map(|mean| quantiser.quantise_mean(mean)))
        });
        for block in &mut luma {
            *block = scan(&quantiser.quantise(block));
            if apart {
                block[0] = 0;
            }
        }
        let (of_colour, place) = (quantiser.of_chroma(), (place.0 / 2, place.1 / 2));
        let chroma = [0, 1].map(|index| {
            let (plane, expected) = (&source.chroma[index], &expected.chroma[index]);
            CHROMA_SQUARES.map(|square| forward(&left(plane, place, expected, square)))
        });
        let chroma_means = chroma.map(|blocks| {
            small_hadamard(blocks.map(|block| block[0])).map(|mean| of_colour.quantise_mean(mean))
        });
        let chroma = chroma.map(|blocks| {
            blocks.map(|block| {
                let mut block = scan(&of_colour.quantise(&block));
                block[0] = 0;
                block
            })
        });
        Self { luma_means, luma, chroma_means, chroma }
    }

    /// Which quarters of the brightness have any, as bits.
    pub(super) fn luma_pattern(&self) -> u32 {
        let quarters = self.luma.chunks_exact(4).enumerate();
        quarters.map(|(index, blocks)| u32::from(blocks.iter().any(|block| *block != [0; 16])) << index).sum()
    }

    /// 0 for colour as expected, 1 for other means, 2 for more.
    pub(super) fn chroma_pattern(&self) -> u32 {
        if self.chroma.iter().flatten().any(|block| *block != [0; 16]) {
            2
        } else {
            u32::from(self.chroma_means.iter().any(|means| *means != [0; 4]))
        }
    }

    /// Puts what a decoder makes of it into a picture.
    pub(super) fn rebuild(
        &self,
        made: &mut Planes,
        place: (usize, usize),
        expected: &Expected,
        quantiser: Quantiser,
    ) {
        let means = self
            .luma_means
            .map(|means| hadamard(&unscan(&means)).map(|mean| quantiser.restore_luma_mean(mean)));
        for (block, (x, y)) in self.luma.iter().zip(SQUARES) {
            let mut block = quantiser.restore(&unscan(block));
            if let Some(means) = &means {
                block[0] = means[y + x / 4];
            }
            put(&mut made.luma, place, &expected.luma, (x, y), &block);
        }
        let (of_colour, place) = (quantiser.of_chroma(), (place.0 / 2, place.1 / 2));
        for index in [0, 1] {
            let means = small_hadamard(self.chroma_means[index]);
            for ((block, square), mean) in self.chroma[index].iter().zip(CHROMA_SQUARES).zip(means) {
                let mut block = of_colour.restore(&unscan(block));
                block[0] = of_colour.restore_chroma_mean(mean);
                put(&mut made.chroma[index], place, &expected.chroma[index], square, &block);
            }
        }
    }
}

fn scan(block: &Block) -> Block {
    ZIGZAG.map(|place| block[place])
}

fn unscan(scanned: &Block) -> Block {
    let mut block = [0; 16];
    for (value, place) in scanned.iter().zip(ZIGZAG) {
        block[place] = *value;
    }
    block
}

/// What a square of a macroblock differs by from what was expected.
fn left(plane: &Plane, (x, y): (usize, usize), expected: &[u8], (dx, dy): (usize, usize)) -> Block {
    let side = if expected.len() == BLOCK * BLOCK { BLOCK } else { BLOCK / 2 };
    let mut block = [0; 16];
    for line in 0..4 {
        let actual = plane.run(x + dx, y + dy + line, 4);
        let start = (dy + line) * side + dx;
        for (index, (actual, expected)) in actual.iter().zip(&expected[start..start + 4]).enumerate() {
            block[4 * line + index] = i32::from(*actual) - i32::from(*expected);
        }
    }
    block
}

/// Adds what was left to what was expected.
fn put(plane: &mut Plane, (x, y): (usize, usize), expected: &[u8], (dx, dy): (usize, usize), block: &Block) {
    let side = if expected.len() == BLOCK * BLOCK { BLOCK } else { BLOCK / 2 };
    let rest = if *block == [0; 16] { *block } else { inverse(block) };
    for line in 0..4 {
        let start = (dy + line) * side + dx;
        let run = plane.run_mut(x + dx, y + dy + line, 4);
        for (index, sample) in run.iter_mut().enumerate() {
            *sample = (i32::from(expected[start + index]) + rest[4 * line + index]).clamp(0, 255) as u8;
        }
    }
}
