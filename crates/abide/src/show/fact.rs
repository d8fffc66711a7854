//! One fact as it is shown: when, of which session, which, by whom, what it says.

use std::collections::BTreeMap;

use abide_core::evidence::Body;
use abide_core::evidence::frame::Found;
use abide_engine::Witnessed;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::{Page, Tone};
use super::secret;
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

    /// Puts its line on the page.
    pub(crate) fn put(&self, page: &mut Page) {
        let at = self.at.map_or_else(|| "-".to_owned(), Time::local_exact);
        let tone = if self.at.is_none() { Tone::Bad } else { Tone::Plain };
        page.put(Tone::Faint, &format!("{at:23}")).blanks(2).put(Tone::Strong, &self.session).blanks(2);
        page.put(tone, &format!("{:11}", self.fact)).blanks(2);
        let before = 23 + 2 + self.session.len() + 2 + 11 + 2 + 21 + 2;
        if page.has_room(before) {
            page.put(Tone::Faint, &format!("{:21}", self.witness)).blanks(2);
            page.flow(tone, &self.says, before, before);
        } else {
            page.put(Tone::Faint, &self.witness).end();
            page.blanks(4).flow(tone, &self.says, 4, 4);
        }
    }
}
