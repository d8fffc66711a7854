//! Prediction: what a macroblock is expected to look like, from its neighbours or from the picture before.

use super::planes::{BLOCK, Plane, Planes};

/// What is expected of a macroblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) luma: [u8; BLOCK * BLOCK],
    pub(super) chroma: [[u8; BLOCK * BLOCK / 4]; 2],
}

/// How a macroblock continues what is above it or left of it. The numbers are those of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Down = 0,
    Right = 1,
    Mean = 2,
}

impl Expected {
    /// The same place of the picture before, or one so many pixels lower.
    pub(super) fn before(reference: &Planes, (x, y): (usize, usize), lower: i32) -> Self {
        let from = y.saturating_add_signed(lower as isize);
        let mut expected = Self { luma: [0; 256], chroma: [[0; 64]; 2] };
        copy(&mut expected.luma, &reference.luma, (x, from), BLOCK);
        for (block, plane) in expected.chroma.iter_mut().zip(&reference.chroma) {
            copy(block, plane, (x / 2, from / 2), BLOCK / 2);
        }
        expected
    }

    /// What continues the neighbours of this picture; none for a mode whose neighbours are not there.
    pub(super) fn within(made: &Planes, (x, y): (usize, usize), mode: Mode) -> Option<Self> {
        let mut luma = [0; 256];
        match mode {
            Mode::Down => {
                let above = made.luma.run(x, y.checked_sub(1)?, BLOCK);
                luma.chunks_exact_mut(BLOCK).for_each(|line| line.copy_from_slice(above));
            }
            Mode::Right => {
                let left = x.checked_sub(1)?;
                for (index, line) in luma.chunks_exact_mut(BLOCK).enumerate() {
                    line.fill(made.luma.run(left, y + index, 1)[0]);
                }
            }
            Mode::Mean => {
                let (above, left) = edges(&made.luma, (x, y), BLOCK);
                luma.fill(mean(&[above, left]));
            }
        }
        let chroma = [0, 1].map(|index| chroma_mean(&made.chroma[index], (x / 2, y / 2)));
        Some(Self { luma, chroma })
    }

    /// How far the brightness is from what is there.
    pub(super) fn distance(&self, source: &Planes, (x, y): (usize, usize)) -> u32 {
        let lines = self.luma.chunks_exact(BLOCK).enumerate();
        let far = lines.map(|(index, line)| {
            let actual = source.luma.run(x, y + index, BLOCK);
            line.iter().zip(actual).map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>()
        });
        far.sum()
    }
}

fn copy(block: &mut [u8], plane: &Plane, (x, y): (usize, usize), side: usize) {
    for (index, line) in block.chunks_exact_mut(side).enumerate() {
        line.copy_from_slice(plane.run(x, y + index, side));
    }
}

/// The samples right above a square, and those right left of it, if they are there.
fn edges(plane: &Plane, (x, y): (usize, usize), side: usize) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let above = y.checked_sub(1).map(|y| plane.run(x, y, side).to_vec());
    let left = x.checked_sub(1).map(|x| (y..y + side).map(|y| plane.run(x, y, 1)[0]).collect());
    (above, left)
}

/// The mean of the samples that are there; grey if none are.
fn mean(sets: &[Option<Vec<u8>>]) -> u8 {
    let samples = || sets.iter().flatten().flatten();
    let (sum, count) = (samples().map(|sample| u32::from(*sample)).sum::<u32>(), samples().count() as u32);
    (sum + count / 2).checked_div(count).map_or(128, |mean| mean as u8)
}

/// The colour of a macroblock in four squares: the first and the last take the mean of both edges, the others that of the
/// edge they touch.
fn chroma_mean(plane: &Plane, (x, y): (usize, usize)) -> [u8; 64] {
    let mut block = [0; 64];
    let (above, left) = edges(plane, (x, y), BLOCK / 2);
    for (row, col) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let part = |edge: &Option<Vec<u8>>, index: usize| {
            edge.as_ref().map(|edge| edge[4 * index..4 * index + 4].to_vec())
        };
        let (above, left) = (part(&above, col), part(&left, row));
        let value = match (row, col) {
            (0, 1) if above.is_some() => mean(&[above]),
            (1, 0) if left.is_some() => mean(&[left]),
            _ => mean(&[above, left]),
        };
        for line in 4 * row..4 * row + 4 {
            block[8 * line + 4 * col..8 * line + 4 * col + 4].fill(value);
        }
    }
    block
}
