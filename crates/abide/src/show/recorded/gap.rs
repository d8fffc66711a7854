//! What is missing in a recording, for people and programs.

use abide_engine::Gap;
use schemars::JsonSchema;
use serde::Serialize;

/// Something that is missing in a recording.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Gap")]
pub(crate) struct GapView {
    #[schemars(extend("enum" = ["damage", "cut", "missing"]))]
    kind: &'static str,
    /// Where in the file bytes cannot be read, if it is damage.
    offset: Option<u64>,
    /// How many those are; or how many bytes of output are gone, at the beginning or at the end,
    /// if that is missing.
    length: Option<u64>,
    /// How many bytes of output were not recorded and why, if it is a cut.
    cut: Option<String>,
}

impl GapView {
    pub(crate) fn new(gap: &Gap) -> Self {
        match gap {
            Gap::Damage { offset, length } => {
                Self { kind: "damage", offset: Some(*offset), length: Some(*length), cut: None }
            }
            Gap::Missing(bytes) | Gap::Beginning(bytes) => {
                Self { kind: "missing", offset: None, length: Some(*bytes), cut: None }
            }
            Gap::Cut(why) => Self { kind: "cut", offset: None, length: None, cut: Some(why.clone()) },
        }
    }
}
