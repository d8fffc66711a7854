//! What is missing in a recording, and damage: a place that cannot be read, until what follows tells whether anything is
//! missing there.

use abide_core::recording::{Entry, HEADER, Kind, claimed, cut_begins, is_torn_output, is_written_again};

/// Something that is missing in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// So many bytes of the file cannot be read.
    Damage { offset: u64, length: u64 },
    /// Output was not recorded here: how much, and why.
    Cut(String),
    /// So many bytes of output that came here are on record no more.
    Missing(u64),
    /// It does not begin where a recording begins; with so many bytes of output before what is there.
    Beginning(u64),
}

impl Gap {
    /// In one sentence.
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Self::Damage { offset, length } => {
                format!("{length} bytes of the recording at byte {offset} cannot be read")
            }
            Self::Cut(why) => format!("the recording was cut: {why}"),
            Self::Missing(bytes) => {
                format!("{bytes} bytes of output are missing in the recording: they are on record no more")
            }
            Self::Beginning(0) => "the beginning of the recording is missing".to_owned(),
            Self::Beginning(bytes) => {
                format!("the beginning of the recording is missing, with {bytes} bytes of output")
            }
        }
    }
}

/// A place that could not be read.
#[derive(Debug)]
pub(crate) struct Damage {
    offset: u64,
    length: u64,
    /// Its first bytes, as many as tell what it was.
    beginning: Vec<u8>,
}

impl Damage {
    /// Adds to damage that was found; gives the one before if these bytes do not follow it.
    pub(crate) fn add(known: &mut Option<Self>, offset: u64, bytes: &[u8]) -> Option<Self> {
        match known {
            Some(known) if known.offset + known.length == offset => {
                known.length += bytes.len() as u64;
                None
            }
            Some(_) | None => {
                let beginning = bytes[..bytes.len().min(HEADER + 1)].to_vec();
                known.replace(Self { offset, length: bytes.len() as u64, beginning })
            }
        }
    }

    /// Whether it is what a writer tore off and wrote again as the entry that follows, or gave up as that says, so much
    /// output having come before.
    pub(crate) fn is_mended_by(&self, entry: &Entry<'_>, position: u64) -> bool {
        if entry.kind == Kind::Cut {
            return cut_begins(entry) == Some(position) && self.is_torn_at(position);
        }
        entry.position == position && is_written_again(&self.beginning, entry)
    }

    /// Whether it is the beginning of the output that came at this position, torn off for want of room.
    pub(super) fn is_torn_at(&self, position: u64) -> bool {
        is_torn_output(&self.beginning, position)
    }

    /// What it says that it was: to be weighed, never believed.
    pub(super) fn claims(&self) -> Option<Entry<'static>> {
        claimed(&self.beginning)
    }

    pub(crate) const fn told(&self) -> Gap {
        Gap::Damage { offset: self.offset, length: self.length }
    }
}
