//! `abide snapshot`: the screen of a session, as a person would see it.

use abide_core::failure::{Code, Failure};
use abide_core::instant::At;
use abide_core::screen::theme::Theme;
use abide_engine::{Session, Snapshot, Source};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb};
use crate::show::recorded::gap::GapView;
use crate::show::recorded::html;
use crate::show::recorded::runs::RunView;
use crate::show::time::Time;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide snapshot nightly                 the visible text
  abide snapshot --at 14:03 nightly      as it was then, whether it runs or is over
  abide snapshot --at +12.5s @last       12.5 seconds after its recording began
  abide snapshot --at mark:deploy @last  where a mark was set
  abide snapshot --scrollback @last      with the lines that have scrolled away
  abide snapshot --format html build     a page with colours and links
  abide snapshot --cells build           as JSON: lines, cursor, title and hash, and how every cell looks";

/// Show the screen of a session, now or at an instant
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("An instant is a time so long ago (-10m), a wall time (14:03:20, 2026-01-31, RFC 3339; as the clock \
    of when the recording began went on), an offset from the start (+12.5s), a position \
    (seq:4096, as `seq` in JSON), an entry (#123 or entry:123), or a mark (mark:NAME, or just its name). Exits with 7 if \
    there is no recording to read.", signals_end_this!("the session goes on."))
)]
pub(crate) struct Args {
    /// The screen as it was at this instant
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,
    /// How to show it: the visible text, the same in its looks and with nothing else that a terminal obeys (ansi), a page that
    /// needs nothing else (html), or as --json does
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// With the lines that have scrolled away, as far as they are kept
    #[arg(long)]
    scrollback: bool,
    /// With how every cell looks; says all as JSON
    #[arg(long)]
    cells: bool,
    /// The colours of a page
    #[arg(long, value_name = "NAME", default_value = Theme::ALL[0].name, value_parser = super::themes())]
    theme: String,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Ansi,
    Html,
}

/// A screen.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Snapshot")]
pub(crate) struct SnapshotView {
    id: String,
    /// How many bytes of output it stands for.
    seq: u64,
    #[serde(flatten)]
    when: WhenView,
    cols: u16,
    rows: u16,
    cursor: CursorView,
    /// The visible rows, without blanks at their ends; scrollback first if it was asked for.
    lines: Vec<String>,
    /// How many rows have scrolled away in all, where fewer of them are in `lines`: the others are in the recording only, and
    /// `export --format txt` has them. There only if scrollback was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    scrolled: Option<u64>,
    /// The same rows as runs of cells that look alike; there only if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<Vec<Vec<RunView>>>,
    /// Null if the program has set none.
    title: Option<String>,
    /// Of the visible text; equal for equal screens.
    hash: String,
    #[schemars(extend("enum" = ["live", "replay"]))]
    source: &'static str,
    alternate: bool,
    /// How many bytes of the recording the host has yet to take in, under a flood: then this is how it was `at` that time.
    behind: u64,
    /// What is missing in the recording that it was replayed from.
    gaps: Vec<GapView>,
}

/// Which instant a screen is of.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SnapshotInstant")]
struct WhenView {
    /// When it was so: the time that was asked for, if the program still ran then; now if a living host shows it; else when
    /// its last entry came.
    at: Time,
    /// How many entries of the recording it stands for; null if a living host shows it that is older than this field.
    entry: Option<u64>,
    /// When it was so, as an offset that `--at` takes; null as `entry`.
    since: Option<String>,
}

/// Where the cursor stands, counted from 0.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cursor")]
struct CursorView {
    row: u16,
    col: u16,
    visible: bool,
}

impl Verb for Args {
    type Data = SnapshotView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn check(&self, now: i64) -> Result<(), Failure> {
        self.at.as_deref().map(|text| when::at(text, now)).transpose().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        match self.format {
            Format::Json => front.output.speak_json(),
            Format::Text if self.cells => front.output.speak_json(),
            Format::Ansi | Format::Html if self.cells => {
                return Err(Failure::new(
                    Code::Usage,
                    "--cells tells how cells look as JSON, and as nothing else",
                )
                .hint("leave out --format"));
            }
            Format::Text | Format::Ansi | Format::Html => {}
        }
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let now = sessions.now().at.wall;
        let at = self.at.as_deref().map(|text| when::at(text, now)).transpose()?;
        let snapshot = front.snapshot(&sessions, &session, at.as_ref())?;
        let scrollback = if self.scrollback { usize::MAX } else { 0 };
        if !front.output.is_json() && self.format == Format::Ansi {
            front.output.raw(&snapshot.screen.in_lines(scrollback))?;
        } else if !front.output.is_json() && self.format == Format::Html {
            let theme = Theme::find(&self.theme).unwrap_or(&Theme::ALL[0]);
            let page = html::page(&snapshot.screen, &title(&session, at.as_ref()), theme, self.scrollback);
            front.output.raw(page.as_bytes())?;
        } else {
            let view = self.view(&snapshot, session.id.to_string(), now);
            front.output.show(&view, |page| {
                for line in &view.lines {
                    page.printed(line).end();
                }
            })?;
        }
        Ok(0)
    }
}

/// What a page is called.
fn title(session: &Session, at: Option<&At>) -> String {
    let name = session.name().map_or_else(|| session.id.to_string(), str::to_owned);
    match at {
        Some(At::Wall(wall)) => format!("{name} at {}", Time(*wall).local()),
        Some(at) => format!("{name} at {at}"),
        None => name,
    }
}

impl Args {
    fn view(&self, snapshot: &Snapshot, id: String, now: i64) -> SnapshotView {
        let screen = &snapshot.screen;
        let (size, view) = (screen.size(), screen.view());
        let above = || screen.scrollback().filter(|_| self.scrollback);
        let cells = || {
            let above = above().map(|line| RunView::row(line.cells()));
            above.chain((0..size.rows).map(|row| RunView::row(view.cells(row)))).collect()
        };
        let (cursor, instant) = (view.cursor(), snapshot.instant);
        SnapshotView {
            id,
            seq: snapshot.position,
            when: WhenView {
                at: Time(instant.map_or(now, |instant| instant.wall)),
                entry: instant.map(|instant| instant.entry),
                since: instant.map(|instant| At::Since(instant.micros).to_string()),
            },
            cols: size.cols,
            rows: size.rows,
            cursor: CursorView { row: cursor.row, col: cursor.col, visible: cursor.visible },
            lines: above()
                .map(|line| line.text())
                .chain((0..size.rows).map(|row| view.row_text(row)))
                .collect(),
            scrolled: self.scrollback.then(|| {
                let (kept, gone) = screen.scrollback_len();
                gone + kept as u64
            }),
            cells: self.cells.then(cells),
            title: Some(screen.title().to_owned()).filter(|title| !title.is_empty()),
            hash: format!("{:016x}", screen.hash()),
            source: match snapshot.source {
                Source::Live => "live",
                Source::Replay | Source::ReplayInstead => "replay",
            },
            alternate: screen.alternate(),
            behind: snapshot.behind,
            gaps: snapshot.gaps.iter().map(GapView::new).collect(),
        }
    }
}
