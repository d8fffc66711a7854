//! The painter: screens to pixels. It remembers what it painted last and repaints only the rows that differ, so that a
//! film costs little more than what changes in it.

use std::path::PathBuf;

use abide_core::screen::theme::{Colours, Rgb, Theme};
use abide_core::screen::{Size, Underline, View};
use unicode_width::UnicodeWidthChar;

use crate::canvas::{Area, Canvas, mix};
use crate::font::{Fonts, Slant};
use crate::glyph::{Cluster, Glyph, Glyphs, measure};
use crate::spot::{self, Caret, Spot};
use crate::window::Window;

/// How far the title is from the colour of text towards the background, of 255.
const DIMMED: u8 = 90;

/// How a picture should look.
#[derive(Debug, Clone)]
pub struct Design {
    pub theme: &'static Theme,
    /// The size of letters in pixels, about.
    pub font_size: f32,
    /// Between the text and the edge, in pixels.
    pub padding: usize,
    /// With the frame of a window around it, and this title.
    pub window: Option<String>,
    pub cursor: bool,
    /// How many shades the edges of letters have, 255 at most.
    pub shades: u8,
    /// Where fonts are looked for that have what ours lack.
    pub font_directories: Vec<PathBuf>,
}

/// More pixels than a picture may have: about what the largest video can.
const TOO_MANY: usize = 35_000_000;

impl Design {
    /// Width and height of the picture of a screen in pixels; none if that is more than can be drawn.
    #[must_use]
    pub fn measure(&self, size: Size) -> Option<(usize, usize)> {
        let cell = measure(Fonts::new(Vec::new()).first().as_deref(), self.font_size).cell;
        let text = (cell.width * usize::from(size.cols), cell.height * usize::from(size.rows));
        let (width, height) = Window::new(self, cell, text).size();
        (width * height < TOO_MANY).then_some((width, height))
    }
}

/// What differs from the picture before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The part of the canvas outside of which nothing differs; none if all is as it was.
    pub area: Option<Area>,
    /// By how many pixels most of what is there has moved up; negative for down.
    pub moved: i32,
}

/// Paints screens of one size.
#[derive(Debug)]
pub struct Painter {
    design: Design,
    size: Size,
    glyphs: Glyphs,
    canvas: Canvas,
    /// Where the first cell begins.
    origin: (usize, usize),
    rows: Vec<Vec<Spot>>,
    background: Rgb,
    window: Window,
}

impl Painter {
    /// A painter of screens of this size; those of another size are cut or have room left.
    #[must_use]
    pub fn new(design: Design, size: Size) -> Self {
        let glyphs = Glyphs::new(design.font_size, design.shades, design.font_directories.clone());
        let cell = glyphs.metrics().cell;
        let text = (cell.width * usize::from(size.cols), cell.height * usize::from(size.rows));
        let window = Window::new(&design, cell, text);
        let background = design.theme.background();
        let canvas = Canvas::new(0, 0, background);
        let origin = window.origin();
        let mut painter = Self { design, size, glyphs, canvas, origin, rows: Vec::new(), background, window };
        painter.begin();
        painter
    }

    #[must_use]
    pub const fn canvas(&self) -> &Canvas {
        &self.canvas
    }

    /// Where the row of text that this line of pixels belongs to ends; at the edge for what is outside of the text.
    pub(crate) fn row_end(&self, y: usize) -> usize {
        let (top, height) = (self.origin.1, self.glyphs.metrics().cell.height);
        let rows = usize::from(self.size.rows);
        match y.checked_sub(top).map(|inside| inside / height) {
            None => top,
            Some(row) if row < rows => top + (row + 1) * height,
            Some(_) => self.canvas.height(),
        }
    }

    /// Paints what the view shows over what was painted last.
    pub fn paint(&mut self, view: &View<'_>) -> Change {
        let new: Vec<Vec<Spot>> = (0..self.size.rows)
            .map(|row| spot::row(view, self.design.theme, row, self.size.cols, self.design.cursor))
            .collect();
        let background = Colours { theme: self.design.theme, view }.background();
        let first = self.rows.is_empty() || background != self.background;
        if background != self.background {
            self.background = background;
            self.begin();
        }
        let changed: Vec<usize> =
            (0..new.len()).filter(|row| first || self.rows.get(*row) != new.get(*row)).collect();
        let moved = if first { 0 } else { self.moved(&new) };
        self.rows = new;
        for row in &changed {
            self.paint_row(*row);
        }
        let area = match (changed.first(), changed.last()) {
            (Some(_), Some(_)) if first => Some(self.canvas.area()),
            (Some(top), Some(bottom)) => Some(self.band(*top, *bottom)),
            (None, _) | (_, None) => None,
        };
        Change { area, moved }
    }

    /// Paints all that is around the text.
    fn begin(&mut self) {
        let theme = self.design.theme;
        self.canvas = self.window.paint(self.background, theme);
        let (Some(bar), Some(title)) = (self.window.bar(), self.design.window.clone()) else { return };
        let cell = self.glyphs.metrics().cell;
        // As much as there is room for between the dots and the same room at the other side.
        let room = (bar.width / cell.width).saturating_sub(16);
        let title: Vec<char> = title.chars().filter(|ch| ch.width() == Some(1)).take(room).collect();
        let mut x = bar.x + (bar.width - title.len() * cell.width) / 2;
        let y = bar.y + (bar.height - cell.height) / 2;
        let color = mix(theme.foreground(), self.background, DIMMED);
        for ch in title {
            let cluster = Cluster { ch, marks: None, columns: 1, slant: Slant::default() };
            if let Glyph::Stencil(stencil) = &*self.glyphs.get(&cluster) {
                self.canvas.cover(stencil, (x, y), &bar, color);
            }
            x += cell.width;
        }
    }

