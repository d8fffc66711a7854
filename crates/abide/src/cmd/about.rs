//! The verbs about abide itself, not about sessions.

pub(super) mod config;
pub(super) mod schema;
pub(super) mod version;
