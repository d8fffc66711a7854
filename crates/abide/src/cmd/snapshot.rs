//! `abide snapshot`: the screen of a session, as a person would see it.

use abide_core::failure::Failure;
use abide_engine::{Snapshot, Source};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb};
use crate::show::time::Time;

const EXAMPLES: &str = "Examples:
  abide snapshot nightly                 the visible text
  abide snapshot --scrollback @last      with the lines that have scrolled away
  abide snapshot --format ansi k3v9q2zr  with colours, for a terminal of the same size
  abide snapshot --json build            lines, cursor, title and hash, for programs";

/// Show the screen of a session
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// With the lines that have scrolled away, as far as they are kept
    #[arg(long)]
    scrollback: bool,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Ansi,
}

/// A screen.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Snapshot")]
pub(crate) struct SnapshotView {
    id: String,
    /// How many bytes of output it stands for.
    seq: u64,
    at: Time,
    cols: u16,
    rows: u16,
    cursor: CursorView,
    /// The visible rows, without blanks at their ends; scrollback first if it was asked for.
    lines: Vec<String>,
    /// Null if the program has set none.
    title: Option<String>,
    /// Of the visible text; equal for equal screens.
    hash: String,
    #[schemars(extend("enum" = ["live", "replay"]))]
    source: &'static str,
    alternate: bool,
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

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let snapshot = sessions.snapshot(&session, None)?;
        if snapshot.source == Source::ReplayInstead {
            front.output.remark(
                "abide: the host did not answer within a second; this is replayed from the recording",
            );
        }
        let view = self.view(&snapshot, session.id.to_string(), sessions.now().at.wall);
        if self.format == Format::Ansi && !front.output.is_json() {
            let scrollback = if self.scrollback { usize::MAX } else { 0 };
            front.output.raw(&snapshot.screen.dump(scrollback))?;
            return Ok(0);
        }
        front.output.show(&view, |page| {
            for line in &view.lines {
                page.plain(line).end();
            }
        })?;
        Ok(0)
    }
}

impl Args {
    fn view(&self, snapshot: &Snapshot, id: String, now: i64) -> SnapshotView {
        let screen = &snapshot.screen;
        let (size, view) = (screen.size(), screen.view());
        let above = screen.scrollback().filter(|_| self.scrollback).map(|line| line.text());
        let cursor = view.cursor();
        SnapshotView {
            id,
            seq: snapshot.position,
            at: Time(now),
            cols: size.cols,
            rows: size.rows,
            cursor: CursorView { row: cursor.row, col: cursor.col, visible: cursor.visible },
            lines: above.chain((0..size.rows).map(|row| view.row_text(row))).collect(),
            title: Some(screen.title().to_owned()).filter(|title| !title.is_empty()),
            hash: format!("{:016x}", screen.hash()),
            source: match snapshot.source {
                Source::Live => "live",
                Source::Replay | Source::ReplayInstead => "replay",
            },
            alternate: screen.alternate(),
        }
    }
}
