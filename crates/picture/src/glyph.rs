//! Glyphs: what a cell's characters look like as pixels, each drawn once. Owns sizes and placement; which face has a
//! character is the fonts' business, what colour it gets the painter's.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use swash::scale::image::{Content, Image};
use swash::scale::{Render, ScaleContext, Source, StrikeWith};
use swash::shape::ShapeContext;
use swash::text::Codepoint;
use swash::zeno::{Angle, Cap, Join, Stroke, Style, Transform, Vector};

use crate::canvas::{Stamp, Stencil};
use crate::font::{Choice, Face, Fonts, Slant};
use crate::shape::{self, Cell, Figure};

/// What asks for the coloured form of a character that has two.
pub(crate) const EMOJI_FORM: char = '\u{FE0F}';
const TEXT_FORM: char = '\u{FE0E}';
/// How much of an em a letter is made bolder, and how far it leans, where the face has no such form.
const BOLDER: f32 = 0.02;
const LEAN: f32 = 12.0;
/// The share of its columns that a character of full width should fill.
const FULL_WIDTH: f32 = 0.94;
/// And how much larger than others it may be made for that.
const MOST_LARGER: f32 = 1.2;

/// More glyphs are not kept: a session that shows so many is not text.
const MOST_KEPT: usize = 20_000;

/// How large everything is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metrics {
    pub(crate) cell: Cell,
    /// The size of letters, so chosen that a letter is exactly as wide as a cell.
    pub(crate) em: f32,
    /// From the top of a cell to the line that letters stand on.
    pub(crate) baseline: f32,
}

/// What stands in a cell, as far as its shape goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cluster {
    pub(crate) ch: char,
    pub(crate) marks: Option<Box<str>>,
    pub(crate) columns: u8,
    pub(crate) slant: Slant,
}

/// The pixels of a cluster, to be put at the left top of its cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Glyph {
    Blank,
    /// To be filled with the colour of the text.
    Stencil(Stencil),
    /// Has colours of its own.
    Stamp(Stamp),
}

/// Draws glyphs and keeps them.
pub(crate) struct Glyphs {
    fonts: Fonts,
    metrics: Metrics,
    /// How many shades there are between nothing and full.
    shades: u8,
    drawn: HashMap<Cluster, Rc<Glyph>>,
    scale: ScaleContext,
    shape: ShapeContext,
}

impl Glyphs {
    /// Glyphs for letters of about this size in pixels, with so many shades at their edges.
    pub(crate) fn new(size: f32, shades: u8, directories: Vec<PathBuf>) -> Self {
        let fonts = Fonts::new(directories);
        let metrics = measure(fonts.first().as_deref(), size);
        let (scale, shape) = (ScaleContext::new(), ShapeContext::new());
        Self { fonts, metrics, shades, drawn: HashMap::new(), scale, shape }
    }

    pub(crate) const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn get(&mut self, cluster: &Cluster) -> Rc<Glyph> {
        if let Some(glyph) = self.drawn.get(cluster) {
            return Rc::clone(glyph);
        }
        let glyph = Rc::new(self.draw(cluster));
        if self.drawn.len() >= MOST_KEPT {
            self.drawn.clear();
        }
        self.drawn.insert(cluster.clone(), Rc::clone(&glyph));
        glyph
    }

    fn draw(&mut self, cluster: &Cluster) -> Glyph {
        let cell = self.metrics.cell;
        let columns = usize::from(cluster.columns);
        if let Some(figure) = shape::figure(cluster.ch, cell) {
            return self.shaded(fill(&figure, cell.width * columns, cell.height));
        }
        if cluster.ch.is_whitespace() && cluster.marks.is_none() {
            return Glyph::Blank;
        }
        match self.write(cluster) {
            Some(Glyph::Stencil(stencil)) => self.shaded(stencil),
            Some(glyph) => glyph,
            None => self.shaded(fill(&shape::missing(cell, columns), cell.width * columns, cell.height)),
        }
    }

    /// Fewer shades are fewer colours, which a GIF counts.
    fn shaded(&self, mut stencil: Stencil) -> Glyph {
        let most = u32::from(self.shades);
        if self.shades < u8::MAX {
            for part in &mut stencil.cover {
                *part = shade_of(((u32::from(*part) * most + 127) / 255) as u8, self.shades);
            }
        }
        Glyph::Stencil(stencil)
    }

    /// Draws it with the letters of a font; none if no font has them.
    fn write(&mut self, cluster: &Cluster) -> Option<Glyph> {
        let marks = cluster.marks.as_deref().unwrap_or_default();
        let wants = |form: char| marks.contains(form);
        let emoji = cluster.ch.is_emoji() && (cluster.columns == 2 || wants(EMOJI_FORM)) && !wants(TEXT_FORM);
        let choice = self.fonts.choose(cluster.ch, marks, emoji, cluster.slant)?;
        let room = f32::from(cluster.columns) * self.metrics.cell.width as f32;
        let set = self.set(&choice.face, cluster, marks);
        let (scale, left) = self.fit(&choice.face, &set, room, cluster.columns);
        let size = self.metrics.em * scale;
        let mut stencils = Vec::new();
        for (id, x, y) in &set.glyphs {
            let offset = Vector::new(left + x * scale, y * scale);
            let image = self.render(&choice, *id, size, offset)?;
            match image.content {
                Content::Color => return Some(Glyph::Stamp(self.place(&image, cluster.columns))),
                Content::Mask | Content::SubpixelMask => stencils.push(image),
            }
        }
        Some(join(&stencils, self.metrics.baseline.round() as i32).map_or(Glyph::Blank, Glyph::Stencil))
    }

