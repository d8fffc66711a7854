//! PNG: a canvas as a file. A picture of few colours, as most are, becomes one with a palette, which is a third as long.

use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::canvas::{Canvas, unpack};
use crate::palette::Palette;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A];
const INDEXED: u8 = 3;
const TRUE_COLOUR: u8 = 2;
/// Each pixel as the difference from the one above it.
const UP: u8 = 2;
const AS_IT_IS: u8 = 0;
/// The least: the next one takes five times as long for files that are a third shorter.
const EFFORT: u8 = 1;

/// The file.
#[must_use]
pub fn png(canvas: &Canvas) -> Vec<u8> {
    let mut file = SIGNATURE.to_vec();
    let indexed = indexed(canvas);
    let kind = if indexed.is_some() { INDEXED } else { TRUE_COLOUR };
    let mut head = Vec::new();
    head.extend((canvas.width() as u32).to_be_bytes());
    head.extend((canvas.height() as u32).to_be_bytes());
    head.extend([8, kind, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &head);
    let pixels = match indexed {
        Some((palette, pixels)) => {
            let table: Vec<u8> = palette.colours().iter().flat_map(|color| unpack(*color)).collect();
            chunk(&mut file, b"PLTE", &table);
            pixels
        }
        None => true_colour(canvas),
    };
    chunk(&mut file, b"IDAT", &compress_to_vec_zlib(&pixels, EFFORT));
    chunk(&mut file, b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], body: &[u8]) {
    file.extend((body.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(body);
    let checksum = crc32fast::hash(&file[start..]);
    file.extend(checksum.to_be_bytes());
}

/// The colours, and the number of each pixel's; none if there are too many.
fn indexed(canvas: &Canvas) -> Option<(Palette, Vec<u8>)> {
    let mut palette = Palette::new();
    let mut bytes = Vec::with_capacity((canvas.width() + 1) * canvas.height());
    let mut last = (u32::MAX, 0);
    for y in 0..canvas.height() {
        bytes.push(AS_IT_IS);
        for pixel in canvas.line(y) {
            if last.0 != *pixel {
                last = (*pixel, palette.add(*pixel)?);
            }
            bytes.push(last.1);
        }
    }
    Some((palette, bytes))
}

fn true_colour(canvas: &Canvas) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((3 * canvas.width() + 1) * canvas.height());
    for y in 0..canvas.height() {
        bytes.push(UP);
        let above = y.checked_sub(1).map(|y| canvas.line(y));
        for (x, pixel) in canvas.line(y).iter().enumerate() {
            let [r, g, b] = unpack(*pixel);
            let [ar, ag, ab] = above.map_or([0; 3], |line| unpack(line[x]));
            bytes.extend([r.wrapping_sub(ar), g.wrapping_sub(ag), b.wrapping_sub(ab)]);
        }
    }
    bytes
}
