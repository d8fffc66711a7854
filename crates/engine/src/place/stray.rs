//! Strays: processes of a session that a killed guard left to others, so that neither descent nor a cgroup tells whose they
//! are. Known by the environment that they inherited; whose it cannot be proved to be is named at most, never signalled.

use abide_core::evidence::Survivor;
use abide_core::evidence::fold::Evidence;
use abide_core::identity::Identity;
use abide_core::verdict::program_of;

use super::tree;
use crate::launch;
use crate::truth::{Relative, Truth};

/// What the strays of one session have in common.
pub(crate) struct Strays {
    session: String,
    /// Whom the guard started: all others are of the same user, and no older.
    first: Identity,
    /// Whom its orphans fall to.
    reaper: Option<u32>,
    /// Where nothing is moved to or from: what a service manager starts with our environment is elsewhere.
    cgroups: Option<String>,
}

impl Strays {
    /// Those of this session. `like` is a living process that its guard's death left to the same parent as them: the
    /// program, or the next guard.
    pub(crate) fn like(truth: &Truth, evidence: &Evidence, like: u32) -> Option<Self> {
        let launched = &evidence.beginning.launched.as_ref()?.body;
        let session = launched.id.clone();
        // A program may have its wrapper above it, which is of the session too.
        let is_outside = |pid: &u32| truth.born_in(*pid).as_ref() != Some(&session);
        Some(Self {
            first: launched.program.or_else(|| program_of(evidence).copied())?,
            reaper: truth.above(like).into_iter().find(is_outside),
            cgroups: truth.cgroups(like),
            session,
        })
    }

    /// Who is provably one of them now: it was born in the session, and fell to whom an orphan of the session falls to, in
    /// the same place.
    pub(crate) fn find(&self, truth: &Truth) -> Vec<Identity> {
        let is_orphan = |process: &Relative| self.reaper == Some(process.parent);
        let is_here = |process: &Relative| truth.cgroups(process.pid) == self.cgroups;
        let all = self.carriers(truth, launch::BORN_IN);
        let all = all.filter(|(_, process)| self.cgroups.is_some() && is_orphan(process) && is_here(process));
        // Asked last: all of it was read of this process.
        all.map(|(identity, _)| identity).filter(|one| truth.is_alive(one).is_alive()).collect()
    }

    /// Who may be one of them: whoever carries the session's name and was not born in another, but for whoever asks.
    pub(crate) fn may_be(&self, truth: &Truth) -> Vec<Survivor> {
        let own = std::process::id();
        let asking: Vec<u32> = truth.above(own).into_iter().chain([own]).collect();
        let others = self.carriers(truth, launch::SESSION).filter(|(_, process)| {
            !asking.contains(&process.pid)
                && !tree::is_helper(&process.name, &process.command)
                && !tree::is_of_another(truth, process.pid, &self.session)
        });
        others.map(|(identity, process)| tree::survivor(identity, &process)).collect()
    }

    fn carriers<'a>(
        &'a self,
        truth: &'a Truth,
        name: &str,
    ) -> impl Iterator<Item = (Identity, Relative)> + 'a {
        let is_like = |one: &Identity| one.uid == self.first.uid && one.is_no_older_than(&self.first);
        let all = truth.carriers(&format!("{name}={}", self.session));
        all.into_iter().filter(move |(identity, _)| is_like(identity))
    }
}
