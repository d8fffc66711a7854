//! `abide gc`: remove old sessions by age, number or size, and pack the recordings of what stays.

use std::collections::BTreeMap;

use abide_core::failure::{Code, Failure};
use abide_core::status::Status;
use abide_engine::{Collected, Doing, Limits};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Front, Verb, run};
use crate::config::key::Key;
use crate::config::{Config, form};
use crate::show::meter::{Meter, Unit};
use crate::show::table::{self, Cell};
use crate::show::time::{self, Time};
use crate::show::word::{StatusName, count};
use crate::when;

const EXAMPLES: &str = "Examples:
  abide gc --dry-run             what would go: sessions that ended more than a week ago
  abide gc --older 1d --keep 50  what is older than a day, and all but the latest fifty
  abide gc --max-bytes 2G        the oldest, until the rest takes no more than that
  abide gc --pack 1h             removes nothing; recordings of what ended over an hour ago take less room";

/// Remove sessions that are over, by age, number or size, and pack their recordings
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = concat!("Nothing that is active or unknown is ever removed. A limit that is given replaces \
    all of the config file's `gc.older` (built-in: 7d), `gc.keep`, `gc.max_bytes` and `gc.pack` (built-in: 1d), which \
    hold otherwise. A packed recording is read, searched and exported as before. What killed launches and removals left behind goes too, under the name of its directory, if it is provably nobody's; so does a session that was to be removed at its end and whose guard was killed before that, whatever the limits.", signals_end_this!("a removal that was begun is ended by `abide rm`.")))]
pub(crate) struct Args {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Remove what ended longer ago than this
    #[arg(long, value_name = "DURATION")]
    older: Option<String>,
    /// Keep the latest so many
    #[arg(long, value_name = "NUMBER")]
    keep: Option<usize>,
    /// Keep no more than this: bytes, or with K, M, G
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<String>,
    /// Pack the recordings of what ended longer ago than this
    #[arg(long, value_name = "DURATION")]
    pack: Option<String>,
}

/// What was or would be removed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Collect")]
pub(crate) struct CollectView {
    dry_run: bool,
    bytes: u64,
    removed: Vec<CollectedView>,
    /// Sessions whose recordings were or would be packed.
    packed: Vec<PackedView>,
    failed: Vec<CollectedView>,
}

/// A session whose recording was or would be packed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Packed")]
struct PackedView {
    id: String,
    bytes: u64,
    /// How much room the recording takes now; null if it was not packed yet.
    packed_bytes: Option<u64>,
}

/// One session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Collected")]
struct CollectedView {
    id: String,
    bytes: u64,
    /// How it stood; null for what is no session.
    status: Option<StatusName>,
    /// When it ended; where nobody saw that, its last sign of life.
    ended_at: Option<Time>,
    /// Why it could not be removed or packed.
    reason: Option<String>,
}

