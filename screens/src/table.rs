//! Table: one line a stream, with how many cells were compared and how many differ, and what explains them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::alacritty;
use crate::difference::{Reference, differences};
use crate::known::{KNOWN, explain};
use crate::program::{SIZE, screen};
use crate::seen::Seen;
use crate::tmux::Tmux;

/// At so many instants, evenly over its bytes, a stream is compared.
const INSTANTS: usize = 12;
/// Of so many differences that nobody explains each stream says where.
const SHOWN: usize = 5;
/// What is compared: the stream and the dump, with each of the two.
const COLUMNS: [(Reference, bool); 4] = [
    (Reference::Tmux, false),
    (Reference::Alacritty, false),
    (Reference::Tmux, true),
    (Reference::Alacritty, true),
];

/// A stream to be compared.
pub struct Row<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Whether the session told the same screen live and afterwards; nothing for a recording.
    pub same_hash: Option<bool>,
}

pub struct Table {
    tmux: Tmux,
    used: BTreeMap<&'static str, usize>,
    unexplained: usize,
}

impl Table {
    pub fn new(tmux: Tmux) -> io::Result<Self> {
        writeln!(
            io::stdout(),
            "{:22} {:>6} {:>6} | {:>13} {:>13} | {:>13} {:>13} | {:5} explained by",
            "stream",
            "bytes",
            "cells",
            "tmux",
            "alacritty",
            "dump: tmux",
            "alacritty",
            "hash"
        )?;
        Ok(Self { tmux, used: BTreeMap::new(), unexplained: 0 })
    }

    pub const fn all_explained(&self) -> bool {
        self.unexplained == 0
    }

    pub fn left_out(&mut self, name: &str, why: &str) -> io::Result<()> {
        writeln!(io::stdout(), "{name:22} left out: {why}")
    }

    /// Compares a stream and writes its line; gives what we show at its end.
    pub fn compare(&mut self, row: Row<'_>) -> io::Result<Seen> {
        let mut counts = [(0, 0); 4];
        let (mut open, mut used) = (Vec::new(), Vec::new());
        let stem = row.name.trim_end_matches(".bin");
        let mut shown = Seen::ours(&screen(&[]));
        for instant in 1..=INSTANTS {
            let bytes = &row.bytes[..row.bytes.len() * instant / INSTANTS];
            let ours = screen(bytes);
            shown = Seen::ours(&ours);
            let dump = ours.dump(0);
            let found = COLUMNS.map(|(reference, of_dump)| {
                let theirs = self.shown(reference, if of_dump { &dump } else { bytes })?;
                Ok(differences(&shown, &theirs, reference, of_dump))
            });
            let found = found.into_iter().collect::<io::Result<Vec<_>>>()?;
            for (column, all) in found.iter().enumerate() {
                // Columns of the stream and of the dump stand in pairs.
                let other = &found[column ^ 1];
                for it in all {
                    let agrees = !other.iter().any(|there| (there.row, there.col) == (it.row, it.col));
                    counts[column].0 += 1;
                    match explain(stem, it, &shown, agrees) {
                        Some(known) => used.push(known.id),
                        None => {
                            counts[column].1 += 1;
                            open.push(format!("at byte {}, {}{it}", bytes.len(), ["", "dump: "][column / 2]));
                        }
                    }
                }
            }
        }
        self.line(&row, counts, &mut used)?;
        for where_ in open.iter().take(SHOWN) {
            writeln!(io::stdout(), "    {where_}")?;
        }
        self.unexplained += open.len() + usize::from(row.same_hash == Some(false));
        Ok(shown)
    }

    fn shown(&mut self, reference: Reference, bytes: &[u8]) -> io::Result<Seen> {
        match reference {
            Reference::Tmux => self.tmux.show(SIZE, bytes),
            Reference::Alacritty => Ok(alacritty::show(SIZE, bytes)),
        }
    }

    fn line(
        &mut self,
        row: &Row<'_>,
        counts: [(usize, usize); 4],
        used: &mut Vec<&'static str>,
    ) -> io::Result<()> {
        let cells = usize::from(SIZE.cols) * usize::from(SIZE.rows) * INSTANTS;
        let [a, b, c, d] = counts.map(|(all, open)| match (all, open) {
            (0, _) => "same".to_owned(),
            (all, 0) => format!("{all} known"),
            (all, open) => format!("{all}, {open} open"),
        });
        let hash = match row.same_hash {
            None => "",
            Some(true) => "same",
            Some(false) => "OTHER",
        };
        for id in used.iter() {
            *self.used.entry(id).or_default() += 1;
        }
        used.sort_unstable();
        used.dedup();
        writeln!(
            io::stdout(),
            "{:22} {:>6} {cells:>6} | {a:>13} {b:>13} | {c:>13} {d:>13} | {hash:5} {}",
            row.name,
            row.bytes.len(),
            used.join(", ")
        )
    }

    /// What explained something, and why that is right.
    pub fn end(&self) -> io::Result<()> {
        for known in KNOWN.iter().filter(|known| self.used.contains_key(known.id)) {
            writeln!(io::stdout(), "{} ({} cells): {}", known.id, self.used[known.id], known.why)?;
        }
        writeln!(io::stdout(), "{} differences without an explanation", self.unexplained)
    }
}
