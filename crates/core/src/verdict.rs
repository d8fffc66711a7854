//! Evidence + liveness -> status, outcome, reason. Pure: the same input gives the same verdict for ever.
//! Decides what is true; knows neither how facts are stored nor how processes are probed.

mod agent;
pub mod checkpoint;
mod denied;
mod hindsight;
mod outcome;
mod rule;

pub use agent::{Attention, STUCK_AFTER_MS, Turn};
pub use denied::deny;
pub use hindsight::{hindsight, witnessed};
pub use outcome::{Codes, NOT_EXECUTABLE, NOT_FOUND};
pub use rule::Rule;

use crate::evidence::fold::{Evidence, Told};
use crate::evidence::{Closing, How, Outcome, Wants};
use crate::identity::{Doubt, FileId, Identity, Liveness};
use crate::moment::Moment;
use crate::status::Status;

/// What the kernel said of each process of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub guard: Liveness,
    pub host: Liveness,
    pub program: Liveness,
    /// The agent process that the open turn belongs to.
    pub owner: Liveness,
    /// Who follows a program that neither guard nor host serves.
    pub watcher: Liveness,
}

/// When and on which boot the question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    pub at: Moment,
    /// The first digits of the boot id; boot-time clocks of other boots are not compared.
    pub boot: u32,
    /// Nor are those of other time namespaces.
    pub time_ns: Option<FileId>,
}

impl Now {
    /// An instant of the past, of which only wall time is known.
    #[must_use]
    pub const fn past(wall: i64) -> Self {
        Self { at: Moment { wall, boot: 0 }, boot: 0, time_ns: None }
    }

    /// Whether the boot-time clock of a fact is the one of this instant. All witnesses but the launcher's program
    /// and its hooks live where the guard does.
    #[must_use]
    pub fn shares_clock<T>(self, evidence: &Evidence, told: &Told<T>) -> bool {
        let guard = evidence.helpers.guarded.as_ref().map(|told| told.body.guard);
        let adopted = evidence.beginning.adopted.as_ref().map(|told| told.body.program);
        let theirs = guard.or(adopted).and_then(|witness| witness.time_ns);
        told.witness.boot == self.boot && theirs == self.time_ns
    }

    /// How long ago something was told: by the boot-time clock where that is the same, else by wall time.
    #[must_use]
    pub fn ms_since<T>(self, evidence: &Evidence, told: &Told<T>) -> u64 {
        if self.shares_clock(evidence, told) {
            self.at.since(told.at)
        } else {
            u64::try_from(self.at.wall.saturating_sub(told.at.wall)).unwrap_or(0)
        }
    }

    /// Who says what became of the processes: the kernel speaks only of the present.
    const fn speaker(self) -> &'static str {
        if self.boot == 0 && self.at.boot == 0 { "hindsight" } else { "kernel" }
    }
}

/// What is true of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub rule: Rule,
    pub status: Status,
    /// A stop was asked for and the program is not gone yet.
    pub stopping: bool,
    pub outcome: Option<Outcome>,
    pub codes: Codes,
    /// How long the program has run, or ran.
    pub uptime_ms: Option<u64>,
    pub turn: Turn,
    pub attention: Attention,
    pub stuck_since: Option<Moment>,
}

/// One piece of the proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    pub fact: String,
    pub witness: String,
    pub at: Moment,
    pub says: String,
}

/// The verdict on a session.
#[must_use]
pub fn derive(evidence: &Evidence, seen: &Seen, now: Now) -> Verdict {
    let rule = decide(evidence, seen);
    let status = rule.status();
    let outcome = outcome::of(rule, evidence, seen);
    let codes = outcome::codes(status, outcome.as_ref(), evidence);
    let (turn, stuck_since) = agent::turn(evidence, seen, status, now);
    Verdict {
        rule,
        status,
        stopping: evidence.closing.stop_asked.is_some() && status.is_stoppable(),
        codes,
        uptime_ms: uptime(evidence, seen, now),
        turn,
        attention: agent::attention(evidence, turn, status),
        stuck_since,
        outcome,
    }
}

