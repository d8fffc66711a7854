//! `abide screenshot`: the screen of a session as a picture, drawn without a browser.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use abide_core::failure::{Code, Failure};
use abide_core::screen::Screen;
use abide_engine::Source;
use abide_picture::{Design, Drawing, Painter, png};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::design::Look;
use crate::show::recorded::gap::GapView;
use crate::show::time::Time;
use crate::target;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide screenshot nightly                       write nightly.png
  abide screenshot -o now.png --window @last     with the frame of a window around it
  abide screenshot --at 14:03 -o then.png build  as it was then
  abide screenshot -o page.svg --theme light k3  vectors, with text that can be selected
  abide screenshot -o - build | wl-copy          to standard output";

/// Draw the screen of a session
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "The fonts that are part of abide make a picture the same on every machine; what they lack, such as CJK, \
    is looked for in the fonts of the system."
)]
pub(crate) struct Args {
    /// The file to write, as .png or .svg; - for PNG to standard output [default: the session's name or ID with .png]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The screen as it was at this instant, which is given as for `snapshot`
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,
    #[command(flatten)]
    look: Look,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// A picture that was drawn.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Screenshot")]
pub(crate) struct ScreenshotView {
    id: String,
    /// How many bytes of output the screen stands for.
    seq: u64,
    /// When it was so: now if a living host shows it, else when the last entry came that it stands for.
    at: Time,
    /// The file that was written; null if it went to standard output.
    path: Option<String>,
    #[schemars(extend("enum" = ["png", "svg"]))]
    format: &'static str,
    /// In pixels.
    width: usize,
    height: usize,
    bytes: usize,
    cols: u16,
    rows: u16,
    /// Of the visible text, as `snapshot` gives it.
    hash: String,
    #[schemars(extend("enum" = ["live", "replay"]))]
    source: &'static str,
    /// What is missing in the recording that it was replayed from.
    gaps: Vec<GapView>,
}

impl Verb for Args {
    type Data = ScreenshotView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn check(&self, now: i64) -> Result<(), Failure> {
        self.at.as_deref().map(|text| when::at(text, now)).transpose().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let to = Target::of(self.output, session.name().unwrap_or(session.id.as_str()), front)?;
        let now = sessions.now().at.wall;
        let at = self.at.as_deref().map(|text| when::at(text, now)).transpose()?;
        let snapshot = front.snapshot(&sessions, &session, at.as_ref())?;
        let screen = &snapshot.screen;
        let title = Some(screen.title()).filter(|title| !title.is_empty());
        let design = self.look.design(title.unwrap_or(&self.session), screen.size())?;
        let size = screen.size();
        let (width, height, picture) = draw(to.format(), design, screen);
        let path = to.write(&picture, front)?;
        let data = ScreenshotView {
            id: session.id.to_string(),
            seq: snapshot.position,
            at: Time(snapshot.instant.map_or(now, |instant| instant.wall)),
            path,
            format: to.format().name(),
            width,
            height,
            bytes: picture.len(),
            cols: size.cols,
            rows: size.rows,
            hash: format!("{:016x}", screen.hash()),
            source: match snapshot.source {
                Source::Live => "live",
                Source::Replay | Source::ReplayInstead => "replay",
            },
            gaps: snapshot.gaps.iter().map(GapView::new).collect(),
        };
        if data.path.is_some() || front.output.is_json() {
            front.output.show(&data, |page| {
                page.plain(data.path.as_deref().unwrap_or_default()).end();
            })?;
        }
        Ok(0)
    }
}

/// What a picture is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Png,
    Svg,
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }
}

/// Width and height of the picture in pixels, and its file.
fn draw(format: Format, design: Design, screen: &Screen) -> (usize, usize, Vec<u8>) {
    match format {
        Format::Png => {
            let mut painter = Painter::new(design, screen.size());
            painter.paint(&screen.view());
            let canvas = painter.canvas();
            (canvas.width(), canvas.height(), png(canvas))
        }
        Format::Svg => {
            let drawing = Drawing::new(design, screen.size());
            let (width, height) = drawing.size();
            (width, height, drawing.still(&screen.view()).into_bytes())
        }
    }
}

/// Where a picture goes.
#[derive(Debug)]
enum Target {
    Standard,
    File(PathBuf, Format),
}

impl Target {
    /// What was asked for, else a file of this name in the current directory.
    fn of(asked: Option<PathBuf>, name: &str, front: &Front) -> Result<Self, Failure> {
        let path = asked.unwrap_or_else(|| PathBuf::from(format!("{name}.png")));
        if path == Path::new("-") {
            return if front.output.is_json() { Err(two_answers()) } else { Ok(Self::Standard) };
        }
        let ending = path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
        match ending.as_deref() {
            Some("png") => Ok(Self::File(path, Format::Png)),
            Some("svg") => Ok(Self::File(path, Format::Svg)),
            Some(_) | None => Err(no_picture(&path)),
        }
    }

    const fn format(&self) -> Format {
        match self {
            Self::Standard => Format::Png,
            Self::File(_, format) => *format,
        }
    }

    /// Writes it, and gives the path of the file if it is one.
    fn write(&self, picture: &[u8], front: &mut Front) -> Result<Option<String>, Failure> {
        let Self::File(path, _) = self else {
            front.output.raw(picture)?;
            return Ok(None);
        };
        target::write(path, picture)?;
        Ok(Some(path.display().to_string()))
    }
}

fn two_answers() -> Failure {
    Failure::new(Code::Usage, "with --json standard output is taken, so the picture cannot go there")
        .hint("give it a file: `abide screenshot --json -o FILE.png ID`")
}

fn no_picture(path: &Path) -> Failure {
    Failure::new(Code::Usage, format!("the name {} does not say what kind of picture it is", path.display()))
        .hint("end it in .png or .svg; films are made by `abide export`")
}
