//! Following the recording: bytes into the screen, bytes out to clients, queries answered once.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use abide_core::evidence::Body;
use abide_core::keyframe::GAPS;
use abide_core::passage::{Passage, Passed};
use abide_core::recording::kept::Kept;
use abide_core::recording::veil::{Phase, Stage, Tag};
use abide_core::recording::{Entry, Kind, closing};
use abide_core::screen::{Screen, Size, Told};
use abide_core::wire::CLIENTS;
use abide_sys::{clock, disk};

use super::prompt::{NotNow, Prompt};
use crate::recording::damage::{Damage, Gap};
use crate::recording::file::RecordingFile;
use crate::recording::keyframes::{self, Keyframer, Point};
use crate::recording::replayed::Replayed;
use crate::recording::whole::Due;
use crate::recording::{Found, Reader, shed};
use crate::spill::Spill;
use crate::store::{SessionDir, Writer};

/// How many pieces are taken in before anyone else is heard, and for how long.
const PIECES_A_TURN: u32 = 4;
const TURN_MS: u64 = 20;

pub(super) struct Follow {
    reader: Reader,
    sync: File,
    lags: bool,
    mind: Mind,
    keyframer: Keyframer,
    /// With how much of the recording its oldest part is let go, if it is; whether it was told that it could not be.
    shed_at: Option<u64>,
    told_why_not: bool,
    /// A place that could not be read, until what follows tells whether anything is missing there.
    damage: Option<Damage>,
    due: Due,
    /// The `exec` that the guard was told of and that may not be on record yet, and until when it is believed to come.
    coming: Option<(String, u64)>,
}

/// How long the guard may take to put a tag on record.
const TAG_MS: u64 = 2_000;

/// What is new for clients, in its order.
pub(super) enum News {
    Shown(Passed),
    /// What follows is made for this size.
    Resized(Size),
    /// This mark is on record at this position.
    Marked(String, u64),
    /// How far the line of this `exec` is.
    Executed {
        nonce: String,
        progress: Progress,
    },
}

/// How far a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Runs,
    /// It is over, or will not run.
    Over,
    /// Another one began before its end was told: in a shell that it started, unless it was broken off.
    Below,
}

/// What the recording makes of a host.
struct Mind {
    replayed: Replayed,
    /// Queries up to here have been answered, by this host or one before it.
    answered: u64,
    /// How far the output is on record.
    recorded: u64,
    /// The last number of each client that a guard took, as far as it is on record.
    taken: Vec<(u64, u64)>,
    /// What attached terminals may get of the output.
    passage: Passage,
    /// Where the line of the last `exec` ran.
    ran: u64,
    prompt: Prompt,
}

impl Follow {
    /// Goes on from the last keyframe that a host before this one left, in the recording that the guard writes, whatever
    /// became of its name.
    pub(super) fn new(dir: &SessionDir, recording: Option<File>) -> io::Result<Self> {
        let sync = recording.map_or_else(|| dir.growing_recording(), Ok)?;
        let recording = RecordingFile::from(sync.try_clone()?);
        let Point { offset, replayed, taken, weight } = Point::latest(dir, &recording, |_| true);
        let reader = Reader::new(recording, offset);
        let mut passage = Passage::default();
        // Only what is not whole is held back; all that is, was shown before.
        let _ = passage.pass(&replayed.screen.unfinished());
        let ran = replayed.position;
        // Of what came before a keyframe, nobody knows what was typed.
        let prompt = if offset > 0 { Prompt::behind(replayed.position) } else { Prompt::default() };
        let mind = Mind { answered: 0, recorded: replayed.position, replayed, taken, passage, ran, prompt };
        let launched = dir.read().evidence().beginning.launched;
        let shed_at = launched.and_then(|told| told.body.terms.shed_at());
        let keyframer = Keyframer::behind(offset, weight, shed_at.is_some());
        let due = Due::growing(offset);
        Ok(Self {
            reader,
            sync,
            lags: true,
            mind,
            keyframer,
            shed_at,
            told_why_not: false,
            damage: None,
            due,
            coming: None,
        })
    }

