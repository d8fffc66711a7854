//! The guard's mind in a world of dice: programs that end, hang or ignore signals, disks that fail, stops that come at any time,
//! wakes that come early or late. What must hold is asked after every step. The same seed throws the same.
//! `ABIDE_SIM_SEED` runs one seed, `ABIDE_SIM_LIVES` so many lives (`just sim`).

use abide_core::evidence::{Cause, How, Terms};
use abide_core::guard::{Effect, Guard, Input, Orders, Respawn, Timeout};

const TERM: i32 = 15;
const INT: i32 = 2;
const KILL: i32 = 9;
const CONT: i32 = 18;

struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// What is true, whatever the guard thinks.
struct World {
    dice: Dice,
    now: u64,
    orders: Orders,
    /// How the program ends once it does, and which of the asking signals it heeds.
    how: How,
    heeds: Option<i32>,
    /// When it ends by itself, or by what it was sent.
    ends_at: Option<u64>,
    ended: bool,
    told: bool,
    /// How many of its tree are left, and whether they heed a polite signal.
    tree: u64,
    stubborn: bool,
    disk_until: u64,
    seen: Seen,
}

/// What the guard did so far.
#[derive(Default)]
struct Seen {
    /// The signals that the program was sent, and when.
    signals: Vec<(u64, i32)>,
    /// Since when the end is sought, and with how much patience at least.
    asked: Option<(u64, u64)>,
    /// Who seeks the end stands in the record.
    on_record: bool,
    drained: bool,
    recorded: bool,
    tree_signals: Vec<(u64, i32)>,
    finished: Option<u64>,
    removed: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let polite = if dice.one_in(3) { vec![INT, TERM] } else { vec![TERM] };
        let terms = Terms {
            timeout_ms: dice.one_in(4).then(|| dice.below(20_000)),
            grace_ms: dice.one_in(2).then(|| dice.below(5_000)),
            ..Terms::default()
        };
        let heeds = match dice.below(3) {
            0 => None,
            at => polite.get(usize::try_from(at).unwrap_or(0) - 1).copied(),
        };
        let how = match dice.below(3) {
            0 => How::Exited { code: u8::try_from(dice.below(256)).unwrap_or(0) },
            1 => How::Signaled { signal: 11, core: true },
            _ => How::Lost,
        };
        Self {
            now: 1_000,
            orders: Orders { asking: polite, timeout: Timeout::of(&terms, 1_000), remove: dice.one_in(4) },
            how,
            heeds,
            ends_at: dice.one_in(2).then(|| 1_000 + dice.below(60_000)),
            ended: false,
            told: false,
            tree: dice.below(4),
            stubborn: dice.one_in(2),
            disk_until: if dice.one_in(3) { dice.below(90_000) } else { 0 },
            seen: Seen::default(),
            dice,
        }
    }

    /// What happens next, at a time that is never before the last.
    fn next(&mut self, guard: &Guard) -> Input {
        let wake = guard.wake_at().unwrap_or(self.now + 10_000);
        self.now = match self.dice.below(4) {
            0 => self.now + self.dice.below(50),
            1 => self.now.max(wake),
            // Nobody is woken just in time on a busy machine.
            2 => self.now.max(wake) + self.dice.below(700),
            _ => self.now + self.dice.below(1_500),
        };
        self.ended |= self.ends_at.is_some_and(|at| at <= self.now);
        if self.ended && !self.told {
            self.told = true;
            return Input::ProgramEnded { how: self.how, resources: None };
        }
        match self.dice.below(40) {
            0 => self.ask(),
            // What was told comes again, and nobody may heed it twice.
            1 if self.told => Input::ProgramEnded { how: How::Exited { code: 77 }, resources: None },
            _ => Input::Woke,
        }
    }

    fn ask(&mut self) -> Input {
        let grace_ms = self.dice.below(4_000);
        let (since, patience) = self.seen.asked.unwrap_or((self.now, grace_ms));
        self.seen.asked = Some((since, patience.min(grace_ms)));
        self.seen.on_record = true;
        Input::StopAsked { grace_ms }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        assert!(!self.seen.removed, "{effect:?} of a session that is removed");
        match effect {
            Effect::RecordTimeUp { .. } => self.seen.on_record = true,
            Effect::SignalProgram(signal) => self.signal_program(signal),
            Effect::SignalTree(signal) => self.signal_tree(signal),
            Effect::Drain => {
                assert!(self.told && !self.seen.drained, "drained once, and at the end");
                self.seen.drained = true;
                return Some(Input::Drained);
            }
            Effect::RecordEnd { how, cause, .. } => {
                assert!(self.seen.drained && !self.seen.recorded, "recorded once, and complete");
                assert_eq!(how, self.how, "a code that nobody observed");
                let sought = !self.seen.signals.is_empty();
                assert_eq!(cause.is_some(), sought, "{cause:?} after {:?}", self.seen.signals);
                assert!(cause != Some(Cause::Timeout) || self.orders.timeout.is_some());
                let done = self.now >= self.disk_until;
                self.seen.recorded = done;
                return Some(Input::EndRecorded { done });
            }
            Effect::CountTree => return (self.tree == 0).then_some(Input::TreeEmpty),
            // The loop asks `wake_at` instead; a time that has passed is now.
            Effect::WakeAt(_) => {}
            Effect::Finish => {
                assert!(
                    self.seen.recorded && self.seen.finished.is_none(),
                    "finished before the end is on record"
                );
                self.seen.finished = Some(self.now);
            }
            Effect::Remove => {
                assert!(self.orders.remove && self.seen.finished.is_some(), "removed what is to be kept");
                self.seen.removed = true;
            }
        }
        None
    }

    fn signal_program(&mut self, signal: i32) {
        assert!(!self.told, "a process that is gone was sent {signal}: its number may be a stranger's");
        assert!(self.seen.on_record, "{signal} before it is on record who asked");
        if signal == CONT {
            assert!(self.seen.signals.last().is_some_and(|(_, sent)| *sent != KILL));
            return;
        }
        let sent: Vec<i32> = self.seen.signals.iter().map(|(_, sent)| *sent).collect();
        let ladder: Vec<i32> = self.orders.asking.iter().copied().chain([KILL]).collect();
        assert_eq!(Some(signal), ladder.get(sent.len()).or(Some(&KILL)).copied(), "after {sent:?}");
        if let (Some((before, _)), Some((_, patience))) = (self.seen.signals.last(), self.seen.asked) {
            assert!(self.now >= before + patience.min(self.orders_patience()), "{signal} before its time");
        }
        self.seen.signals.push((self.now, signal));
        if signal == KILL {
            self.how =
                if self.how == How::Lost { How::Lost } else { How::Signaled { signal: 9, core: false } };
        }
        if signal == KILL || self.heeds == Some(signal) {
            let soon = self.now + self.dice.below(3_000);
            self.ends_at = Some(self.ends_at.map_or(soon, |at| at.min(soon)));
        }
    }

    /// A timeout has a patience of its own.
    fn orders_patience(&self) -> u64 {
        if self.orders.timeout.is_some() { 0 } else { u64::MAX }
    }

    fn signal_tree(&mut self, signal: i32) {
        assert!(
            self.seen.recorded && !self.seen.signals.is_empty(),
            "only a stop sweeps, and what is on record first"
        );
        if signal == CONT {
            return;
        }
        let polite_before = self.seen.tree_signals.first().is_some_and(|(_, sent)| *sent == TERM);
        assert!(signal == TERM || polite_before, "killed before it was asked");
        self.seen.tree_signals.push((self.now, signal));
        if signal == KILL || !self.stubborn {
            self.tree = 0;
        }
    }
}

