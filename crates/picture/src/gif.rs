//! GIF: only the pixels that change, in their exact colours as long as 255 are enough for a picture. Most need none but
//! those of the theme and what lies between them and the background, which the whole film has in common.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use abide_core::screen::theme::Theme;
use abide_core::screen::{Size, View};
use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use crate::canvas::{Area, Canvas, mix, pack, unpack};
use crate::film::Film;
use crate::glyph::shade_of;
use crate::paint::{Design, Painter};
use crate::palette::{MOST, Palette};

/// So many shades have the edges of letters: enough for the eye, and half as many bytes as with all of them.
const SHADES: u8 = 7;
/// Viewers take shorter times for mistakes and show the picture for longer.
const SHORTEST: u64 = 2;
const LONGEST: u64 = u16::MAX as u64;

/// Makes a film.
pub struct GifFilm<W: io::Write> {
    encoder: Encoder<W>,
    painter: Painter,
    common: Palette,
    /// What the viewer has by now.
    shown: Canvas,
    /// A picture that is painted and not yet written, since only the next one tells how long it stays.
    waiting: Option<(u64, Area)>,
}

impl<W: io::Write> GifFilm<W> {
    /// A film of screens of this size; those of another size are cut or have room left.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: W, design: Design, size: Size) -> io::Result<Self> {
        let common = common(design.theme);
        let painter = Painter::new(Design { shades: SHADES, ..design }, size);
        let canvas = painter.canvas();
        let (width, height) = (side(canvas.width())?, side(canvas.height())?);
        let mut encoder = Encoder::new(out, width, height, &table(&common)).map_err(failed)?;
        encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
        // Nothing is like it, so that all of the first picture differs.
        let mut shown = canvas.clone();
        shown.forget();
        Ok(Self { encoder, painter, common, shown, waiting: None })
    }

    /// Writes the picture that is painted, to be shown until this time.
    fn write(&mut self, until: u64) -> io::Result<()> {
        let Some((at, area)) = self.waiting.take() else { return Ok(()) };
        let parts = self.differing(&area);
        let nothing = Area { width: 1, height: 1, ..area };
        let area = parts.iter().copied().reduce(|all, part| all.with(&part)).unwrap_or(nothing);
        let mut rest = until.saturating_sub(at);
        let mut frame = Frame {
            dispose: DisposalMethod::Keep,
            left: side(area.x)?,
            top: side(area.y)?,
            width: side(area.width)?,
            height: side(area.height)?,
            ..self.picture(&area, &parts)
        };
        loop {
            frame.delay = rest.min(LONGEST) as u16;
            rest -= u64::from(frame.delay);
            self.encoder.write_frame(&frame).map_err(failed)?;
            if rest == 0 {
                break;
            }
            // For the rest of its time, a picture of one pixel that stays as it is.
            let unchanged = frame.transparent.unwrap_or_default();
            frame = Frame { width: 1, height: 1, buffer: Cow::Owned(vec![unchanged]), ..frame };
        }
        self.shown.copy(self.painter.canvas(), &area);
        Ok(())
    }

    /// The parts of an area that differ, one for each row of text.
    fn differing(&self, area: &Area) -> Vec<Area> {
        let canvas = self.painter.canvas();
        let mut parts = Vec::new();
        let mut y = area.y;
        while y < area.bottom() {
            let bottom = self.painter.row_end(y).clamp(y + 1, area.bottom());
            let (mut left, mut right, mut lines) = (area.right(), area.x, None);
            for line in y..bottom {
                let pairs = || canvas.span(area, line).iter().zip(self.shown.span(area, line));
                if let Some(first) = pairs().position(|(new, old)| new != old) {
                    let last = pairs().rposition(|(new, old)| new != old).unwrap_or(first);
                    (left, right) = (left.min(area.x + first), right.max(area.x + last + 1));
                    lines = Some((lines.map_or(line, |(top, _)| top), line + 1));
                }
            }
            if let Some((top, end)) = lines {
                parts.push(Area { x: left, y: top, width: right - left, height: end - top });
            }
            y = bottom;
        }
        parts
    }

    /// The picture of an area as numbers of colours, and these colours if they are not the common ones. Outside of
    /// the parts all stays as it is. Within them all is said again: a letter that always is the same pixels
    /// compresses better than what of it happens to differ from the letter before.
    fn picture(&self, area: &Area, parts: &[Area]) -> Frame<'static> {
        let canvas = self.painter.canvas();
        let all = || parts.iter().flat_map(|part| (part.y..part.bottom()).flat_map(|y| canvas.span(part, y)));
        let common = all().all(|pixel| self.common.get(*pixel).is_some());
        let own = (!common).then(|| Palette::reduced(all().copied(), MOST - 1));
        let palette = own.as_ref().unwrap_or(&self.common);
        let unchanged = palette.colours().len() as u8;
        let mut buffer = vec![unchanged; area.width * area.height];
        let mut last = (u32::MAX, 0);
        for part in parts {
            for y in part.y..part.bottom() {
                let start = (y - area.y) * area.width + part.x - area.x;
                for (to, pixel) in buffer[start..start + part.width].iter_mut().zip(canvas.span(part, y)) {
                    if *pixel != last.0 {
                        last = (*pixel, palette.get(*pixel).unwrap_or_default());
                    }
                    *to = last.1;
                }
            }
        }
        Frame {
            transparent: Some(unchanged),
            palette: own.as_ref().map(table),
            buffer: Cow::Owned(buffer),
            ..Frame::default()
        }
    }
}

impl<W: io::Write> Film for GifFilm<W> {
    fn show(&mut self, at: Duration, view: &View<'_>) -> io::Result<()> {
        let at = hundredths(at);
        let soon = self.waiting.is_some_and(|(before, _)| at < before + SHORTEST);
        if !soon {
            self.write(at)?;
        }
        let Some(area) = self.painter.paint(view).area else { return Ok(()) };
        self.waiting = Some(match self.waiting {
            Some((before, waiting)) => (before, waiting.with(&area)),
            None => (at, area),
        });
        Ok(())
    }

    fn finish(mut self: Box<Self>, until: Duration) -> io::Result<()> {
        self.write(hundredths(until).max(SHORTEST))?;
        self.encoder.into_inner().and_then(|mut out| out.flush().map_err(Into::into)).map_err(failed)
    }
}

impl<W: io::Write> std::fmt::Debug for GifFilm<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GifFilm").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

/// What a screen without colours of its own is painted with: the theme's, and the shades between them and the background.
fn common(theme: &Theme) -> Palette {
    let background = theme.background();
    let named = std::iter::once(theme.foreground()).chain((0..16).map(|index| theme.indexed(index)));
    let mut palette = Palette::new();
    palette.add(pack(background));
    for color in named {
        for shade in 1..=SHADES {
            if palette.colours().len() < MOST - 1 {
                palette.add(pack(mix(background, color, shade_of(shade, SHADES))));
            }
        }
    }
    palette
}

/// The colours one after the other, and one more for what stays as it is.
fn table(palette: &Palette) -> Vec<u8> {
    palette.colours().iter().flat_map(|color| unpack(*color)).chain([0; 3]).collect()
}

const fn hundredths(at: Duration) -> u64 {
    at.as_millis() as u64 / 10
}

/// A length in pixels as the format has it.
fn side(pixels: usize) -> io::Result<u16> {
    u16::try_from(pixels).map_err(|_| io::Error::other("a GIF has at most 65535 pixels a side"))
}

fn failed(error: EncodingError) -> io::Error {
    if let EncodingError::Io(error) = error { error } else { io::Error::other(error.to_string()) }
}