    /// Whether this tag may be put on record: one `exec` at a time, unless the line of the one before ran when
    /// this position was seen, and is known to be over since; and only at a prompt at which nobody typed since.
    pub(super) fn admits(&mut self, tag: &Tag, seen: u64, now: u64) -> Result<(), NotNow> {
        if tag.phase != Phase::Begin {
            return Ok(());
        }
        let Mind { replayed, ran, prompt, .. } = &mut self.mind;
        let others = replayed.veil.nonce() != tag.nonce;
        let busy = match replayed.veil.stage() {
            // Another one ran since: nobody knows whether its shell is at the prompt again.
            Stage::Open => seen > 0 && seen < *ran,
            Stage::Awaiting => others && !replayed.veil.is_forsaken(now.saturating_mul(1000)),
            Stage::Running => others && seen < (*ran).max(1),
        };
        let coming = self.coming.as_ref().is_some_and(|(nonce, until)| *until > now && *nonce != tag.nonce);
        if busy || coming {
            return Err(NotNow::Other);
        }
        prompt.admits(&replayed.screen, (seen, now), replayed.veil.stage() == Stage::Running)?;
        self.coming = Some((tag.nonce.clone(), now.saturating_add(TAG_MS)));
        Ok(())
    }

    /// The `exec` whose line runs, as far as anyone said.
    pub(super) fn running(&self) -> Option<&str> {
        let veil = &self.mind.replayed.veil;
        (veil.stage() == Stage::Running).then(|| veil.nonce())
    }

    pub(super) const fn screen(&self) -> &Screen {
        &self.mind.replayed.screen
    }

    pub(super) const fn position(&self) -> u64 {
        self.mind.replayed.position
    }

    /// How far the output is on record.
    pub(super) const fn recorded(&self) -> u64 {
        self.mind.recorded
    }

    /// How long the line is that was begun, for a program that reads whole ones.
    pub(super) const fn line(&self) -> u64 {
        self.mind.prompt.line()
    }

    /// How many entries are on record.
    pub(super) const fn entries(&self) -> u64 {
        self.mind.replayed.entries
    }

    /// What closes the last frame of the recording, if whoever wrote it died over it.
    pub(super) fn torn(&self) -> Vec<u8> {
        closing(self.reader.unread())
    }

    /// The bytes that show the screen on an attaching terminal, without the sequence that is not whole yet:
    /// that one passes as a whole when it is.
    pub(super) fn picture(&self, scrollback: usize) -> Vec<u8> {
        let mut picture = self.screen().dump(scrollback);
        let held = self.mind.passage.held();
        if picture.ends_with(held) {
            picture.truncate(picture.len() - held.len());
        }
        picture
    }

    /// The size of the program's terminal, if it has one.
    pub(super) fn size(&self) -> Option<Size> {
        self.mind.replayed.has_terminal.then(|| self.screen().size())
    }

    /// How much of the recording there is, and how much of it was taken in.
    pub(super) fn length(&self) -> u64 {
        self.sync.metadata().map_or(0, |meta| meta.len())
    }

    pub(super) const fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// When the screen stood as it stands, in microseconds of boot time.
    pub(super) const fn time(&self) -> u64 {
        self.mind.replayed.time
    }

    /// Whether there is more on record than was taken in.
    pub(super) const fn lags(&self) -> bool {
        self.lags
    }

    pub(super) fn taken(&self) -> &[(u64, u64)] {
        &self.mind.taken
    }

    pub(super) fn answered(&mut self, position: u64) {
        self.mind.answered = self.mind.answered.max(position);
    }

    /// The recording, to be flushed.
    pub(super) const fn recording(&self) -> &File {
        &self.sync
    }

    /// Whether others find the recording where it should be.
    pub(super) fn is_named(&self, dir: &SessionDir) -> bool {
        let named = dir.growing_recording().and_then(|named| disk::file_id(&named));
        named.ok() == disk::file_id(&self.sync).ok()
    }

