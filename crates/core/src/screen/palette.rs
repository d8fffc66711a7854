//! Palette: the colours a program redefined, and what the others are said to be when it asks.

use std::collections::BTreeMap;

/// Red, green, blue.
pub(crate) type Rgb = [u8; 3];

/// A colour that can be redefined: one of the 256, or one of the three that have no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    Indexed(u8),
    Foreground,
    Background,
    Cursor,
}

impl Slot {
    /// As OSC 10, 11 and 12 name them.
    pub(crate) const fn from_osc(number: u16) -> Option<Self> {
        match number {
            10 => Some(Self::Foreground),
            11 => Some(Self::Background),
            12 => Some(Self::Cursor),
            _ => None,
        }
    }

    /// The beginning of the OSC that sets it.
    pub(crate) fn osc(self) -> String {
        match self {
            Self::Indexed(index) => format!("4;{index}"),
            Self::Foreground => "10".to_owned(),
            Self::Background => "11".to_owned(),
            Self::Cursor => "12".to_owned(),
        }
    }

    fn default(self) -> Rgb {
        match self {
            Self::Indexed(index) => indexed(index),
            Self::Foreground | Self::Cursor => [0xE5, 0xE5, 0xE5],
            Self::Background => [0, 0, 0],
        }
    }

    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Indexed(index) => u16::from(index),
            Self::Foreground => 256,
            Self::Background => 257,
            Self::Cursor => 258,
        }
    }

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        match number {
            0..=255 => Some(Self::Indexed(number as u8)),
            256 => Some(Self::Foreground),
            257 => Some(Self::Background),
            258 => Some(Self::Cursor),
            _ => None,
        }
    }
}

/// What was redefined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Palette(BTreeMap<Slot, Rgb>);

impl Palette {
    pub(crate) fn get(&self, slot: Slot) -> Rgb {
        self.redefined(slot).unwrap_or_else(|| slot.default())
    }

    pub(crate) fn redefined(&self, slot: Slot) -> Option<Rgb> {
        self.0.get(&slot).copied()
    }

    pub(crate) fn set(&mut self, slot: Slot, rgb: Rgb) {
        self.0.insert(slot, rgb);
    }

    pub(crate) fn reset(&mut self, slot: Slot) {
        self.0.remove(&slot);
    }

    pub(crate) fn reset_indexed(&mut self) {
        self.0.retain(|slot, _| slot.number() > 255);
    }

    pub(crate) fn changed(&self) -> impl ExactSizeIterator<Item = (Slot, Rgb)> {
        self.0.iter().map(|(slot, rgb)| (*slot, *rgb))
    }
}

/// xterm's 256 colours.
fn indexed(index: u8) -> Rgb {
    const FIRST: [u32; 16] = [
        0x00_0000, 0xCD_0000, 0x00_CD00, 0xCD_CD00, 0x00_00EE, 0xCD_00CD, 0x00_CDCD, 0xE5_E5E5, 0x7F_7F7F,
        0xFF_0000, 0x00_FF00, 0xFF_FF00, 0x5C_5CFF, 0xFF_00FF, 0x00_FFFF, 0xFF_FFFF,
    ];
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..16 => {
            let [_, r, g, b] = FIRST[usize::from(index)].to_be_bytes();
            [r, g, b]
        }
        16..232 => [level((index - 16) / 36), level((index - 16) / 6 % 6), level((index - 16) % 6)],
        232.. => [8 + 10 * (index - 232); 3],
    }
}

/// Reads `rgb:R/G/B` with one to four digits each, or `#RGB` in its four lengths.
pub(crate) fn parse_rgb(text: &str) -> Option<Rgb> {
    let parts: Vec<&str> = match text.strip_prefix('#') {
        Some(digits) if digits.is_ascii() && digits.len() % 3 == 0 && !digits.is_empty() => {
            let len = digits.len() / 3;
            (0..3).map(|part| &digits[part * len..(part + 1) * len]).collect()
        }
        Some(_) => return None,
        None => text.strip_prefix("rgb:")?.split('/').collect(),
    };
    let shortened = text.starts_with('#');
    let scale = |part: &&str| {
        if !(1..=4).contains(&part.len()) || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let value = u32::from_str_radix(part, 16).ok()?;
        let most = (1_u32 << (4 * part.len())) - 1;
        // `#RGB` gives the highest bits, `rgb:` a share of the whole.
        let high = if part.len() >= 2 { value >> (4 * part.len() - 8) } else { value << 4 };
        Some(if shortened { high } else { value * 255 / most } as u8)
    };
    let [r, g, b] = parts.iter().map(scale).collect::<Option<Vec<u8>>>()?.try_into().ok()?;
    Some([r, g, b])
}

/// As a terminal reports a colour.
pub(crate) fn rgb_text([r, g, b]: Rgb) -> String {
    format!("rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}")
}
