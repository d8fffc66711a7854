//! The keyframes of a session: written by its host as the recording grows, read by whoever needs a screen. A cache:
//! without them everything is replayed from the start, and with them nothing comes out otherwise.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use abide_core::keyframe::{self, Body, HEADER, Head, MARK};
use abide_core::recording::veil::Veil;
use abide_core::screen::Screen;
use abide_sys::disk;

use super::damage::Damage;
use super::damage::Gap;
use super::file::RecordingFile;
use super::replayed::Replayed;
use super::whole::Due;
use super::{Found, Reader, next_mark, shed};
use crate::store::SessionDir;
use crate::truth::Session;

/// How much of the recording stands between two keyframes, unless they are heavy.
pub(crate) const EVERY: u64 = 1 << 20;
/// Behind one that is, so many times its weight.
const LIGHT: u64 = 4;
/// How much must stand behind the last one for another to be worth it at the end.
pub(crate) const AT_THE_END: u64 = 64 * 1024;
/// With so many times as much to replay, a keyframe is missing.
const FAR: u64 = 4;

/// From where a recording is to be replayed.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) offset: u64,
    pub(crate) replayed: Replayed,
    /// The last number that was taken of each client.
    pub(crate) taken: Vec<(u64, u64)>,
    /// How many bytes its keyframe takes.
    pub(crate) weight: u64,
}

impl Point {
    /// The beginning of the recording.
    pub(crate) fn start() -> Self {
        Self { offset: 0, replayed: Replayed::new(), taken: Vec::new(), weight: 0 }
    }

    /// The last keyframe that is wanted and holds what it should, else the beginning.
    pub(crate) fn latest(
        dir: &SessionDir,
        recording: &RecordingFile,
        wanted: impl Fn(&Head) -> bool,
    ) -> Self {
        let Ok(file) = dir.keyframes() else {
            return Self::start();
        };
        let mut found = scan(&file);
        found.retain(|(_, head, _)| wanted(head));
        // As a rule they stand in this order already.
        found.sort_by_key(|(_, head, _)| std::cmp::Reverse(head.offset));
        found
            .into_iter()
            .find_map(|(at, head, _)| open(&file, at, &head, recording))
            .unwrap_or_else(Self::start)
    }
}

/// The screens kept within this part of the recording, from first to last.
pub(crate) fn within(
    dir: &SessionDir,
    recording: &RecordingFile,
    part: Range<u64>,
) -> impl Iterator<Item = Point> {
    let file = dir.keyframes().ok();
    let mut found = file.as_ref().map(scan).unwrap_or_default();
    found.retain(|(_, head, _)| part.contains(&head.offset));
    found.sort_by_key(|(_, head, _)| head.offset);
    found.into_iter().filter_map(move |(at, head, _)| open(file.as_ref()?, at, &head, recording))
}

/// Forgets those that stand behind frames before this offset of the recording.
pub(crate) fn forget_before(dir: &SessionDir, offset: u64) -> std::io::Result<()> {
    let file = dir.keyframes()?;
    let (gone, kept): (Vec<_>, Vec<_>) =
        scan(&file).into_iter().partition(|(_, head, _)| head.behind_at < offset);
    if gone.is_empty() {
        return Ok(());
    }
    let end = file.metadata()?.len();
    let from = kept.into_iter().map(|(at, ..)| at).min().unwrap_or(end);
    dir.replace_keyframes(&mut Part { file, at: from }.take(end - from))
}

