//! How a session began: a conversation that was chosen for an agent at its launch, and what was added to the arguments for it;
//! who the program is, told better later.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fold::{Beginning, Told};
use super::{Launched, Started};

/// A conversation that an agent was told to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    pub conversation: String,
    /// Which of the arguments nobody asked for but us: so many, from this one on.
    pub at: usize,
    pub words: usize,
}

impl Launched {
    /// Which of the recorded arguments were added to those that were asked for.
    #[must_use]
    pub fn added(&self) -> Range<usize> {
        let added = self.begun.as_ref().map_or(0..0, |begun| begun.at..begun.at.saturating_add(begun.words));
        if added.end <= self.argv.len() { added } else { 0..0 }
    }
}

impl Beginning {
    /// Takes who the program is. Told again when it could be identified better; it started when it was first told.
    pub(super) fn start(&mut self, told: Told<Started>) {
        match &mut self.started {
            Some(first) => {
                first.body = told.body.clone();
                self.identified = Some(told);
            }
            None => self.started = Some(told),
        }
    }
}
