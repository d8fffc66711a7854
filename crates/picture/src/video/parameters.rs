//! What is the same for all pictures of a film, in the two units that a decoder gets first.

use super::bits::Bits;
use super::planes::BLOCK;

/// How coarse brightness is kept: at 20 the eye sees no difference in text.
pub(super) const QUANTISER: usize = 20;
pub(super) const FRAME_NUMBER_BITS: u32 = 8;
/// Kinds of units, with how much others depend on them.
const UNIT_SEQUENCE: u8 = 0x67;
const UNIT_PICTURE: u8 = 0x68;

/// The size of a film in pixels, which gives all the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Parameters {
    /// The level that a decoder must reach: by how many macroblocks a picture has.
    pub(super) fn level(&self) -> u8 {
        const LEVELS: [(usize, u8); 6] =
            [(3_600, 31), (5_120, 32), (8_192, 40), (22_080, 50), (36_864, 51), (139_264, 60)];
        let blocks = self.width.div_ceil(BLOCK) * self.height.div_ceil(BLOCK);
        LEVELS.iter().find(|(most, _)| blocks <= *most).map_or(62, |(_, level)| *level)
    }

    /// Both units.
    pub(super) fn units(&self) -> [Vec<u8>; 2] {
        [self.of_sequence().into_unit(UNIT_SEQUENCE), of_pictures().into_unit(UNIT_PICTURE)]
    }

    fn of_sequence(&self) -> Bits {
        let mut bits = Bits::default();
        bits.put(66, 8);
        // Within the baseline and the main profile.
        bits.put(0b1100_0000, 8);
        bits.put(u32::from(self.level()), 8);
        bits.unsigned(0);
        bits.unsigned(FRAME_NUMBER_BITS - 4);
        // Pictures are shown in the order in which they come.
        bits.unsigned(2);
        bits.unsigned(1);
        bits.flag(false);
        let (wide, high) = (self.width.div_ceil(BLOCK), self.height.div_ceil(BLOCK));
        bits.unsigned((wide - 1) as u32);
        bits.unsigned((high - 1) as u32);
        bits.put(0b11, 2);
        // What of the last macroblocks is beyond the edges.
        bits.flag(true);
        bits.unsigned(0);
        bits.unsigned(((wide * BLOCK - self.width) / 2) as u32);
        bits.unsigned(0);
        bits.unsigned(((high * BLOCK - self.height) / 2) as u32);
        bits.flag(true);
        usability(&mut bits);
        bits
    }
}

fn of_pictures() -> Bits {
    let mut bits = Bits::default();
    bits.unsigned(0);
    bits.unsigned(0);
    bits.put(0, 2);
    bits.unsigned(0);
    bits.unsigned(0);
    bits.unsigned(0);
    bits.put(0, 3);
    bits.signed(QUANTISER as i32 - 26);
    bits.signed(0);
    bits.signed(0);
    // Slices say that their edges are not to be smoothed; nothing else is special.
    bits.put(0b100, 3);
    bits
}

/// Which colours the numbers mean, and that no picture need be held back.
fn usability(bits: &mut Bits) {
    bits.put(0b00, 2);
    bits.flag(true);
    bits.put(5, 3);
    bits.flag(false);
    bits.flag(true);
    // BT.709 in all three respects.
    bits.put(0x01_0101, 24);
    bits.put(0, 5);
    bits.flag(true);
    bits.flag(true);
    bits.unsigned(0);
    bits.unsigned(0);
    bits.unsigned(11);
    bits.unsigned(11);
    bits.unsigned(0);
    bits.unsigned(1);
}
