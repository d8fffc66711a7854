//! Fonts of the system: found below the directories that are named, and asked only for what the shipped ones lack.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use abide_core::screen::theme::Theme;
use abide_picture::Design;

use crate::common::{cell, design, is_blank, painted, picture, screen};

/// A character that no shipped font has.
const MISSING: char = '漢';

/// A directory that is gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("abide-fonts-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("deeper/still")).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        File::create(self.0.join(name)).unwrap().write_all(bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A shipped font that says it has one character only, and draws a letter for it.
fn font_with(ch: char, drawn_as: char) -> Vec<u8> {
    let packed = include_bytes!("../../fonts/DejaVuSansMono.ttf.z");
    let font = miniz_oxide::inflate::decompress_to_vec_zlib(packed).unwrap();
    let number = |at: usize| u32::from_be_bytes(font[at..at + 4].try_into().unwrap());
    let glyph = swash::FontRef::from_index(&font, 0).unwrap().charmap().map(drawn_as);
    let mut characters = vec![0, 0, 0, 1, 0, 3, 0, 10, 0, 0, 0, 12, 0, 12, 0, 0];
    for value in [28, 0, 1, u32::from(ch), u32::from(ch), u32::from(glyph)] {
        characters.extend(value.to_be_bytes());
    }
    let count = usize::from(u16::from_be_bytes([font[4], font[5]]));
    let mut changed = font.clone();
    let entry = (0..count).map(|index| 12 + 16 * index).find(|at| &font[*at..*at + 4] == b"cmap").unwrap();
    assert!(characters.len() <= number(entry + 12) as usize);
    let start = number(entry + 8) as usize;
    changed[start..start + characters.len()].copy_from_slice(&characters);
    changed
}

#[test]
fn what_the_shipped_fonts_lack_is_drawn_with_one_of_the_system() {
    let folder = Folder::new("found");
    folder.file("deeper/still/Some-Regular.ttf", &font_with(MISSING, 'A'));
    folder.file("broken.ttf", b"no font at all");
    folder.file("empty.otf", b"");
    folder.file("notes.txt", &font_with(MISSING, 'B'));
    let design = |directories| Design { font_directories: directories, ..design() };
    let text = format!("x{MISSING}x");
    let with = painted(design(vec![folder.0.clone()]), &screen(12, 3, &text));
    let without = painted(design(Vec::new()), &screen(12, 3, &text));
    assert_eq!(without, picture(&text));
    assert_ne!(with, without, "a letter instead of a box");
    assert_eq!(cell(&with, 0, 0), cell(&without, 0, 0), "what is shipped stays as it is");
    assert!(!is_blank(&with, 1, 0) || !is_blank(&with, 2, 0));
}

#[test]
fn directories_that_are_not_there_are_no_trouble() {
    let nowhere = Design { font_directories: vec![PathBuf::from("/no/such/directory")], ..design() };
    assert_eq!(painted(nowhere, &screen(12, 3, "a漢b")), picture("a漢b"));
    // What nobody has is a box as wide as the character, in the colour of the text.
    let line = Theme::ALL[0].foreground();
    let boxed = picture("漢");
    let inked = |col: usize| cell(&boxed, col, 0).iter().flatten().any(|pixel| *pixel == line);
    assert!(inked(0) && inked(1));
}
