//! The report: figures as they are kept (`figures.json`), as a page (`README.md`) and on the terminal. A run of some rows
//! replaces those rows alone; each says when it was taken.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::chart;
use crate::figure::{Line, Named};
use crate::machine::Machine;
use crate::row::{ROWS, Row};

/// What came of a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Taken {
    pub row: String,
    pub lines: Vec<Line>,
    pub failed: Option<String>,
    /// When, where that is not when the rest was.
    date: Option<String>,
}

impl Taken {
    pub fn of(row: &Row, lines: Vec<Line>, failed: Option<String>) -> Self {
        Self { row: row.name.to_owned(), lines, failed, date: None }
    }
}

/// One table: the machine when it was last added to, and its rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    pub machine: Machine,
    pub rows: Vec<Taken>,
}

/// Both tables.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Book {
    quiet: Option<Table>,
    loaded: Option<Table>,
}

impl Book {
    /// What an earlier run has written there, if any has.
    pub fn open(dir: &Path) -> io::Result<Self> {
        match fs::read(dir.join("figures.json")) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    pub fn enter(&mut self, loaded: bool, machine: Machine, taken: Vec<Taken>) {
        let place = if loaded { &mut self.loaded } else { &mut self.quiet };
        let before = place.take().map(|table| {
            let date = table.machine.date;
            table.rows.into_iter().map(move |row| Taken { date: row.date.or(Some(date.clone())), ..row })
        });
        let kept = before.into_iter().flatten().filter(|old| taken.iter().all(|new| new.row != old.row));
        let mut rows: Vec<Taken> = kept.collect();
        rows.extend(taken);
        rows.sort_by_key(|taken| ROWS.iter().position(|row| row.name == taken.row));
        *place = Some(Table { machine, rows });
    }

    pub fn write(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let put = |name: &str, text: &str| File::create(dir.join(name))?.write_all(text.as_bytes());
        put("figures.json", &(serde_json::to_string_pretty(self)? + "\n"))?;
        put("README.md", &self.page())?;
        match self.quiet.as_ref().or(self.loaded.as_ref()) {
            Some(table) => put("chart.svg", &chart::drawn(table)),
            None => Ok(()),
        }
    }

    fn page(&self) -> String {
        let mut page = INTRODUCTION.to_owned();
        for (title, table) in [("On a quiet machine", &self.quiet), ("Under load", &self.loaded)] {
            if let Some(table) = table {
                page += &format!("\n## {title}\n\n{}", table.page());
            }
        }
        page += "\n## How each row is taken\n\n| row | work | method |\n|---|---|---|\n";
        for row in ROWS {
            page += &format!("| {} | {} | {} |\n", row.name, row.work, row.method);
        }
        page + ELSEWHERE
    }
}

const ELSEWHERE: &str = "
## Not of this command

Taken once by hand, each in a run of its own, on a loaded machine of 2 processors (x86_64, Linux 6.18, Debian 12): orders of
magnitude, beside the tables above and not in them. Times are of whole commands.

| peer | figures |
|---|---|
| agent-tty 0.5.0 | create 1609 ms, list of 20 783 ms, run `echo hi` 927 ms, wait for visible text 971 ms, snapshot 771 ms, destroy 847 ms, \
snapshot of a log of 21 MB 1648 ms; 109 MB PSS an idle session, 216 MB after 2 million lines |
| abduco 0.6, from source | create until listed 10.6 ms, list of 500 130 ms; 127 KiB PSS an idle session |

The hour of printing in the quiet table (2026-11-20) was taken beside builds and tests, of an abide an hour older than that of the other rows: that
changes how much was shown, and not what was held.
";

const INTRODUCTION: &str = "# abide beside its peers

The same work for abide and for what else keeps programs in sessions, done by one command in one run:

    just bench                 # every row, quiet; takes what is missing of the peers (Debian, crates)
    just bench --load          # the same while every processor and the disk are busy: the second table
    just bench output echo     # some rows; the others keep the figures that they have
    just bench --soak 1h soak  # for an hour

abide is the released binary with recording, screen and evidence on, as it is by default. Ways of doing the same take turns, and
who begins changes with each turn; figures are medians unless a line says otherwise. Times of commands run from the start of the
process until it is reaped. A ratio is abide's figure by the peer's; `MISSED` stands where the bar is not reached. The floor is what
the least takes without which the work is not done: bare processes, one for each of ours that takes part, that keep the same promise as
plainly as it can be written, and do nothing else, in turns with the others. Behind it stands how many times that abide costs, and in the
chart, of the quiet table, a mark where it is. Where the floor is above the bar, nobody who promises the same gets there; where it is below
and the bar is missed, abide has not got there yet. Under load, tails and what the disk is waited for vary by more than a tenth from run to run. `figures.json` has the figures for programs.

![what each row uses of its bar](chart.svg)
";

impl Table {
    fn page(&self) -> String {
        let machine = &self.machine;
        let mut page =
            format!("{}: {}. Peers: {}.\n\n", machine.date, machine.says(), machine.peers.join(", "));
        page += "| work | abide | beside | | ratio | bar | | floor | above it | others |\n|---|--:|---|--:|--:|---|---|---|--:|---|\n";
        for taken in &self.rows {
            page.extend(taken.lines.iter().map(Line::markdown));
            if let Some(why) = &taken.failed {
                page += &format!(
                    "| {} | could not be taken: {} | | | | | | | | |\n",
                    taken.row,
                    why.replace(['\n', '|'], " ")
                );
            }
        }
        let older: Vec<String> = self
            .rows
            .iter()
            .filter_map(|taken| taken.date.as_ref().map(|date| format!("{} ({date})", taken.row)))
            .collect();
        if !older.is_empty() {
            page += &format!("\nTaken earlier: {}.\n", older.join(", "));
        }
        page
    }
}

fn named((name, figure): &Named) -> String {
    format!("{name} {figure}")
}

impl Line {
    fn markdown(&self) -> String {
        let (peer, theirs) = match &self.peer {
            Some((name, figure)) => (name.as_str(), figure.to_string()),
            None => ("", String::new()),
        };
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let floor = self.floor.as_ref().map(named).unwrap_or_default();
        let above = self.above_floor().map(|times| format!("{times:.2}")).unwrap_or_default();
        let beside: Vec<String> = self.beside.iter().map(named).collect();
        format!(
            "| {} | {} | {peer} | {theirs} | {ratio} | {} | {} | {floor} | {above} | {} |\n",
            self.what,
            self.ours,
            self.bar_says(),
            self.verdict(),
            beside.join(", ")
        )
    }

    fn plain(&self) -> String {
        let mut text = format!("  {}: {}", self.what, self.ours);
        if let Some(peer) = &self.peer {
            text += &format!(", {}, ratio {:.2}", named(peer), self.ratio().unwrap_or(f64::NAN));
        }
        text += &format!("; {} {}", self.bar_says(), self.verdict());
        let above = self.above_floor().map(|times| format!(", {times:.2} times")).unwrap_or_default();
        let others = self.floor.iter().map(|floor| format!("floor: {}{above}", named(floor)));
        let others: Vec<String> = others.chain(self.beside.iter().map(named)).collect();
        if others.is_empty() { text } else { format!("{text} ({})", others.join(", ")) }
    }
}

pub fn print(taken: &Taken, out: &mut impl Write) -> io::Result<()> {
    taken.lines.iter().try_for_each(|line| writeln!(out, "{}", line.plain()))?;
    taken.failed.iter().try_for_each(|why| writeln!(out, "  could not be taken: {why}"))
}