/// What is in a file from some place on.
struct Part {
    file: File,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let got = self.file.read_at(into, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// Whether the recording still has the frame that a keyframe stands behind.
fn stands(head: &Head, recording: &RecordingFile) -> bool {
    let mut behind = [0; abide_core::recording::HEADER];
    let read = recording.read_exact_at(&mut behind, head.behind_at);
    let length = recording.length().unwrap_or(0);
    read.is_ok() && behind == head.behind && length >= head.offset
}

/// Whether all keyframes are as they were written, and no place of a finished recording is far behind one.
pub(crate) fn are_whole(dir: &SessionDir) -> std::io::Result<bool> {
    let recording = dir.recording()?;
    let length = recording.length()?;
    let mut last = shed::begins(&recording);
    let mut far = FAR * EVERY;
    let Ok(file) = dir.keyframes() else {
        return Ok(length.saturating_sub(last) <= far);
    };
    if !is_sound(&file) {
        return Ok(false);
    }
    if length.saturating_sub(last) <= far {
        return Ok(true);
    }
    let mut found = scan(&file);
    found.sort_by_key(|(_, head, _)| head.offset);
    // Those of another recording do not stand in this one; one tells for all.
    if found.last().is_some_and(|(_, head, _)| !stands(head, &recording)) {
        return Ok(false);
    }
    let found = found.into_iter().map(|(_, head, weight)| (head.offset, weight));
    for (offset, weight) in found.chain([(length, 0)]) {
        if offset > last + far {
            return Ok(false);
        }
        (last, far) = (offset, FAR * apart(EVERY, weight));
    }
    Ok(true)
}

/// How far behind a keyframe of this weight the next one stands. One that is seldom needed must not cost many times what is
/// replayed without it.
const fn apart(least: u64, weight: u64) -> u64 {
    let most = LIGHT.saturating_mul(weight);
    if most > least { most } else { least }
}

/// Makes the keyframes of a finished recording anew.
pub(crate) fn rebuild(dir: &SessionDir, session: &Session) -> std::io::Result<()> {
    make(dir, session, EVERY, AT_THE_END)
}

/// Makes keyframes that are so far apart, and one at the end that is so far behind the last.
pub(super) fn make(dir: &SessionDir, session: &Session, every: u64, at_the_end: u64) -> std::io::Result<()> {
    dir.remove_keyframes()?;
    let recording = dir.recording()?;
    let mut replayed = Replayed::begun(&recording, session);
    let sheds = shed::said(&recording).is_some();
    let mut reader = Reader::new(recording, 0);
    let mut keyframer = Keyframer::behind(0, 0, sheds);
    let (mut due, mut damage) = (Due::of(session, 0), None::<Damage>);
    while let Some(found) = reader.peek()? {
        match found {
            Found::Entry(entry) => {
                let missing = due.gaps_before(&entry, replayed.position, damage.take());
                let missing = missing.chain(Gap::told_by(&entry, &replayed));
                replayed.gaps.extend(missing);
                // Nobody waits for answers any more.
                let _ = replayed.take(&entry);
                replayed.entries = entry.counted(replayed.entries);
            }
            Found::NoScreen { offset } => replayed.gaps.push(Gap::Screen(offset)),
            Found::Damage { offset, bytes, hole } => {
                let apart = Damage::add(&mut damage, offset, bytes, hole);
                replayed.gaps.extend(apart.map(|apart| apart.told()));
            }
        }
        reader.pass();
        if keyframer.is_due(every, &reader) {
            keyframer.add(dir, &reader, &replayed, &[]);
        }
    }
    if keyframer.is_due(at_the_end, &reader) {
        keyframer.add(dir, &reader, &replayed, &[]);
    }
    Ok(())
}

/// Where keyframes begin in the file, where in the recording they stand, and how long they are; in the order of the file.
fn scan(file: &File) -> Vec<(u64, Head, u64)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut header = [0; HEADER];
    while file.read_exact_at(&mut header, at).is_ok() {
        match keyframe::head(&header) {
            Some((head, length)) => {
                let weight = (HEADER + length) as u64;
                found.push((at, head, weight));
                at += weight;
            }
            None => match next_mark(file, MARK, at + 1) {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    found
}

/// Whether a file of keyframes holds whole ones and nothing else.
fn is_sound(file: &File) -> bool {
    let mut header = [0; HEADER];
    let mut at = 0;
    while file.read_exact_at(&mut header, at).is_ok() {
        match keyframe::head(&header) {
            Some((_, length)) if load(file, at).is_some() => at += (HEADER + length) as u64,
            Some(_) | None => return false,
        }
    }
    file.metadata().is_ok_and(|meta| meta.len() == at)
}

/// What a keyframe holds, if it is whole.
fn load(file: &File, at: u64) -> Option<Body> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, at).ok()?;
    let (_, length) = keyframe::head(&header)?;
    let end = at + (HEADER + length) as u64;
    // A length that the file does not have costs no memory.
    if file.metadata().ok()?.len() < end {
        return None;
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at + HEADER as u64).ok()?;
    keyframe::body(&header, &bytes)
}

/// The screen of a keyframe, if it is whole and the recording is the one it was made from.
fn open(file: &File, at: u64, head: &Head, recording: &RecordingFile) -> Option<Point> {
    if !stands(head, recording) {
        return None;
    }
    let Body { has_terminal, taken, gaps, veil, screen } = load(file, at)?;
    let weight = (HEADER + screen.len()) as u64;
    let kept = Replayed::of(Screen::thaw(&screen)?, Veil::thaw(&veil)?);
    let gaps = gaps.into_iter().map(Gap::of_stored).collect();
    let Head { offset, position, time, entries, .. } = *head;
    let replayed = Replayed { position, time, entries, gaps, has_terminal, ..kept };
    Some(Point { offset, replayed, taken, weight })
}

/// Adds keyframes as a recording is followed.
#[derive(Debug)]
pub(crate) struct Keyframer {
    /// None before the first.
    file: Option<File>,
    /// The offset of the recording at which the last one stands.
    last: u64,
    /// How many bytes that takes.
    weight: u64,
    /// What is let go of is let go at a keyframe, and those before it with it: so they stand close, whatever they weigh.
    sheds: bool,
}

impl Keyframer {
    /// Goes on behind the keyframe of this weight at this offset of the recording, which may be let go of or not.
    pub(crate) const fn behind(last: u64, weight: u64, sheds: bool) -> Self {
        Self { file: None, last, weight, sheds }
    }

    /// Others have put another file in the place of the one that was added to.
    pub(crate) fn reopen(&mut self) {
        self.file = None;
    }

    /// Whether the recording has grown by so much since the last, or by more if that was heavy.
    pub(crate) const fn is_due(&self, least: u64, reader: &Reader) -> bool {
        let apart = if self.sheds { least } else { apart(least, self.weight) };
        reader.offset() >= self.last.saturating_add(apart) && !reader.is_led()
    }

    /// Adds one, of the screen that all that was read so far makes.
    pub(crate) fn add(
        &mut self,
        dir: &SessionDir,
        reader: &Reader,
        replayed: &Replayed,
        taken: &[(u64, u64)],
    ) {
        self.last = reader.offset();
        let Some((behind_at, behind)) = reader.behind() else {
            return;
        };
        let &Replayed { ref screen, ref veil, position, time, entries, ref gaps, has_terminal, .. } =
            replayed;
        let gaps = gaps.iter().map(Gap::stored).collect();
        let head = Head { offset: self.last, position, time, entries, behind, behind_at };
        let (veil, screen) = (veil.freeze(), screen.freeze());
        let body = Body { has_terminal, taken: taken.to_vec(), gaps, veil, screen };
        // What was deleted is begun anew.
        self.file.take_if(|file| file.metadata().is_ok_and(|file| file.nlink() == 0));
        // One that does not fit is missed: whoever needs it replays from the one before.
        if self.file.is_none() {
            self.file = dir.append_keyframes().ok();
        }
        if let (Some(file), Some(bytes)) = (&self.file, keyframe::encode(&head, &body)) {
            self.weight = bytes.len() as u64;
            let _ = disk::append(file, &bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use abide_sys::disk::PrivateDir;
    use abide_testkit::scene::over;
    use abide_testkit::{ScratchHome, Tape};

    use super::*;
    use crate::Sessions;

    #[test]
    fn keyframes_of_heavy_screens_cost_no_more_than_a_quarter_of_the_recording_and_one_more() {
        let home = ScratchHome::new();
        let scene = over(&home.path(), "heavy000");
        let row = |row: usize| format!("\x1b[{row};1H\x1b]8;;https://host/{row}\x07link {row}\x1b]8;;\x07");
        let screen: String = (1..=50).map(row).collect();
        let tape = (0..200).fold(Tape::new(80, 50), |tape, _| tape.output(&screen));
        tape.put(scene.dir());
        let dir = SessionDir::from_trusted(PrivateDir::open(scene.dir()).expect("it is ours"));
        let session =
            Sessions::open(&home.path()).expect("it is ours").find("heavy000").expect("it is there");
        let length = dir.recording().and_then(|recording| recording.length()).expect("it is there");
        let heads = |every: u64| {
            make(&dir, &session, every, 1).expect("there is room");
            scan(&dir.keyframes().expect("there are some"))
        };
        let found = heads(1000);
        let all: u64 = found.iter().map(|(_, _, weight)| weight).sum();
        let most = found.iter().map(|(_, _, weight)| *weight).max().expect("there are some");
        assert!(found.len() > 2 && all <= length / LIGHT + most, "{} take {all} of {length}", found.len());
        assert!(are_whole(&dir).expect("it can be read"));
        assert_eq!(
            heads(length / 2).len(),
            2,
            "where they are light beside it, they are as far apart as is asked"
        );
    }
}
