//! The encoder: pictures to units of H.264, baseline. A picture of a terminal is special, and that is all it knows: most
//! of it is as it was, or was scrolled as it was; the rest is text, which is predicted and transformed.

use super::bits::Bits;
use super::macroblock::{Coefficients, SQUARES};
use super::motion::{Motion, Motions};
use super::parameters::{FRAME_NUMBER_BITS, QUANTISER};
use super::planes::{BLOCK, Planes};
use super::predict::{Expected, Mode};
use super::residual::{self, Context};
use super::transform::Quantiser;
use crate::canvas::{Area, Canvas};

/// Kinds of units, with how much others depend on them.
const UNIT_KEY: u8 = 0x65;
const UNIT_OTHER: u8 = 0x41;
/// Types of macroblocks within a slice that may look back; those that do not are counted behind these.
const LOOKS_BACK: u32 = 0;
const BEHIND_LOOKING_BACK: u32 = 5;
/// The farthest that a picture may be taken to have moved.
const FARTHEST: i32 = 480;
/// How much nearer a look back must be than a look aside to be worth a larger code.
const BIAS: u32 = 96;

/// Encodes pictures of one size.
#[derive(Debug)]
pub(super) struct Encoder {
    source: Planes,
    before: Planes,
    /// What a decoder has: of this picture as far as it is done, and of the one before.
    made: Planes,
    reference: Planes,
    /// How many coefficients each square has: of brightness, and of both colours.
    counts: [Counts; 3],
    motions: Motions,
    number: u32,
    keys: u32,
}

/// How many coefficients the squares of a plane have.
#[derive(Debug)]
struct Counts {
    width: usize,
    counts: Vec<u8>,
}

impl Counts {
    fn new(width: usize, height: usize) -> Self {
        Self { width: width / 4, counts: vec![0; width / 4 * (height / 4)] }
    }

    /// What the neighbours of a square tell of it.
    fn context(&self, x: usize, y: usize) -> Context {
        let at = |x: usize, y: usize| self.counts[y / 4 * self.width + x / 4];
        let left = x.checked_sub(4).map(|x| at(x, y));
        let above = y.checked_sub(4).map(|y| at(x, y));
        Context::Near(match (left, above) {
            (Some(left), Some(above)) => (left + above).div_ceil(2),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => 0,
        })
    }

    fn set(&mut self, x: usize, y: usize, count: u8) {
        self.counts[y / 4 * self.width + x / 4] = count;
    }

    fn clear(&mut self, (x, y): (usize, usize), side: usize) {
        for y in (y..y + side).step_by(4) {
            for x in (x..x + side).step_by(4) {
                self.set(x, y, 0);
            }
        }
    }
}

