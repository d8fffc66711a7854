//! `abide logs`: what a session showed.

use std::collections::VecDeque;

use abide_core::failure::Failure;
use abide_core::plain::Plain;
use abide_engine::{Gap, Shown};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, OneOf, Verb};
use crate::show::page::{Page, Tone};
use crate::show::recorded::gap::GapView;
use crate::show::time::Time;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide logs k3v9q2zr             everything it showed, as plain lines
  abide logs -f --tail 20 build   the last lines, then what comes, until the end
  abide logs --since 10m nightly  what it showed in the last ten minutes
  abide logs --raw @last          the very bytes, escape sequences included";

/// Show what a session showed
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Plain lines drop escape sequences; for programs that draw on the screen use `snapshot`. \
    With --json: one object with all lines; with -f too, one object a line. HUP, INT and TERM end this command only, as they end any program; the \
    session goes on."
)]
pub(crate) struct Args {
    /// Go on until the session is over
    #[arg(short, long)]
    follow: bool,
    /// Only the last lines, of which the very bytes have none
    #[arg(short = 'n', long, value_name = "LINES", conflicts_with = "raw")]
    tail: Option<usize>,
    /// Only what was shown since: a time, or a duration back from now
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// The very bytes, with everything a terminal would obey
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// One line of what was shown, or a place that cannot be shown.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LogLine")]
pub(crate) struct LineView<'a> {
    at: Option<Time>,
    #[schemars(extend("enum" = ["output", "errors", "damage", "cut", "missing", "screen"]))]
    kind: &'static str,
    text: &'a str,
}

/// What was shown, in order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Log")]
pub(crate) struct LogView {
    lines: Vec<LineView<'static>>,
}

/// So the lines of an answer are named in it.
const ITEMS: &str = "lines";

impl Args {
    /// Whether it gives no one answer.
    pub(super) const fn is_stream(&self) -> bool {
        self.follow || self.raw
    }
}

impl Verb for Args {
    /// All lines, or with `-f` one of them a line.
    type Data = OneOf<LogView, LineView<'static>>;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn check(&self, now: i64) -> Result<(), Failure> {
        self.since.as_deref().map(|text| when::since(text, now)).transpose().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let since = self.since.map(|text| when::since(&text, sessions.now().at.wall)).transpose()?;
        let since = since.map(|time| sessions.recorded_at(&session, time));
        let plain = [Plain::default(), Plain::default()];
        let tail = self.tail.map(|lines| (lines, VecDeque::new()));
        let came = [None; 2];
        let mut lines =
            Lines { front, plain, came, since, raw: self.raw, follow: self.follow, tail, failure: None };
        sessions.logs(&session, self.follow, &mut |shown| lines.take(shown))?;
        lines.end()?;
        Ok(0)
    }
}

/// Makes lines of what was shown, and shows them.
struct Lines<'a> {
    front: &'a mut Front,
    /// Output and errors make lines of their own.
    plain: [Plain; 2],
    /// When the last of each came.
    came: [Option<i64>; 2],
    since: Option<i64>,
    raw: bool,
    follow: bool,
    /// How many of the last lines are wanted, and those that may be among them.
    tail: Option<(usize, VecDeque<Line>)>,
    failure: Option<Failure>,
}

struct Line {
    wall: Option<i64>,
    kind: &'static str,
    text: String,
}

impl Lines<'_> {
    /// True as long as somebody listens.
    fn take(&mut self, shown: Shown<'_>) -> bool {
        match shown {
            Shown::Output { wall, .. } if self.since.is_some_and(|since| wall < since) => {}
            Shown::Output { bytes, .. } if self.raw => self.failure = self.front.output.raw(bytes).err(),
            Shown::Output { wall, errors, bytes } => {
                let kind = if errors { "errors" } else { "output" };
                self.came[usize::from(errors)] = Some(wall);
                let mut texts = Vec::new();
                self.plain[usize::from(errors)].feed(bytes, &mut |line| texts.push(line.to_owned()));
                texts.into_iter().for_each(|text| self.add(Line { wall: Some(wall), kind, text }));
            }
            Shown::Gap(gap) => {
                let says = match gap {
                    Gap::Cut(why) => format!("the recording was cut here: {why}"),
                    Gap::Damage { .. } | Gap::Screen(_) | Gap::Missing(_) | Gap::Beginning(_) => gap.says(),
                };
                self.interrupt(GapView::kind(gap), says);
            }
            Shown::Unfinished(bytes) => self.plain[0].feed(bytes, &mut |_| ()),
            Shown::CaughtUp => self.let_go_of_tail(),
            Shown::Sized(cols) => self.plain.iter_mut().for_each(|plain| plain.resize(cols)),
        }
        self.failure.is_none() && self.front.output.has_reader()
    }

    fn add(&mut self, line: Line) {
        match &mut self.tail {
            Some((wanted, kept)) => {
                kept.push_back(line);
                if kept.len() > *wanted {
                    kept.pop_front();
                }
            }
            None => self.put(&line),
        }
    }

    fn let_go_of_tail(&mut self) {
        for line in self.tail.take().map(|(_, kept)| kept).unwrap_or_default() {
            self.put(&line);
        }
    }

    fn put(&mut self, line: &Line) {
        let view = LineView { at: line.wall.map(Time), kind: line.kind, text: &line.text };
        let write = |page: &mut Page| {
            match line.kind {
                "damage" | "cut" | "missing" | "screen" => page.put(Tone::Warn, &line.text).end(),
                _ => page.printed(&line.text).end(),
            };
        };
        let put = match self.follow {
            true => self.front.output.show(&view, write),
            false => self.front.output.item(ITEMS, &view, write),
        };
        self.failure = self.failure.take().or(put.err());
    }

    /// A word of ours about what is missing: behind what came before, and never among raw bytes.
    fn interrupt(&mut self, kind: &'static str, text: String) {
        if self.raw {
            self.front.output.remark(&format!("abide: {text}"));
            return;
        }
        self.end_lines();
        self.add(Line { wall: None, kind, text });
    }

    /// The lines that have no end are lines too.
    fn end_lines(&mut self) {
        for (index, kind) in ["output", "errors"].into_iter().enumerate() {
            let mut last = None;
            self.plain[index].finish(&mut |line| last = Some(line.to_owned()));
            if let Some(text) = last {
                self.add(Line { wall: self.came[index], kind, text });
            }
        }
    }

    fn end(mut self) -> Result<(), Failure> {
        self.end_lines();
        self.let_go_of_tail();
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if self.follow || self.raw { Ok(()) } else { self.front.output.end_items(ITEMS) }
    }
}