fn decide(evidence: &Evidence, seen: &Seen) -> Rule {
    if let Some(rule) = recorded_end(evidence) {
        return rule;
    }
    let rule = match program_of(evidence) {
        Some(_) => open_session(evidence, seen),
        // What says that nothing ran may be among the damage.
        None if evidence.is_damaged() && evidence.beginning.launched.is_none() => Rule::NoBeginning,
        None => unborn_session(evidence, seen),
    };
    if evidence.is_damaged() { rule.if_damaged() } else { rule }
}

/// A recorded end is final, and an observed one outranks a sealed one.
fn recorded_end(evidence: &Evidence) -> Option<Rule> {
    let closing = &evidence.closing;
    if closing.removed.is_some() {
        return Some(Rule::Removed);
    }
    if closing.removing.is_some() {
        return Some(Rule::Removing);
    }
    if closing.exec_failed.is_some() {
        return Some(Rule::ExecFailed);
    }
    match (&closing.ended, &closing.sealed) {
        (Some(ended), _) if ended.body.outcome.how != How::Lost => Some(match ended.body.outcome.how {
            How::ExecFailed { .. } => Rule::ExecFailed,
            How::Exited { .. } | How::Signaled { .. } | How::Lost => Rule::Ended,
        }),
        (_, Some(sealed)) => Some(match sealed.body.status {
            Closing::Lost => Rule::SealedLost,
            Closing::NeverRan => Rule::SealedNeverRan,
        }),
        (Some(_), None) => Some(Rule::EndedUnseen),
        (None, None) => None,
    }
}

/// The gate was reached: a process is on record that runs or ran the program.
fn open_session(evidence: &Evidence, seen: &Seen) -> Rule {
    let guard = presence(evidence, evidence.helpers.guarded.is_some(), seen.guard);
    let host = presence(evidence, evidence.helpers.hosted.is_some(), seen.host);
    // Most sessions never have one, so none is missed in a damaged record.
    let watcher = match &evidence.helpers.watched {
        Some(_) => presence(evidence, true, seen.watcher),
        None if seen.watcher.is_alive() => Presence::Alive,
        None => Presence::Dead,
    };
    let served = guard == Presence::Alive || host == Presence::Alive;
    let watched = watcher == Presence::Alive;
    let abandoned = guard == Presence::Dead && host == Presence::Dead;
    // No host is started before the gate was passed.
    let at_the_gate = !has_started(evidence) && guard == Presence::Alive && host != Presence::Alive;
    match seen.program {
        Liveness::Alive(_) | Liveness::Unknown(_) if at_the_gate => Rule::Launching,
        Liveness::Alive(_) if served => Rule::Served,
        Liveness::Alive(_) if abandoned && watched => Rule::Watched,
        Liveness::Alive(_) if abandoned => Rule::Unserved,
        Liveness::Alive(_) => Rule::ServiceUnclear,
        Liveness::Dead(_) if served || watched => Rule::Finishing,
        Liveness::Dead(_) if abandoned && watcher == Presence::Dead => {
            match owner_of_open_turn(evidence).map(|_| seen.owner) {
                Some(Liveness::Alive(_)) => Rule::AgentLives,
                Some(Liveness::Unknown(_)) => Rule::AgentUnclear,
                Some(Liveness::Dead(_)) | None => Rule::AllDead,
            }
        }
        Liveness::Dead(_) => Rule::EndUnclear,
        Liveness::Unknown(_) if served => Rule::Vouched,
        Liveness::Unknown(_) => Rule::CannotTell,
    }
}

