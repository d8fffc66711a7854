//! What is missing in a recording, for people and programs.

use abide_engine::Gap;
use schemars::JsonSchema;
use serde::Serialize;

/// Something that is missing in a recording.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Gap")]
pub(crate) struct GapView {
    #[schemars(extend("enum" = ["damage", "cut", "missing", "screen"]))]
    kind: &'static str,
    /// Where in the file bytes cannot be read, if it is damage; or where the screen is that cannot be, which stood behind what
    /// was let go.
    offset: Option<u64>,
    /// How many those are; or how many bytes of output are gone, at the beginning or at the end,
    /// if that is missing.
    length: Option<u64>,
    /// How many bytes of output were not recorded and why, if it is a cut.
    cut: Option<String>,
}

impl GapView {
    pub(crate) fn new(gap: &Gap) -> Self {
        let (offset, length) = match gap {
            Gap::Damage { offset, length } => (Some(*offset), Some(*length)),
            Gap::Screen(offset) => (Some(*offset), None),
            Gap::Missing(bytes) | Gap::Beginning(bytes) => (None, Some(*bytes)),
            Gap::Cut(_) => (None, None),
        };
        let cut = if let Gap::Cut(why) = gap { Some(why.clone()) } else { None };
        Self { kind: Self::kind(gap), offset, length, cut }
    }

    pub(crate) const fn kind(gap: &Gap) -> &'static str {
        match gap {
            Gap::Damage { .. } => "damage",
            Gap::Cut(_) => "cut",
            Gap::Screen(_) => "screen",
            Gap::Missing(_) | Gap::Beginning(_) => "missing",
        }
    }
}
