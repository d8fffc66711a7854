//! Bits as H.264 writes them: numbers of fixed length, Exp-Golomb codes, and the units that carry them.

/// Bits that are being written, the highest first.
#[derive(Debug, Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    /// Writes the lowest bits of a number, 32 at most.
    pub(super) fn put(&mut self, value: u32, count: u32) {
        self.held = (self.held << count) | (u64::from(value) & ((1 << count) - 1));
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
        }
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.put(u32::from(value), 1);
    }

    /// `ue(v)`
    pub(super) fn unsigned(&mut self, value: u32) {
        let length = 32 - (value + 1).leading_zeros();
        self.put(0, length - 1);
        self.put(value + 1, length);
    }

    /// `se(v)`
    pub(super) fn signed(&mut self, value: i32) {
        let magnitude = value.unsigned_abs();
        self.unsigned(if value > 0 { 2 * magnitude - 1 } else { 2 * magnitude });
    }

    /// Ends it as a unit ends, and puts it into one of this kind.
    pub(super) fn into_unit(mut self, kind: u8) -> Vec<u8> {
        self.put(1, 1);
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        let mut unit = Vec::with_capacity(self.bytes.len() + 8);
        unit.push(kind);
        let mut zeros = 0;
        for byte in self.bytes {
            // Three bytes that look like the beginning of a unit must not occur within one.
            if zeros == 2 && byte <= 3 {
                unit.push(3);
                zeros = 0;
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            unit.push(byte);
        }
        unit
    }
}
