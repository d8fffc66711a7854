//! One fact as it is shown: when, of which session, which, by whom, what it says.

use std::collections::BTreeMap;

use abide_core::evidence::Body;
use abide_core::evidence::frame::Found;
use abide_engine::Witnessed;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::{Page, Tone};
use super::secret;
use super::table::{self, Cell};
use super::time::Time;

/// One fact, or a place where one cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Fact")]
pub(crate) struct FactView {
    /// When it was witnessed; null for damage, which has no time.
    at: Option<Time>,
    session: String,
    /// The name of the fact; `damage` for a place that cannot be read.
    fact: String,
    /// Who wrote it: a role, its pid and its boot; `reader` for damage.
    witness: String,
    /// Its number among the facts of this witness, from 1; null for damage.
    seq: Option<u64>,
    says: String,
}

/// What must be known of facts before to show the next.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The arguments of each session, for the secrets among them must not be quoted by any fact.
    argv: BTreeMap<String, Vec<String>>,
}

impl Facts {
    pub(crate) fn view(&mut self, witnessed: &Witnessed) -> FactView {
        let session = witnessed.session.to_string();
        let fact = match &witnessed.found {
            Found::Damage(damage) => {
                let says =
                    format!("{} at byte {}, {} bytes", damage.flaw.says(), damage.offset, damage.length);
                let (fact, witness) = ("damage".to_owned(), "reader".to_owned());
                return FactView { at: None, session, fact, witness, seq: None, says };
            }
            Found::Fact(fact) => fact,
        };
        let says = self.says(&session, &fact.body);
        FactView {
            at: Some(Time(fact.at.wall)),
            session,
            fact: fact.body.name().to_owned(),
            witness: fact.witness.to_string(),
            seq: Some(fact.seq),
            says,
        }
    }

    fn says(&mut self, session: &str, body: &Body) -> String {
        if let Body::Launched(launched) = body {
            self.argv.insert(session.to_owned(), launched.argv.clone());
        } else if let Body::Adopted(adopted) = body {
            self.argv.insert(session.to_owned(), adopted.argv.clone());
        }
        let argv = self.argv.get(session).map(Vec::as_slice).unwrap_or_default();
        secret::hide(&body.says(), argv, &secret::mask(argv)).into_owned()
    }
}

impl FactView {
    /// Whether it was witnessed at this wall time or later; what has no time may have been.
    pub(crate) fn is_since(&self, wall: i64) -> bool {
        self.at.is_none_or(|at| at.0 >= wall)
    }

    /// Puts its line on the page. Where there is little room, the day and the boot stand above all that have them, and so does
    /// the session if there is only one.
    pub(crate) fn put(&self, page: &mut Page, above: &mut Above) {
        let at = self.at.map_or_else(|| "-".to_owned(), Time::local_exact);
        let before = INSTANT + 2 + self.session.len() + 2 + NAME + 2 + WITNESS + 2;
        if page.has_ample_room(before) {
            return self.put_line(page, (&at, INSTANT), (&self.witness, WITNESS), true);
        }
        let (day, at) = at.split_at_checked(DAY).unwrap_or(("", &at));
        let (witness, boot) = self.witness.split_once('@').unwrap_or((&self.witness, ""));
        let mut stands = above.clone();
        for (was, is) in [(&mut stands.day, day.trim_end()), (&mut stands.boot, boot)] {
            if !is.is_empty() {
                is.clone_into(was);
            }
        }
        if *above != stands {
            let boot = if stands.boot.is_empty() { String::new() } else { format!("  boot {}", stands.boot) };
            page.put(Tone::Faint, &format!("{}{boot}", stands.day));
            if let Some(only) = &stands.only {
                page.put(Tone::Faint, "  session ").put(Tone::Strong, only);
            }
            page.end();
            *above = stands;
        }
        self.put_line(page, (at, INSTANT - DAY), (witness, SHORT_WITNESS), above.only.is_none());
    }

    fn put_line(
        &self,
        page: &mut Page,
        (at, instant): (&str, usize),
        (witness, cells): (&str, usize),
        names: bool,
    ) {
        let tone = if self.at.is_none() { Tone::Bad } else { Tone::Plain };
        let mut row = vec![Cell::faint(&format!("{at:instant$}"))];
        row.extend(names.then(|| Cell::new(Tone::Strong, &self.session)));
        row.extend([
            Cell::new(tone, &format!("{:NAME$}", self.fact)),
            Cell::faint(&format!("{witness:cells$}")),
            Cell::new(tone, &self.says),
        ]);
        table::put_flowing(page, 0, &[row]);
    }
}

/// So many cells an instant takes; its day, with the blank behind it, so many of these.
const INSTANT: usize = 23;
const DAY: usize = 11;
/// The name of most facts.
const NAME: usize = 11;
/// Most witnesses, with their boot and without.
const WITNESS: usize = 21;
const SHORT_WITNESS: usize = 11;

/// The day and the boot that stand above what follows, and the session if all facts are of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Above {
    day: String,
    boot: String,
    only: Option<String>,
}

impl Above {
    pub(crate) const fn of(only: Option<String>) -> Self {
        Self { day: String::new(), boot: String::new(), only }
    }
}
