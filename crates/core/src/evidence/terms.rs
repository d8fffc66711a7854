//! Terms: what was asked for with a launch beside the program itself.

use serde::{Deserialize, Serialize};

use super::is_false;

/// What was asked for with a launch, beside the program itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Terms {
    /// The session is to be ended after this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The patience at each step of that end. Versions that did not record it had two seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// The session is to be removed once it is over and its outcome is on record.
    #[serde(default, skip_serializing_if = "is_false")]
    pub remove: bool,
    /// All that was known before the exec was to be on the disk before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub durable: bool,
    /// The recording is cut when it takes so many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u64>,
    /// It is not cut then: its oldest part is let go instead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep_last: bool,
    /// Files are saved this often; 0: not just because time has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_ms: Option<u64>,
}

impl Terms {
    /// Where the recording is cut, if it is.
    #[must_use]
    pub fn cut_at(&self) -> Option<u64> {
        self.record_bytes.filter(|_| !self.keep_last)
    }

    /// With how much of it its oldest part is let go, if it is.
    #[must_use]
    pub fn shed_at(&self) -> Option<u64> {
        self.record_bytes.filter(|_| self.keep_last)
    }

    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
