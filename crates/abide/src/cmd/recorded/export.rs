//! `abide export`: a recording, or a span of it, as a file that others can open.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use abide_core::failure::{Code, Failure};
use abide_core::instant::{Instant, Span};
use abide_core::recording::redact::{secrets, starred};
use abide_core::recording::{Kind, parse_resize};
use abide_core::screen::Size;
use abide_engine::{Gap, Replay, Session, Sessions, What};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::duration;
use crate::cmd::{Faulty, Front, Verb, ended_by};
use crate::design::Look;
use crate::export::cast::{Cast, Version};
use crate::export::film::{Filmed, Made};
use crate::export::html::Player;
use crate::export::redacted::Redacted;
use crate::export::text::Text;
use crate::export::{About, Ending, Export, VIDEO, Wanted};
use crate::show::recorded::gap::GapView;
use crate::show::recorded::instant::InstantView;
use crate::show::secret;
use crate::target::{Target, Writing};
use crate::when;

const EXAMPLES: &str = "Examples:
  abide export -o build.cast build                 for asciinema: asciinema play build.cast
  abide export --format txt nightly > nightly.txt  the lines it showed, as they were seen
  abide export -o demo.html @last                  a page that plays it
  abide export -o demo.gif --idle-limit 1s @last   a film; also .mp4 and .svg, or the last screen as .png
  abide export --from -10m --idle-limit 2s nightly > last.cast
  abide export --follow build > live.cast          until it is over
  abide export --redact -o shared.cast build       without what looks like a secret";

/// Make a file of a session's recording that others can open
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Instants are given as for `snapshot`. A txt has also the lines that were cleared away with the whole screen, \
    and of the alternate screen what stood there when it was left; what was erased or drawn over in its place is in `logs` \
    and found by `search`. What was typed is left out unless it is asked for, and what was typed \
    at a password prompt was never recorded. An export holds no questions to the terminal and sets no clipboard. With -o \
    the file appears once it is whole, and keeps its mode if it was there; links are followed, and what is no file is written \
    to as it is. HUP, INT and TERM leave no part of a file behind; with --follow they end the export, which is whole up to \
    there. Secrets are guessed by their form: look at what you share. What was given while a session is followed cannot be \
    taken back: of a token that a program draws in parts, what came before it could be known is there."
)]
pub(crate) struct Args {
    /// What to make of it: a cast for asciinema and its players, the lines it showed (txt), a page that plays it (html), a
    /// film (gif, mp4, or svg with text that can be selected), or the last screen as a picture (png) [default: what the name
    /// of the file says, else a cast]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The version of the cast [default: 3]
    #[arg(long, value_enum, value_name = "VERSION")]
    cast_version: Option<Version>,
    /// Begin at this instant [default: the start]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,
    /// End at this instant [default: the end]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    to: Option<String>,
    /// Shorten pauses that are longer than this
    #[arg(long, value_name = "DURATION")]
    idle_limit: Option<String>,
    /// Go on until the session is over
    #[arg(short, long, conflicts_with = "to")]
    follow: bool,
    /// Mask what looks like a secret in what was shown and typed
    #[arg(long)]
    redact: bool,
    /// With what was typed
    #[arg(long)]
    input: bool,
    /// How many pictures of a film a second, at most [default: 30, of a GIF 10]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=50))]
    fps: Option<u32>,
    #[command(flatten)]
    look: Look,
    /// Write to this file; - for standard output, where it goes without a name too
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Cast,
    Txt,
    Html,
    Gif,
    Svg,
    #[value(alias = "video")]
    Mp4,
    Png,
}

/// What was made.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Export")]
pub(crate) struct ExportView {
    id: String,
    #[schemars(extend("enum" = ["cast", "txt", "html", "gif", "svg", "mp4", "png"]))]
    format: &'static str,
    path: String,
    bytes: u64,
    from: InstantView,
    to: InstantView,
    /// What is missing in it, because it is missing in the recording.
    gaps: Vec<GapView>,
}

