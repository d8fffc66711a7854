//! The window around the text: padding, and if it is asked for a bar with three dots, round corners and a shadow.

use abide_core::screen::theme::{Rgb, Theme};

use crate::canvas::{Area, Canvas, Stencil, mix};
use crate::glyph::fill;
use crate::paint::Design;
use crate::shape::{Cell, Figure};

const DOTS: [Rgb; 3] = [[0xFF, 0x5F, 0x57], [0xFE, 0xBC, 0x2E], [0x28, 0xC8, 0x40]];
/// How dark a shadow is, of 255.
const DARKEST: f32 = 110.0;
const BLACK: Rgb = [0; 3];
const WHITE: Rgb = [255; 3];

/// Where the text lies in the picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    text: (usize, usize),
    padding: usize,
    frame: Option<Frame>,
}

/// The measures of a frame.
#[derive(Debug, Clone, Copy)]
struct Frame {
    bar: usize,
    margin: usize,
    radius: usize,
}

impl Window {
    pub(crate) fn new(design: &Design, cell: Cell, text: (usize, usize)) -> Self {
        let frame = design.window.as_ref().map(|_| Frame {
            bar: cell.height * 3 / 2,
            margin: cell.height * 3 / 2 / 2 * 2,
            radius: cell.height / 2,
        });
        Self { text, padding: design.padding, frame }
    }

    /// Where the first cell begins.
    pub(crate) fn origin(&self) -> (usize, usize) {
        let (margin, bar) = self.frame.map_or((0, 0), |frame| (frame.margin, frame.bar));
        (margin + self.padding, margin + bar + self.padding)
    }

    /// The bar above the text, if there is one.
    pub(crate) fn bar(&self) -> Option<Area> {
        let (width, _) = self.size();
        let Frame { bar, margin, .. } = self.frame?;
        Some(Area { x: margin, y: margin, width: width - 2 * margin, height: bar })
    }

    /// An even number of pixels, as films want it.
    pub(crate) fn size(&self) -> (usize, usize) {
        let (x, y) = self.origin();
        let below = self.frame.map_or(0, |frame| frame.margin) + self.padding;
        ((x + self.text.0 + below).next_multiple_of(2), (y + self.text.1 + below).next_multiple_of(2))
    }

    /// The same as vectors.
    pub(crate) fn vectors(&self, background: Rgb, theme: &Theme) -> String {
        let hex = |[r, g, b]: Rgb| format!("#{r:02x}{g:02x}{b:02x}");
        let (width, height) = self.size();
        let ground = hex(background);
        let (Some(frame), Some(bar)) = (self.frame, self.bar()) else {
            return format!("<rect width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>");
        };
        let Frame { margin, radius, .. } = frame;
        let size = bar.height * 2 / 5;
        let dots = DOTS.into_iter().enumerate().map(|(index, color)| {
            let x = bar.x + size + index * size * 5 / 3 + size / 2;
            let y = bar.y + bar.height / 2;
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"{}\"/>", size as f32 / 2.0, hex(color))
        });
        let (inner_width, inner_height) = (width - 2 * margin, height - 2 * margin);
        format!(
            "<filter id=\"s\"><feDropShadow dx=\"0\" dy=\"{drop}\" stdDeviation=\"{blur}\" flood-opacity=\".4\"/></filter>\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{behind}\"/>\
             <rect x=\"{margin}\" y=\"{margin}\" width=\"{inner_width}\" height=\"{inner_height}\" rx=\"{radius}\" \
             fill=\"{shade}\" filter=\"url(#s)\"/>\
             <path d=\"M{margin} {below}h{inner_width}v{tall}a{radius} {radius} 0 0 1 -{radius} {radius}h-{wide}\
             a{radius} {radius} 0 0 1 -{radius} -{radius}z\" fill=\"{ground}\"/>{dots}",
            drop = margin as f32 * 0.3,
            blur = margin as f32 * 0.3,
            behind = hex(behind(background)),
            shade = hex(shade(background, theme)),
            below = bar.bottom(),
            tall = inner_height - bar.height - radius,
            wide = inner_width - 2 * radius,
            dots = dots.collect::<String>(),
        )
    }

    /// The picture without its text.
    pub(crate) fn paint(&self, background: Rgb, theme: &Theme) -> Canvas {
        let (width, height) = self.size();
        let Some(frame) = self.frame else {
            return Canvas::new(width, height, background);
        };
        let mut canvas = Canvas::new(width, height, behind(background));
        let inner = Area {
            x: frame.margin,
            y: frame.margin,
            width: width - 2 * frame.margin,
            height: height - 2 * frame.margin,
        };
        shadow(&mut canvas, &inner, &frame);
        let whole = canvas.area();
        canvas.cover(&rounded(&inner, frame.radius as f32), (inner.x, inner.y), &whole, background);
        let Some(bar) = self.bar() else { return canvas };
        let bar_stencil = rounded(&inner, frame.radius as f32);
        canvas.cover(&bar_stencil, (inner.x, inner.y), &bar, shade(background, theme));
        dots(&mut canvas, &bar);
        canvas
    }
}

