//! Whether a recording is all there: what the evidence says of its end, held against where it ends. Asked often, so
//! never more than its two ends are read; what is damaged before that, a reader or `doctor` finds.

use abide_core::evidence::Cut;
use abide_core::recording::{Entry, HEADER, Kind, LONGEST, MARK, Next, claimed, next};

use super::damage::{Damage, Gap};
use super::file::RecordingFile;
use super::shed;
use crate::store::SessionDir;
use crate::truth::Session;

/// How much of the end is read first: as a rule the last frame is short.
const SHORT: u64 = 4096;
/// The last frame is not longer.
const LONG: u64 = (HEADER + LONGEST) as u64;

/// What the evidence says of the end of a recording.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Where it was cut last: where there was never room again, the recording itself cannot say it.
    cut: Option<Cut>,
    /// How much output there was in all, once that is known.
    drained: Option<u64>,
    /// The recording is read from its beginning, and nothing was found yet.
    at_beginning: bool,
    /// What is missing at the end was told.
    told: bool,
}

impl Due {
    /// Of one that grows, and of whose end nothing is known, read from this offset on.
    pub(crate) fn growing(offset: u64) -> Self {
        Self { at_beginning: offset == 0, ..Self::default() }
    }

    /// For one that is read from this offset on.
    pub(crate) fn of(session: &Session, offset: u64) -> Self {
        let record = &session.evidence.record;
        let cut = record.cut.as_ref().map(|told| told.body.clone());
        Self { cut, drained: record.drained, at_beginning: offset == 0, told: false }
    }

    /// What was found there is damaged, and told as that.
    pub(crate) const fn damaged(&mut self) {
        self.at_beginning = false;
    }

    /// What is missing before the next entry, so much output having come before it.
    pub(crate) fn missing_before(&mut self, entry: &Entry<'_>, position: u64) -> Option<Gap> {
        let first = std::mem::take(&mut self.at_beginning);
        let missing = entry.position.saturating_sub(position);
        if [Kind::Cut, Kind::Shed].contains(&entry.kind) {
            // It says itself what is missing before it.
            return None;
        }
        // One that is numbered as the first is it: there was no room for the beginning itself.
        if first && entry.kind != Kind::Start && entry.number != 1 {
            return Some(Gap::Beginning(missing));
        }
        (missing > 0).then_some(Gap::Missing(missing))
    }

    /// All that is missing before the next entry, with the place that could not be read, if there is one: that place, unless
    /// nothing was lost there, and output that did not stand there either.
    pub(crate) fn gaps_before(
        &mut self,
        entry: &Entry<'_>,
        position: u64,
        damage: Option<Damage>,
    ) -> impl Iterator<Item = Gap> + use<> {
        let lost = damage.filter(|damage| !damage.is_mended_by(entry, position));
        let was_there =
            lost.as_ref().is_some_and(|lost| lost.may_hold(entry.position.saturating_sub(position)));
        if lost.is_some() {
            self.damaged();
        }
        let missing = self.missing_before(entry, if was_there { entry.position } else { position });
        lost.map(|lost| lost.told()).into_iter().chain(missing)
    }

    /// Whether this damage at the end is where it was cut, which is told once.
    pub(crate) fn tells_of(&self, damage: &Damage, position: u64) -> bool {
        let cut = self.cut.as_ref().filter(|_| !self.told);
        cut.is_some_and(|cut| cut.offset == position) && damage.is_torn_at(position)
    }

    /// That it was cut, once, if all that is there comes to this position and no further.
    pub(crate) fn cut_at(&mut self, position: u64) -> Option<Gap> {
        let Cut { offset, reason } = self.cut.as_ref().filter(|cut| !self.told && cut.offset >= position)?;
        self.told = true;
        Some(Gap::Cut(format!("what came after {offset} bytes of output is missing: {reason}")))
    }

    /// What is missing, once, of a recording that ends at this position and will not go on.
    pub(crate) fn missing_at(&mut self, position: u64) -> Option<Gap> {
        if let Some(cut) = self.cut_at(position) {
            return Some(cut);
        }
        let drained = self.drained.filter(|drained| !self.told && *drained > position)?;
        self.told = true;
        Some(Gap::Missing(drained - position))
    }

    /// How much output may have come at most, so much of it being on record.
    pub(crate) fn may_have_come(&self, on_record: u64) -> u64 {
        let is_cut = self.cut.as_ref().is_some_and(|cut| cut.offset >= on_record);
        self.drained.unwrap_or(if is_cut { u64::MAX } else { on_record })
    }
}

/// Whether all the output is there, as far as the evidence and the end of the file tell; none if that is not known.
pub(crate) fn is_complete(dir: &SessionDir, session: &Session) -> Option<bool> {
    let record = &session.evidence.record;
    let sheds = session.evidence.beginning.launched.as_ref().is_some_and(|told| told.body.terms.keep_last);
    // One that does not say what it has shed is damaged.
    let may_have_shed = || {
        let said = |recording| shed::said(&recording).is_none_or(|(_, shed)| shed.screen.is_some());
        dir.recording().is_ok_and(said)
    };
    if record.cut.is_some() || (sheds && may_have_shed()) {
        return Some(false);
    }
    let drained = record.drained?;
    let Ok(recording) = dir.recording() else {
        return Some(false);
    };
    let reaches = |most| end(&recording, most) >= Some(drained);
    Some(has_beginning(&recording) && (reaches(SHORT) || reaches(LONG)))
}

/// Whether it begins where a recording begins.
fn has_beginning(recording: &RecordingFile) -> bool {
    let mut header = [0; HEADER];
    let read = recording.read_exact_at(&mut header, 0);
    read.is_ok() && claimed(&header).is_some_and(|first| first.kind == Kind::Start)
}

/// Whether a session must have a recording: the evidence says that there was one, and nobody removes it.
pub(crate) fn is_expected(session: &Session) -> bool {
    let written = session.evidence.record.drained.is_some() || session.seen.guard.is_alive();
    let removed = session.verdict.status.is_destroyed() || session.evidence.closing.removing.is_some();
    written && !removed
}

/// The position behind the last frame, if the file ends with it; so much of the file is read at most.
fn end(recording: &RecordingFile, most: u64) -> Option<u64> {
    let length = recording.length().ok()?;
    if length > 0 && length == shed::begins(recording) {
        // There is nothing but the room before its first frame.
        return Some(0);
    }
    let from = length.saturating_sub(most);
    let mut bytes = vec![0; usize::try_from(length - from).ok()?];
    recording.read_exact_at(&mut bytes, from).ok()?;
    // What looks like frames within the output of one stands behind that one's own beginning.
    let mut begins = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&MARK));
    begins.find_map(|at| chain(&bytes[at..]))
}

/// The position behind a row of frames that ends where the bytes end.
fn chain(mut bytes: &[u8]) -> Option<u64> {
    let mut position = 0;
    while !bytes.is_empty() {
        let length = match next(bytes) {
            Next::Entry(Entry { kind: Kind::Output | Kind::Errors, position: at, payload, .. }, length) => {
                position = at + payload.len() as u64;
                length
            }
            Next::Entry(Entry { position: at, .. }, length) => {
                position = at;
                length
            }
            Next::Other(length) => length,
            Next::Damage(_) | Next::More(_) => return None,
        };
        bytes = &bytes[length..];
    }
    Some(position)
}
