//! The one and only pid question: is the process with this identity alive?
//! Looks, and leaves the judgement to `core::identity`.

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod exit;
#[cfg(target_os = "linux")]
mod front;
#[cfg(target_os = "linux")]
mod here;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod spent;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use abide_core::evidence::{How, Observer};
use abide_core::identity::{Doubt, FileId, Here, Identity, Liveness, Lock, Qualifier, judge};

/// Which of the kernel's means are used. All by default; tests switch some off to see the fallbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    pub pidfd: bool,
    pub pidfs: bool,
}

/// A process above or below another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relative {
    pub pid: u32,
    pub parent: u32,
    /// The name that the kernel has for it.
    pub name: String,
    /// Its arguments, as it shows them.
    pub command: Vec<String>,
}

/// One of those whom a terminal belongs to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFront {
    pub process: Relative,
    /// It is the first of its process group.
    pub leads: bool,
    /// The name of its image.
    pub image: String,
    /// It sleeps until something comes.
    pub sleeps: bool,
    /// Where in the kernel it sleeps; empty if that is not told.
    pub place: String,
    /// It is over, and nobody has reaped it.
    pub is_zombie: bool,
    /// It does nothing until it is told to go on.
    pub is_stopped: bool,
    /// It lets the signals of its children wait.
    pub holds_signals: bool,
    /// It may open what only we may.
    pub is_as_we_are: bool,
    /// How it sleeps, if we may know that.
    pub sleep: Option<Sleep>,
}

/// How a process sleeps: the same code of a process that waits for the same thing sleeps in the same way each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    /// When the process began, in ticks since boot.
    pub born: u64,
    /// Where its stack begins: another place for each image that it runs.
    pub top: u64,
    /// The number of the system call that it is in.
    pub call: u64,
    /// How much it wants, if that is a read.
    pub wants: Option<u64>,
    /// How much of its stack is in use.
    pub depth: u64,
}

/// What can be read of a process that is ours, beside its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    pub image: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    /// Those of its variables that were asked for, as they were at its exec.
    pub variables: BTreeMap<String, String>,
    /// The files that it holds open.
    pub open: Vec<PathBuf>,
    /// Its birth in ms of wall time.
    pub started_ms: i64,
}

/// What a process has used until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Time on a processor.
    pub cpu_ms: u64,
    /// The same of those below it that are over and were waited for.
    pub cpu_ms_of_dead: u64,
    /// Memory that it holds now, in bytes. What processes share counts in each of them.
    pub memory: u64,
}

/// Asks the kernel about processes. Made once: where we are does not change while we run.
#[derive(Debug, Clone)]
pub struct Probe {
    here: Here,
    means: Means,
}

impl Probe {
    #[must_use]
    pub fn new() -> Self {
        Self::with(Means { pidfd: true, pidfs: true })
    }

    /// A probe that does without some of the kernel's means.
    #[must_use]
    pub fn with(means: Means) -> Self {
        Self { here: system::here(), means }
    }

    /// Where we are: machine, boot, namespaces.
    #[must_use]
    pub const fn here(&self) -> &Here {
        &self.here
    }

    /// Whether the kernel keeps how a process ended for those who hold it and are not its parent. Starts this executable
    /// once more to see; none if that cannot be done.
    #[must_use]
    pub fn keeps_ends(&self) -> Option<bool> {
        system::keeps_ends()
    }

    /// Is this very process alive?
    #[must_use]
    pub fn liveness(&self, want: &Identity, lock: Lock) -> Liveness {
        judge(want, &self.here, &system::look(self.means, want.pid), lock)
    }

    /// Is this very process alive, however it stands? A lock that is held says so; else its pidfd does where it is known
    /// by that.
    #[must_use]
    pub fn lives(&self, want: &Identity, lock: Lock) -> Liveness {
        match lock {
            Lock::Held => Liveness::Alive(None),
            Lock::Silent if want.pidfs.is_some() => {
                judge(want, &self.here, &system::look_briefly(self.means, want.pid), lock)
            }
            Lock::Silent => self.liveness(want, lock),
        }
    }