impl Verb for Args {
    type Data = CollectView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let mut limits = Limits {
            older_ms: self.older.as_deref().map(run::parse_duration).transpose()?,
            keep: self.keep,
            max_bytes: self.max_bytes.as_deref().map(parse_bytes).transpose()?,
        };
        let mut pack_ms = self.pack.as_deref().map(run::parse_duration).transpose()?;
        if limits == Limits::default() && pack_ms.is_none() {
            limits = usual_limits(&front.config);
            pack_ms = form::limit(front.config.text(Key::GcPack), when::duration_ms).flatten();
        }
        let sessions = front.sessions()?;
        let stood: BTreeMap<String, (Status, i64)> = sessions
            .list()?
            .iter()
            .map(|session| (session.id.to_string(), (session.verdict.status, session.ended_at())))
            .collect();
        let view = |collected: Collected| {
            let stood = stood.get(&collected.id).copied();
            CollectedView::new(collected, stood)
        };
        let people = !front.output.is_json();
        let meter = Meter::new(people, "going through what is over", Unit::Sessions);
        let tell = |done, all| meter.tell(done, all);
        let collected = sessions.collect(limits, &Doing { dry: self.dry_run, tell: &tell });
        meter.clear();
        let (mut failed, removed): (Vec<_>, Vec<_>) =
            collected?.into_iter().map(view).partition(|view| view.reason.is_some());
        let bytes = removed.iter().map(|view| view.bytes).sum();
        let mut packed = Vec::new();
        let meter = Meter::new(people, "packing recordings", Unit::Bytes);
        let doing = Doing { dry: self.dry_run, tell: &|done, all| meter.tell(done, all) };
        let all = pack_ms.map_or(Ok(Vec::new()), |older_ms| sessions.pack(older_ms, &doing));
        meter.clear();
        for one in all? {
            if removed.iter().any(|removed| removed.id == one.id) {
                continue;
            }
            match one.failure {
                Some(failure) => {
                    let stood = stood.get(&one.id).copied();
                    let failed_one = Collected { id: one.id, bytes: one.bytes, failure: Some(failure) };
                    failed.push(CollectedView::new(failed_one, stood));
                }
                None => packed.push(PackedView { id: one.id, bytes: one.bytes, packed_bytes: one.packed }),
            }
        }
        let data = CollectView { dry_run: self.dry_run, bytes, removed, packed, failed };
        let now = sessions.now().at.wall;
        front.output.show(&data, |page| {
            let verb = if data.dry_run { "would remove" } else { "removed" };
            let sessions = count(data.removed.len(), "session");
            page.plain(&format!("{verb} {sessions}, {}", time::size(data.bytes))).end();
            let rows: Vec<Vec<Cell>> = data.removed.iter().map(|view| view.row(now)).collect();
            table::put(page, 2, 1, &rows);
            if !data.packed.is_empty() {
                page.plain(&packed_says(&data.packed)).end();
            }
            for view in &data.failed {
                page.plain(&format!("{}: {}", view.id, view.reason.as_deref().unwrap_or_default())).end();
            }
        })?;
        Ok(u8::from(!data.failed.is_empty()))
    }
}

fn packed_says(packed: &[PackedView]) -> String {
    let recordings = count(packed.len(), "recording");
    let before = time::size(packed.iter().map(|one| one.bytes).sum());
    match packed.iter().map(|one| one.packed_bytes).sum::<Option<u64>>() {
        Some(now) => format!("packed {recordings}: {} instead of {before}", time::size(now)),
        None => format!("would pack {recordings}, {before}"),
    }
}

impl CollectedView {
    fn new(collected: Collected, stood: Option<(Status, i64)>) -> Self {
        Self {
            id: collected.id,
            bytes: collected.bytes,
            status: stood.map(|(status, _)| StatusName(status)),
            ended_at: stood.map(|(_, ended)| Time(ended)),
            reason: collected.failure.map(|failure| failure.message),
        }
    }

    fn row(&self, now: i64) -> Vec<Cell> {
        let age = |ended: Time| time::ago(u64::try_from(now.saturating_sub(ended.0)).unwrap_or(0));
        vec![
            Cell::plain(&self.id),
            Cell::plain(self.status.map_or("leftover", |status| status.0.name())),
            Cell::plain(&self.ended_at.map_or_else(|| "-".to_owned(), age)),
            Cell::faint(&time::size(self.bytes)),
        ]
    }
}

/// The limits of the config file. They are all good: a file with one that is not is refused before.
fn usual_limits(config: &Config) -> Limits {
    Limits {
        older_ms: form::limit(config.text(Key::GcOlder), when::duration_ms).flatten(),
        keep: form::limit(config.text(Key::GcKeep), form::number).flatten(),
        max_bytes: form::limit(config.text(Key::GcBytes), form::bytes).flatten(),
    }
}

fn parse_bytes(text: &str) -> Result<u64, Failure> {
    form::bytes(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is no size")).hint("a size is given as 500M or 2G")
    })
}
