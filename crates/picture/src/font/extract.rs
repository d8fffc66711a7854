//! A part of a face as a web font (WOFF): the shapes of some characters and no others, for pictures that carry their
//! letters with them. Shapes keep their numbers, so that nothing else in the font need be rewritten.

use std::collections::BTreeSet;

use miniz_oxide::deflate::compress_to_vec_zlib;

use super::face::Face;

const EFFORT: u8 = 9;
const HEADER: usize = 44;
const ENTRY: usize = 20;
/// What a web font must have beside shapes and the table of characters.
const COPIED: [&[u8; 4]; 7] = [b"OS/2", b"head", b"hhea", b"hmtx", b"maxp", b"name", b"post"];

/// The web font; none if the face is not made of TrueType shapes.
pub(super) fn extract(face: &Face, wanted: &BTreeSet<char>) -> Option<Vec<u8>> {
    let font = Tables { data: face.data(), start: face.start() };
    let long = font.number(font.find(b"head")?, 50)? != 0;
    let shapes = Shapes { places: font.find(b"loca")?, outlines: font.find(b"glyf")?, long };
    let count = usize::from(font.number(font.find(b"maxp")?, 4)?);
    let mut kept = BTreeSet::from([0]);
    for ch in wanted {
        shapes.keep(&font, face.glyph(*ch), &mut kept);
    }
    let (places, outlines) = shapes.without_others(count, &kept)?;
    let mut tables: Vec<(&[u8; 4], Vec<u8>)> = Vec::new();
    for name in COPIED {
        tables.push((name, font.find(name)?.to_vec()));
    }
    tables.extend([(b"cmap", characters(face, wanted)), (b"glyf", outlines), (b"loca", places)]);
    tables.sort_by_key(|(name, _)| **name);
    // Places are said in the long form from here on.
    for (_, head) in tables.iter_mut().filter(|(name, _)| *name == b"head") {
        head.get_mut(50..52)?.copy_from_slice(&[0, 1]);
    }
    Some(woff(&tables))
}

/// The tables of a font file.
struct Tables<'a> {
    data: &'a [u8],
    start: usize,
}

impl<'a> Tables<'a> {
    fn find(&self, name: &[u8; 4]) -> Option<&'a [u8]> {
        let head = self.data.get(self.start..)?;
        let count = usize::from(self.number(head, 4)?);
        let entry = head.get(12..12 + 16 * count)?.chunks_exact(16).find(|entry| entry.starts_with(name))?;
        let at = |from: usize| Some(u32::from_be_bytes(entry.get(from..from + 4)?.try_into().ok()?) as usize);
        self.data.get(at(8)?..at(8)? + at(12)?)
    }

    fn number(&self, table: &[u8], at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(table.get(at..at + 2)?.try_into().ok()?))
    }
}

struct Shapes<'a> {
    places: &'a [u8],
    outlines: &'a [u8],
    long: bool,
}

impl<'a> Shapes<'a> {
    fn place(&self, id: usize) -> Option<usize> {
        if self.long {
            Some(u32::from_be_bytes(self.places.get(4 * id..4 * id + 4)?.try_into().ok()?) as usize)
        } else {
            Some(2 * usize::from(u16::from_be_bytes(self.places.get(2 * id..2 * id + 2)?.try_into().ok()?)))
        }
    }

    fn outline(&self, id: u16) -> Option<&'a [u8]> {
        let id = usize::from(id);
        self.outlines.get(self.place(id)?..self.place(id + 1)?)
    }

    /// Keeps a shape and those that it is made of.
    fn keep(&self, font: &Tables<'_>, id: u16, kept: &mut BTreeSet<u16>) {
        const WORDS: u16 = 1;
        const ONE_SCALE: u16 = 1 << 3;
        const MORE: u16 = 1 << 5;
        const TWO_SCALES: u16 = 1 << 6;
        const MATRIX: u16 = 1 << 7;
        if !kept.insert(id) {
            return;
        }
        let Some(outline) = self.outline(id) else { return };
        if font.number(outline, 0).is_none_or(|contours| contours.cast_signed() >= 0) {
            return;
        }
        let mut at = 10;
        loop {
            let (Some(flags), Some(part)) = (font.number(outline, at), font.number(outline, at + 2)) else {
                return;
            };
            self.keep(font, part, kept);
            at += 4 + if flags & WORDS != 0 { 4 } else { 2 };
            at += 2 * usize::from(flags & ONE_SCALE != 0);
            at += 4 * usize::from(flags & TWO_SCALES != 0);
            at += 8 * usize::from(flags & MATRIX != 0);
            if flags & MORE == 0 {
                return;
            }
        }
    }

    /// Where each shape is, in the long form, and the shapes, of which all others are empty.
    fn without_others(&self, count: usize, kept: &BTreeSet<u16>) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut places, mut outlines) = (Vec::new(), Vec::new());
        for id in 0..count {
            places.extend((outlines.len() as u32).to_be_bytes());
            let id = id as u16;
            if kept.contains(&id) {
                outlines.extend(self.outline(id)?);
                outlines.resize(outlines.len().next_multiple_of(4), 0);
            }
        }
        places.extend((outlines.len() as u32).to_be_bytes());
        Some((places, outlines))
    }
}

/// The table of the wanted characters, one group each.
fn characters(face: &Face, wanted: &BTreeSet<char>) -> Vec<u8> {
    let known: Vec<(u32, u16)> =
        wanted.iter().map(|ch| (u32::from(*ch), face.glyph(*ch))).filter(|(_, id)| *id != 0).collect();
    let mut table = vec![0, 0, 0, 1, 0, 3, 0, 10, 0, 0, 0, 12, 0, 12, 0, 0];
    table.extend((16 + 12 * known.len() as u32).to_be_bytes());
    table.extend([0; 4]);
    table.extend((known.len() as u32).to_be_bytes());
    for (code, id) in known {
        table.extend(code.to_be_bytes());
        table.extend(code.to_be_bytes());
        table.extend(u32::from(id).to_be_bytes());
    }
    table
}

fn woff(tables: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut entries = Vec::new();
    let mut bodies = Vec::new();
    let start = HEADER + ENTRY * tables.len();
    for (name, table) in tables {
        let packed = compress_to_vec_zlib(table, EFFORT);
        let body = if packed.len() < table.len() { &packed } else { table };
        entries.extend(*name);
        for number in [start + bodies.len(), body.len(), table.len()] {
            entries.extend((number as u32).to_be_bytes());
        }
        entries.extend(checksum(table).to_be_bytes());
        bodies.extend(body);
        bodies.resize(bodies.len().next_multiple_of(4), 0);
    }
    let unpacked: usize = tables.iter().map(|(_, table)| table.len().next_multiple_of(4)).sum();
    let mut file = b"wOFF\0\x01\0\0".to_vec();
    file.extend(((start + bodies.len()) as u32).to_be_bytes());
    file.extend((tables.len() as u16).to_be_bytes());
    file.extend([0; 2]);
    file.extend(((12 + 16 * tables.len() + unpacked) as u32).to_be_bytes());
    file.resize(HEADER, 0);
    file.extend(entries);
    file.extend(bodies);
    file
}

fn checksum(table: &[u8]) -> u32 {
    table.chunks(4).fold(0, |sum: u32, four| {
        let mut word = [0; 4];
        word[..four.len()].copy_from_slice(four);
        sum.wrapping_add(u32::from_be_bytes(word))
    })
}
