//! Instants of a recording, for people and programs.

use abide_core::instant::{At, Instant};
use schemars::JsonSchema;
use serde::Serialize;

use crate::show::time::Time;

/// An instant of a recording, by each of its names.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Instant")]
pub(crate) struct InstantView {
    pub(crate) at: Time,
    /// Since the recording began, as `--at` takes it.
    pub(crate) since: String,
    /// How many entries came.
    pub(crate) entry: u64,
    /// How many bytes of output came.
    pub(crate) seq: u64,
}

impl InstantView {
    pub(crate) fn new(instant: Instant) -> Self {
        Self {
            at: Time(instant.wall),
            since: At::Since(instant.micros).to_string(),
            entry: instant.entry,
            seq: instant.position,
        }
    }
}