impl Encoder {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let planes = Planes::new(width, height);
        let (wide, high) = (planes.width(), planes.height());
        Self {
            before: planes.clone(),
            made: planes.clone(),
            reference: planes.clone(),
            source: planes,
            counts: [
                Counts::new(wide, high),
                Counts::new(wide / 2, high / 2),
                Counts::new(wide / 2, high / 2),
            ],
            motions: Motions::new(wide / BLOCK, high / BLOCK),
            number: 0,
            keys: 0,
        }
    }

    /// The next picture: what has changed of it, and by how much most of that has moved up.
    pub(super) fn encode(
        &mut self,
        canvas: &Canvas,
        changed: Option<Area>,
        moved: i32,
        key: bool,
    ) -> Vec<u8> {
        let whole = canvas.area();
        if let Some(area) = if key { Some(whole) } else { changed } {
            self.source.take(canvas, &area);
        }
        let mut bits = Bits::default();
        self.head(&mut bits, key);
        self.made.clone_from(&self.reference);
        let moved = if moved % 2 == 0 && moved.abs() <= FARTHEST { moved } else { 0 };
        let mut skipped = 0;
        for index in 0..self.motions.len() {
            let (col, row) = self.motions.place(index);
            let place = (col * BLOCK, row * BLOCK);
            if key {
                self.look_aside(&mut bits, index, place, 0);
                continue;
            }
            let touched = changed.is_some_and(|area| {
                let block = Area { x: place.0, y: place.1, width: BLOCK, height: BLOCK };
                // What is beyond the edge is as the edge is.
                let block =
                    Area { x: block.x.min(whole.width - 1), y: block.y.min(whole.height - 1), ..block };
                let common = block.within(&area);
                common.width > 0 && common.height > 0
            });
            let motion = if !touched || self.source.is_same(&self.before, place, 0) {
                Some(0)
            } else if moved != 0 && self.source.is_same(&self.before, place, moved) {
                Some(moved)
            } else {
                None
            };
            match motion {
                Some(motion) => self.repeat(&mut bits, index, place, (motion, &mut skipped)),
                None => self.code(&mut bits, index, place, (moved, &mut skipped)),
            }
        }
        if skipped > 0 {
            bits.unsigned(skipped);
        }
        self.reference.clone_from(&self.made);
        self.before.clone_from(&self.source);
        self.number = (self.number + 1) % (1 << FRAME_NUMBER_BITS);
        bits.into_unit(if key { UNIT_KEY } else { UNIT_OTHER })
    }

    fn head(&mut self, bits: &mut Bits, key: bool) {
        bits.unsigned(0);
        bits.unsigned(if key { 7 } else { 5 });
        bits.unsigned(0);
        if key {
            self.number = 0;
        }
        bits.put(self.number, FRAME_NUMBER_BITS);
        if key {
            // Two in a row must differ.
            bits.unsigned(self.keys % 2);
            self.keys += 1;
            bits.put(0, 2);
        } else {
            bits.put(0, 3);
        }
        bits.signed(0);
        bits.unsigned(1);
    }

    /// A macroblock that is to be seen in the picture before.
    fn repeat(
        &mut self,
        bits: &mut Bits,
        index: usize,
        place: (usize, usize),
        (motion, skipped): (Motion, &mut u32),
    ) {
        if motion != 0 {
            let expected = Expected::before(&self.reference, place, motion);
            self.show(place, &expected);
        }
        self.clear_counts(place);
        if motion == self.motions.of_skipped(index) {
            *skipped += 1;
        } else {
            self.motion(bits, index, motion, skipped);
            // Nothing is left.
            bits.unsigned(0);
        }
        self.motions.set(index, Some(motion));
    }

    /// A macroblock that is new.
    fn code(
        &mut self,
        bits: &mut Bits,
        index: usize,
        place: (usize, usize),
        (moved, skipped): (Motion, &mut u32),
    ) {
        let fits = |motion: Motion| {
            let from = place.1 as i32 + motion;
            from >= 0 && from as usize + BLOCK <= self.source.height()
        };
        let backs = [0, moved].into_iter().filter(|motion| fits(*motion));
        let back = backs
            .map(|motion| (Expected::before(&self.reference, place, motion), motion))
            .min_by_key(|(expected, _)| expected.distance(&self.source, place));
        let aside = self.aside(place).0.distance(&self.source, place);
        match back {
            Some((expected, motion)) if expected.distance(&self.source, place) < aside + BIAS => {
                self.look_back(bits, index, place, (&expected, motion, skipped));
            }
            Some(_) | None => {
                bits.unsigned(std::mem::take(skipped));
                self.look_aside(bits, index, place, BEHIND_LOOKING_BACK);
            }
        }
    }

    fn look_back(
        &mut self,
        bits: &mut Bits,
        index: usize,
        place: (usize, usize),
        (expected, motion, skipped): (&Expected, Motion, &mut u32),
    ) {
        /// The code of each pattern: which quarters are told, and 16 times what of colour.
        const PATTERNS: [u32; 48] = [
            0, 16, 1, 2, 4, 8, 32, 3, 5, 10, 12, 15, 47, 7, 11, 13, 14, 6, 9, 31, 35, 37, 42, 44, 33, 34, 36,
            40, 39, 43, 45, 46, 17, 18, 20, 24, 19, 21, 26, 28, 23, 27, 29, 30, 22, 25, 38, 41,
        ];
        let quantiser = Quantiser::new(QUANTISER, false);
        let coefficients = Coefficients::of(&self.source, place, expected, quantiser, false);
        let pattern = coefficients.luma_pattern() | coefficients.chroma_pattern() << 4;
        if pattern == 0 {
            // Too little is left to be told.
            self.show(place, expected);
            return self.repeat(bits, index, place, (motion, skipped));
        }
        self.motion(bits, index, motion, skipped);
        let code = PATTERNS.iter().position(|known| *known == pattern).unwrap_or_default();
        bits.unsigned(code as u32);
        bits.signed(0);
        self.write(bits, place, &coefficients);
        coefficients.rebuild(&mut self.made, place, expected, quantiser);
        self.motions.set(index, Some(motion));
    }

    /// The best continuation of the neighbours.
    fn aside(&self, place: (usize, usize)) -> (Expected, Mode) {
        let modes = [Mode::Mean, Mode::Down, Mode::Right].into_iter();
        let known = modes.filter_map(|mode| Some((Expected::within(&self.made, place, mode)?, mode)));
        let best = known.min_by_key(|(expected, _)| expected.distance(&self.source, place));
        best.unwrap_or((Expected { luma: [128; 256], chroma: [[128; 64]; 2] }, Mode::Mean))
    }

    fn look_aside(&mut self, bits: &mut Bits, index: usize, place: (usize, usize), behind: u32) {
        let (expected, mode) = self.aside(place);
        let quantiser = Quantiser::new(QUANTISER, true);
        let coefficients = Coefficients::of(&self.source, place, &expected, quantiser, true);
        let told = u32::from(coefficients.luma_pattern() != 0);
        bits.unsigned(behind + 1 + mode as u32 + 4 * coefficients.chroma_pattern() + 12 * told);
        // Colour continues in means, and the quantiser stays.
        bits.unsigned(0);
        bits.signed(0);
        self.write(bits, place, &coefficients);
        coefficients.rebuild(&mut self.made, place, &expected, quantiser);
        self.motions.set(index, None);
    }

    fn write(&mut self, bits: &mut Bits, place: (usize, usize), coefficients: &Coefficients) {
        self.clear_counts(place);
        let (x, y) = place;
        let luma = &mut self.counts[0];
        if let Some(means) = &coefficients.luma_means {
            residual::write(bits, means, luma.context(x, y));
        }
        let apart = coefficients.luma_means.is_some();
        let pattern = coefficients.luma_pattern();
        for (index, (block, (dx, dy))) in coefficients.luma.iter().zip(SQUARES).enumerate() {
            let told = if apart { pattern != 0 } else { pattern & (1 << (index / 4)) != 0 };
            if told {
                let (x, y) = (x + dx, y + dy);
                let context = luma.context(x, y);
                let count = residual::write(bits, &block[usize::from(apart)..], context);
                luma.set(x, y, count);
            }
        }
        let pattern = coefficients.chroma_pattern();
        if pattern > 0 {
            for means in &coefficients.chroma_means {
                residual::write(bits, means, Context::Mean);
            }
        }
        if pattern > 1 {
            for (counts, blocks) in self.counts[1..].iter_mut().zip(&coefficients.chroma) {
                for (index, block) in blocks.iter().enumerate() {
                    let (x, y) = (x / 2 + index % 2 * 4, y / 2 + index / 2 * 4);
                    let count = residual::write(bits, &block[1..], counts.context(x, y));
                    counts.set(x, y, count);
                }
            }
        }
    }

    fn clear_counts(&mut self, (x, y): (usize, usize)) {
        self.counts[0].clear((x, y), BLOCK);
        self.counts[1].clear((x / 2, y / 2), BLOCK / 2);
        self.counts[2].clear((x / 2, y / 2), BLOCK / 2);
    }

    /// Puts what is expected into the picture as it is.
    fn show(&mut self, (x, y): (usize, usize), expected: &Expected) {
        for (index, line) in expected.luma.chunks_exact(BLOCK).enumerate() {
            self.made.luma.run_mut(x, y + index, BLOCK).copy_from_slice(line);
        }
        for (plane, block) in self.made.chroma.iter_mut().zip(&expected.chroma) {
            for (index, line) in block.chunks_exact(BLOCK / 2).enumerate() {
                plane.run_mut(x / 2, y / 2 + index, BLOCK / 2).copy_from_slice(line);
            }
        }
    }

    /// Begins a macroblock that looks back.
    fn motion(&mut self, bits: &mut Bits, index: usize, motion: Motion, skipped: &mut u32) {
        bits.unsigned(std::mem::take(skipped));
        bits.unsigned(LOOKS_BACK);
        bits.signed(0);
        // In quarters of a pixel.
        bits.signed(4 * (motion - self.motions.expected(index)));
    }
}
