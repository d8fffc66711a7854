//! Blocks, shades, quadrants, sextants and braille: parts of the cell that are full.

use std::fmt::Write;

use super::{Cell, Figure};

pub(super) fn figure(ch: char, cell: Cell) -> Figure {
    let Cell { width: w, height: h, .. } = cell;
    let (wide, high) = (|eighths: usize| (w * eighths + 4) / 8, |eighths: usize| (h * eighths + 4) / 8);
    let number = (u32::from(ch) - 0x2580) as usize;
    match number {
        0x00 => Figure::boxes([[0, 0, w, high(4)]]),
        0x01..=0x08 => Figure::boxes([[0, h - high(number), w, h]]),
        0x09..=0x0F => Figure::boxes([[0, 0, wide(0x10 - number), h]]),
        0x10 => Figure::boxes([[wide(4), 0, w, h]]),
        0x11..=0x13 => Figure::Boxes(vec![[0, 0, w, h]], (64 * (number - 0x10)) as u8),
        0x14 => Figure::boxes([[0, 0, w, high(1).max(1)]]),
        0x15 => Figure::boxes([[w - wide(1).max(1), 0, w, h]]),
        _ => quadrants(number, cell),
    }
}

/// Upper left, upper right, lower left, lower right.
fn quadrants(number: usize, cell: Cell) -> Figure {
    const FULL: [u8; 10] = [0b0100, 0b1000, 0b0001, 0b1101, 0b1001, 0b0111, 0b1011, 0b0010, 0b0110, 0b1110];
    let full = FULL.get(number - 0x16).copied().unwrap_or_default();
    grid(cell, 2, |row, col| full & (1 << (2 * row + col)) != 0)
}

pub(super) fn sextant(ch: char, cell: Cell) -> Figure {
    // Nothing, the two halves and the full block have characters of their own elsewhere.
    let number = u32::from(ch) - 0x1FB00 + 1;
    let number = number + u32::from(number >= 21);
    let full = number + u32::from(number >= 42);
    grid(cell, 3, |row, col| full & (1 << (2 * row + col)) != 0)
}

/// The full ones of the parts of a cell that is cut in two columns and some rows.
fn grid(cell: Cell, rows: usize, is_full: impl Fn(usize, usize) -> bool) -> Figure {
    let at = |len: usize, part: usize, parts: usize| (len * part + parts / 2) / parts;
    let parts = (0..rows).flat_map(|row| (0..2).map(move |col| (row, col)));
    Figure::boxes(parts.filter(|(row, col)| is_full(*row, *col)).map(|(row, col)| {
        [
            at(cell.width, col, 2),
            at(cell.height, row, rows),
            at(cell.width, col + 1, 2),
            at(cell.height, row + 1, rows),
        ]
    }))
}

pub(super) fn braille(ch: char, cell: Cell) -> Figure {
    const DOTS: [(u8, u8); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let bits = u32::from(ch) - 0x2800;
    let (across, down) = (cell.width as f32 / 2.0, cell.height as f32 / 4.0);
    let radius = across.min(down) * 0.34;
    let mut path = String::new();
    for (_, (col, row)) in DOTS.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0) {
        let (x, y) = ((f32::from(*col) + 0.5) * across, (f32::from(*row) + 0.5) * down);
        let (left, size) = (x - radius, 2.0 * radius);
        // Writing to a string cannot fail.
        let _ =
            write!(path, "M{left} {y}a{radius} {radius} 0 0 1 {size} 0a{radius} {radius} 0 0 1 {} 0Z", -size);
    }
    Figure::Filled(path)
}