    /// The part of the canvas that rows take up.
    fn band(&self, first: usize, last: usize) -> Area {
        let cell = self.glyphs.metrics().cell;
        let (x, y) = self.origin;
        Area {
            x,
            y: y + first * cell.height,
            width: cell.width * usize::from(self.size.cols),
            height: (last + 1 - first) * cell.height,
        }
    }

    /// By how many pixels rows that are not blank have moved up or, negative, down, if most of what changed did.
    fn moved(&self, new: &[Vec<Spot>]) -> i32 {
        let rows = new.len() as i32;
        let written: Vec<bool> =
            new.iter().map(|row| row.iter().any(|spot| spot.cluster.is_some())).collect();
        let same = |by: i32| {
            let rows = (0..rows).filter(|row| (0..rows).contains(&(row + by)) && written[*row as usize]);
            rows.filter(|row| new[*row as usize] == self.rows[(row + by) as usize]).count()
        };
        let best = (1 - rows..rows).filter(|by| *by != 0).map(|by| (same(by), by));
        let (count, by) = best.max_by_key(|(count, by)| (*count, -by.abs())).unwrap_or_default();
        if count > 1 && count > same(0) / 2 { by * self.glyphs.metrics().cell.height as i32 } else { 0 }
    }

    fn paint_row(&mut self, number: usize) {
        let band = self.band(number, number);
        let cell = self.glyphs.metrics().cell;
        let spots = std::mem::take(&mut self.rows[number]);
        let mut x = band.x;
        for spot in &spots {
            let width = cell.width * usize::from(spot.columns);
            self.canvas.fill(&Area { x, y: band.y, width, height: cell.height }, spot.ground);
            x += width;
        }
        let mut x = band.x;
        for spot in &spots {
            self.paint_spot(spot, x, &band);
            x += cell.width * usize::from(spot.columns);
        }
        self.rows[number] = spots;
    }

    fn paint_spot(&mut self, spot: &Spot, x: usize, band: &Area) {
        let place = (x, band.y);
        if let Some(cluster) = &spot.cluster {
            match &*self.glyphs.get(cluster) {
                Glyph::Blank => {}
                Glyph::Stencil(stencil) => self.canvas.cover(stencil, place, band, spot.text),
                Glyph::Stamp(stamp) => self.canvas.stamp(stamp, place, band),
            }
        }
        let metrics = *self.glyphs.metrics();
        let cell = metrics.cell;
        let width = cell.width * usize::from(spot.columns);
        let mut bar = |x: usize, y: usize, width: usize, height: usize, color: Rgb| {
            self.canvas.fill(&Area { x, y: band.y + y, width, height }.within(band), color);
        };
        if spot.strike {
            let middle = metrics.baseline - metrics.em * 0.3;
            bar(x, middle.round() as usize, width, cell.line, spot.text);
        }
        if spot.overline {
            bar(x, 0, width, cell.line, spot.text);
        }
        match spot.caret {
            Some(Caret::Underline(color)) => {
                let thick = 2 * cell.line;
                bar(x, cell.height - thick, width, thick, color);
            }
            Some(Caret::Bar(color)) => bar(x, 0, (2 * cell.line).min(width), cell.height, color),
            None => {}
        }
        if spot.underline != Underline::None {
            self.underline(spot, Area { x, width, ..*band });
        }
    }

    /// Underlines the cells of an area of one row.
    fn underline(&mut self, spot: &Spot, area: Area) {
        let metrics = *self.glyphs.metrics();
        let line = metrics.cell.line;
        let top = area.y + ((metrics.baseline + metrics.em * 0.11).round() as usize).min(area.height - line);
        let color = spot.underline_color;
        let mut bar = |x: usize, y: usize, width: usize| {
            self.canvas.fill(&Area { x, y, width, height: line }.within(&area), color);
        };
        match spot.underline {
            Underline::None => {}
            Underline::Single => bar(area.x, top, area.width),
            Underline::Double => {
                bar(area.x, top, area.width);
                bar(area.x, top + 2 * line, area.width);
            }
            Underline::Dotted => {
                // Counted from the left of the canvas, so that the dots of neighbours are evenly apart.
                let dots = (area.x..area.right()).filter(|x| (x / line).is_multiple_of(2));
                dots.for_each(|x| bar(x, top, 1));
            }
            Underline::Dashed => {
                let dash = (metrics.cell.width / 2).max(1);
                let dashes =
                    (area.x..area.right()).filter(|x| ((x - area.x) + dash / 2) % (2 * dash) >= dash);
                dashes.for_each(|x| bar(x, top, 1));
            }
            Underline::Curly => self.curl(area, top, color),
        }
    }

    /// A wave of two periods a cell, smooth at its edges.
    fn curl(&mut self, area: Area, top: usize, color: Rgb) {
        let cell = self.glyphs.metrics().cell;
        let period = cell.width as f32;
        let (half, swing) = (cell.line as f32 * 0.6, (cell.line as f32 * 1.3).max(1.2));
        let middle = top as f32 + swing;
        for x in area.x..area.right() {
            let angle = (x - area.x) as f32 + 0.5;
            let wave = middle + swing * (angle * std::f32::consts::TAU / period).sin();
            for y in top.saturating_sub(1)..area.bottom() {
                let far = (y as f32 + 0.5 - wave).abs() - half;
                let part = ((0.5 - far).clamp(0.0, 1.0) * 255.0) as u8;
                if part > 0 {
                    let under = self.canvas.rgb(x, y);
                    let pixel = Area { x, y, width: 1, height: 1 }.within(&area);
                    self.canvas.fill(&pixel, mix(under, color, part));
                }
            }
        }
    }
}
