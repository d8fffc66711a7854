//! One row of a screen as vectors: grounds, then text in runs, then figures and lines.

use std::fmt::Write;

use abide_core::screen::Underline;
use abide_core::screen::theme::Rgb;

use super::{Letters, escaped, hex};
use crate::font::Slant;
use crate::glyph::Metrics;
use crate::shape::{self, Figure};
use crate::spot::{Caret, Spot};

/// Letters that differ by less in width are as wide as each other, in pixels.
const SAME: f32 = 0.1;
/// How much wider than its cell a symbol may be said to be, since it has room at its sides.
const HANGS_OVER: f32 = 1.2;

/// What is drawn of a row.
pub(super) struct Row<'a> {
    metrics: &'a Metrics,
    background: Rgb,
    grounds: String,
    text: String,
    figures: String,
    /// Rectangles that may yet be joined by the next one: left, top, right, bottom, colour and how opaque.
    open: Vec<([usize; 4], Rgb, u8)>,
    run: Option<Run>,
}

/// Text that is written in one go.
struct Run {
    x: usize,
    text: String,
    color: Rgb,
    slant: Slant,
    /// Is not to be seen, only to be selected.
    hidden: bool,
}

impl<'a> Row<'a> {
    pub(super) fn new(metrics: &'a Metrics, background: Rgb) -> Self {
        let (grounds, text, figures) = (String::new(), String::new(), String::new());
        Self { metrics, background, grounds, text, figures, open: Vec::new(), run: None }
    }

    pub(super) fn draw(&mut self, spots: &[Spot], letters: &mut Letters) {
        self.draw_grounds(spots);
        let mut x = 0;
        for spot in spots {
            let width = self.metrics.cell.width * usize::from(spot.columns);
            self.write(spot, x, letters);
            self.rule(spot, x, width);
            x += width;
        }
        self.end_run();
        self.close_all();
    }

    pub(super) fn finish(self) -> String {
        self.grounds + &self.text + &self.figures
    }

    fn draw_grounds(&mut self, spots: &[Spot]) {
        let cell = self.metrics.cell;
        let mut from: usize = 0;
        let mut x = 0;
        for (index, spot) in spots.iter().enumerate() {
            x += cell.width * usize::from(spot.columns);
            let goes_on = spots.get(index + 1).is_some_and(|next| next.ground == spot.ground);
            if !goes_on {
                if spot.ground != self.background {
                    rect(&mut self.grounds, [from, 0, x, cell.height], spot.ground, 255);
                }
                from = x;
            }
        }
    }

    fn write(&mut self, spot: &Spot, x: usize, letters: &mut Letters) {
        let Some(cluster) = &spot.cluster else {
            // A blank belongs to the run before it.
            if let Some(run) = &mut self.run {
                run.text.push(' ');
            }
            return;
        };
        let marks = cluster.marks.as_deref().unwrap_or_default();
        if let Some(figure) = shape::figure(cluster.ch, self.metrics.cell) {
            self.figure(&figure, x, spot.text);
            self.join(Run {
                x,
                text: cluster.ch.into(),
                color: spot.text,
                slant: Slant::default(),
                hidden: true,
            });
            return;
        }
        let text = format!("{}{marks}", cluster.ch);
        let run = Run { x, text, color: spot.text, slant: cluster.slant, hidden: false };
        let room = (self.metrics.cell.width * usize::from(cluster.columns)) as f32;
        match letters.note(cluster.ch, marks, cluster.slant, self.metrics.em) {
            Some(width) if (width - room).abs() < SAME => self.join(run),
            // A symbol made for more room is smaller, in the middle of its cell.
            Some(width) => {
                self.end_run();
                let size = self.metrics.em * (room * HANGS_OVER / width).min(1.0);
                let middle = Run { x: x + room as usize / 2, ..run };
                self.put(&middle, &format!(" text-anchor=\"middle\" style=\"font-size:{size:.1}px\""));
            }
            // Letters of a font that we do not know are made to fit their columns.
            None => {
                self.end_run();
                self.put(&run, &format!(" textLength=\"{room}\" lengthAdjust=\"spacingAndGlyphs\""));
            }
        }
    }

    fn join(&mut self, next: Run) {
        match &mut self.run {
            Some(run)
                if run.hidden == next.hidden
                    && run.slant == next.slant
                    && (run.hidden || run.color == next.color) =>
            {
                run.text.push_str(&next.text);
            }
            Some(_) | None => {
                self.end_run();
                self.run = Some(next);
            }
        }
    }

    fn end_run(&mut self) {
        if let Some(mut run) = self.run.take() {
            run.text.truncate(run.text.trim_end().len());
            self.put(&run, "");
        }
    }

