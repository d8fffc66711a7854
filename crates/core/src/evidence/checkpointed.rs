//! The fact that a file was saved: which, how much of it, and why. Its bytes stand in the copy that it names.

use serde::{Deserialize, Serialize};

/// A file was saved as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpointed {
    /// The copy, below the session's directory: its first `size` bytes are the checkpoint, unless it has patches.
    pub path: String,
    /// The file that was saved.
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    pub size: u64,
    /// How much of it was not in the copy before.
    #[serde(default)]
    pub new: u64,
    /// CRC-32 of all of it.
    #[serde(default)]
    pub sum: u32,
    #[serde(default)]
    pub reason: Reason,
    /// Somebody asked for this file by its name: it is saved from then on.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub named: bool,
    /// The adapter and the conversation whose transcript it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<Patched>,
}

/// How a copy of a database is kept of which parts changed since: an image first, then patches, up to this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patched {
    /// The length of the image.
    pub base: u64,
    pub end: u64,
}

macro_rules! reasons {
    ($($reason:ident $name:literal $says:literal,)+) => {
        /// Why it was saved then.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Reason {
            $(#[doc = $says] $reason,)+
            /// One that a later abide knows.
            #[default]
            #[serde(other)]
            Other,
        }

        impl Reason {
            /// The names of all that this version knows.
            pub const NAMES: &'static [&'static str] = &[$($name,)+ "other"];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)+
                    Self::Other => "other",
                }
            }

            /// In words for people.
            #[must_use]
            pub const fn says(self) -> &'static str {
                match self {
                    $(Self::$reason => $says,)+
                    Self::Other => "for a reason of a later version",
                }
            }
        }
    };
}

reasons! {
    Interval "interval" "the time was up",
    Hangup "hangup" "a hangup was heard",
    Terminate "terminate" "a process of the session was told to go",
    Stop "stop" "the session was asked to stop",
    Settled "settled" "the turn was done",
    End "end" "the agent or the session ended",
    Asked "asked" "somebody asked",
}

impl Reason {
    /// Whether it is on record even if nothing is new: whoever reads it knows that somebody looked.
    #[must_use]
    pub const fn is_always_told(self) -> bool {
        match self {
            Self::Interval | Self::Settled => false,
            Self::Hangup | Self::Terminate | Self::Stop | Self::End | Self::Asked | Self::Other => true,
        }
    }
}

impl Checkpointed {
    /// The number of the copy; none if it has none.
    #[must_use]
    pub fn copy(&self) -> Option<u64> {
        self.path.rsplit('/').next()?.parse().ok()
    }

    /// How long the copy is with it.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.patched.map_or(self.size, |patched| patched.end)
    }

    #[must_use]
    pub fn says(&self) -> String {
        let Self { file, size, new, path, reason, .. } = self;
        format!("saved {file}: {size} bytes, {new} new, to {path}: {}", reason.says())
    }
}