impl Verb for Args {
    type Data = ExportView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(mut self, front: &mut Front) -> Result<u8, Failure> {
        self.output = self.output.filter(|path| path != Path::new("-"));
        if front.output.is_json() && self.output.is_none() {
            return Err(nowhere());
        }
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let now = sessions.now().at.wall;
        let instant = |text: &Option<String>| text.as_deref().map(|text| when::at(text, now)).transpose();
        let span = Span { from: instant(&self.from)?, to: instant(&self.to)? };
        let format = self.format()?;
        self.admits_flags(format)?;
        let size = || largest(&sessions, &session, &span);
        let planned = (self.follow && format.is_film()).then(size).transpose()?;
        let mut export = self.export(format, &session, || planned.map_or_else(size, Ok))?;
        let target = Target::of(self.output.as_deref())?;
        let signals = target.signals()?;
        let mut replay = sessions.replay(&session, &span, self.follow)?.until_signalled(signals.as_ref());
        if !export.needs_screen() {
            replay = replay.without_screen();
        }
        let mut file = target.open()?;
        let mut progress = Progress::new(self.output.is_some());
        let (mut ends, mut gaps): ([Instant; 2], Vec<Gap>) = Default::default();
        while let Some(step) = replay.next()? {
            match &step.what {
                What::Begin(missing) => {
                    ends[0] = step.at;
                    gaps.extend_from_slice(missing);
                }
                What::Gap(gap) => gaps.push(gap.clone()),
                What::Entry(..) | What::Screen | What::LetGo | What::CaughtUp => {}
            }
            ends[1] = step.at;
            let taken = export.take(&step, &mut file);
            if !file.written(taken)? {
                return Ok(0);
            }
            progress.show(replay.percent());
        }
        // Of what is followed, all up to there is kept; of all else a part is nothing.
        let code = replay.signalled().map_or(0, ended_by);
        if code != 0 && !self.follow {
            progress.clear();
            return Ok(code);
        }
        // Asked once more: what was followed is over only now.
        let after = sessions.find(session.id.as_str()).unwrap_or_else(|_| session.clone());
        let exit_code = after.verdict.codes.exit.filter(|_| self.to.is_none());
        let ending = Ending { micros: replay.span_end(&after), exit_code };
        self.end_span(&mut replay, export.as_mut(), &mut file)?;
        let last = export.finish(ending, &mut file);
        let whole = file.written(last)?;
        progress.clear();
        gaps.iter().for_each(|gap| front.output.warn(&gap.says(), None));
        warn_if_larger(front, planned, size)?;
        let bytes = file.publish()?;
        if let Some(path) = self.output.filter(|_| whole) {
            let view = ExportView {
                id: session.id.to_string(),
                format: format.name(),
                path: path.display().to_string(),
                bytes,
                from: InstantView::new(ends[0]),
                to: InstantView::new(ends[1]),
                gaps: gaps.iter().map(GapView::new).collect(),
            };
            front.output.show(&view, |_| {})?;
        }
        Ok(code)
    }
}

impl Format {
    const fn is_text(self) -> bool {
        match self {
            Self::Cast | Self::Txt | Self::Html | Self::Svg => true,
            Self::Gif | Self::Mp4 | Self::Png => false,
        }
    }

    const fn is_film(self) -> bool {
        match self {
            Self::Gif | Self::Svg | Self::Mp4 => true,
            Self::Cast | Self::Txt | Self::Html | Self::Png => false,
        }
    }

    /// Whether a flag that not all formats heed means something for it.
    fn heeds(self, flag: &str) -> bool {
        match (self, flag) {
            (Self::Cast, "--cast-version" | "--input" | "--idle-limit") => true,
            (Self::Html, "--theme" | "--idle-limit") => true,
            (Self::Png, flag) => !["--cast-version", "--input", "--idle-limit", "--fps"].contains(&flag),
            (Self::Gif | Self::Svg | Self::Mp4, flag) => !["--cast-version", "--input"].contains(&flag),
            (Self::Cast | Self::Txt | Self::Html, _) => false,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Cast => "cast",
            Self::Txt => "txt",
            Self::Html => "html",
            Self::Gif => "gif",
            Self::Svg => "svg",
            Self::Mp4 => "mp4",
            Self::Png => "png",
        }
    }
}

impl Args {
    /// What was asked for, by its name or by that of the file.
    fn format(&self) -> Result<Format, Failure> {
        let ending = self
            .output
            .as_deref()
            .and_then(Path::extension)
            .map(|ending| ending.to_string_lossy().to_lowercase());
        let format = match (self.format, ending) {
            (Some(format), _) => format,
            (None, None) => Format::Cast,
            (None, Some(ending)) => {
                let known = Format::value_variants().iter().copied().find(|format| format.name() == ending);
                known.ok_or_else(|| unknown(&ending))?
            }
        };
        if format.is_text() || self.output.is_some() || !io::stdout().is_terminal() {
            return Ok(format);
        }
        let name = format.name();
        Err(Failure::new(Code::Usage, format!("a terminal cannot show what is made as {name}"))
            .hint(format!("name a file: `abide export -o FILE.{name} {}`", self.session)))
    }

    /// Refuses flags that would say nothing.
    fn admits_flags(&self, format: Format) -> Result<(), Failure> {
        let own = [
            ("--cast-version", self.cast_version.is_some()),
            ("--input", self.input),
            ("--idle-limit", self.idle_limit.is_some()),
            ("--fps", self.fps.is_some()),
        ];
        let given = own.into_iter().chain(self.look.given()).filter(|(_, given)| *given);
        let Some((flag, _)) = given.into_iter().find(|(flag, _)| !format.heeds(flag)) else { return Ok(()) };
        let others = Format::value_variants().iter().filter(|other| other.heeds(flag));
        let others: Vec<&str> = others.map(|other| other.name()).collect();
        let name = if format == Format::Cast { "a cast" } else { format.name() };
        Err(Failure::new(Code::Usage, format!("{flag} means nothing for {name}"))
            .hint(format!("leave it out, or make {} of it", others.join(", "))))
    }