    fn put(&mut self, run: &Run, more: &str) {
        let class = match (run.hidden, run.slant.bold, run.slant.italic) {
            (true, _, _) => " class=\"n\"".to_owned(),
            (false, false, false) => String::new(),
            (false, true, false) => " class=\"b\"".to_owned(),
            (false, false, true) => " class=\"i\"".to_owned(),
            (false, true, true) => " class=\"b i\"".to_owned(),
        };
        let fill = if run.hidden { String::new() } else { format!(" fill=\"{}\"", hex(run.color)) };
        let base = self.metrics.baseline.round();
        let text = escaped(&run.text);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "<text x=\"{}\" y=\"{base}\"{fill}{class}{more}>{text}</text>", run.x);
    }

    fn figure(&mut self, figure: &Figure, x: usize, color: Rgb) {
        let color = match figure {
            Figure::Boxes(boxes, opacity) => {
                for [left, top, right, bottom] in boxes {
                    self.rect([left + x, *top, right + x, *bottom], color, *opacity);
                }
                return;
            }
            Figure::Filled(_) | Figure::Drawn(..) => hex(color),
        };
        let _ = match figure {
            Figure::Drawn(path, pen) => write!(
                self.figures,
                "<path transform=\"translate({x})\" d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{pen}\"/>"
            ),
            Figure::Filled(path) => {
                write!(self.figures, "<path transform=\"translate({x})\" d=\"{path}\" fill=\"{color}\"/>")
            }
            Figure::Boxes(..) => Ok(()),
        };
    }

    /// Lines under, over and through the text, and a cursor that is one.
    fn rule(&mut self, spot: &Spot, x: usize, width: usize) {
        let (cell, right) = (self.metrics.cell, x + width);
        if spot.strike {
            let top = (self.metrics.baseline - self.metrics.em * 0.3).round() as usize;
            self.rect([x, top, right, top + cell.line], spot.text, 255);
        }
        if spot.overline {
            self.rect([x, 0, right, cell.line], spot.text, 255);
        }
        match spot.caret {
            Some(Caret::Underline(color)) => {
                self.rect([x, cell.height - 2 * cell.line, right, cell.height], color, 255);
            }
            Some(Caret::Bar(color)) => self.rect([x, 0, x + 2 * cell.line, cell.height], color, 255),
            None => {}
        }
        self.underline(spot, x, right);
    }

    fn underline(&mut self, spot: &Spot, x: usize, right: usize) {
        let cell = self.metrics.cell;
        let top =
            ((self.metrics.baseline + self.metrics.em * 0.11).round() as usize).min(cell.height - cell.line);
        let color = hex(spot.underline_color);
        let middle = top as f32 + cell.line as f32 / 2.0;
        let mut dashes = |dash: usize| {
            let _ = write!(
                self.figures,
                "<path d=\"M{x} {middle}H{right}\" stroke=\"{color}\" stroke-width=\"{}\" stroke-dasharray=\"{dash}\"/>",
                cell.line
            );
        };
        match spot.underline {
            Underline::None => {}
            Underline::Single => self.rect([x, top, right, top + cell.line], spot.underline_color, 255),
            Underline::Double => {
                self.rect([x, top, right, top + cell.line], spot.underline_color, 255);
                let second = top + 2 * cell.line;
                self.rect([x, second, right, second + cell.line], spot.underline_color, 255);
            }
            Underline::Dotted => dashes(cell.line),
            Underline::Dashed => dashes((cell.width / 2).max(1)),
            Underline::Curly => {
                let (quarter, swing) = (cell.width as f32 / 4.0, cell.line as f32 * 2.0);
                let mut path = format!("M{x} {middle}");
                for _ in 0..(right - x) / cell.width.max(1) {
                    let _ = write!(path, "q{quarter} {swing} {0} 0t{0} 0", 2.0 * quarter);
                }
                let _ = write!(
                    self.figures,
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\"/>",
                    cell.line
                );
            }
        }
    }

    /// Draws a rectangle, joined with one that ends where it begins.
    fn rect(&mut self, new: [usize; 4], color: Rgb, opacity: u8) {
        let [left, top, _, bottom] = new;
        let meets = |known: &&mut ([usize; 4], Rgb, u8)| {
            let [_, its_top, right, its_bottom] = known.0;
            (its_top, its_bottom, known.1, known.2) == (top, bottom, color, opacity) && right == left
        };
        match self.open.iter_mut().find(meets) {
            Some(known) => known.0[2] = new[2],
            None => self.open.push((new, color, opacity)),
        }
    }

    fn close_all(&mut self) {
        for (area, color, opacity) in std::mem::take(&mut self.open) {
            rect(&mut self.figures, area, color, opacity);
        }
    }
}

fn rect(out: &mut String, [left, top, right, bottom]: [usize; 4], color: Rgb, opacity: u8) {
    let y = if top == 0 { String::new() } else { format!(" y=\"{top}\"") };
    let see = if opacity == 255 {
        String::new()
    } else {
        format!(" opacity=\"{:.2}\"", f32::from(opacity) / 255.0)
    };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<rect x=\"{left}\"{y} width=\"{}\" height=\"{}\" fill=\"{}\"{see}/>",
        right - left,
        bottom - top,
        hex(color)
    );
}
