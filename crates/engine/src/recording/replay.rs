//! A recording again, step by step: the screen at the beginning of a span, from the last keyframe before it, then each
//! entry with the screen that it makes. Finished, torn, damaged or growing: what is missing is told where it is missing.

mod beginning;
mod ending;
mod stride;
mod unrecorded;

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use abide_core::failure::Failure;
use abide_core::instant::{At, Instant, Span};
use abide_core::keyframe::Head;
use abide_core::recording::{Entry, Kind};
use abide_core::screen::{Notice, Screen};
use abide_sys::clock;
use abide_sys::signal::Signals;

use super::damage::{Damage, Gap};
use super::keyframes::Point;
use super::limit::{Clock, Limit, failed, let_go, read_start, reversed, too_short, unrecorded};
use super::replayed::Replayed;
use super::tail::{News, Tail};
use super::whole::Due;
use super::{Found, Reader};
use crate::client::mark::Marking;
use crate::store::Home;
use crate::truth::{Session, Truth};
use beginning::Beginning;
use stride::{Stepped, Taken};

/// After so many entries it is asked whether a signal came.
const SIGNALS_EVERY: u64 = 64;

/// One step of a replay: where it is, and the screen as it stands there.
#[derive(Debug)]
pub struct Step<'a> {
    pub at: Instant,
    pub screen: &'a Screen,
    /// When the next entry comes, in microseconds since the recording began; none if there is none (yet).
    pub until: Option<u64>,
    pub what: What<'a>,
}

impl Step<'_> {
    /// Whether there may be something new to be seen.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        match &self.what {
            What::Begin(_) | What::Screen | What::LetGo => true,
            What::Gap(_) | What::CaughtUp => false,
            What::Entry(entry, _) => match entry.kind {
                Kind::Output | Kind::Errors | Kind::Resize => true,
                Kind::Start
                | Kind::Input
                | Kind::Hidden
                | Kind::Answer
                | Kind::Lines
                | Kind::Mark
                | Kind::Exec
                | Kind::Cut
                | Kind::Shed
                | Kind::Screen => false,
            },
        }
    }
}

/// What a step is.
#[derive(Debug)]
pub enum What<'a> {
    /// Here the span begins. What was missing on the way to here: none of it if the screen was kept before it went.
    Begin(&'a [Gap]),
    /// An entry of the span, and what the program told its terminal with it. A span that begins or ends within the
    /// output of an entry has the part that is in it. Output is as it is shown: without the mechanism of `exec`.
    Entry(Entry<'a>, &'a [Notice]),
    /// Behind what was let go, the screen stood so: nothing that was there before counts.
    Screen,
    Gap(Gap),
    /// A synchronized update was not ended in time: what it drew so far is shown nevertheless.
    LetGo,
    /// All that was there when the question came has been given; what follows is new.
    CaughtUp,
}

/// A recording that is replayed.
#[derive(Debug)]
pub struct Replay<'a> {
    reader: Reader,
    tail: Tail<'a>,
    replayed: Replayed,
    clock: Clock,
    from: Limit,
    to: Limit,
    begun: bool,
    /// When the span begins, if that was given as a time.
    asked: Option<u64>,
    keeps_screen: bool,
    /// What of the entry ahead is given now, and how much of it was taken in.
    piece: Range<usize>,
    given: bool,
    notices: Vec<Notice>,
    beginning: Beginning,
    /// A place that could not be read, until what follows tells whether anything is missing there.
    damage: Option<Damage>,
    due: Due,
}

