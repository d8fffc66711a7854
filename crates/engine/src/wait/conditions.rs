//! Waiting for what a session shows or what its agent does. Follows the recording and the evidence as they grow; asks
//! nobody, and stops nobody. What is met is met at an instant of the recording, whenever it is asked about.

use std::os::fd::{AsFd, BorrowedFd};

use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::instant::{At, Span};
use abide_core::moment::Moment;
use abide_core::recording::Kind;
use abide_core::screen::condition::{Condition, Sought};
use abide_core::verdict::{Attention, Turn};
use abide_sys::watch::Watch;
use abide_sys::{clock, poll};

use super::{Ending, Until};
use crate::Sessions;
use crate::recording::replay::{Replay, What};
use crate::recording::snapshot;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// Everything is looked at again after this long, whatever was or was not heard.
const RESCAN_MS: u64 = 1_000;

/// A host that lives answers within this time, as a rule.
const SOON_MS: u64 = 50;
/// So long after the end of an agent its session may end, too, or its scribe may have a last word on its turn.
const LAST_WORD_MS: u64 = 1_000;

/// What is waited for in each session.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    pub shown: Vec<Condition>,
    /// Nothing was shown for so many ms.
    pub idle_ms: Option<u64>,
    pub turn: Option<Turn>,
    /// One of these.
    pub attention: Vec<Attention>,
    /// Only what was shown after this position counts.
    pub since: Option<u64>,
}

/// How a session stands when the wait is over.
#[derive(Debug)]
pub struct Stood {
    pub session: Session,
    /// Up to which position the recording was looked at; where its conditions were met, if they were.
    pub position: u64,
    pub met: bool,
}

impl Conditions {
    /// Whether nothing is asked of what is shown.
    const fn of_agent_alone(&self) -> bool {
        self.of_agent() && self.shown.is_empty() && self.idle_ms.is_none() && self.since.is_none()
    }

    /// Whether something is asked of an agent.
    const fn of_agent(&self) -> bool {
        self.turn.is_some() || !self.attention.is_empty()
    }
}

impl Sessions {
    /// Waits until what is wanted is shown, or done by an agent, for so many ms at most; says how each session stands then.
    ///
    /// # Errors
    /// If a recording cannot be read, or never came to the baseline.
    pub fn await_conditions(
        &self,
        ids: &[SessionId],
        asked: (&Conditions, Until),
        timeout_ms: Option<u64>,
    ) -> Result<Vec<Stood>, Failure> {
        let Some(home) = &self.home else {
            return Ok(Vec::new());
        };
        wait(&self.truth, home, ids, asked, timeout_ms)
    }
}

/// Waits until the conditions are met in these sessions, for so many ms at most. With `Until::Any` one condition that is
/// met in one of them is enough, else all of them must be met at once, in each. A session that ends before ends the wait,
/// unless another can still do.
fn wait(
    truth: &Truth,
    home: &Home,
    ids: &[SessionId],
    (conditions, until): (&Conditions, Until),
    timeout_ms: Option<u64>,
) -> Result<Vec<Stood>, Failure> {
    let deadline = timeout_ms.map(|ms| clock::now().boot.saturating_add(ms));
    // Only what an agent does has to be heard from the evidence. The kernel takes some 20 ms to close such a descriptor.
    let watch = conditions.of_agent().then(Watch::new).and_then(Result::ok);
    let mut watched = Vec::new();
    for id in ids {
        watched.push(Watched::new((truth, home), id, conditions, deadline)?);
    }
    let hears_all = watch.as_ref().is_some_and(|watch| {
        watched.iter().all(|one| one.ending.evidence().is_some_and(|file| watch.growth_of(file).is_ok()))
    });
    loop {
        let looked = clock::now().boot;
        for one in &mut watched {
            one.look(truth, home, (conditions, until))?;
        }
        let met = watched.iter().filter(|one| one.met).count();
        let enough = match until {
            Until::Any => met > 0,
            Until::All => met == watched.len(),
        };
        let now = clock::now().boot;
        let mut hopeless = watched.iter().map(|one| one.is_hopeless(conditions, now));
        let hopeless = match until {
            Until::Any => hopeless.all(|hopeless| hopeless),
            Until::All => hopeless.any(|hopeless| hopeless),
        };
        if enough || hopeless || deadline.is_some_and(|at| at <= now) {
            return Ok(watched.into_iter().map(|one| one.stood(truth, home)).collect());
        }
        // What was due before the look was judged by it, and wakes nobody again.
        let due = watched.iter().filter_map(|one| one.wake_at(conditions, looked));
        let wakes = due.chain(deadline);
        let left = wakes.min().map_or(RESCAN_MS, |at| at.saturating_sub(now).min(RESCAN_MS));
        let bells = watched.iter().filter(|one| !one.met && !one.over).flat_map(Watched::bells);
        let mut fds: Vec<BorrowedFd<'_>> = bells.collect();
        fds.extend(watch.as_ref().filter(|_| hears_all).map(AsFd::as_fd));
        let _ = poll::readable(&fds, Some(left.max(1)));
        drop(watch.as_ref().and_then(Watch::hints));
    }
}