/// What a window stands before.
fn behind(background: Rgb) -> Rgb {
    let light = background.iter().map(|channel| u32::from(*channel)).sum::<u32>() > 3 * 128;
    mix(background, if light { BLACK } else { WHITE }, if light { 24 } else { 40 })
}

/// The colour of its bar.
fn shade(background: Rgb, theme: &Theme) -> Rgb {
    mix(background, theme.foreground(), 20)
}

fn rounded(area: &Area, radius: f32) -> Stencil {
    let (w, h, r) = (area.width as f32, area.height as f32, radius);
    let path = format!(
        "M{r} 0H{}A{r} {r} 0 0 1 {w} {r}V{}A{r} {r} 0 0 1 {} {h}H{r}A{r} {r} 0 0 1 0 {}V{r}A{r} {r} 0 0 1 {r} 0Z",
        w - r,
        h - r,
        w - r,
        h - r
    );
    fill(&Figure::Filled(path), area.width, area.height)
}

fn dots(canvas: &mut Canvas, bar: &Area) {
    let size = bar.height * 2 / 5;
    let dot = rounded(&Area { x: 0, y: 0, width: size, height: size }, size as f32 / 2.0);
    let y = bar.y + (bar.height - size) / 2;
    for (index, color) in DOTS.into_iter().enumerate() {
        let x = bar.x + size + index * size * 5 / 3;
        canvas.cover(&dot, (x, y), bar, color);
    }
}

/// A soft one, a little lower than the window.
fn shadow(canvas: &mut Canvas, inner: &Area, frame: &Frame) {
    let (drop, reach) = (frame.margin as f32 * 0.3, frame.margin as f32 * 0.8);
    // What is blurred in both directions is the product of what is blurred in each.
    let blurred = |at: usize, from: f32, to: f32| {
        let edge = |far: f32| {
            let part = (far / (2.0 * reach) + 0.5).clamp(0.0, 1.0);
            part * part * (3.0 - 2.0 * part)
        };
        let at = at as f32 + 0.5;
        edge(at - from) * edge(to - at)
    };
    let across: Vec<f32> =
        (0..canvas.width()).map(|x| blurred(x, inner.x as f32, inner.right() as f32)).collect();
    for y in 0..canvas.height() {
        let down = blurred(y, inner.y as f32 + drop, inner.bottom() as f32 + drop);
        let parts = across.iter().map(|across| (across * down * DARKEST) as u8);
        let stencil = Stencil { left: 0, top: 0, width: canvas.width(), cover: parts.collect() };
        let line = Area { x: 0, y, width: canvas.width(), height: 1 };
        canvas.cover(&stencil, (0, y), &line, BLACK);
    }
}