impl<'a> Replay<'a> {
    pub(crate) fn open(
        truth: &'a Truth,
        home: &'a Home,
        session: &Session,
        span: &Span,
        follow: bool,
    ) -> Result<Self, Failure> {
        unrecorded(session).map_or(Ok(()), Err)?;
        let id = &session.id;
        let failed = |e: io::Error| failed((id, session.verdict.status), &e);
        let dir = home.session(id).map_err(|untrusted| failed(io::Error::other(untrusted.says())))?;
        // Before anything is read: what is shown from now on rings.
        let tail = Tail::of(truth, home, session, follow).map_err(failed)?;
        let recording = dir.recording().map_err(failed)?;
        let start = read_start(&recording);
        let clock = Clock::of(start.as_ref(), session);
        let now = truth.now();
        let limit = |at: &At| clock.limit(at, (session, now), (home, &dir, &recording));
        let from = span.from.as_ref().map(limit).transpose()?.unwrap_or(Limit::Start);
        let to = span.to.as_ref().map(limit).transpose()?.unwrap_or(Limit::None);
        let wanted = |head: &Head| from.admits_keyframe(head);
        let Point { offset, mut replayed, .. } = Point::latest(&dir, &recording, wanted);
        if offset == 0 {
            replayed = Replayed::begun(&recording, session);
        }
        let gaps = std::mem::take(&mut replayed.gaps);
        let length = if follow { u64::MAX } else { recording.length().map_err(failed)? };
        Ok(Self {
            reader: Reader::new(recording, offset).limited(length),
            tail,
            replayed,
            clock,
            from,
            to,
            begun: false,
            asked: None,
            keeps_screen: true,
            piece: 0..0,
            given: false,
            notices: Vec::new(),
            beginning: Beginning { gaps, ..Beginning::default() },
            damage: None,
            due: Due::of(session, offset),
        })
    }

    /// From the span's beginning on, the screen is not kept: for who wants the entries alone.
    #[must_use]
    pub const fn without_screen(mut self) -> Self {
        self.keeps_screen = false;
        self
    }

    /// Where more is recorded meanwhile, begins where it has come to after so many ms.
    #[must_use]
    pub(crate) fn within(mut self, ms: u64) -> Self {
        self.beginning.until = Some(clock::now().boot.saturating_add(ms));
        self
    }

    fn is_late(&self) -> bool {
        self.beginning.is_late() && self.reader.has_grown()
    }

    /// How much of the recording there was no time for.
    pub(crate) fn behind(&self) -> u64 {
        let left = self.progress().map_or(0, |(offset, length)| length.saturating_sub(offset));
        if self.is_late() { left } else { 0 }
    }

    /// Ends where it is when one of these signals comes.
    #[must_use]
    pub const fn until_signalled(mut self, signals: Option<&'a Signals>) -> Self {
        self.tail.signals = signals;
        self
    }

    /// The signal that ended it, if one did.
    #[must_use]
    pub const fn signalled(&self) -> Option<i32> {
        self.tail.signalled()
    }

    /// Where all was read that is there, that is told again and again, and nothing is waited for.
    #[must_use]
    pub(crate) const fn without_waiting(mut self) -> Self {
        self.tail.do_not_wait();
        self
    }