    /// How this very process stands, if it is alive and that is special: stopped, or traced, stopped or not.
    #[must_use]
    pub fn qualifier(&self, want: &Identity) -> Option<Qualifier> {
        let qualifier = system::qualifier(want.pid)?;
        // Asked after it was read: then it was read of this process.
        self.lives(want, Lock::Silent).is_alive().then_some(qualifier)
    }

    /// Takes hold of this very process, to signal it or to wait for its end.
    ///
    /// # Errors
    /// Says what it is instead of provably alive.
    pub fn hold(&self, want: &Identity) -> Result<OwnedFd, Liveness> {
        let pidfd = system::hold(want.pid).ok_or_else(|| self.liveness(want, Lock::Silent))?;
        // Asked after the hold: if the process is alive now, the hold is on it and not on a later one.
        match self.liveness(want, Lock::Silent) {
            Liveness::Alive(_) => Ok(pidfd),
            not_alive @ (Liveness::Dead(_) | Liveness::Unknown(_)) => Err(not_alive),
        }
    }

    /// The identity of a living process that we hold.
    #[must_use]
    pub fn identify_held(&self, pidfd: &OwnedFd) -> Option<Identity> {
        let identity = self.identify(system::pid_of(pidfd)?).ok()?;
        // Asked again: as long as we hold it alive, its number is nobody else's.
        (system::pid_of(pidfd) == Some(identity.pid)).then_some(identity)
    }

    /// How this very process ended, which we hold but are not the parent of, and how that was learnt. None while it runs,
    /// if nobody can tell any more, or if it is another that we hold.
    #[must_use]
    pub fn end_of(&self, pidfd: &OwnedFd, want: &Identity) -> Option<(How, Observer)> {
        let held = system::inode(self.means, pidfd);
        let another = held.is_some() && want.pidfs.is_some() && held != want.pidfs;
        if another { None } else { system::end_of(pidfd, want.pid) }
    }

    /// What this very process has used until now; none if it is gone or cannot be seen.
    #[must_use]
    pub fn spent(&self, want: &Identity) -> Option<Spent> {
        let spent = system::spent(want.pid);
        // Asked after it was read: then it was read of this process.
        spent.filter(|_| self.liveness(want, Lock::Silent).is_alive())
    }

    /// Every process that descends from this one, as `/proc` tells.
    #[must_use]
    pub fn descendants(&self, of: u32) -> Vec<Relative> {
        system::descendants(of, &[])
    }

    /// The same without some, whose own families need not be looked at.
    #[must_use]
    pub fn descendants_but(&self, of: u32, but: &[u32]) -> Vec<Relative> {
        system::descendants(of, but)
    }

