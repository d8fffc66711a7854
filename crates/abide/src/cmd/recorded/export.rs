//! `abide export`: a recording, or a span of it, as a file that others can open.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use abide_core::failure::{Code, Failure};
use abide_core::instant::{Instant, Span};
use abide_core::screen::theme::Theme;
use abide_engine::{Gap, Session, What};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb, duration};
use crate::export::cast::{Cast, Version};
use crate::export::html::Player;
use crate::export::text::Text;
use crate::export::{About, Export, Wanted};
use crate::show::recorded::gap::{self, GapView};
use crate::show::recorded::instant::InstantView;
use crate::show::secret;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide export -o build.cast build                 for asciinema: asciinema play build.cast
  abide export --format txt nightly > nightly.txt  every line it showed, as it was seen
  abide export --format html -o demo.html @last    a page that plays it
  abide export --from -10m --idle-limit 2s nightly > last.cast
  abide export --follow build > live.cast          until it is over
  abide export --redact -o shared.cast build       without what looks like a secret";

/// Make a file of a session's recording that others can open
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Instants are given as for `snapshot`. What was typed is left out unless it is asked for, and what was typed \
    at a password prompt was never recorded. An export holds no questions to the terminal and sets no clipboard. With -o \
    the file appears once it is whole. Secrets are guessed by their form: look at what you share."
)]
pub(crate) struct Args {
    /// What to make of it
    #[arg(long, value_enum, default_value_t = Format::Cast)]
    format: Format,
    /// The version of the cast
    #[arg(long, value_enum, value_name = "VERSION", default_value_t = Version::Three)]
    cast_version: Version,
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
    #[arg(long, conflicts_with = "to")]
    follow: bool,
    /// Mask what looks like a secret in what was shown and typed
    #[arg(long)]
    redact: bool,
    /// With what was typed
    #[arg(long)]
    input: bool,
    /// The colours of a page
    #[arg(long, value_name = "NAME", default_value = Theme::ALL[0].name, value_parser = crate::cmd::themes())]
    theme: String,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For asciinema and its players
    Cast,
    /// Lines of text
    Txt,
    /// A page that plays it
    Html,
}

/// What was made.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Export")]
pub(crate) struct ExportView {
    id: String,
    #[schemars(extend("enum" = ["cast", "txt", "html"]))]
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

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        if front.output.is_json() && self.output.is_none() {
            return Err(Failure::new(Code::Usage, "with --json the export itself needs another place")
                .hint("name a file with -o FILE"));
        }
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let now = sessions.now().at.wall;
        let instant = |text: &Option<String>| text.as_deref().map(|text| when::at(text, now)).transpose();
        let span = Span { from: instant(&self.from)?, to: instant(&self.to)? };
        let mut export = self.export(&session)?;
        let mut replay = sessions.replay(&session, &span, self.follow)?;
        if !export.needs_screen() {
            replay = replay.without_screen();
        }
        let mut file = Output::open(self.output.as_deref())?;
        let mut progress = Progress::new(self.output.is_some());
        let (mut ends, mut gaps): ([Instant; 2], Vec<Gap>) = Default::default();
        while let Some(step) = replay.next()? {
            match &step.what {
                What::Begin(missing) => {
                    ends[0] = step.at;
                    gaps.extend_from_slice(missing);
                }
                What::Gap(gap) => gaps.push(gap.clone()),
                What::Entry(..) | What::CaughtUp => {}
            }
            ends[1] = step.at;
            let taken = export.take(&step, &mut file.writer);
            if !file.written(taken)? {
                return Ok(0);
            }
            progress.show(replay.progress());
        }
        // Asked once more: what was followed is over only now.
        let ended = sessions.find(session.id.as_str()).ok().filter(|_| self.to.is_none());
        let last = export.finish(ended.and_then(|session| session.verdict.codes.exit), &mut file.writer);
        let whole = file.written(last)?;
        progress.clear();
        gaps.iter().for_each(|gap| front.output.warn(&gap::says(gap), None));
        if let Some((path, bytes)) = file.publish()?.filter(|_| whole) {
            let view = ExportView {
                id: session.id.to_string(),
                format: self.format.name(),
                path: path.display().to_string(),
                bytes,
                from: InstantView::new(ends[0]),
                to: InstantView::new(ends[1]),
                gaps: gaps.iter().map(GapView::new).collect(),
            };
            front.output.show(&view, |_| {})?;
        }
        Ok(0)
    }
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Self::Cast => "cast",
            Self::Txt => "txt",
            Self::Html => "html",
        }
    }
}

impl Args {
    fn export(&self, session: &Session) -> Result<Box<dyn Export>, Failure> {
        let launched = session.evidence.beginning.launched.as_ref().map(|told| &told.body);
        let wanted = Wanted {
            idle_limit: self.idle_limit.as_deref().map(duration).transpose()?,
            input: self.input,
            redact: self.redact,
            from_start: self.from.is_none(),
            about: About {
                title: session.name().map_or_else(|| session.id.to_string(), str::to_owned),
                command: launched.map(|launched| secret::mask(&launched.argv).join(" ")),
                has_terminal: launched.is_none_or(|launched| launched.size.is_some()),
            },
        };
        Ok(match self.format {
            Format::Cast => Box::new(Cast::new(self.cast_version, wanted)),
            Format::Txt => Box::new(Text::new(&wanted)),
            Format::Html => {
                let theme = Theme::find(&self.theme).unwrap_or(&Theme::ALL[0]);
                Box::new(Player::new(wanted, theme))
            }
        })
    }
}

/// Where the export goes: standard output, or a file that is there once it is whole.
struct Output {
    writer: BufWriter<Box<dyn Write>>,
    /// The file that is being written, and what it will be called.
    draft: Option<(PathBuf, PathBuf)>,
}

impl Output {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self { writer: BufWriter::new(Box::new(io::stdout())), draft: None });
        };
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let draft = path.with_file_name(name);
        let mut new = OpenOptions::new();
        let file: File = new
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)
            .map_err(|error| Failure::io("write", &path.display(), &error))?;
        Ok(Self { writer: BufWriter::new(Box::new(file)), draft: Some((draft, path.to_owned())) })
    }

    /// Whether anybody still reads.
    fn written(&self, written: io::Result<()>) -> Result<bool, Failure> {
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && self.draft.is_none() => Ok(false),
            Err(error) => {
                let place = self
                    .draft
                    .as_ref()
                    .map_or_else(|| "standard output".to_owned(), |(_, path)| path.display().to_string());
                Err(Failure::io("write to", &place, &error))
            }
        }
    }

    /// Gives the file its name, and says it with its length.
    fn publish(mut self) -> Result<Option<(PathBuf, u64)>, Failure> {
        let Some((draft, path)) = self.draft.take() else {
            return Ok(None);
        };
        let published = std::fs::rename(&draft, &path).and_then(|()| std::fs::metadata(&path));
        let meta = published.map_err(|error| Failure::io("write", &path.display(), &error))?;
        Ok(Some((path, meta.len())))
    }
}

/// What is not whole is not left behind.
impl Drop for Output {
    fn drop(&mut self) {
        if let Some((draft, _)) = &self.draft {
            let _ = std::fs::remove_file(draft);
        }
    }
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

    fn show(&mut self, progress: Option<(u64, u64)>) {
        let Some((done, all)) = progress.filter(|(_, all)| self.wanted && *all > 0) else { return };
        let percent = done * 100 / all;
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
