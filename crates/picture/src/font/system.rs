//! The fonts of the system: plain files below directories. They are listed when the first character is missing, and of
//! each only the table of characters is read until one fits.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use swash::FontRef;

use super::face::Face;

/// A table of characters that is longer is none.
const LONGEST_TABLE: u32 = 8 << 20;

/// The fonts that may be found.
#[derive(Debug)]
pub(super) struct System {
    directories: Vec<PathBuf>,
    files: Option<Vec<PathBuf>>,
    orders: HashMap<Wanted, Vec<PathBuf>>,
    tables: HashMap<PathBuf, Option<Vec<u8>>>,
    open: Vec<Rc<Face>>,
}

impl System {
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, files: None, orders: HashMap::new(), tables: HashMap::new(), open: Vec::new() }
    }

    /// A face with this character: one that was needed before, else the first of the files in the order of how well
    /// they suit it.
    pub(super) fn find(&mut self, ch: char, emoji: bool) -> Option<Rc<Face>> {
        if let Some(face) = self.open.iter().find(|face| face.has(ch)) {
            return Some(Rc::clone(face));
        }
        let directories = &self.directories;
        let files = self.files.get_or_insert_with(|| list(directories));
        let wanted = Wanted { east: is_eastern(ch), emoji };
        let order = self.orders.entry(wanted).or_insert_with(|| {
            let mut order = files.clone();
            order.sort_by_cached_key(|path| (Reverse(wanted.suits(path)), path.clone()));
            order
        });
        order.iter().find_map(|path| {
            let table = self.tables.entry(path.clone()).or_insert_with(|| characters(path));
            let has = table.as_ref().is_some_and(|table| {
                FontRef::from_index(table, 0).is_some_and(|font| font.charmap().map(ch) != 0)
            });
            if !has {
                return None;
            }
            let face = Rc::new(Face::read(fs::read(path).ok()?, 0)?);
            self.open.push(Rc::clone(&face));
            Some(face)
        })
    }
}

fn list(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for directory in directories {
        walk(directory, &mut files);
    }
    files
}

/// Links to folders are not followed: they may lead around in a circle.
fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, files);
            continue;
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_font = matches!(ending.as_deref(), Some("ttf" | "otf" | "ttc" | "otc"));
        // A FIFO of that name would be waited for.
        if is_font && fs::metadata(&path).is_ok_and(|there| there.is_file()) {
            files.push(path);
        }
    }
}

/// What kind of character a font is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Wanted {
    /// Of China, Japan or Korea.
    east: bool,
    emoji: bool,
}

impl Wanted {
    /// How likely the name of a file promises a good shape.
    fn suits(self, path: &Path) -> i32 {
        const EASTERN: [&str; 10] =
            ["cjk", "han", "gothic", "wqy", "wenquan", "fallback", "pingfang", "hiragino", "nanum", "heiti"];
        let name = path.file_stem().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let any = |words: &[&str]| i32::from(words.iter().any(|word| name.contains(word)));
        let coloured = if self.emoji { 20 } else { -20 } * any(&["emoji"]);
        let eastern = 10 * any(&EASTERN) * i32::from(self.east);
        let plain = any(&["regular", "book", "medium"])
            - any(&["bold", "italic", "oblique", "black", "thin", "light"]);
        let kind = 2 * any(&["mono"]) + any(&["sans"]) - any(&["serif"]) - any(&["condensed"]);
        coloured + eastern + 3 * plain + kind
    }
}

fn is_eastern(ch: char) -> bool {
    matches!(ch, '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{9FFF}' | '\u{A960}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
}

/// The table of characters of the first font in a file, made to look like a font that has no other.
fn characters(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let read = |at: u32, len: usize| {
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, u64::from(at)).ok()?;
        Some(bytes)
    };
    let start = read(0, 16)?;
    let font = if start.starts_with(b"ttcf") { number(&start, 12)? } else { 0 };
    let head = read(font, 12)?;
    let count = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let tables = read(font.checked_add(12)?, 16 * count)?;
    let entry = tables.chunks_exact(16).find(|entry| entry.starts_with(b"cmap"))?;
    let (at, len) = (number(entry, 8)?, number(entry, 12)?);
    if len > LONGEST_TABLE {
        return None;
    }
    let mut font = [0, 1, 0, 0, 0, 1, 0, 16, 0, 0, 0, 0].to_vec();
    font.extend(b"cmap\0\0\0\0");
    font.extend(28_u32.to_be_bytes());
    font.extend(len.to_be_bytes());
    font.extend(read(at, len as usize)?);
    Some(font)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
