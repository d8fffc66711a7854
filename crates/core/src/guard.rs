//! The guard's mind: what to do when the program ends, a stop is asked for, or time is up.
//! Decides; the loop in `engine::guard` obeys. Time is an argument, in ms of boot time.

use crate::evidence::{Cause, How, Resources, Terms};

/// What the guard is told at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orders {
    /// The signals that ask the program to end, politest first; `KILL` follows by itself.
    pub asking: Vec<i32>,
    pub timeout: Option<Timeout>,
    /// The session is to be removed once it is over.
    pub remove: bool,
}

/// When the session is to be ended, and with how much patience at each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    at: u64,
    grace_ms: u64,
}

impl Timeout {
    /// What the terms of a launch ask for, of a program that started at this time.
    #[must_use]
    pub fn of(terms: &Terms, started: u64) -> Option<Self> {
        let grace_ms = terms.grace_ms.unwrap_or(UNSAID_GRACE_MS);
        terms.timeout_ms.map(|ms| Self { at: started.saturating_add(ms), grace_ms })
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Somebody asked for the session's end, with this much patience at each step.
    StopAsked { grace_ms: u64 },
    /// The guard before put on record that its time is up, with this much patience at each step.
    TimeWasUp { grace_ms: u64 },
    /// The program has ended; what it used is known to its parent only.
    ProgramEnded { how: How, resources: Option<Resources> },
    /// All that the terminal held is on record.
    Drained,
    /// The outcome is on record, or could not be written.
    EndRecorded { done: bool },
    /// No process of the session is left.
    TreeEmpty,
    /// Time has passed.
    Woke,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Put on record that its time is up and that it is asked to end, with this much patience at each step.
    RecordTimeUp { grace_ms: u64 },
    /// Send the program this signal; record it first.
    SignalProgram(i32),
    /// Send every process that is left of the session this signal; record it first.
    SignalTree(i32),
    /// Read what the terminal still holds.
    Drain,
    /// Put the outcome on record.
    RecordEnd { how: How, resources: Option<Resources>, cause: Option<Cause> },
    /// Say whether any process of the session is left.
    CountTree,
    /// Come back at this time at the latest.
    WakeAt(u64),
    /// The end is on record and nothing is left to do about it: let everyone know.
    Finish,
    /// Remove the session.
    Remove,
}

const TERM: i32 = 15;
const KILL: i32 = 9;
/// Wakes what stands still: until then it hears nothing but the kill.
const CONT: i32 = 18;
/// How long what is left of a tree may take to end before it is killed, and to die before it is named.
const SWEEP_MS: u64 = 2_000;
/// The patience of a timeout whose launch did not say.
const UNSAID_GRACE_MS: u64 = 2_000;
/// How long to wait before writing the outcome is tried again.
const RETRY_MS: u64 = 250;
/// How long the kernel is given to remove a killed process before it is killed once more.
const KILL_AGAIN_MS: u64 = 1_000;
/// How long a session that is to be removed can still be asked how it ended: whoever was just told its ID asks in time.
const LINGER_MS: u64 = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// `asked` of the polite signals were sent; then comes the kill.
    Stopping {
        asked: usize,
        grace_ms: u64,
        next_at: u64,
    },
    Draining {
        how: How,
        resources: Option<Resources>,
    },
    Recording {
        how: How,
        resources: Option<Resources>,
        retry_at: Option<u64>,
    },
    /// The program is gone; what is left of its tree was sent this signal.
    Sweeping {
        signal: i32,
        until: u64,
    },
    /// All is done but the removal.
    Lingering {
        until: u64,
    },
    Done,
}

/// The guard's mind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    orders: Orders,
    phase: Phase,
    /// Why the end was sought, if it was.
    cause: Option<Cause>,
}

impl Guard {
    #[must_use]
    pub const fn new(orders: Orders) -> Self {
        Self { orders, phase: Phase::Running, cause: None }
    }

