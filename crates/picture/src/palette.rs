//! Palette: the colours of a picture, numbered. A picture of a terminal seldom has more than a file can name.

mod reduce;

use std::collections::HashMap;

/// The most colours that a file of the old formats can name.
pub(crate) const MOST: usize = 256;
/// Places to look a colour up in; four for each, so that few look in vain.
const PLACES: usize = 4 * MOST;
const FREE: u16 = u16::MAX;

/// Colours in the order in which they were met.
#[derive(Debug, Clone)]
pub(crate) struct Palette {
    colours: Vec<u32>,
    places: Vec<u16>,
    /// Colours that have none of their own: the number of the one that stands for them.
    others: HashMap<u32, u8>,
}

impl Palette {
    pub(crate) fn new() -> Self {
        Self { colours: Vec::with_capacity(MOST), places: vec![FREE; PLACES], others: HashMap::new() }
    }

    /// The colours of these pixels; where there are too many, similar ones become one.
    pub(crate) fn reduced(pixels: impl Iterator<Item = u32>, most: usize) -> Self {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut last = (u32::MAX, 0);
        for pixel in pixels.map(Some).chain([None]) {
            if pixel == Some(last.0) {
                last.1 += 1;
                continue;
            }
            if last.1 > 0 {
                *counts.entry(last.0).or_default() += last.1;
            }
            last = (pixel.unwrap_or(u32::MAX), 1);
        }
        let mut palette = Self::new();
        let mut groups = reduce::groups(counts.into_iter().collect(), most);
        groups.sort_unstable();
        for (color, members) in groups {
            // Two groups may have the same mean.
            let Some(number) = palette.add(color) else { break };
            palette.others.extend(members.into_iter().map(|member| (member, number)));
        }
        palette
    }

    pub(crate) fn colours(&self) -> &[u32] {
        &self.colours
    }

    /// The number of a colour, a new one if it has none yet; none if there is no room.
    pub(crate) fn add(&mut self, pixel: u32) -> Option<u8> {
        let place = self.place(pixel);
        match self.places[place] {
            FREE if self.colours.len() == MOST => None,
            FREE => {
                self.places[place] = self.colours.len() as u16;
                self.colours.push(pixel);
                Some((self.colours.len() - 1) as u8)
            }
            number => Some(number as u8),
        }
    }

    /// The number of a colour, or of the one that stands for it.
    pub(crate) fn get(&self, pixel: u32) -> Option<u8> {
        match self.places[self.place(pixel)] {
            FREE => self.others.get(&pixel).copied(),
            number => Some(number as u8),
        }
    }

    /// Where a colour stands, or would.
    fn place(&self, pixel: u32) -> usize {
        let mut place = (pixel.wrapping_mul(0x9E37_79B1) >> 22) as usize % PLACES;
        loop {
            match self.places[place] {
                FREE => return place,
                number if self.colours[usize::from(number)] == pixel => return place,
                _ => place = (place + 1) % PLACES,
            }
        }
    }
}
