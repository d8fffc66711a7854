//! MP4: the boxes are whole and agree with each other. Whether a decoder sees the pictures is `just video-check`.

use std::io::Cursor;

use abide_picture::{Film, VideoFilm};

use crate::common::design;
use crate::films::{Shared, ms, session};

/// A box: its name, where its body begins, and the body.
fn boxes(bytes: &[u8]) -> Vec<(String, usize, &[u8])> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let length = number(bytes, at) as usize;
        let name = String::from_utf8(bytes[at + 4..at + 8].to_vec()).unwrap();
        found.push((name, at + 8, &bytes[at + 8..at + length]));
        at += length;
    }
    assert_eq!(at, bytes.len());
    found
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The body of the box at the end of a path.
fn find<'a>(bytes: &'a [u8], path: &[&str]) -> &'a [u8] {
    path.iter().fold(bytes, |bytes, name| {
        boxes(bytes).into_iter().find(|(found, ..)| found == name).unwrap_or_else(|| panic!("no {name}")).2
    })
}

/// The numbers of a table behind its version and flags.
fn numbers(table: &[u8]) -> Vec<u32> {
    table[4..].chunks_exact(4).map(|four| u32::from_be_bytes(four.try_into().unwrap())).collect()
}

fn film() -> Vec<u8> {
    let shown = session();
    let out = Shared::default();
    let mut film =
        Box::new(VideoFilm::new(out.clone(), Cursor::new(Vec::new()), design(), shown[0].1.size()));
    for (at, screen) in &shown {
        film.show(*at, &screen.view()).unwrap();
    }
    film.finish(ms(5000)).unwrap();
    out.bytes()
}

#[test]
fn the_index_stands_before_the_pictures_and_finds_them() {
    let file = film();
    let names: Vec<String> = boxes(&file).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["ftyp", "moov", "mdat"]);
    let table = find(&file, &["moov", "trak", "mdia", "minf", "stbl"]);
    let (_, start, pictures) = boxes(&file).remove(2);
    assert_eq!(numbers(find(table, &["stco"])), [1, start as u32]);
    let sizes = numbers(find(table, &["stsz"]));
    assert_eq!(sizes[2..].iter().sum::<u32>() as usize, pictures.len());
    assert_eq!(sizes[1] as usize, sizes.len() - 2);
    // Each sample is one unit behind its length; the first stands for itself, as the table of keys says.
    let mut at = 0;
    for (index, size) in sizes[2..].iter().enumerate() {
        assert_eq!(number(pictures, at) + 4, *size, "sample {index}");
        assert_eq!(pictures[at + 4] & 0x1F, if index == 0 { 5 } else { 1 }, "sample {index}");
        at += *size as usize;
    }
    assert_eq!(numbers(find(table, &["stss"])), [1, 1]);
}

#[test]
fn pictures_last_as_long_as_the_screen_did() {
    let file = film();
    let table = find(&file, &["moov", "trak", "mdia", "minf", "stbl"]);
    let times = numbers(find(table, &["stts"]));
    let lengths: Vec<u32> =
        times[1..].chunks_exact(2).flat_map(|pair| std::iter::repeat_n(pair[1], pair[0] as usize)).collect();
    assert_eq!(lengths.iter().sum::<u32>(), 5000);
    assert_eq!(lengths[..8], [100; 8]);
    assert!(lengths.iter().all(|length| *length <= 1000), "a pause is told again every second: {lengths:?}");
    let head = numbers(find(&file, &["moov", "mvhd"]));
    assert_eq!(head[2..4], [1000, 5000]);
}

#[test]
fn a_screen_that_stays_costs_next_to_nothing() {
    let file = film();
    let table = find(&file, &["moov", "trak", "mdia", "minf", "stbl"]);
    let sizes = numbers(find(table, &["stsz"]));
    assert!(sizes[sizes.len() - 3..].iter().all(|size| *size < 20), "{sizes:?}");
}