    /// Sets a cluster in letters of the common size.
    fn set(&mut self, face: &Face, cluster: &Cluster, marks: &str) -> Setting {
        let em = self.metrics.em;
        if marks.is_empty() {
            let id = face.glyph(cluster.ch);
            return Setting { glyphs: vec![(id, 0.0, 0.0)], width: face.advance(id, em) };
        }
        let mut setting = Setting::default();
        let over: Vec<u16> =
            marks.chars().filter(|mark| is_laid_over(*mark)).map(|mark| face.glyph(mark)).collect();
        let script = cluster.ch.script();
        let mut shaper = self.shape.builder(face.font()).script(script).size(em).build();
        shaper.add_str(&format!("{}{marks}", cluster.ch));
        shaper.shape_with(|part| {
            // What the face does not have is left out and takes no room; what only chooses a form has no shape.
            for glyph in part.glyphs.iter().filter(|glyph| glyph.id != 0) {
                let is_over = over.contains(&glyph.id);
                // Some faces have marks as wide as letters, to be set in the same place.
                let left = if is_over && glyph.advance > 0.0 { 0.0 } else { setting.width };
                setting.glyphs.push((glyph.id, left + glyph.x, glyph.y));
                setting.width += if is_over { 0.0 } else { glyph.advance };
            }
        });
        setting
    }

    /// By how much a setting is scaled so that it fits its columns, and where it begins then.
    fn fit(&mut self, face: &Face, set: &Setting, room: f32, columns: u8) -> (f32, f32) {
        let middle = |scale: f32| (scale, (room - set.width * scale) / 2.0);
        let full = room * FULL_WIDTH;
        if columns == 2 && set.width > 0.0 && set.width < full {
            return middle((full / set.width).min(MOST_LARGER));
        }
        if set.width <= room {
            return middle(1.0);
        }
        // A symbol made for more room than a cell is judged by its ink: there may be enough for that.
        let mut scaler = self.scale.builder(face.font()).size(self.metrics.em).build();
        let outline = set.glyphs.first().and_then(|(id, ..)| scaler.scale_outline(*id));
        match outline.map(|outline| outline.bounds()) {
            Some(ink) if columns == 1 && set.glyphs.len() == 1 && ink.width() > 0.0 => {
                let scale = (room / ink.width()).min(1.0);
                (scale, (room - ink.width() * scale) / 2.0 - ink.min.x * scale)
            }
            Some(_) | None => middle(room / set.width),
        }
    }

    fn render(&mut self, choice: &Choice, id: u16, size: f32, offset: Vector) -> Option<Image> {
        // Bitmaps come in the size that the font has; they are made to fit later.
        let mut scaler = self.scale.builder(choice.face.font()).size(0.0).build();
        if let Some(mut image) = scaler.scale_color_bitmap(id, StrikeWith::LargestSize) {
            multiply(&mut image.data);
            return Some(image);
        }
        let lean = choice.lacks.italic.then(|| Transform::skew(Angle::from_degrees(LEAN), Angle::ZERO));
        let sources = [Source::ColorOutline(0), Source::Outline];
        let mut scaler = self.scale.builder(choice.face.font()).size(size).build();
        let mut render = Render::new(&sources);
        render.offset(offset).transform(lean);
        if choice.lacks.bold {
            render.embolden(size * BOLDER);
        }
        render.render(&mut scaler, id)
    }

    /// Makes a coloured picture fit its columns and puts it in their middle.
    fn place(&self, image: &Image, columns: u8) -> Stamp {
        let cell = self.metrics.cell;
        let (room, height) = (usize::from(columns) * cell.width, cell.height);
        let (from_width, from_height) = (image.placement.width as usize, image.placement.height as usize);
        let scale = (room as f32 / from_width.max(1) as f32).min(height as f32 / from_height.max(1) as f32);
        let fit = |len: usize| ((len as f32 * scale).round() as usize).max(1);
        let (width, rows) = (fit(from_width), fit(from_height));
        Stamp {
            left: (room as i32 - width as i32) / 2,
            top: (height as i32 - rows as i32) / 2,
            width,
            pixels: resize(&image.data, (from_width, from_height), (width, rows)),
        }
    }
}

impl std::fmt::Debug for Glyphs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Glyphs").field("metrics", &self.metrics).field("drawn", &self.drawn.len()).finish()
    }
}

