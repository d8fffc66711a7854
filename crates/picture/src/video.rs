//! Video: H.264 in an MP4 file, written by ourselves, since no well-kept encoder in Rust is small, and what a terminal
//! shows needs little of what they can do. Pictures last as long as the screen did, so a quiet hour costs nothing.

mod bits;
mod encode;
mod macroblock;
mod motion;
mod mp4;
mod parameters;
mod planes;
mod predict;
mod residual;
mod transform;

use std::io::{self, Read, Seek, Write};
use std::time::Duration;

use abide_core::screen::{Size, View};

use self::encode::Encoder;
use self::mp4::{Sample, Track};
use self::parameters::Parameters;
use crate::film::Film;
use crate::paint::{Change, Design, Painter};

/// Players jump to pictures that stand for themselves, so there is one at least this often where something changes.
const KEY_EVERY: Duration = Duration::from_secs(10);
/// And they may take a picture that lasts longer for a fault.
const LONGEST: Duration = Duration::from_secs(1);

/// Makes a film. The index stands in front, so that a file can be played while it is loaded; until that is known, the
/// pictures are kept in a place of their own.
#[derive(Debug)]
pub struct VideoFilm<W, K> {
    out: W,
    kept: K,
    painter: Painter,
    encoder: Encoder,
    samples: Vec<Sample>,
    key: Duration,
}

impl<W: Write, K: Read + Write + Seek> VideoFilm<W, K> {
    /// A film of screens of this size; those of another size are cut or have room left. The place to keep pictures
    /// in is empty.
    pub fn new(out: W, kept: K, design: Design, size: Size) -> Self {
        let painter = Painter::new(design, size);
        let canvas = painter.canvas();
        let encoder = Encoder::new(canvas.width(), canvas.height());
        Self { out, kept, painter, encoder, samples: Vec::new(), key: Duration::ZERO }
    }

    fn write(&mut self, at: Duration, change: &Change) -> io::Result<()> {
        let key =
            self.samples.is_empty() || at.saturating_sub(self.key) >= KEY_EVERY && change.area.is_some();
        if key {
            self.key = at;
        }
        let unit = self.encoder.encode(self.painter.canvas(), change.area, change.moved, key);
        let length = unit.len() as u32;
        self.kept.write_all(&length.to_be_bytes())?;
        self.kept.write_all(&unit)?;
        self.samples.push(Sample { at, bytes: length + 4, key });
        Ok(())
    }

    /// Shows the last picture again, often enough up to this time.
    fn hold(&mut self, until: Duration) -> io::Result<()> {
        let same = Change { area: None, moved: 0 };
        while let Some(at) = self.samples.last().map(|last| last.at + LONGEST).filter(|at| *at < until) {
            self.write(at, &same)?;
        }
        Ok(())
    }
}

impl<W: Write, K: Read + Write + Seek> Film for VideoFilm<W, K> {
    fn show(&mut self, at: Duration, view: &View<'_>) -> io::Result<()> {
        self.hold(at)?;
        let change = self.painter.paint(view);
        // Two pictures of one instant are none that can be shown.
        let late = self.samples.last().map_or(at, |last| at.max(last.at + Duration::from_millis(1)));
        if change.area.is_some() || self.samples.is_empty() { self.write(late, &change) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>, until: Duration) -> io::Result<()> {
        self.hold(until)?;
        let canvas = self.painter.canvas();
        let parameters = Parameters { width: canvas.width(), height: canvas.height() };
        let track = Track {
            size: (canvas.width(), canvas.height()),
            level: parameters.level(),
            parameters: parameters.units(),
            samples: &self.samples,
            until,
        };
        self.out.write_all(&track.head()?)?;
        self.kept.rewind()?;
        io::copy(&mut self.kept, &mut self.out)?;
        self.out.flush()
    }
}
