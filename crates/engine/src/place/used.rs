//! What a session uses: the processes that a stop of it would reach, each with what the kernel counts for it.

use abide_core::verdict::{program_of, wrapper_of};

use super::stray::Strays;
use super::tree::{self, Marks};
use crate::Sessions;
use crate::truth::{Session, Spent, Truth};

/// A living process of a session, and what it has used until now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub pid: u32,
    pub parent: Option<u32>,
    pub command: String,
    pub spent: Spent,
}

impl Sessions {
    /// The living processes of a session whose program is proved alive, that one first. What ended while it was looked at is
    /// left out.
    #[must_use]
    pub fn used(&self, session: &Session) -> Vec<Used> {
        used(&self.truth, session)
    }
}

fn used(truth: &Truth, session: &Session) -> Vec<Used> {
    let evidence = &session.evidence;
    let Some(program) = program_of(evidence).filter(|_| session.seen.program.is_alive()) else {
        return Vec::new();
    };
    let top = wrapper_of(evidence).filter(|wrapper| truth.is_alive(wrapper).is_alive()).unwrap_or(program);
    let cgroup = super::recorded(evidence);
    let guarded = evidence.helpers.guarded.as_ref().map(|told| told.witness);
    let launched = evidence.beginning.launched.as_ref().map(|told| told.witness);
    // While its first guard lives, all that lose their parents fall to that one; and a cgroup forgets nobody.
    let strays =
        Strays::like(truth, evidence, program.pid).filter(|_| cgroup.is_none() && guarded != launched);
    let kin = strays.map(|strays| strays.find(truth)).unwrap_or_default();
    let marks = Marks { session: Some(session.id.as_str()), cgroup: cgroup.as_ref() };
    let first = truth.process(top.pid).map(|seen| tree::survivor(*top, &seen));
    let all = first.into_iter().chain(tree::left(truth, marks, Some(top.pid), &kin, &[]));
    let counted = all.filter_map(|one| {
        let spent = truth.spent(&one.process)?;
        let parent = truth.process(one.process.pid).map(|seen| seen.parent);
        Some(Used { pid: one.process.pid, parent, command: one.command, spent })
    });
    counted.collect()
}