    /// Here the span ends. A secret that begins in it may be known only by what follows.
    fn end_span(
        &self,
        replay: &mut Replay<'_>,
        export: &mut dyn Export,
        file: &mut Writing,
    ) -> Result<(), Failure> {
        if self.redact && self.to.is_some() {
            replay.go_on();
            while let Some(step) = replay.next()? {
                let more = export.take_behind(&step, file);
                let needs_more = matches!(more, Ok(true));
                file.written(more.map(drop))?;
                if !needs_more {
                    break;
                }
            }
        }
        let last = export.end(replay.screen(), file);
        file.written(last).map(drop)
    }

    fn export(
        &self,
        format: Format,
        session: &Session,
        largest: impl Fn() -> Result<Size, Failure>,
    ) -> Result<Box<dyn Export>, Failure> {
        let launched = session.evidence.beginning.launched.as_ref().map(|told| &told.body);
        let title = session.name().map_or_else(|| session.id.to_string(), str::to_owned);
        let redacted = |text: String| if self.redact { starred(&text, &secrets(&text)) } else { text };
        let wanted = Wanted {
            idle_limit: self.idle_limit.as_deref().map(duration).transpose()?,
            input: self.input,
            redact: self.redact,
            from_start: self.from.is_none(),
            about: About {
                title: redacted(title),
                command: launched.map(|launched| redacted(secret::mask(&launched.argv).join(" "))),
                has_terminal: launched.is_none_or(|launched| launched.size.is_some()),
            },
        };
        let film = |made: Made, wanted: Wanted| -> Result<Box<dyn Export>, Failure> {
            let size = largest()?;
            let design = self.look.design(&wanted.about.title, size)?;
            Ok(Box::new(Filmed::new(made, wanted, (design, size), self.fps)))
        };
        let made: Box<dyn Export> = match format {
            Format::Cast => Box::new(Cast::new(self.cast_version.unwrap_or(Version::Three), wanted)),
            Format::Txt => Box::new(Text::new(&wanted)),
            Format::Html => Box::new(Player::new(wanted, self.look.theme())),
            Format::Gif => film(Made::Gif, wanted)?,
            Format::Svg => film(Made::Svg, wanted)?,
            Format::Mp4 => film(Made::Mp4, wanted)?,
            Format::Png => film(Made::Png, wanted)?,
        };
        Ok(if self.redact { Box::new(Redacted::new(made)) } else { made })
    }
}

/// Standard output has the answer.
fn nowhere() -> Failure {
    Failure::new(Code::Usage, "with --json the export itself needs another place")
        .hint("name a file with -o FILE")
}

/// A name that says no format of ours.
fn unknown(ending: &str) -> Failure {
    let names: Vec<&str> = Format::value_variants().iter().map(|format| format.name()).collect();
    let instead = if VIDEO.contains(&ending) { "; video is made as mp4" } else { "" };
    Failure::new(Code::Usage, format!("nothing is made as {ending}{instead}"))
        .hint(format!("end the name in .{}, or say what to make with --format", names.join(", .")))
}

/// The largest that the screen was in a span, each side for itself.
fn largest(sessions: &Sessions, session: &Session, span: &Span) -> Result<Size, Failure> {
    let mut replay = sessions.replay(session, span, false)?.without_screen();
    let mut largest = Size { cols: 1, rows: 1 };
    while let Some(step) = replay.next()? {
        let size = match step.what {
            What::Begin(_) | What::Screen => Some(step.screen.size()),
            What::Entry(entry, _) if entry.kind == Kind::Resize => parse_resize(entry.payload),
            What::Entry(..) | What::Gap(_) | What::LetGo | What::CaughtUp => None,
        };
        if let Some(Size { cols, rows }) = size {
            largest = Size { cols: largest.cols.max(cols), rows: largest.rows.max(rows) };
        }
    }
    Ok(largest)
}

/// A film that follows has the size that was planned, if any was, and what is followed may have outgrown it.
fn warn_if_larger(
    front: &mut Front,
    planned: Option<Size>,
    came: impl Fn() -> Result<Size, Failure>,
) -> Result<(), Failure> {
    let Some(planned) = planned else { return Ok(()) };
    let came = came()?;
    if came.cols > planned.cols || came.rows > planned.rows {
        let [planned, came] = [planned, came].map(|size| format!("{}x{}", size.cols, size.rows));
        let cut =
            format!("the terminal grew to {came} while it was followed, and the film shows {planned} of it");
        let hint = "export it again: the film is as large as the largest screen that there is then";
        front.output.warn(&cut, Some(hint));
    }
    Ok(())
}

/// How far it is, for whoever looks on.
struct Progress {
    shown: Option<u64>,
    wanted: bool,
}

impl Progress {
    fn new(wanted: bool) -> Self {
        Self { shown: None, wanted: (wanted || !io::stdout().is_terminal()) && io::stderr().is_terminal() }
    }

    fn show(&mut self, percent: Option<u64>) {
        let Some(percent) = percent.filter(|_| self.wanted) else { return };
        if self.shown != Some(percent) {
            self.shown = Some(percent);
            let _ = write!(io::stderr(), "\r{percent:3} %");
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r     \r");
        }
    }
}