    /// What becomes readable when there may be more.
    pub(crate) fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.tail.bell()
    }

    pub(crate) const fn screen_mut(&mut self) -> &mut Screen {
        &mut self.replayed.screen
    }

    /// The screen as it stands.
    #[must_use]
    pub const fn screen(&self) -> &Screen {
        &self.replayed.screen
    }

    /// So many microseconds of boot time as microseconds since the recording began.
    pub(crate) const fn micros(&self, boot_us: u64) -> u64 {
        self.clock.micros(boot_us)
    }

    /// Where a mark is that is in the evidence alone: behind all that was read.
    #[must_use]
    pub fn instant_of(&self, marking: &Marking) -> Instant {
        let at = self.clock.instant(&self.replayed, marking.boot_us);
        Instant { position: marking.position, ..at }
    }

    /// Whether the beginning that was asked for is not on record any more: then it is the first that is.
    pub(crate) const fn is_let_go(&self) -> bool {
        self.beginning.is_let_go
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_screen(self) -> Screen {
        self.replayed.screen
    }

    /// How much of the file was read, and how much there is to read; none while it is followed.
    #[must_use]
    pub const fn progress(&self) -> Option<(u64, u64)> {
        match self.reader.limit() {
            u64::MAX => None,
            limit => Some((self.reader.offset(), limit)),
        }
    }

    /// The next step; none behind the last. The first one is always the beginning.
    ///
    /// # Errors
    /// If the recording cannot be read, or never comes to where the span is to begin.
    #[expect(clippy::should_implement_trait, reason = "what it gives is borrowed from it")]
    pub fn next(&mut self) -> Result<Option<Step<'_>>, Failure> {
        let stepped = if self.begun { self.step() } else { self.begin() };
        let told = (self.tail.session(), self.tail.status());
        let stepped = stepped.map_err(|error| failed(told, &error))?;
        let until = if self.given { self.reader.time_behind() } else { self.reader.time_ahead() };
        if until.is_none() && self.tail.has_ended() {
            self.replayed.screen.let_go();
        }
        let held = self.replayed.screen.hold_ends().unwrap_or(u64::MAX);
        let until = until.map(|time| self.clock.micros(time.min(held)));
        let what = match stepped {
            Stepped::Begun if self.to.is_before(self.from, &self.replayed) => {
                let says = if self.beginning.is_let_go { let_go } else { reversed };
                return Err(says(told.0, told.1));
            }
            Stepped::Begun => What::Begin(&self.beginning.gaps),
            Stepped::Entry => match self.reader.peek() {
                Ok(Some(Found::Entry(whole))) => {
                    let position = whole.position + self.piece.start as u64;
                    let part = Entry { position, payload: &whole.payload[self.piece.clone()], ..whole };
                    let payload = self.replayed.shown(&part);
                    What::Entry(Entry { payload, ..part }, &self.notices)
                }
                Ok(_) | Err(_) => return Ok(None),
            },
            Stepped::Unveiled => {
                let &Replayed { time, position, ref veiled, .. } = &self.replayed;
                let payload = veiled.as_deref().unwrap_or_default();
                What::Entry(Entry { kind: Kind::Output, number: 0, time, position, payload }, &[])
            }
            Stepped::Screen => What::Screen,
            Stepped::Gap(gap) => What::Gap(gap),
            Stepped::LetGo => What::LetGo,
            Stepped::CaughtUp => What::CaughtUp,
            Stepped::Short => return Err(too_short(told, self.from, &self.replayed)),
            Stepped::End => return Ok(None),
        };
        let time = self.asked.take().unwrap_or(self.replayed.time);
        let at = self.clock.instant(&self.replayed, time);
        Ok(Some(Step { at, screen: &self.replayed.screen, until, what }))
    }

    fn step(&mut self) -> io::Result<Stepped> {
        if self.replayed.entries.is_multiple_of(SIGNALS_EVERY) && self.tail.is_signalled() {
            return Ok(Stepped::End);
        }
        loop {
            match self.take(self.to)? {
                Taken::Entry => return Ok(Stepped::Entry),
                Taken::Screen => return Ok(Stepped::Screen),
                Taken::LetGo => return Ok(Stepped::LetGo),
                Taken::Gap(gap) => return Ok(Stepped::Gap(gap)),
                Taken::Beyond => return Ok(Stepped::End),
                Taken::Nothing if self.unveils() => return Ok(Stepped::Unveiled),
                Taken::Nothing => match self.tail.more(&mut self.reader) {
                    Some(News::CaughtUp) => return Ok(Stepped::CaughtUp),
                    Some(News::Perhaps) => {}
                    None if self.tail.has_ended() && self.replayed.finish().is_some() => {
                        return Ok(Stepped::Unveiled);
                    }
                    None if self.keeps_screen && self.stand_until_now() => return Ok(Stepped::LetGo),
                    None => return Ok(Stepped::End),
                },
            }
        }
    }

    /// Takes in the next entry, or as much of it as the limit admits.
    fn take(&mut self, limit: Limit) -> io::Result<Taken> {
        if std::mem::take(&mut self.given) {
            self.reader.pass();
            self.piece = 0..0;
        }
        loop {
            if self.lets_go(limit)? {
                return Ok(Taken::LetGo);
            }
            let Some(found) = self.reader.peek()? else {
                return Ok(self.last_gap().map_or(Taken::Nothing, Taken::Gap));
            };
            let entry = match found {
                Found::Entry(entry) => entry,
                Found::NoScreen { offset } => {
                    self.reader.pass();
                    return Ok(Taken::Gap(Gap::Screen(offset)));
                }
                Found::Damage { offset, bytes, hole } => {
                    let apart = Damage::add(&mut self.damage, offset, bytes, hole);
                    self.due.damaged();
                    self.reader.pass();
                    let Some(apart) = apart else { continue };
                    return Ok(Taken::Gap(apart.told()));
                }
            };
            let again = |damage: &Damage| damage.is_mended_by(&entry, self.replayed.position);
            if let Some(damage) = self.damage.take().filter(|damage| !again(damage)) {
                // What says that it came behind the limit, as what follows it does, is told behind it.
                let behind =
                    damage.claims().is_some_and(|was| limit.admits(&was, self.replayed.entries).is_none());
                if behind && limit.admits(&entry, self.replayed.entries).is_none() {
                    self.damage = Some(damage);
                    return Ok(Taken::Beyond);
                }
                // What was there is told with it; what was not, next.
                if damage.may_hold(entry.position.saturating_sub(self.replayed.position)) {
                    self.replayed.miss(entry.position);
                }
                return Ok(Taken::Gap(damage.told()));
            }
            let begin = self.piece.end;
            let end = match limit.admits(&entry, self.replayed.entries) {
                Some(end) if end > begin || entry.payload.is_empty() => end,
                Some(_) | None => return Ok(Taken::Beyond),
            };
            if entry.position > self.replayed.position && entry.kind != Kind::Shed && !self.tail.waits() {
                unrecorded::take(&mut self.tail, &mut self.replayed, entry.position);
            }
            if let Some(gap) = self.due.missing_before(&entry, self.replayed.position) {
                self.replayed.miss(entry.position);
                return Ok(Taken::Gap(gap));
            }
            let gap = Gap::told_by(&entry, &self.replayed);
            let position = entry.position + begin as u64;
            let part = Entry { position, payload: &entry.payload[begin..end], ..entry };
            self.notices = if self.keeps_screen {
                self.replayed.take(&part)
            } else {
                self.replayed.pass(&part);
                Vec::new()
            };
            self.given = end == entry.payload.len();
            if self.given {
                self.replayed.entries = entry.counted(self.replayed.entries);
            }
            self.piece = begin..end;
            let other = if entry.kind == Kind::Screen { Taken::Screen } else { Taken::Entry };
            return Ok(gap.map_or(other, Taken::Gap));
        }
    }

    /// Whether a synchronized update, which was not ended in time, is shown before the next entry comes.
    fn lets_go(&mut self, limit: Limit) -> io::Result<bool> {
        let Some(ends) = self.replayed.screen.hold_ends().filter(|_| self.keeps_screen) else {
            return Ok(false);
        };
        self.reader.peek()?;
        let is_due = self.piece.end == 0 && self.reader.time_ahead().is_some_and(|next| ends <= next);
        if !is_due || !limit.admits_time(ends) {
            return Ok(false);
        }
        self.replayed.screen.elapse(ends);
        self.asked = Some(ends);
        Ok(true)
    }

    /// The last screen stands until the instant that was asked for, or until now; that of a session that is over for good.
    /// True if that shows what an update held back.
    fn stand_until_now(&mut self) -> bool {
        let until = self.stands_until();
        self.replayed.stand((!self.tail.has_ended()).then_some(until))
    }

    fn stands_until(&self) -> u64 {
        let limit = if self.begun { self.to } else { self.from };
        let now = clock::boot_micros();
        limit.time().map_or(now, |asked| asked.min(now))
    }

    /// All was read that is there, and it is so long ago that the veil gives something back. True if it does.
    fn unveils(&mut self) -> bool {
        let until = self.stands_until();
        let all_read = self.tail.is_awaited() || self.tail.is_read();
        all_read && self.replayed.unveil_by(until).is_some()
    }

    /// The last screen stands until now, in a recording that is followed.
    pub(crate) fn elapse(&mut self) {
        self.replayed.stand(Some(clock::boot_micros()));
    }

    /// What is missing at the end, once all of it was read.
    fn last_gap(&mut self) -> Option<Gap> {
        let position = self.replayed.position;
        if !self.tail.is_read() {
            // Whoever follows is told that nothing may come.
            return if self.tail.is_awaited() { self.due.cut_at(position) } else { None };
        }
        let cut_off = |damage: &Damage| self.due.tells_of(damage, position);
        if let Some(damage) = self.damage.take().filter(|damage| !cut_off(damage)) {
            return Some(damage.told());
        }
        if self.tail.has_ended() { self.due.missing_at(position) } else { self.due.cut_at(position) }
    }
}
