//! The faces that are part of the program; where they come from stands in `fonts/README.md`.

use super::Slant;
use super::face::Face;

/// A file, and whether it is packed with zlib.
const FILES: [(&[u8], bool); 8] = [
    (include_bytes!("../../fonts/JetBrainsMono-Regular.ttf.z"), true),
    (include_bytes!("../../fonts/JetBrainsMono-Bold.ttf.z"), true),
    (include_bytes!("../../fonts/JetBrainsMono-Italic.ttf.z"), true),
    (include_bytes!("../../fonts/JetBrainsMono-BoldItalic.ttf.z"), true),
    (include_bytes!("../../fonts/DejaVuSansMono.ttf.z"), true),
    (include_bytes!("../../fonts/NotoSansSymbols2.ttf.z"), true),
    (include_bytes!("../../fonts/NotoSansSymbols.ttf.z"), true),
    (include_bytes!("../../fonts/NotoColorEmoji.ttf"), false),
];

pub(super) const COUNT: usize = FILES.len();
/// Where what the text faces lack is looked for, in this order.
pub(super) const OTHERS: [usize; 4] = [4, 5, 6, EMOJI];
pub(super) const EMOJI: usize = 7;

/// The face for text that looks like this.
pub(super) fn text(slant: Slant) -> usize {
    usize::from(slant.bold) + 2 * usize::from(slant.italic)
}

pub(super) fn open(index: usize) -> Option<Face> {
    let (bytes, packed) = *FILES.get(index)?;
    if !packed {
        return Face::read(bytes, 0);
    }
    Face::read(miniz_oxide::inflate::decompress_to_vec_zlib(bytes).ok()?, 0)
}
