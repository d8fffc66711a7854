//! The verbs about what was recorded: instants of it, spans of it, and what they are made into.

pub(super) mod diff;
pub(super) mod export;
pub(super) mod mark;
pub(super) mod marks;
pub(super) mod play;
pub(super) mod screenshot;

use abide_core::failure::{Code, Failure};
use abide_core::instant;

/// A duration of a recording that a flag gives, in microseconds.
///
/// # Errors
/// If it is none.
fn duration(text: &str) -> Result<u64, Failure> {
    instant::micros(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is no duration"))
            .hint("a duration is given as 2s, 1.5s or 1m30s")
    })
}
