//! The verbs about agents and their work.

pub(super) mod adopt;
pub(super) mod agents;
pub(super) mod checkpoint;
pub(super) mod hook;
pub(super) mod hooks;
pub(super) mod result;
pub(super) mod resume;
