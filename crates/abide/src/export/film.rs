//! Films and pictures: the screens of a recording as GIF, animated SVG or video, and the last of them as PNG.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use abide_core::recording::pace::Pace;
use abide_core::screen::{Screen, Size};
use abide_engine::{Step, What};
use abide_picture::{Design, Film, GifFilm, Painter, Shutter, SvgFilm, VideoFilm, png};

use super::{Ending, Export, Wanted};
use crate::environment::Variable;

/// How long the last picture stays at least before a film begins again.
const LAST: Duration = Duration::from_secs(1);

/// What is made of the screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Png,
    Svg,
    Gif,
    Mp4,
}

impl Made {
    /// How many pictures a second there are at most, unless it is said. A GIF says each again in full.
    pub(crate) const fn rate(self) -> u32 {
        match self {
            Self::Png | Self::Gif => 10,
            Self::Svg | Self::Mp4 => 30,
        }
    }
}

/// Makes a film.
pub(crate) struct Filmed {
    made: Made,
    wanted: Wanted,
    design: Design,
    /// The largest screen of the span, so that none is cut.
    size: Size,
    shutter: Shutter,
    pace: Pace,
    film: Option<Box<dyn Film>>,
    written: Shared,
    /// Something was to be seen that no picture shows.
    changed: bool,
}

impl Filmed {
    pub(crate) fn new(made: Made, wanted: Wanted, (design, size): (Design, Size), rate: Option<u32>) -> Self {
        let pace = Pace::new(0, wanted.idle_limit);
        let shutter = Shutter::new(rate.unwrap_or_else(|| made.rate()));
        let (film, written) = (None, Shared::default());
        Self { made, wanted, design, size, shutter, pace, film, written, changed: false }
    }

    fn begin(&mut self, step: &Step<'_>) -> io::Result<()> {
        let begins = if self.wanted.from_start { 0 } else { step.at.micros };
        self.pace = Pace::new(begins, self.wanted.idle_limit);
        let (out, design) = (self.written.clone(), self.design.clone());
        self.film = match self.made {
            Made::Png => None,
            Made::Svg => Some(Box::new(SvgFilm::new(out, design, self.size))),
            Made::Gif => Some(Box::new(GifFilm::new(out, design, self.size)?)),
            Made::Mp4 => Some(Box::new(VideoFilm::new(out, spool()?, design, self.size))),
        };
        self.show(Duration::ZERO, step.screen)
    }

    fn show(&mut self, at: Duration, screen: &Screen) -> io::Result<()> {
        self.changed = false;
        match &mut self.film {
            Some(film) => film.show(at, &self.wanted.seen(screen).view()),
            None => Ok(()),
        }
    }

    fn pass_on(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.written.take())
    }
}

impl Export for Filmed {
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        match &step.what {
            What::Begin(_) => return self.begin(step),
            What::CaughtUp | What::Gap(_) => return Ok(()),
            What::Entry(..) | What::Screen | What::LetGo => {}
        }
        // What is not to be seen ends no pause.
        let seen = step.is_seen();
        let micros = step.at.micros;
        let now = if seen { self.pace.at(micros) } else { self.pace.then(micros) };
        self.changed |= seen;
        let until = step.until.map(|next| Duration::from_micros(self.pace.then(next)));
        if self.changed
            && let Some(from) = self.shutter.opens(Duration::from_micros(now), until)
        {
            self.show(from, step.screen)?;
        }
        self.pass_on(out)
    }

    fn end(&mut self, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
        if self.made == Made::Png {
            let screen = self.wanted.seen(screen);
            let mut painter = Painter::new(self.design.clone(), screen.size());
            painter.paint(&screen.view());
            return out.write_all(&png(painter.canvas()));
        }
        if self.changed { self.show(Duration::from_micros(self.pace.shown()), screen) } else { Ok(()) }
    }

    fn finish(&mut self, ending: Ending, out: &mut dyn Write) -> io::Result<()> {
        if let Some(film) = self.film.take() {
            let least = Duration::from_micros(self.pace.shown()) + LAST;
            let ended = ending.micros.map(|micros| Duration::from_micros(self.pace.then(micros)));
            film.finish(ended.map_or(least, |ended| ended.max(least)))?;
        }
        self.pass_on(out)?;
        out.flush()
    }

    fn needs_screen(&self) -> bool {
        true
    }
}

/// What a film has written and nobody has taken yet.
#[derive(Debug, Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    fn take(&self) -> Vec<u8> {
        self.0.take()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file without a name, which goes when it is closed, however this process ends.
fn spool() -> io::Result<File> {
    let folder = Variable::Temporary.absolute_path().unwrap_or_else(|| PathBuf::from("/tmp"));
    let path = folder.join(format!("abide-video-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