    /// Whether the recording has not been removed.
    pub(super) fn is_kept(&self) -> bool {
        self.sync.metadata().is_ok_and(|meta| meta.nlink() > 0)
    }

    /// Keeps the screen for the next host, if enough was taken in since that was done last, and lets go of what the recording
    /// may not keep. Where that cannot be done, it is noted once; and tried again, unless it never can be.
    pub(super) fn keep(&mut self, dir: &SessionDir, apart: u64, evidence: &mut Writer) {
        if !self.keyframer.is_due(apart, &self.reader) {
            return;
        }
        self.keyframer.add(dir, &self.reader, &self.mind.replayed, &self.mind.taken);
        let Some(most) = self.shed_at.filter(|_| self.is_named(dir)) else { return };
        match shed::shed(dir, most, self.reader.offset()) {
            Ok(true) => self.keyframer.reopen(),
            Ok(false) => {}
            Err(error) => {
                self.shed_at.take_if(|_| error.kind() == io::ErrorKind::Unsupported);
                if !self.told_why_not {
                    let text =
                        format!("the recording grows on, for its oldest part cannot be let go: {error}");
                    // Without room for that either, it is told once there is some.
                    self.told_why_not = evidence.add(clock::now(), Body::Noted(text.into())).is_ok();
                }
            }
        }
    }

    /// Takes in what was recorded since. True if there was anything.
    pub(super) fn on(
        &mut self,
        spill: &Spill,
        news: &mut impl FnMut(News),
        answer: &mut impl FnMut(u64, Vec<u8>),
    ) -> bool {
        let Self { mind, coming, damage, due, .. } = self;
        let mut take = |found: Found<'_>| match found {
            Found::NoScreen { offset } => mind.replayed.gaps.push(Gap::Screen(offset)),
            Found::Damage { offset, bytes, hole } => {
                let apart = Damage::add(damage, offset, bytes, hole);
                mind.replayed.gaps.extend(apart.map(|apart| apart.told()));
            }
            Found::Entry(entry) => {
                if entry.position > mind.replayed.position && entry.kind != Kind::Shed {
                    // What was shown while the disk was full comes before what was recorded afterwards.
                    mind.take_spilt(spill, entry.position, news, answer);
                }
                mind.note_missing(&entry, due, damage.take());
                mind.take(&entry, news, answer);
                if entry.kind == Kind::Exec {
                    *coming = None;
                }
                mind.replayed.entries = entry.counted(mind.replayed.entries);
            }
        };
        let mut any = false;
        self.lags = true;
        let until = clock::now().boot.saturating_add(TURN_MS);
        for _ in 0..PIECES_A_TURN {
            if !self.reader.advance(&mut take).unwrap_or(false) {
                self.lags = false;
                self.reader.rest();
                break;
            }
            any = true;
            // Those of a flood are as close as all others.
            if self.keyframer.is_due(keyframes::EVERY, &self.reader) || clock::now().boot >= until {
                break;
            }
        }
        if !self.lags {
            any |= self.mind.take_spilt(spill, u64::MAX, news, answer);
            self.mind.unveil(news);
        }
        any
    }

    /// When the veil gives back what it keeps, should nothing come before.
    pub(super) fn wake_at(&self) -> Option<u64> {
        self.mind.replayed.veil.forsaken_at().map(|at| at.div_ceil(1_000))
    }
}

impl Mind {
    fn take(
        &mut self,
        entry: &Entry<'_>,
        news: &mut impl FnMut(News),
        answer: &mut impl FnMut(u64, Vec<u8>),
    ) {
        let before = (self.replayed.veil.stage(), self.replayed.veil.nonce().to_owned());
        for notice in self.replayed.take(entry) {
            let Told::Answer(bytes) = notice.what else { continue };
            self.prompt.note_asked(notice.at);
            if notice.at > self.answered {
                self.answered = notice.at;
                answer(notice.at, bytes);
            }
        }
        match entry.kind {
            Kind::Output | Kind::Errors => {
                self.recorded = entry.position + entry.payload.len() as u64;
                self.prompt.shown(entry, &self.replayed.screen);
                news(News::Shown(self.passage.pass(self.replayed.shown(entry))));
            }
            Kind::Input | Kind::Hidden | Kind::Exec => {
                self.note_taken(entry.payload);
                self.prompt.note_typed(entry, &self.replayed.screen);
            }
            Kind::Resize => news(News::Resized(self.replayed.screen.size())),
            Kind::Cut | Kind::Shed => self.recorded = entry.position,
            Kind::Screen => self.go_on_from(entry, news),
            Kind::Mark => {
                news(News::Marked(String::from_utf8_lossy(entry.payload).into_owned(), entry.position));
            }
            Kind::Lines => self.prompt.note_lines(),
            Kind::Answer => self.prompt.note_answered(entry),
            Kind::Start => {}
        }
        self.tell_exec(before, news);
    }