/// No process at the gate is on record. It opens only after `launched` is written, so without that nothing can
/// have run; a launch that names no process may have got through.
fn unborn_session(evidence: &Evidence, seen: &Seen) -> Rule {
    if evidence.helpers.guarded.is_none() {
        return Rule::NoBeginning;
    }
    match presence(evidence, true, seen.guard) {
        Presence::Alive => Rule::Launching,
        Presence::Dead if evidence.beginning.launched.is_none() => Rule::NeverRan,
        Presence::Dead | Presence::Unknown => Rule::CannotTell,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Alive,
    Dead,
    Unknown,
}

/// A helper that is not on record does not exist, unless its record may be among the damage.
fn presence(evidence: &Evidence, on_record: bool, liveness: Liveness) -> Presence {
    match liveness {
        Liveness::Alive(_) => Presence::Alive,
        Liveness::Dead(_) => Presence::Dead,
        Liveness::Unknown(Doubt::NoIdentity) if !on_record && !evidence.is_damaged() => Presence::Dead,
        Liveness::Unknown(_) => Presence::Unknown,
    }
}

/// A damaged record may have lost `started`; then a process that lives is taken to be the program.
fn has_started(evidence: &Evidence) -> bool {
    let beginning = &evidence.beginning;
    beginning.started.is_some() || beginning.adopted.is_some() || evidence.is_damaged()
}

/// The process that is or becomes the program: as it was last identified.
#[must_use]
pub fn program_of(evidence: &Evidence) -> Option<&Identity> {
    let beginning = &evidence.beginning;
    let started = beginning.started.as_ref().map(|told| &told.body.program);
    let adopted = beginning.adopted.as_ref().map(|told| &told.body.program);
    let gated = beginning.launched.as_ref().and_then(|told| told.body.program.as_ref());
    started.or(adopted).or(gated)
}

/// Whom the guard started, where an agent that it wraps is on record as the program.
#[must_use]
pub fn wrapper_of(evidence: &Evidence) -> Option<&Identity> {
    let started = evidence.beginning.started.as_ref()?;
    let gated = evidence.beginning.launched.as_ref()?.body.program.as_ref();
    gated.filter(|gated| gated.pid != started.body.program.pid)
}

/// The process that works on a turn that nobody has closed, if it is on record.
#[must_use]
pub fn owner_of_open_turn(evidence: &Evidence) -> Option<&Identity> {
    let turn = evidence.work.turn.as_ref().filter(|_| !evidence.work.turn_closed);
    turn.and_then(|told| told.body.owner.as_ref())
}

/// The process that a stop or a signal is for, and that is waited for: the program, or the agent that outlived it.
#[must_use]
pub fn actor_of(rule: Rule, evidence: &Evidence) -> Option<&Identity> {
    let outlived = owner_of_open_turn(evidence).filter(|_| rule == Rule::AgentLives);
    outlived.or_else(|| program_of(evidence))
}

fn uptime(evidence: &Evidence, seen: &Seen, now: Now) -> Option<u64> {
    let started = evidence.beginning.started.as_ref()?;
    match &evidence.closing.ended {
        Some(ended) => match ended.body.resources {
            Some(resources) => Some(resources.wall_ms),
            None => (ended.witness.boot == started.witness.boot).then(|| ended.at.since(started.at)),
        },
        None if seen.program.is_alive() && now.shares_clock(evidence, started) => {
            Some(now.at.since(started.at))
        }
        None => None,
    }
}

/// The proof of a verdict: every fact and every word of the kernel that it rests on.
#[must_use]
pub fn because(rule: Rule, evidence: &Evidence, seen: &Seen, now: Now) -> Vec<Ground> {
    let mut grounds = deciding_facts(rule, evidence);
    for damage in &evidence.record.damage {
        grounds.push(Ground {
            fact: "damage".into(),
            witness: "reader".into(),
            at: now.at,
            says: damage.says(),
        });
    }
    let outcome = outcome::of(rule, evidence, seen);
    if outcome::codes(rule.status(), outcome.as_ref(), evidence).unclear {
        let says = Codes::UNCLEAR.to_owned();
        grounds.push(Ground { fact: "damage".into(), witness: "reader".into(), at: now.at, says });
    }
    let ended = rule.status().is_terminal() && recorded_end(evidence).is_some();
    if ended {
        return grounds;
    }
    let guard = evidence.helpers.guarded.as_ref().map(|told| told.body.guard.pid);
    let host = evidence.helpers.hosted.as_ref().map(|told| told.body.host.pid);
    let program = program_of(evidence).map(|identity| identity.pid);
    let mut asked =
        vec![("program", program, seen.program), ("guard", guard, seen.guard), ("host", host, seen.host)];
    let watcher = evidence.helpers.watched.as_ref().map(|told| told.body.watcher.pid);
    asked.extend(watcher.map(|pid| ("watcher", Some(pid), seen.watcher)));
    asked.extend(owner_of_open_turn(evidence).map(|owner| ("agent", Some(owner.pid), seen.owner)));
    for (who, pid, liveness) in asked {
        let who = match pid {
            Some(pid) => format!("{who} {pid}"),
            None => who.to_owned(),
        };
        grounds.push(Ground {
            fact: liveness.name().into(),
            witness: now.speaker().into(),
            at: now.at,
            says: format!("{who} {}", liveness.says()),
        });
    }
    grounds
}

/// When a session whose end nobody saw last gave a sign of life; none where that is not the question.
#[must_use]
pub fn last_seen(rule: Rule, evidence: &Evidence) -> Option<Moment> {
    let unseen = rule == Rule::AllDead || rule == Rule::SealedLost;
    let last = evidence.record.last.as_ref().map(|told| told.at);
    let sealed = || evidence.closing.sealed.as_ref().and_then(|told| told.body.last_seen);
    last.or_else(sealed).filter(|_| unseen)
}

fn deciding_facts(rule: Rule, evidence: &Evidence) -> Vec<Ground> {
    let (beginning, closing, helpers) = (&evidence.beginning, &evidence.closing, &evidence.helpers);
    let mut grounds = Vec::new();
    let mut cite = |ground: Option<(u64, Ground)>| grounds.extend(ground);
    cite(ground(&beginning.launched, "launched", |b| b.says()));
    cite(ground(&beginning.adopted, "adopted", |b| b.says()));
    cite(ground(&helpers.guarded, "guarded", |b| b.says()));
    cite(ground(&helpers.hosted, "hosted", |b| b.says()));
    cite(ground(&helpers.watched, "watched", |b| b.says()));
    let started = if beginning.identified.is_some() { &beginning.identified } else { &beginning.started };
    cite(ground(started, "started", |b| b.says()));
    cite(ground(&beginning.image, "image_changed", |b| b.says()));
    let open = if evidence.work.turn_closed { &None } else { &evidence.work.turn };
    cite(ground(open, "turn_opened", |b| b.says()));
    let wants = &evidence.work.attention;
    if open.is_some() && wants.as_ref().is_some_and(|told| told.body.wants != Wants::None) {
        cite(ground(wants, "attention", |b| b.says()));
    }
    cite(ground(&closing.stop_asked, "stop_asked", |b| b.says()));
    cite(ground(&helpers.gone, "noted", |b| format!("host found program {} dead", b.pid)));
    cite(ground(&closing.exec_failed, "exec_failed", |b| b.says()));
    cite(ground(&closing.ended, "ended", |b| b.outcome.says()));
    cite(ground(&closing.sealed, "sealed", |b| b.says()));
    cite(ground(&evidence.work.declared, "declared", |b| b.says()));
    cite(ground(&closing.removing, "removing", |()| "removal began".to_owned()));
    cite(ground(&closing.removed, "removed", |()| "removed".to_owned()));
    if let Some(last) = evidence.record.last.as_ref().filter(|_| last_seen(rule, evidence).is_some()) {
        let says = "the last sign of life";
        match grounds.iter_mut().find(|(order, _)| *order == last.order) {
            Some((_, cited)) => cited.says.push_str(&format!("; {says}")),
            None => {
                let (fact, witness) = (last.body.clone().into_owned(), last.witness.to_string());
                grounds.push((last.order, Ground { fact, witness, at: last.at, says: says.to_owned() }));
            }
        }
    }
    grounds.sort_by_key(|&(order, _)| order);
    grounds.into_iter().map(|(_, ground)| ground).collect()
}

fn ground<T>(told: &Option<Told<T>>, fact: &str, says: impl Fn(&T) -> String) -> Option<(u64, Ground)> {
    let told = told.as_ref()?;
    let (witness, says) = (told.witness.to_string(), says(&told.body));
    Some((told.order, Ground { fact: fact.to_owned(), witness, at: told.at, says }))
}
