//! Shed: the oldest part of a recording, let go so that what comes later has room. A recording that may shed says so in its
//! second entry, with room behind it: first that it begins behind that room, later where it goes on, and where the screen
//! is that stood there. That entry is put in the place of the one before in one piece, and what it leads to is there first.

use serde::{Deserialize, Serialize};

use super::kept::Lacks;
use super::{Entry, FARTHEST, HEADER, Kind, LONGEST, cut_payload, cut_says};
use crate::evidence::frame::{body_from_line, body_to_line};

/// The first entries stand in here, within one page of any machine, so that none is ever half replaced.
pub const HEAD: u64 = 4096;
/// How much room there is for a screen.
pub const SLOT: u64 = (HEADER + LONGEST) as u64 / HEAD * HEAD + HEAD;
/// Where screens are put: where the last one is, the next one is not.
pub const SLOTS: [u64; 2] = [HEAD, HEAD + SLOT];
/// Where what is recorded begins.
pub const BEGINS: u64 = HEAD + 2 * SLOT;

/// Where a recording goes on behind what it has shed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shed {
    /// The offset of the first frame that is kept.
    pub goes_on: u64,
    /// How many entries came before it, this one included.
    pub entries: u64,
    /// The offset of the frame with the screen that stood there; none before anything was let go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<u64>,
    /// What of that screen there was no room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<Lacks>,
}

impl Shed {
    /// What a recording begins with that has not shed anything.
    pub const NOTHING: Self = Self { goes_on: BEGINS, entries: 2, screen: None, lacks: None };

    /// The payload of the entry that says it.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        body_to_line(self).unwrap_or_default()
    }

    /// What an entry says of it; none if it is no such entry.
    #[must_use]
    pub fn of(entry: &Entry<'_>) -> Option<Self> {
        if entry.kind != Kind::Shed {
            return None;
        }
        let shed: Self = body_from_line(entry.payload).ok()?;
        let near =
            [shed.goes_on, shed.entries, shed.screen.unwrap_or(0)].iter().all(|number| *number < FARTHEST);
        near.then_some(shed)
    }

    /// What is missing for whoever reads this entry after so many bytes of output and so many entries, in one sentence; none
    /// if nothing is.
    #[must_use]
    pub fn says(entry: &Entry<'_>, position: u64, entries: u64) -> Option<String> {
        let shed = Self::of(entry)?;
        let bytes = entry.position.saturating_sub(position);
        let missing = bytes > 0 || shed.entries > entries + 1;
        let why = "they were let go, so that what came later has room";
        let lacks = shed.lacks.map_or_else(String::new, |lacks| format!("; {}", lacks.says()));
        missing.then(|| cut_says(&cut_payload(bytes, &format!("{why}{lacks}"))))
    }

    /// Where the next screen may be put.
    #[must_use]
    pub fn free_slot(&self) -> u64 {
        let [first, second] = SLOTS;
        if self.screen == Some(first) { second } else { first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_tells_people_what_went_and_readers_where_to_go_on() {
        let shed = Shed { goes_on: 1 << 40, entries: 1 << 30, screen: Some(SLOTS[0]), lacks: None };
        let payload = shed.payload();
        let entry = Entry { kind: Kind::Shed, number: 0, time: 0, position: 4096, payload: &payload };
        assert_eq!((Shed::of(&entry), entry.counted(1)), (Some(shed), 1 << 30));
        let says = Shed::says(&entry, 0, 1).unwrap();
        assert!(says.starts_with("4096 bytes of output are missing: they were let go"), "{says}");
        let plain = Shed { lacks: Some(Lacks::Looks), ..shed }.payload();
        let says = Shed::says(&Entry { payload: &plain, ..entry }, 0, 1).unwrap();
        assert!(
            says.ends_with("the screen that stood there was too large: its colours and links are missing"),
            "{says}"
        );
        // Who had read some of it before it went misses only the rest.
        assert!(Shed::says(&entry, 4000, 7).unwrap().starts_with("96 bytes"));
        assert_eq!((shed.free_slot(), Shed::NOTHING.free_slot()), (SLOTS[1], SLOTS[0]));
        assert_eq!(Shed::of(&Entry { kind: Kind::Output, ..entry }), None);
        assert_eq!(Shed::of(&Entry { payload: b"{}", ..entry }), None);
    }

    #[test]
    fn before_anything_was_let_go_nothing_is_missing() {
        let payload = Shed::NOTHING.payload();
        let entry = Entry { kind: Kind::Shed, number: 2, time: 0, position: 0, payload: &payload };
        assert_eq!((Shed::says(&entry, 0, 1), entry.counted(1)), (None, 2));
        assert!(BEGINS.is_multiple_of(HEAD) && SLOT >= (HEADER + LONGEST) as u64);
    }
}
