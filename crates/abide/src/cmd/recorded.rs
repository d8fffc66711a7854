//! The verbs about what was recorded: instants of it, spans of it, and what they are made into.

pub(super) mod diff;
pub(super) mod export;
pub(super) mod mark;
pub(super) mod marks;
pub(super) mod play;
pub(super) mod screenshot;