    /// Notes what is not on record before an entry, nor in the spill, and so may be missing on the screen.
    fn note_missing(&mut self, entry: &Entry<'_>, due: &mut Due, damage: Option<Damage>) {
        let missing = due.gaps_before(entry, self.replayed.position, damage);
        let told = Gap::told_by(entry, &self.replayed).filter(|_| entry.position > self.replayed.position);
        let gaps = &mut self.replayed.gaps;
        gaps.extend(missing.chain(told));
        gaps.drain(..gaps.len().saturating_sub(GAPS));
    }

    /// Behind what was let go: of what came before, no more is known than stands here.
    fn go_on_from(&mut self, entry: &Entry<'_>, news: &mut impl FnMut(News)) {
        let Some(kept) = Kept::of(entry.payload) else { return };
        self.taken = kept.taken;
        self.ran = entry.position;
        self.prompt = Prompt::behind(entry.position);
        self.passage = Passage::default();
        news(News::Resized(self.replayed.screen.size()));
        news(News::Shown(self.passage.pass(&kept.screen.bytes)));
    }

    /// Tells how far an `exec` has come since.
    fn tell_exec(&mut self, (stage, nonce): (Stage, String), news: &mut impl FnMut(News)) {
        let veil = &self.replayed.veil;
        let same = veil.nonce() == nonce;
        if stage != Stage::Open && !(same && veil.stage() != Stage::Open) {
            let below = stage == Stage::Running && veil.stage() == Stage::Awaiting;
            news(News::Executed { nonce, progress: if below { Progress::Below } else { Progress::Over } });
        } else if stage != veil.stage() && veil.stage() == Stage::Running {
            self.ran = self.replayed.position;
            news(News::Executed { nonce, progress: Progress::Runs });
        }
    }

    /// Shows what the veil does not keep back any more, now that all was taken in.
    fn unveil(&mut self, news: &mut impl FnMut(News)) {
        if self.replayed.veil.is_at_rest() {
            return;
        }
        let before = (self.replayed.veil.stage(), self.replayed.veil.nonce().to_owned());
        if let Some(shown) = self.replayed.unveil_by(clock::boot_micros()) {
            news(News::Shown(self.passage.pass(shown)));
        }
        self.tell_exec(before, news);
    }

    /// Takes in what is not on record up to a position. True if there was anything.
    fn take_spilt(
        &mut self,
        spill: &Spill,
        until: u64,
        news: &mut impl FnMut(News),
        answer: &mut impl FnMut(u64, Vec<u8>),
    ) -> bool {
        let (recorded, time, size) = (self.recorded, self.replayed.time, self.replayed.screen.size());
        let span = self.replayed.position..until;
        let mut any = false;
        spill.unrecorded(span.start).each(span, size, time, &mut |entry| {
            self.take(entry, news, answer);
            any = true;
        });
        self.recorded = recorded;
        any
    }

    fn note_taken(&mut self, payload: &[u8]) {
        let number = |at: usize| {
            payload.get(at..at + 8).map(|bytes| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
        };
        if let (Some(client), Some(seq)) = (number(0), number(8)) {
            self.taken.retain(|(known, _)| *known != client);
            if self.taken.len() == CLIENTS {
                self.taken.remove(0);
            }
            self.taken.push((client, seq));
        }
    }
}
