//! What a client typed, while it waits to be passed on.

use abide_core::wire::{LONGEST, Tagged};

/// What may wait of what one client typed; one that typed more is not heard meanwhile.
pub(super) const DEFERRED: usize = 2 * LONGEST;

/// What a client typed, in its order.
pub(super) enum Typing {
    Hold,
    Input { seq: u64, bytes: Vec<u8> },
    Exec { seen: u64, tagged: Tagged },
    Release,
}

impl Typing {
    /// What it takes to keep it: what says nothing takes something too.
    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Hold | Self::Release => 0,
                Self::Input { bytes, .. } => bytes.len(),
                Self::Exec { tagged, .. } => tagged.tag.len() + tagged.bytes.len(),
            }
    }
}