/// Whether it is a mark of any script's that stands over, under or in its letter.
const fn is_laid_over(mark: char) -> bool {
    matches!(mark, '\u{300}'..='\u{36F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// The shapes of a cluster and where each begins, from left and line, in letters of the common size.
#[derive(Debug, Default)]
struct Setting {
    glyphs: Vec<(u16, f32, f32)>,
    width: f32,
}

/// The measures of cells for letters of about this size: whole pixels, and an even height, so that half of it is whole too.
pub(crate) fn measure(face: Option<&Face>, size: f32) -> Metrics {
    const PROPORTION: f32 = 0.6;
    let (share, (above, below)) =
        face.map_or((PROPORTION, (1.0, 0.3)), |face| (face.advance(face.glyph('0'), 1.0), face.reach()));
    let width = (size * share).round().max(2.0);
    let em = width / share;
    let height = 2.0 * ((above + below) * em / 2.0).round().max(2.0);
    let line = (em / 14.0).round().max(1.0);
    Metrics {
        cell: Cell { width: width as usize, height: height as usize, line: line as usize },
        em,
        baseline: above * em + (height - (above + below) * em) / 2.0,
    }
}

/// How much is covered by the shade of this number, of so many; 0 is none and the last is all.
pub(crate) fn shade_of(number: u8, shades: u8) -> u8 {
    (u32::from(number) * 255 / u32::from(shades.max(1))) as u8
}

/// The pixels that a figure covers.
pub(crate) fn fill(figure: &Figure, width: usize, height: usize) -> Stencil {
    let mut cover = vec![0; width * height];
    let mut render = |path: &str, style: Style<'_>| {
        let mut stencil = swash::zeno::Mask::new(path);
        stencil.style(style).size(width as u32, height as u32).render_into(&mut cover, None);
    };
    match figure {
        Figure::Filled(path) => render(path, Style::default()),
        Figure::Drawn(path, pen) => {
            render(path, Style::Stroke(*Stroke::new(*pen).cap(Cap::Square).join(Join::Miter)));
        }
        Figure::Boxes(boxes, opacity) => {
            for [left, top, right, bottom] in boxes {
                for y in *top..(*bottom).min(height) {
                    cover[y * width + left.min(&width)..y * width + right.min(&width)].fill(*opacity);
                }
            }
        }
    }
    Stencil { left: 0, top: 0, width, cover }
}

/// One stencil of several images, which are placed from the line they stand on; that is so far below the top.
fn join(images: &[Image], baseline: i32) -> Option<Stencil> {
    let places =
        || images.iter().map(|image| &image.placement).filter(|place| place.width > 0 && place.height > 0);
    let left = places().map(|place| place.left).min()?;
    let top = places().map(|place| -place.top).min()?;
    let right = places().map(|place| place.left + place.width as i32).max()?;
    let bottom = places().map(|place| -place.top + place.height as i32).max()?;
    let width = (right - left) as usize;
    let mut cover = vec![0_u8; width * (bottom - top) as usize];
    for image in images {
        let place = &image.placement;
        let (x, y) = ((place.left - left) as usize, (-place.top - top) as usize);
        for (index, line) in image.data.chunks_exact((place.width as usize).max(1)).enumerate() {
            let start = (y + index) * width + x;
            for (to, from) in cover[start..start + line.len()].iter_mut().zip(line) {
                *to = (*to).max(*from);
            }
        }
    }
    Some(Stencil { left, top: top + baseline, width, cover })
}

fn multiply(pixels: &mut [u8]) {
    for pixel in pixels.chunks_exact_mut(4) {
        let part = u16::from(pixel[3]);
        for channel in &mut pixel[..3] {
            *channel = ((u16::from(*channel) * part + 127) / 255) as u8;
        }
    }
}

/// Each new pixel is the mean of the old ones that it covers.
fn resize(
    data: &[u8],
    (width, height): (usize, usize),
    (to_width, to_height): (usize, usize),
) -> Vec<[u8; 4]> {
    let spans = |len: usize, to: usize| -> Vec<Vec<(usize, f32)>> {
        let step = len as f32 / to as f32;
        let span = |index: usize| {
            let (from, until) = (index as f32 * step, (index + 1) as f32 * step);
            let old = (from as usize)..(until.ceil() as usize).min(len);
            old.map(|at| (at, (until.min(at as f32 + 1.0) - from.max(at as f32)) / step)).collect()
        };
        (0..to).map(span).collect()
    };
    let (across, down) = (spans(width, to_width), spans(height, to_height));
    let mut pixels = Vec::with_capacity(to_width * to_height);
    for rows in &down {
        for cols in &across {
            let mut sum = [0.0_f32; 4];
            for (y, high) in rows {
                for (x, wide) in cols {
                    let at = 4 * (y * width + x);
                    for (channel, sum) in sum.iter_mut().enumerate() {
                        *sum += f32::from(data.get(at + channel).copied().unwrap_or_default()) * high * wide;
                    }
                }
            }
            pixels.push(sum.map(|channel| channel.round() as u8));
        }
    }
    pixels
}
