//! What the kernel shows of processes beside whether they live: who is above and below whom, what they run, how they ended.
//! A number alone is nobody: what is asked of a very process is asked again for its identity.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use abide_core::evidence::{How, Observer};
use abide_core::identity::{FileId, Identity, Liveness};
use abide_sys::disk;

use super::{About, InFront, Relative, Spent, Truth};
use crate::store::SessionDir;
use crate::{guard, launch};

impl Truth {
    /// Whether the kernel keeps how a process ended for those who hold it.
    pub(crate) fn keeps_ends(&self) -> Option<bool> {
        self.probe.keeps_ends()
    }

    /// Takes hold of this very process.
    ///
    /// # Errors
    /// Says what it is instead of provably alive.
    pub fn hold(&self, who: &Identity) -> Result<OwnedFd, Liveness> {
        self.probe.hold(who)
    }

    /// The identity of a living process that we hold.
    pub(crate) fn identify_held(&self, pidfd: &OwnedFd) -> Option<Identity> {
        self.probe.identify_held(pidfd)
    }

    /// How this very process ended, which we hold but are not the parent of.
    pub(crate) fn end_of(&self, pidfd: &OwnedFd, who: &Identity) -> Option<(How, Observer)> {
        self.probe.end_of(pidfd, who)
    }

    /// What this very process has used until now; none if it is gone or cannot be seen.
    pub(crate) fn spent(&self, who: &Identity) -> Option<Spent> {
        self.probe.spent(who)
    }

    /// Every process below this one.
    pub(crate) fn descendants(&self, of: u32) -> Vec<Relative> {
        self.probe.descendants(of)
    }

    /// The same without some, and without those that only they lead to.
    pub(crate) fn descendants_but(&self, of: u32, but: &[u32]) -> Vec<Relative> {
        self.probe.descendants_but(of, but)
    }

    /// One process with its parent and its arguments; none if it is gone.
    pub(crate) fn process(&self, pid: u32) -> Option<Relative> {
        self.probe.process(pid)
    }

    /// Every process above this one, its parent first.
    pub(crate) fn above(&self, of: u32) -> Vec<u32> {
        self.probe.above(of)
    }

    /// The same, and what they are, as far as that can be seen.
    pub(crate) fn ancestors(&self, of: u32) -> Vec<Relative> {
        self.probe.ancestors(of)
    }

    /// Every process of this machine whose arguments fit. None where none can be seen from here.
    pub(crate) fn everyone(&self, fits: &dyn Fn(&[String]) -> bool) -> Option<Vec<Relative>> {
        self.probe.everyone(fits)
    }

    /// The session that a process was born in, if it still says so.
    pub(crate) fn born_in(&self, pid: u32) -> Option<String> {
        self.probe.variable(pid, launch::BORN_IN)
    }

    /// Every process whose environment held this entry (`NAME=value`) at its exec, as far as we may know.
    pub(crate) fn carriers(&self, entry: &str) -> Vec<(Identity, Relative)> {
        self.probe.carriers(entry)
    }

    /// The cgroups of all kinds that a process is in, as the kernel lists them.
    pub(crate) fn cgroups(&self, pid: u32) -> Option<String> {
        self.probe.cgroups(pid)
    }

    /// The directory that a process is in, if we may know it.
    pub(crate) fn cwd(&self, pid: u32) -> Option<PathBuf> {
        self.probe.about(pid, &[]).cwd
    }

    /// The executable of a process, if we may know it.
    pub(crate) fn image(&self, pid: u32) -> Option<PathBuf> {
        self.probe.image(pid)
    }

    /// What this very process runs now, if we may know it.
    pub(crate) fn image_of(&self, who: &Identity) -> Option<PathBuf> {
        let image = self.image(who.pid)?;
        // Asked after it was read: then it was read of this process.
        self.is_alive(who).is_alive().then_some(image)
    }

    /// What can be read of this very process, with those of its variables that are named.
    pub(crate) fn about(&self, who: &Identity, variables: &[&str]) -> Option<About> {
        let about = self.probe.about(who.pid, variables);
        // Asked after it was read: then it was read of this process.
        self.is_alive(who).is_alive().then_some(about)
    }

    /// The guard that holds this session's directory, whether or not it is on record.
    pub(crate) fn guard_of(&self, dir: &SessionDir) -> Option<Relative> {
        let holders = disk::file_id(dir.dir()).map(|id| self.probe.holders(id)).unwrap_or_default();
        let is_guard = |one: &Relative| {
            one.command.get(1).is_some_and(|word| word.as_bytes() == guard::ARGUMENT.to_bytes())
        };
        holders.into_iter().find(is_guard)
    }

    /// The processes that hold this file open, as far as we may know.
    pub(crate) fn holders(&self, file: &Path) -> Vec<Relative> {
        let id = std::fs::metadata(file).map(|meta| FileId { dev: meta.dev(), ino: meta.ino() });
        id.map(|id| self.probe.holders(id)).unwrap_or_default()
    }

    /// The number of a process' controlling terminal.
    #[must_use]
    pub fn terminal(&self, pid: u32) -> Option<u32> {
        self.probe.terminal(pid)
    }

    /// Whom the terminal of this process belongs to now.
    #[must_use]
    pub fn foreground(&self, of: u32) -> Vec<InFront> {
        self.probe.foreground(of)
    }
}
