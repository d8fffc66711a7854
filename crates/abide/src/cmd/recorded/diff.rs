//! `abide diff`: what changed on a session's screen between two instants.

use abide_core::failure::Failure;
use abide_core::instant::At;
use abide_core::screen::Screen;
use abide_engine::{Session, Sessions, Snapshot, let_go, reversed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::show::page::{Page, Tone};
use crate::show::recorded::diff::{Change, changes};
use crate::show::recorded::instant::InstantView;
use crate::show::time::Time;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide diff nightly --from -10m                 what changed in the last ten minutes
  abide diff @last --from mark:before --to mark:after
  abide diff build --from +10s --to +20s --json  for programs, line by line";

/// Show what changed on a session's screen between two instants
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Instants are given as for `snapshot`. Lines that only moved count as unchanged; how text looks, \
    and where the cursor stands, is not compared."
)]
pub(crate) struct Args {
    /// The earlier instant
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: String,
    /// The later instant [default: now, or the end]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    to: Option<String>,
    /// Compare the lines that have scrolled away too, as far as they are kept
    #[arg(long)]
    scrollback: bool,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// What changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Diff")]
pub(crate) struct DiffView {
    id: String,
    from: SideView,
    to: SideView,
    /// Whether both show the same text.
    equal: bool,
    /// The lines that went or came, in their order.
    changes: Vec<ChangeView>,
}

/// One of the two screens.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Side")]
struct SideView {
    seq: u64,
    at: Time,
    /// Null if a living host shows it that is too old to tell.
    instant: Option<InstantView>,
    /// Of the visible text.
    hash: String,
    title: Option<String>,
}

/// A line that went or came.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Change")]
struct ChangeView {
    #[schemars(extend("enum" = ["gone", "came"]))]
    kind: &'static str,
    /// Its row in the screen that has it, counted from 0; scrollback counts from before it.
    row: i64,
    text: String,
}

/// A screen as lines.
struct Side {
    snapshot: Snapshot,
    lines: Vec<String>,
    /// How many of them stand above the screen.
    above: usize,
}

impl Verb for Args {
    type Data = DiffView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn check(&self, now: i64) -> Result<(), Failure> {
        [Some(&self.from), self.to.as_ref()]
            .into_iter()
            .flatten()
            .try_for_each(|text| when::at(text, now).map(drop))
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let now = sessions.now().at.wall;
        let from = self.side(&sessions, &session, Some(&when::at(&self.from, now)?))?;
        let to = self.to.as_deref().map(|text| when::at(text, now)).transpose()?;
        let to = self.side(&sessions, &session, to.as_ref())?;
        if from.snapshot.is_let_go && to.snapshot.is_let_go {
            return Err(let_go(&session.id, session.verdict.status));
        }
        if self.to.is_some() && to.is_before(&from) {
            return Err(reversed(&session.id, session.verdict.status));
        }
        for missing in from.snapshot.gaps.iter().chain(&to.snapshot.gaps) {
            front.output.warn(&missing.says(), None);
        }
        let all = changes(&from.lines, &to.lines);
        let view = DiffView {
            id: session.id.to_string(),
            from: from.view(now),
            to: to.view(now),
            equal: from.lines == to.lines,
            changes: all.iter().filter_map(|change| ChangeView::new(*change, &from, &to)).collect(),
        };
        front.output.show(&view, |page| put(page, &view, &all, &from, &to))?;
        Ok(0)
    }
}

impl Args {
    fn side(&self, sessions: &Sessions, session: &Session, at: Option<&At>) -> Result<Side, Failure> {
        let snapshot = sessions.snapshot(session, at)?;
        let (lines, above) = lines(&snapshot.screen, self.scrollback);
        Ok(Side { snapshot, lines, above })
    }
}

/// The text of a screen without the blank rows at its end, and how many lines stand above it.
fn lines(screen: &Screen, scrollback: bool) -> (Vec<String>, usize) {
    let mut lines: Vec<String> = screen.scrollback().filter(|_| scrollback).map(|line| line.text()).collect();
    let above = lines.len();
    let view = screen.view();
    lines.extend((0..view.size().rows).map(|row| view.row_text(row)));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    (lines, above)
}

impl Side {
    fn view(&self, now: i64) -> SideView {
        let Snapshot { screen, position, instant, .. } = &self.snapshot;
        SideView {
            seq: *position,
            at: Time(instant.map_or(now, |instant| instant.wall)),
            instant: instant.map(InstantView::new),
            hash: format!("{:016x}", screen.hash()),
            title: Some(screen.title().to_owned()).filter(|title| !title.is_empty()),
        }
    }

    fn is_before(&self, from: &Self) -> bool {
        let [to, from] = [&self.snapshot, &from.snapshot];
        let sooner = to.instant.zip(from.instant).is_some_and(|(to, from)| to.micros < from.micros);
        sooner || to.position < from.position
    }

    fn row(&self, line: usize) -> i64 {
        line as i64 - self.above as i64
    }
}

impl ChangeView {
    fn new(change: Change, from: &Side, to: &Side) -> Option<Self> {
        match change {
            Change::Gone(line) => {
                Some(Self { kind: "gone", row: from.row(line), text: from.lines[line].clone() })
            }
            Change::Came(line) => {
                Some(Self { kind: "came", row: to.row(line), text: to.lines[line].clone() })
            }
            Change::Stayed(..) => None,
        }
    }
}

/// Lines that changed, with a few around them.
fn put(page: &mut Page, view: &DiffView, all: &[Change], from: &Side, to: &Side) {
    const AROUND: usize = 3;
    let name = |side: &SideView| match &side.instant {
        Some(instant) => format!("{} ({}, seq:{})", side.at.local_exact(), instant.since, side.seq),
        None => format!("{} (now, seq:{})", side.at.local_exact(), side.seq),
    };
    page.put(Tone::Faint, &format!("--- {}", name(&view.from))).end();
    page.put(Tone::Faint, &format!("+++ {}", name(&view.to))).end();
    if view.equal {
        page.plain("nothing changed").end();
    }
    let changed = |at: usize| !matches!(all.get(at), Some(Change::Stayed(..)) | None);
    let mut skipped = false;
    for (at, change) in all.iter().enumerate() {
        let near = (at.saturating_sub(AROUND)..=at + AROUND).any(changed);
        if near && std::mem::take(&mut skipped) {
            page.put(Tone::Faint, "  ...").end();
        }
        match *change {
            Change::Gone(line) => page.put(Tone::Bad, &format!("- {}", from.lines[line])).end(),
            Change::Came(line) => page.put(Tone::Good, &format!("+ {}", to.lines[line])).end(),
            Change::Stayed(_, line) if near => page.plain(&format!("  {}", to.lines[line])).end(),
            Change::Stayed(..) => {
                skipped = true;
                continue;
            }
        };
    }
}
