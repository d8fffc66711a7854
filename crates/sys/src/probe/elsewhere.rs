//! The seam for systems other than Linux: nothing can be said there yet, and it is said.

use abide_core::identity::{Doubt, Here, Identity, Sighting};

use super::Means;

pub(super) const fn here() -> Here {
    Here { machine: None, boot: None, pid_ns: None, time_ns: None }
}

pub(super) const fn look(_: Means, _: u32) -> Sighting {
    Sighting::Failed(Doubt::Unsupported)
}

pub(super) const fn identify(_: &Here, _: Means, _: u32) -> Result<Identity, Doubt> {
    Err(Doubt::Unsupported)
}

pub(super) const fn parent(_: u32) -> Option<u32> {
    None
}
