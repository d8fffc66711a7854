//! Gathering: a recording, from where its index stands to its end, into lines.

use std::io;

use abide_core::recording::veil::{Tag, Veil};
use abide_core::recording::{Entry, Kind};
use abide_core::screen::Screen;
use abide_core::search::harvest::Harvest;
use abide_core::search::{Lines, Place, Point};

use abide_sys::clock::boot_micros;

use super::index::Index;
use crate::recording::damage::{Damage, Gap};
use crate::recording::file::RecordingFile;
use crate::recording::limit::{Clock, read_start};
use crate::recording::replayed::Replayed;
use crate::recording::whole::Due;
use crate::recording::{Found, Reader};
use crate::store::SessionDir;
use crate::truth::Session;

/// How much text is put away at once.
const BLOCK: usize = 512 * 1024;
/// After how much of a recording it is told how far it is.
const TELL: u64 = 4 << 20;
/// After how much of a recording what was taken in is kept, so that a killed writer costs no more than this.
const KEEP: u64 = 64 << 20;
/// How much of an entry the screen takes at once, so that little is held of what scrolls by.
const PIECE: usize = 64 * 1024;
/// The client and its number stand before what it typed.
const BEFORE_TYPED: usize = 16;

/// A recording that is being taken into its index.
struct Gathering {
    replayed: Replayed,
    harvest: Harvest,
    /// What is not put away yet.
    lines: Lines,
    clock: Clock,
}

/// Takes in what the index lacks of the recording, and tells how far it has come, in bytes.
pub(super) fn gather(
    index: &mut Index,
    dir: &SessionDir,
    session: &Session,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let recording = dir.recording()?;
    // Asked before it is known how much there is: what comes later is later than this.
    let now = boot_micros();
    let length = recording.length()?;
    let over = session.is_over();
    let mut gathering = match Gathering::resume(index, &recording, session) {
        Some(gathering) => gathering,
        None => {
            index.clear();
            Gathering::begin(&recording, session)
        }
    };
    let mut reader = Reader::new(recording, index.point.place.offset).limited(length);
    let (mut told, mut kept) = (reader.offset(), reader.offset());
    let (mut finished, mut damage) = (false, None::<Damage>);
    let mut due = Due::of(session, index.point.place.offset);
    loop {
        match reader.peek()? {
            Some(Found::Entry(entry)) => {
                let position = gathering.replayed.position;
                let missing = due.gaps_before(&entry, position, damage.take()).count() as u64;
                let told = Gap::told_by(&entry, &gathering.replayed);
                index.point.gaps += missing + u64::from(told.is_some());
                gathering.take(&entry);
            }
            Some(Found::NoScreen { .. }) => index.point.gaps += 1,
            Some(Found::Damage { offset, bytes, hole }) => {
                let apart = Damage::add(&mut damage, offset, bytes, hole);
                index.point.gaps += u64::from(apart.is_some());
            }
            // What is not whole of a session that is over never will be.
            None if over && !std::mem::replace(&mut finished, true) => {
                reader.finish();
                continue;
            }
            None => break,
        }
        reader.pass();
        if gathering.lines.bytes() >= BLOCK {
            index.put_away(&mut gathering.lines);
        }
        if reader.offset() >= told + TELL {
            told = reader.offset();
            progress(told);
        }
        if reader.offset() >= kept + KEEP {
            kept = reader.offset();
            gathering.keep(&mut index.point, &reader, false);
            index.tell(dir);
        }
    }
    index.point.gaps += u64::from(over && damage.is_some());
    gathering.stand_until(now, over);
    gathering.keep(&mut index.point, &reader, over);
    // What is held back comes to be seen without another entry, so there is more to look at.
    let held = gathering.replayed.screen.is_held();
    index.point.read_to = if held { 0 } else { length };
    progress(length);
    index.tell(dir);
    Ok(())
}

impl Gathering {
    fn begin(recording: &RecordingFile, session: &Session) -> Self {
        let start = read_start(recording);
        let mut replayed = Replayed::new();
        if start.is_none() {
            // What it would have said is in the evidence too.
            replayed.start(session.evidence.beginning.launched.as_ref().and_then(|told| told.body.size));
        }
        replayed.screen.watch(&mut |_| 0);
        let clock = Clock::of(start.as_ref(), session);
        Self { replayed, harvest: Harvest::default(), lines: Lines::default(), clock }
    }

