//! Params: the numbers of a control sequence, and the bytes around them.

/// More than any sequence needs; the rest are dropped.
const MOST: usize = 32;

#[derive(Debug, Clone)]
pub(crate) struct Params {
    /// `<`, `=`, `>` or `?` before the numbers, else 0.
    pub private: u8,
    /// The byte between numbers and last byte, else 0.
    pub between: u8,
    len: u8,
    /// A bit for each number that a colon, not a semicolon, parts from the one before.
    colons: u32,
    numbers: [u16; MOST],
}

impl Params {
    /// `None` for what is no control sequence that anybody uses.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut params = Self { private: 0, between: 0, len: 1, colons: 0, numbers: [0; MOST] };
        let mut number = 0_u16;
        let mut index = 0;
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if params.between != 0 => return None,
                b'0'..=b'9' => number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0')),
                b';' | b':' => {
                    if index < MOST {
                        params.numbers[index] = number;
                    }
                    number = 0;
                    index += 1;
                    if *byte == b':' && index < MOST {
                        params.colons |= 1 << index;
                    }
                }
                0x20..0x30 => params.between = *byte,
                b'<'..=b'?' if at == 0 => params.private = *byte,
                _ => return None,
            }
        }
        if index < MOST {
            params.numbers[index] = number;
        }
        params.len = (index + 1).min(MOST) as u8;
        Some(params)
    }

    /// Reads what most sequences are: few numbers with semicolons between them, and a last byte. Gives also how many
    /// bytes come before that one. `None` for all others, whole or not.
    #[inline]
    pub(crate) fn quick(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut params = Self { private: 0, between: 0, len: 1, colons: 0, numbers: [0; MOST] };
        let mut number = 0_u16;
        let mut index = 0;
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'0'..=b'9' => number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0')),
                b';' if index < MOST - 1 => {
                    params.numbers[index] = number;
                    number = 0;
                    index += 1;
                }
                0x40..=0x7E => {
                    params.numbers[index] = number;
                    params.len = index as u8 + 1;
                    return Some((params, at));
                }
                b'?' if at == 0 => params.private = b'?',
                _ => return None,
            }
        }
        None
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The number at an index; 0 where there is none.
    pub(crate) fn get(&self, index: usize) -> u16 {
        self.numbers.get(index).copied().unwrap_or(0)
    }

    /// How often or how far: 0 and nothing mean one.
    pub(crate) fn count(&self, index: usize) -> usize {
        usize::from(self.get(index)).max(1)
    }

    /// The numbers, colons or not.
    pub(crate) fn numbers(&self) -> &[u16] {
        &self.numbers[..self.len()]
    }

    /// How many numbers belong to the one at an index by colons, itself included.
    pub(crate) fn group(&self, index: usize) -> usize {
        let joined = |index: &usize| *index < self.len() && self.colons >> index & 1 == 1;
        1 + (index + 1..).take_while(joined).count()
    }
}
