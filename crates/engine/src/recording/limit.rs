//! Where in a recording an instant is: the recording's own time and numbers for what people and programs name.

use std::io;
use std::ops::Range;

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::instant::{At, Instant, Time};
use abide_core::keyframe::Head;
use abide_core::recording::{Entry, HEADER, Kind, Next, Start, next};
use abide_core::status::Status;
use abide_core::verdict::Now;

use super::file::RecordingFile;
use super::keyframes::Point;
use super::replayed::Replayed;
use super::{Found, Reader};
use crate::client::mark::{self, Marking};
use crate::find;
use crate::store::{Home, SessionDir};
use crate::truth::Session;

/// ENOMEM, ENFILE and EMFILE: nothing is wrong with the recording.
const OURS: [i32; 3] = [12, 23, 24];
/// The first entry is not longer.
const START: usize = 4096;

/// Why a recording cannot be read. One that is gone, or that its disk does not give back, is damage; what we have run
/// out of is not.
pub(crate) fn failed((id, status): (&SessionId, Status), error: &io::Error) -> Failure {
    let ours = error.raw_os_error().is_some_and(|number| OURS.contains(&number));
    let failure = if ours {
        Failure::io("read the recording of session", id, error)
    } else {
        let why = if status.is_destroyed() {
            "was removed with it".to_owned()
        } else if error.kind() == io::ErrorKind::NotFound {
            "is gone".to_owned()
        } else {
            format!("cannot be read: {error}")
        };
        Failure::new(Code::Damaged, format!("the recording of session {id} {why}"))
            .hint(format!("`abide why {id}` shows what is still on record"))
    };
    failure.about(id.as_str()).in_status(status)
}

/// Nothing was ever recorded of a program that was started elsewhere.
pub(crate) fn unrecorded(session: &Session) -> Option<Failure> {
    let id = &session.id;
    session.is_unrecorded().then(|| {
        let why =
            format!("session {id} has no recording: its program was started elsewhere, and is only followed");
        Failure::new(Code::NoTerminal, why)
            .hint(format!(
                "`abide events {id}` shows what is on record; what `run` and `resume` start is recorded"
            ))
            .about(id.as_str())
            .in_status(session.verdict.status)
    })
}

/// The end of a span comes before its beginning.
#[must_use]
pub fn reversed(id: &SessionId, status: Status) -> Failure {
    Failure::new(Code::BadTime, "the span ends before it begins")
        .hint("give the earlier instant with --from and the later one with --to")
        .about(id.as_str())
        .in_status(status)
}

/// All that was asked for was let go.
#[must_use]
pub fn let_go(id: &SessionId, status: Status) -> Failure {
    Failure::new(
        Code::BadTime,
        format!("what session {id} showed then was let go, so that what came later has room"),
    )
    .hint(format!("`abide logs {id}` shows what is left"))
    .about(id.as_str())
    .in_status(status)
}

/// The recording ends before this, with which the span begins, or now is before it.
pub(super) fn too_short((id, status): (&SessionId, Status), from: Limit, replayed: &Replayed) -> Failure {
    let Replayed { position, entries, .. } = replayed;
    let there = format!("its recording has {entries} entries with {position} bytes of output");
    let asked = match from {
        Limit::Position(position) => At::Position(position).to_string(),
        Limit::Entry(entry) => At::Entry(entry).to_string(),
        Limit::Start | Limit::Time { .. } | Limit::None => "that time yet".to_owned(),
    };
    let has = format!("session {id} has not come to {asked}: {there}");
    Failure::new(Code::BadTime, has)
        .hint(format!("`abide snapshot {id}` shows its last screen"))
        .about(id.as_str())
        .in_status(status)
}

pub(crate) fn read_start(recording: &RecordingFile) -> Option<Start> {
    let mut bytes = vec![0; HEADER + START];
    let length = recording.read_at(&mut bytes, 0).ok()?;
    match next(&bytes[..length]) {
        Next::Entry(Entry { kind: Kind::Start, payload, .. }, _) => body_from_line(payload).ok(),
        Next::Entry(..) | Next::Other(_) | Next::Damage(_) | Next::More(_) => None,
    }
}

/// When in wall time, in ms, what came at this time came, as it is told with that.
pub(crate) fn recorded_at(home: &Home, session: &Session, time: Time, now: Now) -> i64 {
    if let Time::Wall(wall) = time {
        return wall;
    }
    let recording = home.session(&session.id).ok().and_then(|dir| dir.recording().ok());
    let start = recording.and_then(|recording| read_start(&recording));
    Clock::of(start.as_ref(), session).wall(time, session, now)
}

/// Turns the recording's own time into that of people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// When the recording began: in ms of wall time, and in microseconds of boot time.
    wall_ms: i64,
    boot_us: u64,
}

