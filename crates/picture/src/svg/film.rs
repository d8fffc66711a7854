//! A film as SVG: each row of the screen is a strip of all that it ever showed, and moves so that the right part of it is
//! in view. Rows that are equal are drawn once, wherever and whenever they are seen.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::time::Duration;

use abide_core::screen::{Size, View};

use super::Drawing;
use crate::film::Film;
use crate::paint::Design;

/// Draws a film.
#[derive(Debug)]
pub struct SvgFilm<W> {
    out: W,
    drawing: Drawing,
    /// The number of each row that was ever drawn.
    known: HashMap<String, usize>,
    rows: Vec<Strip>,
}

/// What all rows have in common.
struct Stage {
    width: usize,
    height: usize,
    /// The number of the row on which nothing is.
    blank: Option<usize>,
    until: Duration,
}

/// What one row of the screen showed.
#[derive(Debug, Default)]
struct Strip {
    /// The numbers of rows, each once, and where each of them is in this list.
    parts: Vec<usize>,
    places: HashMap<usize, usize>,
    /// When which of the parts came into view.
    turns: Vec<(Duration, usize)>,
}

impl<W: io::Write> SvgFilm<W> {
    /// A film of screens of this size; those of another size are cut or have room left.
    pub fn new(out: W, design: Design, size: Size) -> Self {
        let rows = (0..size.rows).map(|_| Strip::default()).collect();
        Self { out, drawing: Drawing::new(design, size), known: HashMap::new(), rows }
    }
}

impl<W: io::Write> Film for SvgFilm<W> {
    fn show(&mut self, at: Duration, view: &View<'_>) -> io::Result<()> {
        for (number, strip) in self.rows.iter_mut().enumerate() {
            let row = self.drawing.row(view, number as u16);
            let next = self.known.len();
            strip.turn(at, *self.known.entry(row).or_insert(next));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, until: Duration) -> io::Result<()> {
        let mut drawn: Vec<(&String, &usize)> = self.known.iter().collect();
        drawn.sort_by_key(|(_, number)| **number);
        let mut body = String::from("<defs>");
        for (row, number) in drawn {
            // Writing to a string cannot fail.
            let _ = writeln!(body, "<g id=\"r{number}\">{row}</g>");
        }
        body.push_str("</defs>\n");
        let cell = self.drawing.metrics.cell;
        let width = cell.width * usize::from(self.drawing.size.cols);
        let stage = Stage { width, height: cell.height, blank: self.known.get("").copied(), until };
        for (number, strip) in self.rows.iter().enumerate() {
            stage.write(&mut body, strip, number * cell.height);
        }
        let file = self.drawing.file(&body);
        self.out.write_all(file.as_bytes())?;
        self.out.flush()
    }
}

impl Strip {
    fn turn(&mut self, at: Duration, row: usize) {
        let parts = &mut self.parts;
        let part = *self.places.entry(row).or_insert_with(|| {
            parts.push(row);
            parts.len() - 1
        });
        if self.turns.last().is_none_or(|(_, last)| *last != part) {
            self.turns.push((at, part));
        }
    }
}

impl Stage {
    /// Writes a strip at its height.
    fn write(&self, body: &mut String, strip: &Strip, y: usize) {
        let Self { width, height, blank, until } = *self;
        if let [only] = strip.parts[..] {
            if Some(only) != blank {
                let _ = writeln!(body, "<use href=\"#r{only}\" y=\"{y}\"/>");
            }
            return;
        }
        let _ = write!(body, "<svg y=\"{y}\" width=\"{width}\" height=\"{height}\"><g>");
        for (index, part) in strip.parts.iter().enumerate().filter(|(_, part)| Some(**part) != blank) {
            let _ = write!(body, "<use href=\"#r{part}\" y=\"{}\"/>", index * height);
        }
        let whole = until.as_secs_f64().max(0.001);
        let (mut values, mut times) = (String::new(), String::new());
        for (index, (at, part)) in strip.turns.iter().enumerate() {
            let semicolon = if index == 0 { "" } else { ";" };
            // The first must be at the very beginning.
            let share = if index == 0 { 0.0 } else { (at.as_secs_f64() / whole).clamp(0.0, 1.0) };
            let _ = write!(values, "{semicolon}0 -{}", part * height);
            let _ = write!(times, "{semicolon}{}", short(share));
        }
        let _ = writeln!(
            body,
            "<animateTransform attributeName=\"transform\" type=\"translate\" calcMode=\"discrete\" dur=\"{whole:.3}s\" \
             repeatCount=\"indefinite\" values=\"{values}\" keyTimes=\"{times}\"/></g></svg>"
        );
    }
}

/// A share of 1 in few characters: a hundred-thousandth is finer than the eye.
fn short(share: f64) -> String {
    let text = format!("{share:.5}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.strip_prefix('0').filter(|rest| !rest.is_empty()).unwrap_or(text).to_owned()
}