    /// Goes on where the index stands, if it was made of this recording and kept what is needed.
    fn resume(index: &Index, recording: &RecordingFile, session: &Session) -> Option<Self> {
        let Point { place, screen, veil, harvest, text, rest, .. } = &index.point;
        if !index.belongs_to(recording) {
            return None;
        }
        let Place { entries, position, time, has_terminal, .. } = *place;
        let lines = Lines::from_columns(text, rest)?;
        let mut screen = Screen::thaw(screen)?;
        screen.watch(&mut |text| lines.name_of(text));
        let kept = Replayed::of(screen, Veil::thaw(veil)?);
        let replayed = Replayed { position, time, entries, has_terminal, ..kept };
        let clock = Clock::of(read_start(recording).as_ref(), session);
        Some(Self { replayed, harvest: Harvest::resume(harvest)?, lines, clock })
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let Self { replayed, harvest, lines, clock } = self;
        let micros = clock.micros(entry.time);
        elapse((replayed, harvest, lines), *clock, entry.time);
        harvest.before(entry.kind, micros, &mut replayed.screen, lines);
        replayed.entries = entry.counted(replayed.entries);
        match entry.kind {
            Kind::Output | Kind::Errors => {
                let mut position = entry.position;
                for payload in entry.payload.chunks(PIECE) {
                    // What the program asked was answered long ago.
                    let _ = replayed.take(&Entry { position, payload, ..*entry });
                    position += payload.len() as u64;
                    let at = clock.instant(replayed, replayed.time);
                    let Replayed { screen, track, .. } = replayed;
                    harvest.during(at, |fed| track.position(fed), screen, lines);
                }
                harvest.after(clock.instant(replayed, replayed.time), &mut replayed.screen, lines);
            }
            Kind::Input => {
                replayed.pass(entry);
                let typed = entry.payload.get(BEFORE_TYPED..).unwrap_or_default();
                harvest.typed(typed, clock.instant(replayed, replayed.time), lines);
            }
            Kind::Exec => {
                replayed.pass(entry);
                let keys = Tag::of(entry.payload).map(|tag| tag.keys()).unwrap_or_default();
                harvest.typed(&keys, clock.instant(replayed, replayed.time), lines);
            }
            // Either ends an update.
            Kind::Resize | Kind::Screen => {
                let _ = replayed.take(entry);
                harvest.after(clock.instant(replayed, replayed.time), &mut replayed.screen, lines);
            }
            Kind::Start | Kind::Hidden | Kind::Answer | Kind::Lines | Kind::Mark | Kind::Cut | Kind::Shed => {
                drop(replayed.take(entry));
            }
        }
    }

    /// All was read that is there now: the last screen stands until now, and that of a session that is over for good.
    fn stand_until(&mut self, now: u64, over: bool) {
        let Self { replayed, harvest, lines, clock } = self;
        elapse((replayed, harvest, lines), *clock, now);
        if over && replayed.screen.is_held() {
            // It stood until the end, whatever that shows in its place.
            harvest.look(&mut replayed.screen, lines);
        }
        let shown = match over {
            true => replayed.finish().is_some() | replayed.stand(None),
            false => replayed.unveil_by(now).is_some(),
        };
        if shown {
            harvest.after(clock.instant(replayed, replayed.time), &mut replayed.screen, lines);
        }
    }

    /// Keeps what the next one needs to go on.
    fn keep(&mut self, point: &mut Point, reader: &Reader, over: bool) {
        let Self { replayed, harvest, lines, clock } = self;
        harvest.rest(clock.instant(replayed, replayed.time), &mut replayed.screen, lines);
        let Replayed { position, time, entries, has_terminal, .. } = *replayed;
        let behind = reader.behind().or(point.place.behind);
        point.place = Place { offset: reader.offset(), behind, entries, position, time, has_terminal };
        if over {
            harvest.finish_typed(clock.instant(replayed, replayed.time), lines);
        }
        point.screen = if over { Vec::new() } else { replayed.screen.freeze() };
        point.veil = replayed.veil.freeze();
        point.harvest = harvest.keep();
        (point.text, point.rest) = lines.columns();
    }
}

/// Lets the time pass. What a synchronized update that was not ended in time held back is seen when it is let go.
fn elapse((replayed, harvest, lines): (&mut Replayed, &mut Harvest, &mut Lines), clock: Clock, time: u64) {
    let Some(ends) = replayed.screen.hold_ends().filter(|ends| *ends <= time) else {
        return;
    };
    harvest.before(Kind::Output, clock.micros(ends), &mut replayed.screen, lines);
    replayed.screen.elapse(ends);
    harvest.after(clock.instant(replayed, ends), &mut replayed.screen, lines);
}