    /// When to come back if nothing happens.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        match self.phase {
            Phase::Running => self.orders.timeout.map(|timeout| timeout.at),
            Phase::Stopping { next_at, .. } => Some(next_at),
            Phase::Recording { retry_at, .. } => retry_at,
            Phase::Sweeping { until, .. } | Phase::Lingering { until } => Some(until),
            Phase::Draining { .. } | Phase::Done => None,
        }
    }

    #[must_use]
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Nothing is under way but the program.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Only what is left of the tree is waited for.
    #[must_use]
    pub const fn is_sweeping(&self) -> bool {
        matches!(self.phase, Phase::Sweeping { .. })
    }

    /// The program is gone, or soon will be: nobody needs a new host.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        match self.phase {
            Phase::Running | Phase::Stopping { .. } => false,
            Phase::Draining { .. }
            | Phase::Recording { .. }
            | Phase::Sweeping { .. }
            | Phase::Lingering { .. }
            | Phase::Done => true,
        }
    }

    /// Decides.
    #[must_use = "effects are orders; dropping them loses a signal or a record"]
    pub fn handle(&mut self, now: u64, input: Input) -> Vec<Effect> {
        let time_is_up = self.orders.timeout.filter(|timeout| timeout.at <= now);
        let (next, effects) = match (self.phase, input) {
            (Phase::Running, Input::StopAsked { grace_ms }) => {
                self.cause = Some(Cause::Asked);
                self.ask(now, 0, grace_ms)
            }
            (Phase::Running, Input::TimeWasUp { grace_ms }) => {
                self.cause = Some(Cause::Timeout);
                self.ask(now, 0, grace_ms)
            }
            (Phase::Running, Input::Woke) if let Some(Timeout { grace_ms, .. }) = time_is_up => {
                self.cause = Some(Cause::Timeout);
                let (next, mut effects) = self.ask(now, 0, grace_ms);
                effects.insert(0, Effect::RecordTimeUp { grace_ms });
                (next, effects)
            }
            // Whoever asks again with less patience is heard.
            (Phase::Stopping { asked, grace_ms, next_at }, Input::StopAsked { grace_ms: new }) => {
                let (grace_ms, next_at) = (grace_ms.min(new), next_at.min(now.saturating_add(new)));
                (Phase::Stopping { asked, grace_ms, next_at }, vec![Effect::WakeAt(next_at)])
            }
            (Phase::Stopping { asked, grace_ms, next_at }, Input::Woke) if next_at <= now => {
                self.ask(now, asked, grace_ms)
            }
            (Phase::Running | Phase::Stopping { .. }, Input::ProgramEnded { how, resources }) => {
                (Phase::Draining { how, resources }, vec![Effect::Drain])
            }
            (Phase::Draining { how, resources }, Input::Drained) => self.record(how, resources),
            (Phase::Recording { how, resources, .. }, Input::EndRecorded { done: false }) => {
                let retry_at = now.saturating_add(RETRY_MS);
                (
                    Phase::Recording { how, resources, retry_at: Some(retry_at) },
                    vec![Effect::WakeAt(retry_at)],
                )
            }
            (Phase::Recording { how, resources, retry_at: Some(at) }, Input::Woke) if at <= now => {
                self.record(how, resources)
            }
            (Phase::Recording { .. }, Input::EndRecorded { done: true }) => match self.cause {
                Some(_) => sweep(now, TERM),
                None => self.finish(now),
            },
            (Phase::Sweeping { .. }, Input::TreeEmpty) => self.finish(now),
            (Phase::Sweeping { signal, until }, Input::Woke) if until <= now => match signal {
                TERM => sweep(now, KILL),
                _ => self.finish(now),
            },
            // Whoever asks now has no more need of it.
            (Phase::Lingering { .. }, Input::StopAsked { .. }) => (Phase::Done, vec![Effect::Remove]),
            (Phase::Lingering { until }, Input::Woke) if until <= now => (Phase::Done, vec![Effect::Remove]),
            (
                _,
                Input::StopAsked { .. }
                | Input::TimeWasUp { .. }
                | Input::ProgramEnded { .. }
                | Input::Drained
                | Input::EndRecorded { .. }
                | Input::TreeEmpty
                | Input::Woke,
            ) => return Vec::new(),
        };
        self.phase = next;
        effects
    }

    /// The next step of the ladder: the polite signals in turn, then the kill, again and again.
    fn ask(&self, now: u64, asked: usize, grace_ms: u64) -> (Phase, Vec<Effect>) {
        let signal = self.orders.asking.get(asked).copied().unwrap_or(KILL);
        let patience = if signal == KILL { grace_ms.max(KILL_AGAIN_MS) } else { grace_ms };
        let next_at = now.saturating_add(patience);
        let wakes = (signal != KILL).then_some(Effect::SignalProgram(CONT));
        let effects = [Effect::SignalProgram(signal)].into_iter().chain(wakes);
        let effects = effects.chain([Effect::WakeAt(next_at)]).collect();
        (Phase::Stopping { asked: asked.saturating_add(1), grace_ms, next_at }, effects)
    }

    fn finish(&self, now: u64) -> (Phase, Vec<Effect>) {
        if !self.orders.remove {
            return (Phase::Done, vec![Effect::Finish]);
        }
        let until = now.saturating_add(LINGER_MS);
        (Phase::Lingering { until }, vec![Effect::Finish, Effect::WakeAt(until)])
    }

    fn record(&self, how: How, resources: Option<Resources>) -> (Phase, Vec<Effect>) {
        let effects = vec![Effect::RecordEnd { how, resources, cause: self.cause }];
        (Phase::Recording { how, resources, retry_at: None }, effects)
    }
}