    /// One process, as `/proc` tells; none if it is gone.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<Relative> {
        system::process(pid)
    }

    /// Every process that this one descends from, its parent first, as far as `/proc` tells.
    #[must_use]
    pub fn above(&self, of: u32) -> Vec<u32> {
        system::above(of)
    }

    /// The same, and what they are, as far as that can be seen.
    #[must_use]
    pub fn ancestors(&self, of: u32) -> Vec<Relative> {
        system::ancestors(of)
    }

    /// Every process whose arguments fit, as far as `/proc` tells. None where none can be seen from here.
    #[must_use]
    pub fn everyone(&self, fits: &dyn Fn(&[String]) -> bool) -> Option<Vec<Relative>> {
        system::everyone(fits)
    }

    /// The executable of a process, if we may know it.
    #[must_use]
    pub fn image(&self, pid: u32) -> Option<PathBuf> {
        system::image(pid)
    }

    /// What a process is about, with those of its variables that are named.
    #[must_use]
    pub fn about(&self, pid: u32, variables: &[&str]) -> About {
        system::about(pid, variables)
    }

    /// What this variable was in the environment of a process at its exec, if we may know it.
    #[must_use]
    pub fn variable(&self, pid: u32, name: &str) -> Option<String> {
        system::variable(pid, name)
    }

    /// Every process whose environment held this entry (`NAME=value`) at its exec, as far as we may know.
    #[must_use]
    pub fn carriers(&self, entry: &str) -> Vec<(Identity, Relative)> {
        let all = system::carriers(entry).into_iter().filter_map(|pid| {
            let (identity, process) = (self.identify(pid).ok()?, self.process(pid)?);
            // Asked again once it is identified: then it was read of this process, which is still alive.
            let same = system::carries(pid, entry) && self.liveness(&identity, Lock::Silent).is_alive();
            same.then_some((identity, process))
        });
        all.collect()
    }

    /// The cgroups of all kinds that a process is in, as the kernel lists them.
    #[must_use]
    pub fn cgroups(&self, pid: u32) -> Option<String> {
        system::cgroups(pid)
    }

    /// Every process that has this file open, as far as we may know.
    #[must_use]
    pub fn holders(&self, of: FileId) -> Vec<Relative> {
        system::holders(of)
    }

    /// The number of a process' controlling terminal; see `tty::number`.
    #[must_use]
    pub fn terminal(&self, pid: u32) -> Option<u32> {
        system::terminal(pid)
    }

    /// Whom the terminal of this process belongs to now: the foreground process group, as far as it descends from the
    /// process.
    #[must_use]
    pub fn foreground(&self, of: u32) -> Vec<InFront> {
        system::foreground(of)
    }

    /// The identity of a process that is alive now.
    ///
    /// # Errors
    /// If it is not there, or not enough can be learnt to know it again.
    pub fn identify(&self, pid: u32) -> Result<Identity, Doubt> {
        system::identify(&self.here, self.means, pid)
    }

    /// The parent of a process, as `/proc` tells.
    #[must_use]
    pub fn parent(&self, pid: u32) -> Option<u32> {
        system::parent(pid)
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{Means, elsewhere};
    use abide_core::identity::{Doubt, FileId, Sighting};
    use std::os::fd::AsFd;

    #[test]
    fn a_system_that_cannot_be_probed_says_so_and_records_no_owner() {
        let here = elsewhere::here();
        assert_eq!(here.boot, None);
        let means = Means { pidfd: true, pidfs: true };
        for look in [elsewhere::look, elsewhere::look_briefly] {
            assert_eq!(look(means, 1), Sighting::Failed(Doubt::Unsupported));
        }
        assert_eq!(elsewhere::identify(&here, means, 1), Err(Doubt::Unsupported));
        assert_eq!((elsewhere::parent(1), elsewhere::terminal(1)), (None, None));
        assert!(elsewhere::hold(1).is_none() && elsewhere::process(1).is_none());
        assert!(elsewhere::foreground(1).is_empty() && elsewhere::qualifier(1).is_none());
        assert!(elsewhere::everyone(&|_| true).is_none() && elsewhere::image(1).is_none());
        assert_eq!((elsewhere::about(1, &[]), elsewhere::spent(1)), (super::About::default(), None));
        assert!(elsewhere::carriers("A=b").is_empty() && !elsewhere::carries(1, "A=b"));
        assert!(elsewhere::cgroups(1).is_none() && elsewhere::variable(1, "A").is_none());
        assert!(elsewhere::holders(FileId { dev: 0, ino: 1 }).is_empty());
        assert!(elsewhere::descendants(1, &[]).is_empty());
        assert!(elsewhere::ancestors(1).is_empty() && elsewhere::above(1).is_empty());
        let held = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        assert!(elsewhere::end_of(&held, 1).is_none() && elsewhere::pid_of(&held).is_none());
        assert!(elsewhere::inode(means, &held).is_none() && elsewhere::keeps_ends().is_none());
    }
}
