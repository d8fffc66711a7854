//! The keyframes of a session: written by its host as the recording grows, read by whoever needs a screen. A cache:
//! without them everything is replayed from the start, and with them nothing comes out otherwise.

use std::fs::File;
use std::os::unix::fs::FileExt;

use abide_core::keyframe::{self, Body, HEADER, Head, MARK};
use abide_core::screen::Screen;
use abide_sys::disk;

use super::file::RecordingFile;
use super::replayed::Replayed;
use super::{Reader, next_mark};
use crate::store::SessionDir;

/// How much of the recording stands between two keyframes.
pub(crate) const EVERY: u64 = 2 << 20;
/// How much must stand behind the last one for another to be worth it at the end.
pub(crate) const AT_THE_END: u64 = 64 * 1024;

/// From where a recording is to be replayed.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) offset: u64,
    pub(crate) replayed: Replayed,
    /// The last number that was taken of each client.
    pub(crate) taken: Vec<(u64, u64)>,
}

impl Point {
    /// The beginning of the recording.
    pub(crate) fn start() -> Self {
        Self { offset: 0, replayed: Replayed::new(), taken: Vec::new() }
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
        let found = scan(&file).into_iter().rev().filter(|(_, head)| wanted(head));
        found.into_iter().find_map(|(at, head)| open(&file, at, &head, recording)).unwrap_or_else(Self::start)
    }
}

/// Where keyframes begin in the file, and where in the recording they stand; in the order of the file.
fn scan(file: &File) -> Vec<(u64, Head)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut header = [0; HEADER];
    while file.read_exact_at(&mut header, at).is_ok() {
        match keyframe::head(&header) {
            Some((head, length)) => {
                found.push((at, head));
                at += (HEADER + length) as u64;
            }
            None => match next_mark(file, MARK, at + 1) {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    found
}

/// The screen of a keyframe, if it is whole and the recording is the one it was made from.
fn open(file: &File, at: u64, head: &Head, recording: &RecordingFile) -> Option<Point> {
    let mut behind = [0; abide_core::recording::HEADER];
    recording.read_exact_at(&mut behind, head.behind_at).ok()?;
    if behind != head.behind || recording.length().ok()? < head.offset {
        return None;
    }
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
    let Body { has_terminal, taken, screen } = keyframe::body(&header, &bytes)?;
    let screen = Screen::thaw(&screen)?;
    let Head { offset, position, time, entries, .. } = *head;
    let replayed = Replayed { screen, position, time, entries, has_terminal };
    Some(Point { offset, replayed, taken })
}

/// Adds keyframes as a recording is followed.
#[derive(Debug)]
pub(crate) struct Keyframer {
    /// None before the first.
    file: Option<File>,
    /// The offset of the recording at which the last one stands.
    last: u64,
}

impl Keyframer {
    /// Goes on behind the keyframe at this offset of the recording.
    pub(crate) const fn new(last: u64) -> Self {
        Self { file: None, last }
    }

    /// Whether the recording has grown by so much since the last.
    pub(crate) const fn is_due(&self, apart: u64, reader: &Reader) -> bool {
        reader.offset() >= self.last.saturating_add(apart)
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
        let &Replayed { ref screen, position, time, entries, has_terminal } = replayed;
        let head = Head { offset: self.last, position, time, entries, behind, behind_at };
        let body = Body { has_terminal, taken: taken.to_vec(), screen: screen.freeze() };
        // One that does not fit is missed: whoever needs it replays from the one before.
        if self.file.is_none() {
            self.file = dir.append_keyframes().ok();
        }
        if let (Some(file), Some(bytes)) = (&self.file, keyframe::encode(&head, &body)) {
            let _ = disk::append(file, &bytes);
        }
    }
}
