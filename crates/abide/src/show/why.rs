//! The proof of a verdict: the rule that decided, and what it rests on.

use std::collections::BTreeSet;

use abide_engine::Session;
use schemars::JsonSchema;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::page::{Page, Tone};
use super::session::{GroundView, because};
use super::table::{self, Cell};
use super::time::Time;
use super::word::{RuleName, StatusName};
use super::{list, safe};

/// A verdict and its proof.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Why")]
pub(crate) struct WhyView<'a> {
    id: &'a str,
    status: StatusName,
    rule: RuleName,
    because: Vec<GroundView>,
    /// The instant that was asked about; only if it was not now.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Time>,
}

impl<'a> WhyView<'a> {
    pub(crate) fn new(session: &'a Session, at: Option<i64>) -> Self {
        Self {
            id: session.id.as_str(),
            status: StatusName(session.verdict.status),
            rule: RuleName(session.verdict.rule),
            because: because(session),
            at: at.map(Time),
        }
    }

    /// Puts the proof on the page.
    pub(crate) fn put(&self, page: &mut Page, session: &Session) {
        page.put(Tone::Strong, self.id);
        if let Some(name) = session.name() {
            page.plain(" (").plain(name).plain(")");
        }
        match self.at {
            Some(at) => page
                .plain(" was ")
                .put(list::tone(session), self.status.0.name())
                .plain(" at ")
                .plain(&at.local()),
            None => page.plain(" is ").put(list::tone(session), self.status.0.name()),
        };
        let told = self.at.map_or_else(|| " is ".to_owned(), |at| format!(" was  at {}", at.local()));
        let name = session.name().map_or(0, |name| safe::line(name).width() + 3);
        let used = self.id.len() + name + told.len() + self.status.0.name().len() + 2;
        page.plain(": ").flow(Tone::Plain, self.rule.0.says(), used, 2);
        page.put(Tone::Faint, "rule ").put(Tone::Faint, self.rule.0.name()).end().end();
        if !page.has_ample_room(self.before_words()) {
            self.put_by_day(page);
        } else {
            let rows: Vec<Vec<Cell>> = self
                .because
                .iter()
                .map(|ground| row(ground, &ground.at.local_exact(), &ground.witness))
                .collect();
            table::put_flowing(page, 2, &rows);
        }
        let more = session.evidence.record.more_damage;
        if more > 0 {
            page.blanks(2).plain(&format!("and {more} more damaged places")).end();
        }
    }

    /// How many cells stand before what a ground says, if all stands on one line.
    fn before_words(&self) -> usize {
        let widest =
            |cell: fn(&GroundView) -> &str| self.because.iter().map(|ground| cell(ground).width()).max();
        let columns = [widest(|ground| &ground.witness), widest(|ground| &ground.fact)];
        let instant = "2026-01-31 14:03:20.112".len();
        2 + instant + columns.into_iter().flatten().sum::<usize>() + 3 * 2
    }

    /// The same where there is little room: each day once, and the boot only where it tells witnesses apart.
    fn put_by_day(&self, page: &mut Page) {
        let boots: BTreeSet<&str> =
            self.because.iter().filter_map(|ground| Some(ground.witness.split_once('@')?.1)).collect();
        let at = |ground: &GroundView| ground.at.local_exact();
        for day in self.because.chunk_by(|one, next| at(one)[..DAY] == at(next)[..DAY]) {
            if let Some(first) = day.first() {
                page.blanks(2).put(Tone::Faint, at(first)[..DAY].trim_end()).end();
            }
            let rows = day.iter().map(|ground| {
                let witness = match ground.witness.split_once('@') {
                    Some((witness, _)) if boots.len() == 1 => witness,
                    _ => &ground.witness,
                };
                row(ground, &at(ground)[DAY..], witness)
            });
            table::put_flowing(page, 2, &rows.collect::<Vec<_>>());
        }
    }
}

/// So much of an instant is its day, with the blank behind it.
const DAY: usize = 11;

fn row(ground: &GroundView, at: &str, witness: &str) -> Vec<Cell> {
    let tone = if ground.fact == "damage" { Tone::Bad } else { Tone::Plain };
    vec![Cell::faint(at), Cell::plain(witness), Cell::new(tone, &ground.fact), Cell::new(tone, &ground.says)]
}
