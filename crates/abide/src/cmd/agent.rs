//! The verbs about agents.

pub(crate) mod agents;