impl Clock {
    /// The first entry says it; else the launch was at about the same time.
    pub(crate) fn of(start: Option<&Start>, session: &Session) -> Self {
        let launched = || session.evidence.beginning.launched.as_ref().map(|told| told.at);
        match (start, launched()) {
            (Some(start), _) => Self { wall_ms: start.wall_ms, boot_us: start.boot_us },
            (None, Some(at)) => Self { wall_ms: at.wall, boot_us: at.boot.saturating_mul(1000) },
            (None, None) => Self { wall_ms: 0, boot_us: 0 },
        }
    }

    /// Since the recording began.
    pub(crate) const fn micros(self, time: u64) -> u64 {
        time.saturating_sub(self.boot_us)
    }

    /// Where a replay is, at this time.
    pub(crate) fn instant(self, replayed: &Replayed, time: u64) -> Instant {
        Instant { entry: replayed.entries, position: replayed.position, ..self.at(time) }
    }

    /// This time as both clocks say it.
    pub(super) fn at(self, time: u64) -> Instant {
        let micros = self.micros(time);
        let wall = self.wall_ms.saturating_add(i64::try_from(micros / 1000).unwrap_or(i64::MAX));
        Instant { micros, wall, ..Instant::default() }
    }

    /// This time on the wall clock of when the recording began, in ms: if that was set since, its times are as if it had
    /// not been.
    fn wall(self, time: Time, session: &Session, now: Now) -> i64 {
        let launched = session.evidence.beginning.launched.as_ref();
        let shares = launched.is_some_and(|told| now.shares_clock(&session.evidence, told));
        let began = i64::try_from(self.boot_us / 1000).unwrap_or(i64::MAX);
        let boot = i64::try_from(now.at.boot).unwrap_or(i64::MAX);
        time.wall(if shares { self.wall_ms.saturating_add(boot - began) } else { now.at.wall })
    }

    fn time(self, wall: i64, session: &Session) -> Result<Limit, Failure> {
        let ms = u64::try_from(wall.saturating_sub(self.wall_ms)).map_err(|_| find::not_yet(session))?;
        let asked = self.boot_us.saturating_add(ms.saturating_mul(1000));
        // All that came within that very millisecond.
        Ok(Limit::Time { asked, until: asked.saturating_add(999) })
    }

    pub(super) fn limit(
        self,
        at: &At,
        (session, now): (&Session, Now),
        place: (&Home, &SessionDir, &RecordingFile),
    ) -> Result<Limit, Failure> {
        Ok(match at {
            At::Wall(wall) => self.time(*wall, session)?,
            At::Ago(ms) => self.time(self.wall(Time::Ago(*ms), session, now), session)?,
            At::Since(micros) => {
                let asked = self.boot_us.saturating_add(*micros);
                Limit::Time { asked, until: asked }
            }
            At::Position(position) => Limit::Position(*position),
            At::Entry(entry) => Limit::Entry(*entry),
            At::Mark(name) => {
                let (home, dir, recording) = place;
                let told = mark::last(home, session, name);
                let found = find_mark(dir, recording, name, told.as_ref().map(|told| told.position));
                let found = found.map_err(|error| failed((&session.id, session.verdict.status), &error))?;
                match (found, told) {
                    (Some((_, position)), Some(told)) if position < told.position => told.limit(),
                    (Some((entry, _)), _) => Limit::Entry(entry),
                    (None, Some(told)) => told.limit(),
                    (None, None) => return Err(no_mark(session, name)),
                }
            }
        })
    }
}

impl Marking {
    /// One that is not in the recording, which was cut: only its time leads there.
    const fn limit(&self) -> Limit {
        Limit::Time { asked: self.boot_us, until: self.boot_us.saturating_add(999) }
    }
}

/// Up to where a recording is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// No further than the entry that every recording begins with.
    Start,
    /// The time that was asked for, and the last one that still counts.
    Time {
        asked: u64,
        until: u64,
    },
    Position(u64),
    Entry(u64),
    None,
}

impl Limit {
    /// How much of this entry's payload is within it, if anything of it is; so many entries came before.
    pub(super) fn admits(self, entry: &Entry<'_>, entries: u64) -> Option<usize> {
        let whole = entry.payload.len();
        // Before the first entry there is not even a screen.
        if entry.kind == Kind::Start {
            return Some(whole);
        }
        // Who asks for what was let go is led to where the recording goes on, and told.
        if [Kind::Shed, Kind::Screen].contains(&entry.kind) && self != Self::Start {
            return Some(whole);
        }
        let admitted = match self {
            Self::Start => false,
            Self::Time { until, .. } => entry.time <= until,
            Self::Entry(limit) => entry.counted(entries) <= limit,
            Self::None => true,
            Self::Position(limit) => match entry.kind {
                Kind::Output | Kind::Errors => {
                    let left = limit.checked_sub(entry.position).filter(|left| *left > 0)?;
                    return Some(usize::try_from(left).map_or(whole, |left| left.min(whole)));
                }
                Kind::Start
                | Kind::Input
                | Kind::Hidden
                | Kind::Answer
                | Kind::Lines
                | Kind::Resize
                | Kind::Mark
                | Kind::Exec
                | Kind::Cut
                | Kind::Shed
                | Kind::Screen => entry.position <= limit,
            },
        };
        admitted.then_some(whole)
    }

