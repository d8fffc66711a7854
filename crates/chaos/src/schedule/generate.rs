//! Makes a schedule of a seed: many short lives that overlap, each with a way to begin, some acts and an end.

use super::{Act, Blow, Manner, Order, Schedule, Spoiling, Step, Target, Victim, Way, World};
use crate::random::Random;

/// What may be done here, and how densely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Likes {
    /// Faults that need namespaces of our own.
    pub walled: bool,
    /// How many ms lie between two launches, about.
    pub pace_ms: u64,
}

impl Likes {
    #[must_use]
    pub const fn all() -> Self {
        Self { walled: true, pace_ms: 250 }
    }
}

/// One life that is being made up.
struct Life {
    tag: u32,
    at_ms: u64,
    steps: Vec<Step>,
}

impl Life {
    fn then(&mut self, after_ms: u64, act: Act) {
        self.at_ms += after_ms;
        self.steps.push(Step { at_ms: self.at_ms, tag: self.tag, act });
    }
}

/// Makes the schedule of so many ms.
#[must_use]
pub fn generate(seed: u64, length_ms: u64, likes: &Likes) -> Schedule {
    let mut random = Random::new(seed);
    let (mut steps, mut at_ms, mut tag) = (Vec::new(), 0, 0);
    while at_ms < length_ms {
        tag += 1;
        steps.extend(life(&mut random, Life { tag, at_ms, steps: Vec::new() }, likes));
        at_ms += random.between(1, 2 * likes.pace_ms);
    }
    at_ms = 500;
    while at_ms < length_ms {
        steps.push(Step { at_ms, tag: 0, act: of_the_home(&mut random, likes) });
        at_ms += random.between(200, 4_000);
    }
    Schedule::of(steps)
}

fn life(random: &mut Random, mut life: Life, likes: &Likes) -> Vec<Step> {
    let way = random.weighted(&[
        (70, Way::Detached),
        (10, Way::Waiting),
        (6, Way::LauncherKilled),
        (6, Way::LauncherStopped),
        (5, Way::FewFiles),
        (3, Way::FewProcesses),
    ]);
    life.then(0, Act::Launch(way, random.between(1, 60)));
    let mut open = true;
    for _ in 0..random.between(0, 6) {
        let act = middle(random, open, likes);
        open &= !matches!(act, Act::Order(Order::CloseTerminal | Order::Become, _));
        life.then(random.between(0, 500), act);
    }
    let end = end(random, open);
    life.then(random.between(0, 1_000), end);
    for _ in 0..random.between(0, 2) {
        let act = after_the_end(random, likes);
        life.then(random.between(0, 800), act);
    }
    life.then(random.between(500, 12_000), Act::Remove);
    life.steps
}

fn middle(random: &mut Random, open: bool, likes: &Likes) -> Act {
    let ms = random.between(20, 1_500);
    let hit = Act::Hit(
        random.weighted(&[
            (3, Victim::Program),
            (5, Victim::Guard),
            (5, Victim::Host),
            (2, Victim::Helpers),
            (1, Victim::Everyone),
            (2, Victim::Waiter),
        ]),
        random.weighted(&[(5, Blow::Kill), (4, Blow::Stop), (1, Blow::Hup), (1, Blow::Term)]),
        ms,
    );
    let order = random.weighted(&[
        (2, Order::Stubborn),
        (2, Order::Polite),
        (2, Order::Fork),
        (2, Order::Setsid),
        (1, Order::CloseTerminal),
        (1, Order::Become),
    ]);
    let lines = random.weighted(&[(5, 20), (3, 400), (1, 3_000)]);
    let print = Act::Order(Order::Print, random.between(1, lines));
    let world = random.pick(World::ALL);
    let abroad = if likes.walled { Act::Abroad(world) } else { hit };
    let among = [
        (if open { 34 } else { 0 }, print),
        (if open { 12 } else { 0 }, Act::Order(order, 0)),
        (30, hit),
        (8, Act::Client(random.pick(Manner::ALL), ms)),
        (6, abroad),
        (4, spoil(random)),
        (2, Act::Stop(random.pick(&[0, 50, 1_000]))),
    ];
    random.weighted(&among)
}

fn end(random: &mut Random, open: bool) -> Act {
    let code = random.pick(&[0, 1, 3, 42, 125, 137, 143, 255]);
    let signal = random.pick(&[6, 9, 10, 11]);
    let told = [Act::Order(Order::Exit, code), Act::Order(Order::Die, signal)];
    let among = [
        (if open { 50 } else { 0 }, told[0]),
        (if open { 15 } else { 0 }, told[1]),
        (15, Act::Hit(Victim::Program, Blow::Kill, 0)),
        (5, Act::Hit(Victim::Everyone, Blow::Kill, 0)),
        (15, Act::Stop(random.pick(&[0, 50, 300]))),
    ];
    random.weighted(&among)
}

fn after_the_end(random: &mut Random, likes: &Likes) -> Act {
    let abroad = Act::Abroad(random.pick(World::ALL));
    let among = [
        (if likes.walled { 3 } else { 0 }, Act::Reuse(random.between(100, 1_500))),
        (if likes.walled { 2 } else { 0 }, abroad),
        (1, spoil(random)),
        (1, Act::Stop(100)),
        (1, Act::Client(Manner::NeverReads, 100)),
    ];
    random.weighted(&among)
}

fn spoil(random: &mut Random) -> Act {
    let target = random.pick(Target::ALL);
    let spoiling = match target {
        Target::Alive | Target::Socket | Target::Whole => Spoiling::Delete,
        Target::Evidence | Target::Outcome | Target::Recording | Target::Keyframes | Target::View => {
            random.pick(Spoiling::ALL)
        }
    };
    Act::Spoil(target, spoiling, random.between(0, 4_000))
}

fn of_the_home(random: &mut Random, likes: &Likes) -> Act {
    let fill = Act::Fill(random.between(50, 1_000));
    let sealers = random.between(2, 4);
    let among = [(5, Act::Seal(sealers)), (2, Act::Upgrade), (if likes.walled { 2 } else { 0 }, fill)];
    random.weighted(&among)
}