/// One life, to its end. Gives how many steps it took.
fn live(seed: u64) -> u64 {
    let mut world = World::new(seed);
    let mut guard = Guard::new(world.orders.clone());
    let mut steps = 0;
    while !guard.is_done() {
        steps += 1;
        assert!(steps < 10_000, "it never ends");
        if steps == 3_000 && world.ends_at.is_none() {
            world.ends_at = Some(world.now);
        }
        let mut inputs = vec![world.next(&guard)];
        // Whoever is left of the tree may go by itself.
        if guard.is_sweeping() && world.tree == 0 {
            inputs.push(Input::TreeEmpty);
        }
        while let Some(input) = inputs.pop() {
            let was_done = guard.is_done();
            for effect in guard.handle(world.now, input) {
                assert!(!was_done, "{effect:?} after the end");
                inputs.extend(world.perform(effect));
            }
        }
        let ending = world.told;
        assert_eq!(guard.is_ending(), ending, "it knows whether the program is gone");
    }
    assert!(world.seen.recorded && world.seen.finished.is_some(), "the end is on record");
    assert_eq!(world.seen.removed, world.orders.remove);
    for input in [Input::Woke, Input::StopAsked { grace_ms: 0 }, Input::Drained, Input::TreeEmpty] {
        assert_eq!(guard.handle(world.now + 1_000_000, input), [], "nothing follows the end");
    }
    steps
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_life_of_a_guard_keeps_the_laws_and_comes_to_its_end() {
    let lives = setting("ABIDE_SIM_LIVES").unwrap_or(4_000);
    let seeds = setting("ABIDE_SIM_SEED").map_or(0..lives, |seed| seed..seed + 1);
    let mut steps = 0;
    for seed in seeds {
        let lived = std::panic::catch_unwind(|| live(seed));
        steps += lived.unwrap_or_else(|_| panic!("ABIDE_SIM_SEED={seed} shows it again"));
    }
    assert!(steps > 0);
}

/// Guard and host start each other again, as each decides by `Respawn`, while both are killed at random but never within
/// the time that the other takes to notice.
#[test]
fn guard_and_host_that_start_each_other_again_are_both_back_within_a_second() {
    const STARTS_MS: u64 = 20;
    for seed in 0..setting("ABIDE_SIM_LIVES").unwrap_or(400) {
        let (mut dice, mut now) = (Dice(seed), 10_000);
        let mut back_at = [Some(0_u64); 2];
        let mut respawns = [Respawn::default(); 2];
        for _ in 0..300 {
            now += 1 + dice.below(400);
            let missing = back_at.iter().position(|at| at.is_none_or(|at| at > now));
            if let Some(one) = missing {
                // Only a living one can start the other.
                let due = respawns[one].due_at().max(now);
                assert!(due < now + 1_000, "seed {seed}: nobody for {} ms", due - now);
                now = due;
                respawns[one].started(now);
                now += STARTS_MS;
                back_at[one] = Some(now);
                continue;
            }
            let one = usize::try_from(dice.below(2)).unwrap_or(0);
            back_at[one] = None;
            respawns[one].gone(now);
        }
    }
}
