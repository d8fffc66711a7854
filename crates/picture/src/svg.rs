//! SVG: a screen as vectors, with text that can be selected, in one file that needs no other. A film holds each row that
//! ever was to be seen once, and says when it is seen where.

mod film;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use abide_core::screen::theme::Rgb;
use abide_core::screen::{Size, View};

pub use self::film::SvgFilm;
use self::row::Row;
use crate::font::{Fonts, Slant};
use crate::glyph::{Metrics, measure};
use crate::paint::Design;
use crate::spot;
use crate::window::Window;

/// The fonts that stand in for what the file does not carry.
const FALLBACK: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace";

/// Draws screens of one size.
#[derive(Debug)]
pub struct Drawing {
    design: Design,
    size: Size,
    metrics: Metrics,
    window: Window,
    letters: Letters,
}

/// The letters that a file must carry: of each shipped face, the characters.
#[derive(Debug)]
struct Letters {
    fonts: Fonts,
    used: BTreeMap<usize, BTreeSet<char>>,
}

impl Drawing {
    #[must_use]
    pub fn new(design: Design, size: Size) -> Self {
        let fonts = Fonts::new(Vec::new());
        let metrics = measure(fonts.first().as_deref(), design.font_size);
        let cell = metrics.cell;
        let text = (cell.width * usize::from(size.cols), cell.height * usize::from(size.rows));
        let window = Window::new(&design, cell, text);
        Self { design, size, metrics, window, letters: Letters { fonts, used: BTreeMap::new() } }
    }

    /// Width and height in pixels.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.window.size()
    }

    /// The file of one screen.
    #[must_use]
    pub fn still(mut self, view: &View<'_>) -> String {
        let height = self.metrics.cell.height;
        let mut body = String::new();
        for number in 0..self.size.rows {
            let row = self.row(view, number);
            if !row.is_empty() {
                let _ = writeln!(
                    body,
                    "<g transform=\"translate(0 {})\">{row}</g>",
                    usize::from(number) * height
                );
            }
        }
        self.file(&body)
    }

    /// One row, drawn as if it were the first.
    fn row(&mut self, view: &View<'_>, number: u16) -> String {
        let spots = spot::row(view, self.design.theme, number, self.size.cols, self.design.cursor);
        let mut row = Row::new(&self.metrics, self.design.theme.background());
        row.draw(&spots, &mut self.letters);
        row.finish()
    }

    /// The file around what is in the place of the text.
    fn file(&mut self, body: &str) -> String {
        let (width, height) = self.size();
        let (x, y) = self.window.origin();
        let (around, title) = self.around();
        let mut file = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" xml:space=\"preserve\">\n{}{around}{title}\n\
             <g transform=\"translate({x} {y})\">\n{body}</g>\n</svg>\n",
            self.style(),
        );
        file
    }

    /// The window, and its title.
    fn around(&mut self) -> (String, String) {
        let theme = self.design.theme;
        let around = self.window.vectors(theme.background(), theme);
        let (Some(bar), Some(title)) = (self.window.bar(), &self.design.window) else {
            return (around, String::new());
        };
        for ch in title.chars() {
            self.letters.note(ch, "", Slant::default(), self.metrics.em);
        }
        let middle = (bar.x + bar.width / 2, bar.y as f32 + bar.height as f32 / 2.0 + self.metrics.em * 0.35);
        let title = format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\" opacity=\".65\">{}</text>",
            middle.0,
            middle.1,
            hex(theme.foreground()),
            escaped(title)
        );
        (around, title)
    }

    fn style(&self) -> String {
        let mut style = String::from("<style>");
        let mut families = String::new();
        for (index, used) in &self.letters.used {
            let Some(font) = self.letters.fonts.web_font(*index, used) else { continue };
            // The first four are one family in four styles.
            let (family, weight, slope) = match index {
                0..4 => (
                    "a",
                    if index % 2 == 1 { "bold" } else { "normal" },
                    if *index > 1 { "italic" } else { "normal" },
                ),
                4 => ("b", "normal", "normal"),
                5 => ("c", "normal", "normal"),
                _ => ("d", "normal", "normal"),
            };
            if !families.contains(family) {
                families.push_str(family);
                families.push(',');
            }
            let _ = write!(
                style,
                "@font-face{{font-family:{family};font-weight:{weight};font-style:{slope};\
                 src:url(data:font/woff;base64,{})}}",
                base64(&font)
            );
        }
        let _ = writeln!(
            style,
            "text{{font:{}px {families}{FALLBACK};font-variant-ligatures:none;white-space:pre}}\
             .b{{font-weight:bold}}.i{{font-style:italic}}.n{{fill:transparent}}</style>",
            self.metrics.em
        );
        style
    }
}

impl Letters {
    /// Notes that a cluster is needed, and says how wide its letters are; none if the file does not carry them.
    fn note(&mut self, ch: char, marks: &str, slant: Slant, em: f32) -> Option<f32> {
        let index = self.fonts.carried(ch, marks, slant)?;
        self.used.entry(index).or_default().extend(std::iter::once(ch).chain(marks.chars()));
        self.fonts.advance(index, ch, em)
    }
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Text as XML has it. Control characters have no place there.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for ch in text.chars() {
        match ch {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            ch if ch.is_control() || matches!(ch, '\u{FFFE}' | '\u{FFFF}') => escaped.push('\u{FFFD}'),
            ch => escaped.push(ch),
        }
    }
    escaped
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let missing = digit > three.len();
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(if missing { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}
