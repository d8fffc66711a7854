//! The verbs about abide itself, not about sessions.

mod candidates;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod man;
mod roff;
pub(super) mod schema;
pub(super) mod selftest;
pub(super) mod skill;
pub(super) mod version;
