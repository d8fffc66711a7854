//! Letting go of the oldest part of a recording, so that the newest fits the room that it may take. The host does it, at a
//! keyframe, and puts the screen of that into the recording itself, so that nobody needs the keyframe. Act by act the
//! recording is what it was or what it is to be, whoever is killed in between.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use abide_core::recording::kept::{Kept, Lacks};
use abide_core::recording::shed::{BEGINS, HEAD, SLOT, Shed};
use abide_core::recording::veil::Stage;
use abide_core::recording::{Entry, HEADER, Kind, Next, header, next, short_number};
use abide_sys::disk;

use super::damage::Gap;
use super::file::RecordingFile;
use super::keyframes::{self, Point};
use crate::store::SessionDir;

/// No recording sheds with less than this: it would lose too much at once, for keyframes are that far apart.
pub const LEAST: u64 = 4 * keyframes::EVERY;

/// What a recording says of what it has shed, and where; none if it is none that sheds.
pub(super) fn said(recording: &RecordingFile) -> Option<(u64, Shed)> {
    let mut head = vec![0; HEAD as usize];
    let got = recording.read_at(&mut head, 0).ok()?;
    let mut rest = &head[..got];
    loop {
        let at = (got - rest.len()) as u64;
        match next(rest) {
            Next::Entry(entry, length) => match Shed::of(&entry) {
                Some(shed) => {
                    return recording
                        .length()
                        .is_ok_and(|length| shed.goes_on <= length)
                        .then_some((at, shed));
                }
                None => rest = &rest[length..],
            },
            Next::Other(length) | Next::Damage(length) => rest = &rest[length..],
            Next::More(_) => return None,
        }
    }
}

/// Where what is there of a recording begins: all before that is said at its beginning, or was let go.
pub(crate) fn begins(recording: &RecordingFile) -> u64 {
    said(recording).map_or(0, |(_, shed)| shed.goes_on)
}

/// The parts of a recording of this length that are ever read: what is said at its beginning, a screen, and the rest.
pub(super) fn parts(recording: &RecordingFile, length: u64) -> [Range<u64>; 3] {
    let Some((_, shed)) = said(recording) else { return [0..0, 0..0, 0..length] };
    let screen = shed.screen.map_or(0..0, |at| at..at.saturating_add(SLOT));
    [0..HEAD, screen, shed.goes_on..length]
}

/// One thing to do to the file, a call or two.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    Write(u64, Vec<u8>),
    /// What comes later is not on the disk before what came earlier.
    Sync,
    GiveBack(Range<u64>),
}

impl Act {
    fn perform(&self, file: &File) -> io::Result<()> {
        match self {
            Self::Write(at, bytes) => file.write_all_at(bytes, *at),
            Self::Sync => file.sync_data(),
            Self::GiveBack(part) if part.is_empty() => Ok(()),
            Self::GiveBack(part) => disk::punch(file, part.clone()),
        }
    }
}

/// Lets go of the oldest part of a recording that takes more than this, or is about to: of what was read of it, which is so
/// much. True if it did.
pub(crate) fn shed(dir: &SessionDir, most: u64, read: u64) -> io::Result<bool> {
    let file = dir.sheddable_recording()?;
    let recording = RecordingFile::from(file.try_clone()?);
    let Some((at, shed)) = said(&recording) else {
        return Err(io::Error::other("it begins with no room to say so"));
    };
    let acts = plan(dir, &recording, (at, shed), most, read)?;
    let sheds = !acts.is_empty();
    // What was let go by one who was killed over it still takes room.
    let acts = if sheds { acts } else { given_back(&shed) };
    acts.iter().try_for_each(|act| act.perform(&file))?;
    if sheds {
        // Those of before are of no use, and do no harm.
        let _ = keyframes::forget_before(dir, begins(&recording));
    }
    Ok(sheds)
}

/// What is to be done; nothing if there is room, or no keyframe to let go at yet.
fn plan(
    dir: &SessionDir,
    recording: &RecordingFile,
    (at, before): (u64, Shed),
    most: u64,
    read: u64,
) -> io::Result<Vec<Act>> {
    let length = recording.length()?;
    // So much may come before it is asked again.
    let full = most.saturating_sub(keyframes::EVERY).saturating_sub(screen_room(recording, &before));
    if length.saturating_sub(before.goes_on) <= full {
        return Ok(Vec::new());
    }
    // More than need be, so that it is not done all the time.
    let from = length.saturating_sub(full / 4 * 3).max(before.goes_on + 1);
    let Some(point) = place(dir, recording, from..read + 1) else { return Ok(Vec::new()) };
    let Some((payload, lacks)) = kept(&point) else {
        return Err(io::Error::other("what stands around its screen is too large to be kept"));
    };
    let (slot, entries) = (before.free_slot(), point.replayed.entries);
    let shed = Shed { goes_on: point.offset, entries, screen: Some(slot), lacks };
    let (time, position) = (point.replayed.time, point.replayed.position);
    let screen = framed(&Entry { kind: Kind::Screen, number: 0, time, position, payload: &payload });
    let number = short_number(entries);
    let said = framed(&Entry { kind: Kind::Shed, number, time, position, payload: &shed.payload() });
    if at + said.len() as u64 > HEAD {
        return Err(io::Error::other("it begins with too little room to say so"));
    }
    // In this order: where no room can be given back, nothing is hidden either; nothing leads to what is not there; and what
    // goes is what nothing leads to any more.
    let slot_is_free = Act::GiveBack(slot..slot + SLOT);
    let acts = [slot_is_free, Act::Write(slot, screen), Act::Sync, Act::Write(at, said), Act::Sync];
    Ok(acts.into_iter().chain(given_back(&shed)).collect())
}

/// What takes room that nothing leads to.
fn given_back(shed: &Shed) -> Vec<Act> {
    let slot = shed.free_slot();
    vec![Act::GiveBack(BEGINS..shed.goes_on), Act::GiveBack(slot..slot + SLOT)]
}

fn framed(entry: &Entry<'_>) -> Vec<u8> {
    [&header(entry), entry.payload].concat()
}

/// How much room the screen takes that was kept last.
fn screen_room(recording: &RecordingFile, shed: &Shed) -> u64 {
    let mut head = [0; HEADER];
    let read = |at| recording.read_exact_at(&mut head, at).ok();
    match shed.screen.and_then(read).map(|()| next(&head)) {
        Some(Next::More(payload)) => (HEADER + payload) as u64,
        Some(Next::Entry(..) | Next::Other(_) | Next::Damage(_)) | None => 0,
    }
}

/// The first keyframe within this part of the recording behind which it can go on: better one that no synchronized update
/// covers.
fn place(dir: &SessionDir, recording: &RecordingFile, part: Range<u64>) -> Option<Point> {
    let mut first = None;
    for point in keyframes::within(dir, recording, part) {
        let Point { replayed, .. } = &point;
        if !replayed.veil.is_at_rest() {
            continue;
        }
        if !replayed.screen.is_held() {
            return Some(point);
        }
        first = first.or(Some(point));
    }
    first
}

fn kept(point: &Point) -> Option<(Vec<u8>, Option<Lacks>)> {
    let Point { replayed, taken, .. } = point;
    let veil = &replayed.veil;
    let exec = (veil.stage() == Stage::Running).then(|| veil.nonce().to_owned());
    let gaps = replayed.gaps.iter().map(Gap::stored).collect();
    Kept::payload(&replayed.screen, exec, taken.clone(), gaps)
}

#[cfg(test)]
mod tests;
