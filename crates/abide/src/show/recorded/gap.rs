//! What is missing in a recording, for people and programs.

use abide_engine::Gap;
use schemars::JsonSchema;
use serde::Serialize;

/// Something that is missing in a recording.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Gap")]
pub(crate) struct GapView {
    #[schemars(extend("enum" = ["damage", "cut"]))]
    kind: &'static str,
    /// Which bytes of the file cannot be read, if it is damage.
    offset: Option<u64>,
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
            Gap::Cut(why) => Self { kind: "cut", offset: None, length: None, cut: Some(why.clone()) },
        }
    }
}

/// A gap in one sentence.
pub(crate) fn says(gap: &Gap) -> String {
    match gap {
        Gap::Damage { offset, length } => {
            format!("{length} bytes of the recording at byte {offset} cannot be read")
        }
        Gap::Cut(why) => format!("the recording was cut: {why}"),
    }
}
