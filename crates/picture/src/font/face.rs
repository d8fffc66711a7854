//! Face: one font file, or one of the fonts in it.

use std::borrow::Cow;

use swash::{CacheKey, FontDataRef, FontRef};

/// One font. Its key tells caches that it is always the same.
pub(crate) struct Face {
    data: Cow<'static, [u8]>,
    offset: u32,
    key: CacheKey,
}

impl Face {
    /// The font with this number in a file.
    pub(crate) fn read(data: impl Into<Cow<'static, [u8]>>, index: usize) -> Option<Self> {
        let data = data.into();
        let font = FontDataRef::new(&data)?.get(index)?;
        let (offset, key) = (font.offset, font.key);
        Some(Self { data, offset, key })
    }

    pub(crate) fn font(&self) -> FontRef<'_> {
        FontRef { data: &self.data, offset: self.offset, key: self.key }
    }

    /// The whole file, and where in it this font begins.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    pub(super) const fn start(&self) -> usize {
        self.offset as usize
    }

    pub(crate) fn has(&self, ch: char) -> bool {
        self.glyph(ch) != 0
    }

    /// The number of a character's shape; 0 for none.
    pub(crate) fn glyph(&self, ch: char) -> u16 {
        self.font().charmap().map(ch)
    }

    /// How far a shape reaches to the next one, for letters of this size.
    pub(crate) fn advance(&self, glyph: u16, size: f32) -> f32 {
        self.font().glyph_metrics(&[]).scale(size).advance_width(glyph)
    }

    /// How far letters of size 1 reach above and below the line they stand on.
    pub(crate) fn reach(&self) -> (f32, f32) {
        let metrics = self.font().metrics(&[]).scale(1.0);
        (metrics.ascent, metrics.descent)
    }
}

impl std::fmt::Debug for Face {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Face").field("bytes", &self.data.len()).field("offset", &self.offset).finish()
    }
}
