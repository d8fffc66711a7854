//! Canvas: pixels. Owns filling and blending, knows nothing of cells.

use abide_core::screen::theme::Rgb;

/// A part of a canvas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

impl Area {
    /// The least that holds both.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let width = self.right().max(other.right()) - x;
        Self { x, y, width, height: self.bottom().max(other.bottom()) - y }
    }

    pub(crate) const fn right(&self) -> usize {
        self.x + self.width
    }

    pub(crate) const fn bottom(&self) -> usize {
        self.y + self.height
    }

    /// What both have in common.
    pub(crate) fn within(&self, other: &Self) -> Self {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let width = self.right().min(other.right()).saturating_sub(x);
        let height = self.bottom().min(other.bottom()).saturating_sub(y);
        Self { x, y, width, height }
    }
}

/// How much of each pixel is covered, from 0 to 255, and where the first of them lies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stencil {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: usize,
    pub(crate) cover: Vec<u8>,
}

/// Pixels of their own colours: red, green and blue, each multiplied by the fourth, which says how opaque it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: usize,
    pub(crate) pixels: Vec<[u8; 4]>,
}

/// A picture of pixels, each packed as `0x00RRGGBB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canvas {
    width: usize,
    pixels: Vec<u32>,
}

impl Canvas {
    #[must_use]
    pub fn new(width: usize, height: usize, color: Rgb) -> Self {
        Self { width, pixels: vec![pack(color); width * height] }
    }

    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    #[must_use]
    pub fn height(&self) -> usize {
        self.pixels.len().checked_div(self.width).unwrap_or(0)
    }

    /// All of it.
    #[must_use]
    pub fn area(&self) -> Area {
        Area { x: 0, y: 0, width: self.width, height: self.height() }
    }

    /// One line of pixels, packed.
    #[must_use]
    pub fn line(&self, y: usize) -> &[u32] {
        &self.pixels[y * self.width..(y + 1) * self.width]
    }

    /// The colour of one pixel.
    #[must_use]
    pub fn rgb(&self, x: usize, y: usize) -> Rgb {
        unpack(self.line(y)[x])
    }

    /// A part of one line.
    pub(crate) fn span(&self, area: &Area, y: usize) -> &[u32] {
        &self.line(y)[area.x..area.right()]
    }

    /// Makes every pixel unlike any colour.
    pub(crate) fn forget(&mut self) {
        self.pixels.fill(u32::MAX);
    }

    /// Takes over a part of another canvas of the same size.
    pub(crate) fn copy(&mut self, from: &Self, area: &Area) {
        for y in area.y..area.bottom() {
            let start = y * self.width + area.x;
            self.pixels[start..start + area.width].copy_from_slice(from.span(area, y));
        }
    }

    pub(crate) fn fill(&mut self, area: &Area, color: Rgb) {
        let area = area.within(&self.area());
        for y in area.y..area.bottom() {
            let start = y * self.width + area.x;
            self.pixels[start..start + area.width].fill(pack(color));
        }
    }

    /// Lays a colour over it where the stencil covers, at a place and within an area.
    pub(crate) fn cover(&mut self, stencil: &Stencil, place: (usize, usize), clip: &Area, color: Rgb) {
        let at = (place.0 as i32 + stencil.left, place.1 as i32 + stencil.top);
        self.each(at, (stencil.width, stencil.cover.len()), clip, |pixel, index| {
            match stencil.cover[index] {
                0 => {}
                255 => *pixel = pack(color),
                part => *pixel = pack(mix(unpack(*pixel), color, part)),
            }
        });
    }

    /// Lays pixels of their own colours over it.
    pub(crate) fn stamp(&mut self, stamp: &Stamp, place: (usize, usize), clip: &Area) {
        let at = (place.0 as i32 + stamp.left, place.1 as i32 + stamp.top);
        self.each(at, (stamp.width, stamp.pixels.len()), clip, |pixel, index| {
            let [r, g, b, part] = stamp.pixels[index];
            let under = mix(unpack(*pixel), [0, 0, 0], part);
            *pixel =
                pack([under[0].saturating_add(r), under[1].saturating_add(g), under[2].saturating_add(b)]);
        });
    }

    /// Visits the pixels of the area that something covers when it is put there: so wide, and so many pixels in all.
    fn each(
        &mut self,
        (left, top): (i32, i32),
        (width, len): (usize, usize),
        clip: &Area,
        mut visit: impl FnMut(&mut u32, usize),
    ) {
        let clip = clip.within(&self.area());
        let height = len.checked_div(width).unwrap_or(0);
        let (first_x, first_y) = (left.max(clip.x as i32), top.max(clip.y as i32));
        let last_x = (left + width as i32).min(clip.right() as i32);
        let last_y = (top + height as i32).min(clip.bottom() as i32);
        for y in first_y..last_y {
            for x in first_x..last_x {
                let index = (y - top) as usize * width + (x - left) as usize;
                visit(&mut self.pixels[y as usize * self.width + x as usize], index);
            }
        }
    }
}

pub(crate) const fn pack([r, g, b]: Rgb) -> u32 {
    u32::from_be_bytes([0, r, g, b])
}

pub(crate) const fn unpack(pixel: u32) -> Rgb {
    let [_, r, g, b] = pixel.to_be_bytes();
    [r, g, b]
}

/// So many 255ths of the way from one colour to another.
pub(crate) fn mix(from: Rgb, to: Rgb, part: u8) -> Rgb {
    let part = u32::from(part);
    let channel =
        |from: u8, to: u8| ((u32::from(from) * (255 - part) + u32::from(to) * part + 127) / 255) as u8;
    [channel(from[0], to[0]), channel(from[1], to[1]), channel(from[2], to[2])]
}
