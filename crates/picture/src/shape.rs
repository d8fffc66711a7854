//! Shapes: characters that must meet their neighbours are drawn to the edges of the cell by ourselves, whatever the font
//! thinks of them: lines and boxes, blocks, braille, powerline. A path is said in the words of SVG, so that pixels and
//! vectors are drawn from the same one.

mod block;
mod line;
mod powerline;

/// The measures of a cell, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// How thick a light line is.
    pub(crate) line: usize,
}

/// What is drawn for a character.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Figure {
    /// Rectangles, each from a left and top to a right and bottom, in a colour that is so opaque, of 255.
    Boxes(Vec<[usize; 4]>, u8),
    /// A path to fill.
    Filled(String),
    /// A path to draw with a pen of this width.
    Drawn(String, f32),
}

impl Figure {
    fn boxes(boxes: impl IntoIterator<Item = [usize; 4]>) -> Self {
        Self::Boxes(boxes.into_iter().collect(), 255)
    }
}

/// The figure of a character that is drawn to the cell.
pub(crate) fn figure(ch: char, cell: Cell) -> Option<Figure> {
    match ch {
        '\u{2500}'..='\u{257F}' => Some(line::figure(ch, cell)),
        '\u{23BA}'..='\u{23BD}' => Some(line::scan(ch, cell)),
        '\u{2580}'..='\u{259F}' => Some(block::figure(ch, cell)),
        '\u{2800}'..='\u{28FF}' => Some(block::braille(ch, cell)),
        '\u{1FB00}'..='\u{1FB3B}' => Some(block::sextant(ch, cell)),
        '\u{E0B0}'..='\u{E0BF}' => Some(powerline::figure(ch, cell)),
        _ => None,
    }
}

/// What stands for a character that no font has.
pub(crate) fn missing(cell: Cell, columns: usize) -> Figure {
    let Cell { width, height, line } = cell;
    let (left, right) = (line + 1, (width * columns).saturating_sub(line + 1));
    let (top, bottom) = (height / 5, height - height / 5);
    let half = line as f32 / 2.0;
    let path = format!(
        "M{} {}H{}V{}H{}Z",
        left as f32 + half,
        top as f32 + half,
        right as f32 - half,
        bottom as f32 - half,
        left as f32 + half
    );
    Figure::Drawn(path, line as f32)
}
