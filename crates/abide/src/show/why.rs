//! The proof of a verdict: the rule that decided, and what it rests on.

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
        let rows: Vec<Vec<Cell>> = self.because.iter().map(row).collect();
        table::put_flowing(page, 2, &rows);
        let more = session.evidence.record.more_damage;
        if more > 0 {
            page.blanks(2).plain(&format!("and {more} more damaged places")).end();
        }
    }
}

fn row(ground: &GroundView) -> Vec<Cell> {
    let tone = if ground.fact == "damage" { Tone::Bad } else { Tone::Plain };
    vec![
        Cell::faint(&ground.at.local_exact()),
        Cell::plain(&ground.witness),
        Cell::new(tone, &ground.fact),
        Cell::new(tone, &ground.says),
    ]
}