/// When the next host is started after one is gone: at once, and later and later if each dies young.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Respawn {
    due_at: u64,
    started_at: u64,
    died_young: u32,
    /// None could be started when that was tried last.
    fails: bool,
}

/// A host that lived this long was sound.
const SOUND_MS: u64 = 2_000;
/// So many may die young before the next one has to wait.
const YOUNG_DEATHS: u32 = 3;
/// After so many nobody is likely to live longer.
const HOPELESS: u32 = 10;
const LONGEST_PAUSE_MS: u64 = 500;
/// Where each says that it cannot work, it is not worth more than this.
const LONGEST_FAILING_MS: u64 = 60_000;

impl Respawn {
    #[must_use]
    pub const fn due_at(&self) -> u64 {
        self.due_at
    }

    /// One after the other has died young: the next one will too.
    #[must_use]
    pub const fn is_hopeless(&self) -> bool {
        self.died_young >= HOPELESS
    }

    #[must_use]
    pub const fn is_due(&self, now: u64) -> bool {
        now >= self.due_at
    }

    /// A host was started.
    pub const fn started(&mut self, now: u64) {
        self.started_at = now;
    }

    /// Whether it could be started. One that could not is as good as gone; true if that is news.
    pub fn came_to(&mut self, is_there: bool, now: u64) -> bool {
        if !is_there {
            self.gone(now);
        }
        !std::mem::replace(&mut self.fails, !is_there) && !is_there
    }

    /// The host is gone.
    pub fn gone(&mut self, now: u64) {
        let young = now.saturating_sub(self.started_at) < SOUND_MS;
        self.died_young = if young { self.died_young.saturating_add(1) } else { 0 };
        let doublings = self.died_young.saturating_sub(YOUNG_DEATHS);
        let pause = if doublings == 0 { 0 } else { (25_u64 << doublings.min(10)).min(LONGEST_PAUSE_MS) };
        self.due_at = self.due_at.max(now.saturating_add(pause));
    }

    /// The one that is gone was not killed: it could not work. Many of those are followed by ever fewer.
    pub fn failed(&mut self, now: u64) {
        let doublings = self.died_young.saturating_sub(HOPELESS);
        let pause = if doublings == 0 { 0 } else { LONGEST_PAUSE_MS << doublings.min(10) };
        self.due_at = self.due_at.max(now.saturating_add(pause.min(LONGEST_FAILING_MS)));
    }
}

