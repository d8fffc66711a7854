//! What is missing in a recording, and damage: a place that cannot be read, until what follows tells whether anything is
//! missing there.

use abide_core::recording::kept::Kept;
use abide_core::recording::shed::Shed;
use abide_core::recording::{
    Entry, HEADER, Kind, claimed, cut_begins, cut_says, is_torn_output, is_written_again,
};

use super::replayed::Replayed;

const OTHER_VERSION: &str = "the screen that stood there was kept by a version that is not this one";

/// In how many places something is missing or damaged, as it is told.
pub(crate) fn in_places(count: u64) -> String {
    if count == 1 { "in one place".to_owned() } else { format!("in {count} places") }
}

/// Something that is missing in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// So many bytes of the file cannot be read.
    Damage { offset: u64, length: u64 },
    /// Output was not recorded here: how much, and why.
    Cut(String),
    /// So many bytes of output that came here are on record no more.
    Missing(u64),
    /// The screen behind what was let go, at this offset of the file, cannot be read.
    Screen(u64),
    /// It does not begin where a recording begins; with so many bytes of output before what is there.
    Beginning(u64),
}

impl Gap {
    /// What an entry itself says that is missing before it, for whoever has come so far.
    pub(crate) fn told_by(entry: &Entry<'_>, so_far: &Replayed) -> Option<Self> {
        let says = match entry.kind {
            Kind::Cut => Some(cut_says(entry.payload)),
            Kind::Shed => Shed::says(entry, so_far.position, so_far.entries),
            Kind::Screen => Kept::of(entry.payload).is_none().then(|| OTHER_VERSION.to_owned()),
            Kind::Start
            | Kind::Output
            | Kind::Errors
            | Kind::Input
            | Kind::Hidden
            | Kind::Answer
            | Kind::Lines
            | Kind::Resize
            | Kind::Mark
            | Kind::Exec => None,
        };
        says.map(Self::Cut)
    }

    /// As it is stored with a screen: where, how much, and why.
    pub(crate) fn stored(&self) -> (u64, u64, String) {
        match self {
            Self::Damage { offset, length } => (*offset, *length, String::new()),
            Self::Cut(why) => (0, 0, why.clone()),
            Self::Screen(offset) => (*offset, 0, String::new()),
            Self::Missing(bytes) | Self::Beginning(bytes) => (0, *bytes, self.says()),
        }
    }

    /// The inverse.
    pub(crate) fn of_stored((offset, length, why): (u64, u64, String)) -> Self {
        match (length, why.as_str()) {
            (0, "") => Self::Screen(offset),
            (_, "") => Self::Damage { offset, length },
            (..) => Self::Cut(why),
        }
    }

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
            Self::Screen(offset) => format!(
                "the screen behind what was let go, at byte {offset} of the recording, cannot be read: what stood there is \
                 missing until it was drawn again"
            ),
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
    pub(crate) fn add(known: &mut Option<Self>, offset: u64, bytes: &[u8], hole: u64) -> Option<Self> {
        let length = bytes.len() as u64 + hole;
        match known {
            Some(known) if known.offset + known.length == offset => {
                known.length += length;
                None
            }
            Some(_) | None => {
                let beginning = bytes[..bytes.len().min(HEADER + 1)].to_vec();
                known.replace(Self { offset, length, beginning })
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

    /// Whether so much output may have stood there; else more is missing than cannot be read.
    pub(super) const fn may_hold(&self, output: u64) -> bool {
        output <= self.length
    }

    pub(crate) const fn told(&self) -> Gap {
        Gap::Damage { offset: self.offset, length: self.length }
    }
}
