//! The separators of status lines (U+E0B0 to U+E0BF).

use super::{Cell, Figure};

pub(super) fn figure(ch: char, cell: Cell) -> Figure {
    let (w, h) = (cell.width as f32, cell.height as f32);
    let (half, line) = (h / 2.0, cell.line as f32);
    let filled = |path: String| Figure::Filled(path);
    let drawn = |path: String| Figure::Drawn(path, line);
    match u32::from(ch) & 0xF {
        0x0 => filled(format!("M0 0L{w} {half}L0 {h}Z")),
        0x1 => drawn(format!("M0 0L{w} {half}L0 {h}")),
        0x2 => filled(format!("M{w} 0L0 {half}L{w} {h}Z")),
        0x3 => drawn(format!("M{w} 0L0 {half}L{w} {h}")),
        0x4 => filled(format!("M0 0A{w} {half} 0 0 1 0 {h}Z")),
        0x5 => drawn(format!("M0 0A{w} {half} 0 0 1 0 {h}")),
        0x6 => filled(format!("M{w} 0A{w} {half} 0 0 0 {w} {h}Z")),
        0x7 => drawn(format!("M{w} 0A{w} {half} 0 0 0 {w} {h}")),
        0x8 => filled(format!("M0 0L{w} {h}L0 {h}Z")),
        0xA => filled(format!("M{w} 0L{w} {h}L0 {h}Z")),
        0xC => filled(format!("M0 0L{w} 0L0 {h}Z")),
        0xE => filled(format!("M0 0L{w} 0L{w} {h}Z")),
        0x9 | 0xF => drawn(format!("M0 0L{w} {h}")),
        _ => drawn(format!("M0 {h}L{w} 0")),
    }
}
