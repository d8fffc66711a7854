//! Screens and painters for the tests, and a reader of PNG files.

use abide_core::screen::theme::Theme;
use abide_core::screen::{Screen, Size};
use abide_picture::{Canvas, Design, Painter};

/// The measures of a cell at the size that `design` asks for.
pub(crate) const CELL: (usize, usize) = (10, 22);
pub(crate) const PADDING: usize = 4;

pub(crate) fn design() -> Design {
    Design {
        theme: &Theme::ALL[0],
        font_size: 16.0,
        padding: PADDING,
        window: None,
        cursor: false,
        shades: 31,
        font_directories: Vec::new(),
    }
}

pub(crate) fn screen(cols: u16, rows: u16, text: &str) -> Screen {
    let mut screen = Screen::new(Size { cols, rows }, 0);
    let _ = screen.feed(text.as_bytes());
    screen
}

pub(crate) fn painted(design: Design, screen: &Screen) -> Canvas {
    let mut painter = Painter::new(design, screen.size());
    painter.paint(&screen.view());
    painter.canvas().clone()
}

/// What a few cells of text look like, without a cursor.
pub(crate) fn picture(text: &str) -> Canvas {
    painted(design(), &screen(12, 3, text))
}

/// The pixels of a cell, line by line.
pub(crate) fn cell(canvas: &Canvas, col: usize, row: usize) -> Vec<Vec<[u8; 3]>> {
    let (x, y) = (PADDING + col * CELL.0, PADDING + row * CELL.1);
    (y..y + CELL.1).map(|y| (x..x + CELL.0).map(|x| canvas.rgb(x, y)).collect()).collect()
}

/// How many pixels of a cell have this colour.
pub(crate) fn count(canvas: &Canvas, (col, row): (usize, usize), color: [u8; 3]) -> usize {
    cell(canvas, col, row).iter().flatten().filter(|pixel| **pixel == color).count()
}

pub(crate) fn is_blank(canvas: &Canvas, col: usize, row: usize) -> bool {
    count(canvas, (col, row), Theme::ALL[0].background()) == CELL.0 * CELL.1
}

/// The pixels of a PNG file of the kinds that are written here, line by line.
pub(crate) fn read_png(file: &[u8]) -> Vec<Vec<[u8; 3]>> {
    assert_eq!(file[..8], [0x89, b'P', b'N', b'G', 13, 10, 26, 10]);
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut data, mut palette) = (8, Vec::new(), Vec::new());
    while at < file.len() {
        let (length, name) = (number(at), &file[at + 4..at + 8]);
        let body = &file[at + 8..at + 8 + length];
        assert_eq!(crc32fast::hash(&file[at + 4..at + 8 + length]) as usize, number(at + 8 + length));
        match name {
            b"IDAT" => data.extend_from_slice(body),
            b"PLTE" => palette = body.chunks_exact(3).map(|three| [three[0], three[1], three[2]]).collect(),
            _ => {}
        }
        at += 12 + length;
    }
    let (width, channels) = (number(16), if palette.is_empty() { 3 } else { 1 });
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&data).unwrap();
    let mut above = vec![0; channels * width];
    let mut lines = Vec::new();
    for line in bytes.chunks_exact(channels * width + 1) {
        let differs = line[0] == 2;
        let line: Vec<u8> = line[1..]
            .iter()
            .zip(&above)
            .map(|(byte, above)| byte.wrapping_add(if differs { *above } else { 0 }))
            .collect();
        lines.push(match channels {
            1 => line.iter().map(|index| palette[usize::from(*index)]).collect(),
            _ => line.chunks_exact(3).map(|three| [three[0], three[1], three[2]]).collect(),
        });
        above = line;
    }
    lines
}