fn sweep(now: u64, signal: i32) -> (Phase, Vec<Effect>) {
    let until = now.saturating_add(SWEEP_MS);
    let wakes = (signal != KILL).then_some(Effect::SignalTree(CONT));
    let effects = [Effect::SignalTree(signal)].into_iter().chain(wakes);
    let effects = effects.chain([Effect::CountTree, Effect::WakeAt(until)]).collect();
    (Phase::Sweeping { signal, until }, effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT_0: How = How::Exited { code: 0 };

    fn ended(how: How) -> Input {
        Input::ProgramEnded { how, resources: None }
    }

    fn short(effect: Effect) -> String {
        match effect {
            Effect::RecordTimeUp { .. } => "time up".to_owned(),
            Effect::SignalProgram(signal) => format!("program:{signal}"),
            Effect::SignalTree(signal) => format!("tree:{signal}"),
            Effect::Drain => "drain".to_owned(),
            Effect::RecordEnd { how, cause, .. } => format!("record:{how:?}:{cause:?}"),
            Effect::CountTree => "count".to_owned(),
            Effect::WakeAt(at) => format!("wake:{at}"),
            Effect::Finish => "finish".to_owned(),
            Effect::Remove => "remove".to_owned(),
        }
    }

    fn check(orders: Orders, inputs: &[(u64, Input)], expected: &[&str]) {
        let mut guard = Guard::new(orders);
        let effects = inputs.iter().flat_map(|&(now, input)| guard.handle(now, input));
        assert_eq!(effects.map(short).collect::<Vec<_>>(), expected);
    }

    fn plain() -> Orders {
        Orders { asking: vec![TERM], timeout: None, remove: false }
    }

    #[test]
    fn a_host_that_dies_again_and_again_waits_longer_but_never_a_second() {
        let mut respawn = Respawn::default();
        let mut pauses = Vec::new();
        for now in (10_000..).step_by(1000).take(10) {
            respawn.started(now);
            respawn.gone(now + 1);
            pauses.push(respawn.due_at() - now - 1);
        }
        assert_eq!(pauses, [0, 0, 0, 50, 100, 200, 400, 500, 500, 500]);
        respawn.started(100_000);
        respawn.gone(100_000 + SOUND_MS);
        assert!(respawn.is_due(100_000 + SOUND_MS));
    }

    #[test]
    fn hosts_that_cannot_work_become_ever_fewer_whichever_is_heard_first() {
        for gone_first in [true, false] {
            let (mut respawn, mut now, mut pauses) = (Respawn::default(), 10_000, Vec::new());
            for _ in 0..20 {
                respawn.started(now);
                if gone_first {
                    respawn.gone(now);
                }
                respawn.failed(now);
                if !gone_first {
                    respawn.gone(now);
                }
                pauses.push(respawn.due_at() - now);
                now = respawn.due_at();
            }
            assert!(pauses.is_sorted() && pauses[9] == LONGEST_PAUSE_MS, "{pauses:?}");
            assert_eq!(pauses[19], LONGEST_FAILING_MS, "{pauses:?}");
        }
    }

    #[test]
    fn an_end_is_drained_then_recorded_then_all_is_done() {
        check(
            plain(),
            &[(1, ended(EXIT_0)), (2, Input::Drained), (3, Input::EndRecorded { done: true })],
            &["drain", "record:Exited { code: 0 }:None", "finish"],
        );
    }

    #[test]
    fn a_session_that_is_to_be_removed_is_kept_until_nobody_can_miss_its_end() {
        let over = [(1, ended(EXIT_0)), (2, Input::Drained), (3, Input::EndRecorded { done: true })];
        let told = ["drain", "record:Exited { code: 0 }:None", "finish", "wake:5003"];
        let orders = || Orders { remove: true, ..plain() };
        let check = |then: &[(u64, Input)], expected: &[&str]| {
            check(orders(), &[&over, then].concat(), &[&told, expected].concat());
        };
        check(&[(5002, Input::Woke)], &[]);
        check(&[(5003, Input::Woke), (5004, Input::Woke)], &["remove"]);
        check(&[(4, Input::StopAsked { grace_ms: 9 })], &["remove"]);
    }

    #[test]
    fn a_session_whose_end_is_not_on_record_is_not_removed() {
        check(
            Orders { remove: true, ..plain() },
            &[
                (1, ended(EXIT_0)),
                (2, Input::Drained),
                (3, Input::EndRecorded { done: false }),
                (9_999, Input::Drained),
            ],
            &["drain", "record:Exited { code: 0 }:None", "wake:253"],
        );
    }

    #[test]
    fn stop_escalates_to_kill_after_the_grace_and_sweeps_the_tree() {
        let killed = How::Signaled { signal: 9, core: false };
        check(
            plain(),
            &[
                (10, Input::StopAsked { grace_ms: 100 }),
                (50, Input::Woke),
                (110, Input::Woke),
                (111, ended(killed)),
                (112, Input::Drained),
                (113, Input::EndRecorded { done: true }),
                (2113, Input::Woke),
                (2114, Input::TreeEmpty),
            ],
            &[
                "program:15",
                "program:18",
                "wake:110",
                "program:9",
                "wake:1110",
                "drain",
                "record:Signaled { signal: 9, core: false }:Some(Asked)",
                "tree:15",
                "tree:18",
                "count",
                "wake:2113",
                "tree:9",
                "count",
                "wake:4113",
                "finish",
            ],
        );
    }

    #[test]
    fn a_polite_signal_comes_before_term() {
        check(
            Orders { asking: vec![2, TERM], timeout: None, remove: false },
            &[(0, Input::StopAsked { grace_ms: 10 }), (10, Input::Woke), (20, Input::Woke)],
            &[
                "program:2",
                "program:18",
                "wake:10",
                "program:15",
                "program:18",
                "wake:20",
                "program:9",
                "wake:1020",
            ],
        );
    }

    #[test]
    fn asking_again_with_less_patience_shortens_the_wait() {
        check(
            plain(),
            &[
                (0, Input::StopAsked { grace_ms: 10_000 }),
                (5, Input::StopAsked { grace_ms: 10 }),
                (15, Input::Woke),
            ],
            &["program:15", "program:18", "wake:10000", "wake:15", "program:9", "wake:1015"],
        );
    }

    #[test]
    fn time_being_up_is_a_stop_with_its_own_cause() {
        check(
            timed(Some(7_000)),
            &[(99, Input::Woke), (100, Input::Woke), (101, ended(EXIT_0)), (102, Input::Drained)],
            &[
                "time up",
                "program:15",
                "program:18",
                "wake:7100",
                "drain",
                "record:Exited { code: 0 }:Some(Timeout)",
            ],
        );
    }

    fn timed(grace_ms: Option<u64>) -> Orders {
        let terms = Terms { timeout_ms: Some(60), grace_ms, ..Terms::default() };
        Orders { timeout: Timeout::of(&terms, 40), ..plain() }
    }

    #[test]
    fn a_time_that_was_up_is_not_put_on_record_again_and_needs_no_limit_to_be_known() {
        for orders in [timed(None), plain()] {
            check(
                orders,
                &[
                    (101, Input::TimeWasUp { grace_ms: 7_000 }),
                    (102, Input::Woke),
                    (103, ended(EXIT_0)),
                    (104, Input::Drained),
                ],
                &[
                    "program:15",
                    "program:18",
                    "wake:7101",
                    "drain",
                    "record:Exited { code: 0 }:Some(Timeout)",
                ],
            );
        }
    }

    #[test]
    fn a_timeout_whose_launch_says_nothing_of_patience_has_what_it_always_had() {
        check(timed(None), &[(100, Input::Woke)], &["time up", "program:15", "program:18", "wake:2100"]);
    }

    #[test]
    fn an_outcome_that_cannot_be_written_is_tried_again() {
        check(
            plain(),
            &[
                (0, ended(EXIT_0)),
                (0, Input::Drained),
                (0, Input::EndRecorded { done: false }),
                (249, Input::Woke),
                (250, Input::Woke),
                (251, Input::EndRecorded { done: true }),
            ],
            &[
                "drain",
                "record:Exited { code: 0 }:None",
                "wake:250",
                "record:Exited { code: 0 }:None",
                "finish",
            ],
        );
    }

    #[test]
    fn nothing_is_signalled_after_the_program_ended_unless_a_stop_was_asked_for() {
        check(
            plain(),
            &[(0, ended(EXIT_0)), (1, Input::StopAsked { grace_ms: 5 }), (2, Input::Drained)],
            &["drain", "record:Exited { code: 0 }:None"],
        );
    }
}
