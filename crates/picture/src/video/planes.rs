//! Planes: a picture as brightness, and colour at half the size, as video has it (BT.709, limited range).

use crate::canvas::{Area, Canvas, unpack};

/// The side of a macroblock.
pub(super) const BLOCK: usize = 16;

/// One plane of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) samples: Vec<u8>,
}

impl Plane {
    fn new(width: usize, height: usize, value: u8) -> Self {
        Self { width, samples: vec![value; width * height] }
    }

    /// So many samples from a place on.
    pub(super) fn run(&self, x: usize, y: usize, count: usize) -> &[u8] {
        let start = y * self.width + x;
        &self.samples[start..start + count]
    }

    pub(super) fn run_mut(&mut self, x: usize, y: usize, count: usize) -> &mut [u8] {
        let start = y * self.width + x;
        &mut self.samples[start..start + count]
    }
}

/// A picture, as large as whole macroblocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planes {
    pub(super) luma: Plane,
    pub(super) chroma: [Plane; 2],
}

impl Planes {
    /// A black picture with room for this many pixels.
    pub(super) fn new(width: usize, height: usize) -> Self {
        let (width, height) = (width.next_multiple_of(BLOCK), height.next_multiple_of(BLOCK));
        let chroma = Plane::new(width / 2, height / 2, 128);
        Self { luma: Plane::new(width, height, 16), chroma: [chroma.clone(), chroma] }
    }

    pub(super) fn width(&self) -> usize {
        self.luma.width
    }

    pub(super) fn height(&self) -> usize {
        self.luma.samples.len() / self.luma.width
    }

    /// Takes over a part of a canvas. What is beyond its edges is as its last pixels are.
    pub(super) fn take(&mut self, canvas: &Canvas, area: &Area) {
        let (width, height) = (self.width(), self.height());
        let right = if area.right() >= canvas.width() { width } else { area.right().next_multiple_of(2) };
        let bottom =
            if area.bottom() >= canvas.height() { height } else { area.bottom().next_multiple_of(2) };
        let pixel = |x: usize, y: usize| {
            unpack(canvas.line(y.min(canvas.height() - 1))[x.min(canvas.width() - 1)]).map(i32::from)
        };
        for y in (area.y / 2 * 2..bottom).step_by(2) {
            let mut last = None;
            for x in (area.x / 2 * 2..right).step_by(2) {
                let four = [pixel(x, y), pixel(x + 1, y), pixel(x, y + 1), pixel(x + 1, y + 1)];
                let (lumas, chroma) = match last {
                    Some((known, value)) if known == four => value,
                    Some(_) | None => {
                        let sum = |channel: usize| four.iter().map(|pixel| pixel[channel]).sum::<i32>();
                        (four.map(luma), chroma([sum(0), sum(1), sum(2)]))
                    }
                };
                last = Some((four, (lumas, chroma)));
                self.luma.run_mut(x, y, 2).copy_from_slice(&lumas[..2]);
                self.luma.run_mut(x, y + 1, 2).copy_from_slice(&lumas[2..]);
                for (plane, value) in self.chroma.iter_mut().zip(chroma) {
                    plane.run_mut(x / 2, y / 2, 1)[0] = value;
                }
            }
        }
    }

    /// Whether a macroblock is the same as one of another picture that lies so many pixels lower there.
    pub(super) fn is_same(&self, other: &Self, (x, y): (usize, usize), lower: i32) -> bool {
        let Some(from) = y.checked_add_signed(lower as isize) else { return false };
        if from + BLOCK > self.height() {
            return false;
        }
        let same = |mine: &Plane, theirs: &Plane, part: usize| {
            (0..BLOCK / part).all(|line| {
                mine.run(x / part, y / part + line, BLOCK / part)
                    == theirs.run(x / part, from / part + line, BLOCK / part)
            })
        };
        same(&self.luma, &other.luma, 1)
            && self.chroma.iter().zip(&other.chroma).all(|(mine, theirs)| same(mine, theirs, 2))
    }
}

/// Brightness from 16 to 235.
fn luma([r, g, b]: [i32; 3]) -> u8 {
    ((11_966 * r + 40_254 * g + 4_064 * b + (1 << 15)) / (1 << 16) + 16) as u8
}

/// Both differences of colour from 16 to 240, of the sum of four pixels.
fn chroma([r, g, b]: [i32; 3]) -> [u8; 2] {
    let scaled = |value: i32| ((value + (1 << 17)) >> 18) + 128;
    [
        scaled(-6_596 * r - 22_189 * g + 28_784 * b).clamp(16, 240) as u8,
        scaled(28_784 * r - 26_145 * g - 2_639 * b).clamp(16, 240) as u8,
    ]
}