    /// Whether so late a time is still within it, where nothing came in between.
    pub(super) fn admits_time(self, time: u64) -> bool {
        self.time().is_none_or(|until| time <= until)
    }

    /// The last time that still counts, if it is given as one.
    pub(super) const fn time(self) -> Option<u64> {
        match self {
            Self::Time { until, .. } => Some(until),
            Self::Start | Self::Position(_) | Self::Entry(_) | Self::None => None,
        }
    }

    pub(super) const fn admits_keyframe(self, head: &Head) -> bool {
        self.admits_place(head.time, head.position, head.entries)
    }

    /// Whether what has come so far is all within it.
    pub(super) const fn admits_replayed(self, replayed: &Replayed) -> bool {
        self.admits_place(replayed.time, replayed.position, replayed.entries)
    }

    const fn admits_place(self, time: u64, position: u64, entries: u64) -> bool {
        match self {
            Self::Start => false,
            Self::Time { until, .. } => time <= until,
            Self::Position(limit) => position <= limit,
            Self::Entry(limit) => entries <= limit,
            Self::None => true,
        }
    }

    /// Whether a span that begins there, which led here, would have to go back to it.
    pub(super) const fn is_before(self, from: Self, here: &Replayed) -> bool {
        match (self, from) {
            (Self::Time { until, .. }, Self::Time { asked, .. }) => until < asked,
            (Self::Time { until, .. }, _) => until < here.time,
            (Self::Position(position), _) => position < here.position,
            (Self::Entry(entry), _) => entry < here.entries,
            (Self::Start | Self::None, _) => false,
        }
    }

    /// Whether it may be in output that came and is not on record.
    pub(super) fn is_within(self, missing: Range<u64>) -> bool {
        match self {
            Self::Position(position) => position <= missing.end && !missing.is_empty(),
            Self::Entry(_) => !missing.is_empty(),
            Self::Start | Self::Time { .. } | Self::None => false,
        }
    }

    /// Whether it is so long after the beginning that this is before it; the last there is has no time. Of wall time, whose
    /// clock may have been set since, nobody can say that.
    pub(super) fn is_behind(self, now: u64) -> bool {
        matches!(self, Self::Time { asked, until } if asked == until && asked > now && asked < u64::MAX)
    }

    /// Whether a recording that ends here comes to it: a time that comes after the end finds the last screen.
    pub(super) const fn is_reached(self, replayed: &Replayed) -> bool {
        match self {
            Self::Position(position) => position <= replayed.position,
            Self::Entry(entry) => entry <= replayed.entries,
            Self::Start | Self::Time { .. } | Self::None => true,
        }
    }
}

/// The number of the entry that last set a mark of this name, and its position: looked for where the evidence says that it is, else
/// everywhere.
fn find_mark(
    dir: &SessionDir,
    recording: &RecordingFile,
    name: &str,
    position: Option<u64>,
) -> io::Result<Option<(u64, u64)>> {
    let found = match position {
        Some(position) => {
            let near = Point::latest(dir, recording, |head| head.position <= position);
            last_mark(recording, name, (near.offset, near.replayed.entries), position)?
        }
        None => None,
    };
    match found {
        Some(mark) => Ok(Some(mark)),
        None => last_mark(recording, name, (0, 0), u64::MAX),
    }
}

/// The last mark of this name from an offset on, up to a position; so many entries came before.
fn last_mark(
    recording: &RecordingFile,
    name: &str,
    (offset, before): (u64, u64),
    until: u64,
) -> io::Result<Option<(u64, u64)>> {
    let mut reader = Reader::new(recording.try_clone()?, offset).limited(recording.length()?);
    let (mut entries, mut found) = (before, None);
    while let Some(next) = reader.peek()? {
        if let Found::Entry(entry) = next {
            if entry.position > until {
                break;
            }
            entries = entry.counted(entries);
            if entry.kind == Kind::Mark && entry.payload == name.as_bytes() {
                found = Some((entries, entry.position));
            }
        }
        reader.pass();
    }
    Ok(found)
}

fn no_mark(session: &Session, name: &str) -> Failure {
    let id = &session.id;
    Failure::new(Code::BadTime, format!("session {id} has no mark `{name}`"))
        .hint(format!("`abide marks {id}` lists the marks it has"))
        .about(id.as_str())
        .in_status(session.verdict.status)
}
