//! The seam for systems other than Linux: nothing can be said there yet, and it is said.

use abide_core::evidence::{How, Observer};
use abide_core::identity::{Doubt, FileId, Here, Identity, Qualifier, Sighting};

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::{About, InFront, Means, Relative, Spent};

pub(super) const fn here() -> Here {
    Here { machine: None, boot: None, kernel_boot: false, pid_ns: None, time_ns: None }
}

pub(super) const fn look(_: Means, _: u32) -> Sighting {
    Sighting::Failed(Doubt::Unsupported)
}

pub(super) const fn identify(_: &Here, _: Means, _: u32) -> Result<Identity, Doubt> {
    Err(Doubt::Unsupported)
}

pub(super) const fn look_briefly(means: Means, pid: u32) -> Sighting {
    look(means, pid)
}

pub(super) const fn qualifier(_: u32) -> Option<Qualifier> {
    None
}

pub(super) const fn spent(_: u32) -> Option<Spent> {
    None
}

pub(super) const fn parent(_: u32) -> Option<u32> {
    None
}

pub(super) const fn terminal(_: u32) -> Option<u32> {
    None
}

pub(super) const fn variable(_: u32, _: &str) -> Option<String> {
    None
}

pub(super) const fn carriers(_: &str) -> Vec<u32> {
    Vec::new()
}

pub(super) const fn carries(_: u32, _: &str) -> bool {
    false
}

pub(super) const fn cgroups(_: u32) -> Option<String> {
    None
}

pub(super) const fn above(_: u32) -> Vec<u32> {
    Vec::new()
}

pub(super) const fn ancestors(_: u32) -> Vec<Relative> {
    Vec::new()
}

pub(super) const fn end_of(_: &OwnedFd, _: u32) -> Option<(How, Observer)> {
    None
}

pub(super) const fn inode(_: Means, _: &OwnedFd) -> Option<u64> {
    None
}

pub(super) const fn pid_of(_: &OwnedFd) -> Option<u32> {
    None
}

pub(super) const fn hold(_: u32) -> Option<OwnedFd> {
    None
}

pub(super) const fn descendants(_: u32, _: &[u32]) -> Vec<Relative> {
    Vec::new()
}

pub(super) const fn process(_: u32) -> Option<Relative> {
    None
}

pub(super) const fn holders(_: FileId) -> Vec<Relative> {
    Vec::new()
}

pub(super) const fn foreground(_: u32) -> Vec<InFront> {
    Vec::new()
}

pub(super) const fn everyone(_: &dyn Fn(&[String]) -> bool) -> Option<Vec<Relative>> {
    None
}

pub(super) const fn image(_: u32) -> Option<PathBuf> {
    None
}

pub(super) fn about(_: u32, _: &[&str]) -> About {
    About::default()
}

pub(super) const fn keeps_ends() -> Option<bool> {
    None
}
