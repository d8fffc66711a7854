//! Spot: a cell as it is to be painted, its colours settled: theme, dim, inverse, hidden, cursor. Rows of spots that are
//! equal look equal, so what has changed between two screens is told from them.

use abide_core::screen::theme::{Colours, Rgb, Theme};
use abide_core::screen::{Attrs, CellView, CursorView, Underline, View};

use crate::canvas::mix;
use crate::font::Slant;
use crate::glyph::{Cluster, EMOJI_FORM};

/// How far dim text goes towards its background, of 255.
const DIM: u8 = 110;

/// The contrast that a letter under a block cursor has at least, where the screen's own colours have it.
const SEEN: f64 = 3.0;

/// A cell to be painted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// None for a blank.
    pub(crate) cluster: Option<Cluster>,
    pub(crate) columns: u8,
    pub(crate) text: Rgb,
    pub(crate) ground: Rgb,
    pub(crate) underline: Underline,
    pub(crate) underline_color: Rgb,
    pub(crate) strike: bool,
    pub(crate) overline: bool,
    pub(crate) caret: Option<Caret>,
}

/// A cursor that is no block; a block is a matter of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caret {
    Underline(Rgb),
    Bar(Rgb),
}

/// The spots of a row: all its columns, blanks included.
pub(crate) fn row(view: &View<'_>, theme: &Theme, number: u16, columns: u16, cursor: bool) -> Vec<Spot> {
    let colours = Colours { theme, view };
    let mut spots: Vec<Spot> = Vec::with_capacity(usize::from(columns));
    let mut used: u16 = 0;
    for cell in view.cells(number) {
        let width = u16::from(cell.width);
        if used + width > columns {
            break;
        }
        spots.push(spot(&cell, &colours));
        used += width;
    }
    spots.extend((used..columns).map(|_| blank(&colours)));
    widen(&mut spots);
    let at = view.cursor();
    if cursor && at.visible && at.row == number {
        set_cursor(&mut spots, at, &colours);
    }
    spots
}

fn blank(colours: &Colours<'_>) -> Spot {
    let (text, ground) = (colours.foreground(), colours.background());
    Spot {
        cluster: None,
        columns: 1,
        text,
        ground,
        underline: Underline::None,
        underline_color: text,
        strike: false,
        overline: false,
        caret: None,
    }
}

fn spot(cell: &CellView<'_>, colours: &Colours<'_>) -> Spot {
    let attrs = cell.style.attrs;
    let text = colours.of(cell.style.fg).unwrap_or_else(|| colours.foreground());
    let ground = colours.of(cell.style.bg).unwrap_or_else(|| colours.background());
    let (text, ground) = if attrs.has(Attrs::INVERSE) { (ground, text) } else { (text, ground) };
    let text = if attrs.has(Attrs::DIM) { mix(text, ground, DIM) } else { text };
    let hidden = attrs.has(Attrs::INVISIBLE);
    let blank = hidden || cell.ch == ' ' && cell.marks.is_empty();
    let cluster = (!blank).then(|| Cluster {
        ch: cell.ch,
        marks: Some(cell.marks).filter(|marks| !marks.is_empty()).map(Box::from),
        columns: cell.width,
        slant: Slant { bold: attrs.has(Attrs::BOLD), italic: attrs.has(Attrs::ITALIC) },
    });
    Spot {
        cluster,
        columns: cell.width,
        text,
        ground,
        underline: if hidden { Underline::None } else { attrs.underline() },
        underline_color: colours.of(cell.underline_color).unwrap_or(text),
        strike: attrs.has(Attrs::STRIKE) && !hidden,
        overline: attrs.has(Attrs::OVERLINE) && !hidden,
        caret: None,
    }
}

/// A character that counts as narrow but is asked for in colour gets the blank behind it too.
fn widen(spots: &mut [Spot]) {
    for index in 1..spots.len() {
        let (before, after) = spots.split_at_mut(index);
        let (Some(spot), Some(next)) = (before.last_mut(), after.first()) else { continue };
        let free = next.cluster.is_none() && next.ground == spot.ground;
        if let Some(cluster) = &mut spot.cluster {
            let coloured = cluster.marks.as_deref().is_some_and(|marks| marks.contains(EMOJI_FORM));
            if coloured && free && cluster.columns == 1 {
                cluster.columns = 2;
            }
        }
    }
}

fn set_cursor(spots: &mut [Spot], cursor: CursorView, colours: &Colours<'_>) {
    let mut col: u16 = 0;
    for spot in spots {
        let next = col + u16::from(spot.columns);
        if (col..next).contains(&cursor.col) {
            match cursor.style {
                3 | 4 => spot.caret = Some(Caret::Underline(colours.cursor())),
                5 | 6 => spot.caret = Some(Caret::Bar(colours.cursor())),
                _ => {
                    spot.text = spot.ground;
                    spot.ground = colours.cursor();
                    // On a cell that is about as light as the cursor it would not be seen.
                    if contrast(spot.text, spot.ground) < SEEN {
                        let own = [colours.background(), colours.foreground(), spot.text];
                        let seen = own.into_iter().find(|text| contrast(*text, spot.ground) >= SEEN);
                        spot.text = seen.unwrap_or_else(|| colours.background());
                    }
                }
            }
            return;
        }
        col = next;
    }
}

/// How well one colour is seen on the other: from 1 for the same up to 21 for black on white, as WCAG has it.
fn contrast(a: Rgb, b: Rgb) -> f64 {
    let linear = |channel: u8| {
        let part = f64::from(channel) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = |rgb: Rgb| 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}