/// When the baseline was taken, in ms of boot time, by what is on record behind it: what is told of an agent counts only if
/// that was told later.
#[derive(Debug, Clone, Copy)]
enum Baseline {
    /// There is none.
    None,
    /// Nothing came after it before this time.
    Ahead(u64),
    /// Somebody typed then, before anything was shown.
    Typed(u64),
    /// Something was shown then.
    Behind(u64),
}

impl Baseline {
    /// Takes an entry behind it.
    fn pass(&mut self, kind: Kind, at: u64) {
        let typed = matches!(kind, Kind::Input | Kind::Hidden | Kind::Exec);
        let shown = matches!(kind, Kind::Output | Kind::Errors);
        *self = match *self {
            Self::Ahead(_) | Self::Typed(_) if typed => Self::Typed(at),
            Self::Ahead(_) if shown => Self::Behind(at),
            Self::Typed(typed) if shown => Self::Behind(typed),
            same @ (Self::None | Self::Ahead(_) | Self::Typed(_) | Self::Behind(_)) => same,
        };
    }

    const fn is_before(self, told: Moment) -> bool {
        match self {
            Self::None => true,
            Self::Ahead(at) | Self::Typed(at) | Self::Behind(at) => told.boot > at,
        }
    }
}

/// One session that is watched.
struct Watched<'a> {
    /// The session, and what becomes readable at its end.
    ending: Ending,
    /// None where nothing is recorded, and nothing is asked of what is shown.
    replay: Option<Replay<'a>>,
    sought: Option<Sought>,
    position: u64,
    /// When something was shown last, in ms of boot time.
    shown_at: u64,
    baseline: Baseline,
    met: bool,
    over: bool,
    /// Since when its turn is known to be settled by nothing but the end of its agent, in ms of boot time.
    broken_since: Option<u64>,
}

impl<'a> Watched<'a> {
    fn new(
        (truth, home): (&'a Truth, &'a Home),
        id: &SessionId,
        conditions: &Conditions,
        deadline: Option<u64>,
    ) -> Result<Self, Failure> {
        let ending = Ending::new(truth, home, id);
        if ending.session.is_unrecorded() && conditions.of_agent_alone() {
            return Ok(Self::of(ending, None));
        }
        let session = &ending.session;
        // Whoever has little time is not kept by a host that does not answer: the recording says the same.
        let left = deadline.map_or(u64::MAX, |at| at.saturating_sub(clock::now().boot));
        let shown = snapshot::within(truth, home, session, (None, left.max(SOON_MS)))?;
        let now = shown.position;
        if let Some(since) = conditions.since.filter(|since| *since > now) {
            return Err(Failure::new(
                Code::BadTime,
                format!("session {id} has shown {now} bytes, not {since}"),
            )
            .hint("--since takes the `seq` of an earlier answer about this very session")
            .about(id.as_str())
            .in_status(session.verdict.status));
        }
        let from = conditions.since.unwrap_or(now);
        let span = Span { from: Some(At::Position(from)), to: None };
        // One that is over shows nothing more, and its recording has an end.
        let follow = !session.is_over();
        let mut replay = Replay::open(truth, home, session, &span, follow)?.without_waiting();
        if from == now {
            replay = replay.or_from(shown.screen);
        }
        let shown_at = if conditions.since.is_some() { 0 } else { clock::now().boot };
        let baseline = conditions.since.map_or(Baseline::None, |_| Baseline::Ahead(clock::now().boot));
        Ok(Self { position: from, shown_at, baseline, ..Self::of(ending, Some(replay)) })
    }

    const fn of(ending: Ending, replay: Option<Replay<'a>>) -> Self {
        Self {
            ending,
            replay,
            sought: None,
            position: 0,
            shown_at: 0,
            baseline: Baseline::None,
            met: false,
            over: false,
            broken_since: None,
        }
    }

    /// Takes in what was shown, until the conditions are met or all of it is taken in.
    fn look(&mut self, truth: &Truth, home: &Home, asked: (&Conditions, Until)) -> Result<(), Failure> {
        let (conditions, _) = asked;
        if self.over && !self.met {
            // Its recording has ended, and what is told of its agent may not have.
            self.ending.look_again(truth, home);
            self.judge(asked, true);
        }
        while !self.met && !self.over {
            let Some(replay) = &mut self.replay else {
                self.ending.look_again(truth, home);
                self.over = self.ending.session.is_over();
                self.judge(asked, true);
                return Ok(());
            };
            let (fresh, caught_up) = match replay.next()? {
                Some(step) => {
                    self.position = step.at.position;
                    match step.what {
                        What::Begin(_) => (false, false),
                        What::Entry(entry, _) => {
                            self.baseline.pass(entry.kind, entry.time / 1000);
                            let shown = matches!(entry.kind, Kind::Output | Kind::Errors);
                            if shown {
                                self.shown_at = self.shown_at.max(entry.time / 1000);
                            }
                            (shown || entry.kind == Kind::Resize, false)
                        }
                        What::Screen | What::Gap(_) | What::LetGo => (true, false),
                        What::CaughtUp => (false, true),
                    }
                }
                None => {
                    self.over = true;
                    (false, true)
                }
            };
            let first = self.sought.is_none();
            // What was typed at the baseline came before it: whatever is told later is about that.
            if let Some(at) = replay.typed().filter(|_| first) {
                self.baseline.pass(Kind::Input, at / 1000);
            }
            let since = conditions.since.is_some();
            self.sought
                .get_or_insert_with(|| Sought::new(conditions.shown.clone(), since, replay.screen_mut()));
            if caught_up {
                // What an update or the veil holds back for too long is shown without anything that would be read.
                replay.elapse();
                self.ending.look_again(truth, home);
                self.look_beyond();
            }
            if first || fresh || caught_up {
                self.judge(asked, caught_up);
            }
            if caught_up {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes in what was shown since the recording was cut.
    fn look_beyond(&mut self) {
        let is_cut = self.ending.session.evidence.record.cut.is_some();
        let Some(replay) = self.replay.as_mut().filter(|_| is_cut) else { return };
        if replay.take_unrecorded() && replay.position() > self.position {
            self.position = replay.position();
            self.shown_at = clock::now().boot;
        }
    }

    fn judge(&mut self, (conditions, until): (&Conditions, Until), caught_up: bool) {
        let broken_off = caught_up && conditions.turn == Some(Turn::Settled) && self.breaks_off();
        let shown = conditions.since.is_none_or(|since| self.position > since);
        let sought = self.sought.as_mut().zip(self.replay.as_mut());
        let holds = sought.map(|(sought, replay)| sought.hold(replay.screen_mut(), shown));
        let mut holds = holds.unwrap_or_default();
        // What is said of now can be told only where all of it was taken in.
        let now = clock::now().boot;
        let quiet = caught_up && shown && !self.over;
        let idle = |ms: u64| quiet && now.saturating_sub(self.shown_at) >= ms;
        holds.extend(conditions.idle_ms.map(idle));
        let Session { verdict, evidence, .. } = &self.ending.session;
        let work = &evidence.work;
        let turned = work.closed_by.map(|(_, at)| at).or(work.turn.as_ref().map(|told| told.at));
        let told = [turned, work.attention.as_ref().map(|told| told.at)].into_iter().flatten();
        let timely = |told: Option<Moment>| caught_up && told.is_none_or(|at| self.baseline.is_before(at));
        holds.extend(conditions.turn.map(|turn| verdict.turn == turn && timely(turned) && !broken_off));
        if !conditions.attention.is_empty() {
            let latest = told.max_by_key(|at| at.boot);
            holds.push(conditions.attention.contains(&verdict.attention) && timely(latest));
        }
        self.met = match until {
            Until::Any => holds.contains(&true),
            Until::All => !holds.contains(&false),
        };
    }

    /// Whether its turn is settled by nothing but the end of its agent, and its session is over with it, or may be soon.
    fn breaks_off(&mut self) -> bool {
        let Session { verdict, evidence, seen, .. } = &self.ending.session;
        if verdict.turn != Turn::Settled || !evidence.work.is_broken_off() {
            self.broken_since = None;
            return false;
        }
        let now = clock::now().boot;
        let since = *self.broken_since.get_or_insert(now);
        let lives_on = !self.over && !self.ending.session.is_over() && seen.program.is_alive();
        !lives_on || now < since.saturating_add(LAST_WORD_MS)
    }

    /// Whether it is over, and will not do any more what is waited for. Who follows its agent may just be about to say that
    /// its turn was done before its end.
    fn is_hopeless(&self, conditions: &Conditions, now: u64) -> bool {
        let untold = !self.ending.session.evidence.work.turn_closed && conditions.turn == Some(Turn::Settled);
        let told_soon = self.broken_since.is_some_and(|since| now < since.saturating_add(LAST_WORD_MS));
        self.over && !self.met && !(untold && told_soon)
    }

    /// When nothing will have been shown for long enough, what an update holds back will be shown, or nothing more is to be
    /// expected of who follows an agent that ended.
    fn wake_at(&self, conditions: &Conditions, looked: u64) -> Option<u64> {
        let idle = conditions.idle_ms.map(|ms| self.shown_at.saturating_add(ms));
        let shown = self
            .replay
            .as_ref()
            .and_then(|replay| replay.screen().hold_ends())
            .map(|ends| ends.div_ceil(1000));
        let told = self.broken_since.map(|since| since.saturating_add(LAST_WORD_MS));
        idle.into_iter().chain(shown).chain(told).filter(|at| *at > looked && !self.met).min()
    }

    fn bells(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.replay.as_ref().and_then(Replay::bell).into_iter().chain(self.ending.fds())
    }

    fn stood(self, truth: &Truth, home: &Home) -> Stood {
        Stood { session: truth.of(home, &self.ending.session.id), position: self.position, met: self.met }
    }
}
