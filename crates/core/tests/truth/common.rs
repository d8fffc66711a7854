//! What all these tests share: processes, one realistic session, and short ways to a verdict.

use std::collections::HashMap;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, Found, SLOT_SIZE, Scanner, encode};
use abide_core::evidence::{
    Body, Declared, Ended, Fact, Guarded, Hosted, How, Launched, Observer, Outcome, Role, Started, StopAsked,
    Terms, Witness, Word,
};
use abide_core::identity::{Death, Doubt, FileId, Identity, Liveness, SystemId};
use abide_core::moment::Moment;
use abide_core::verdict::{Now, Seen, Verdict, derive};

pub(crate) const LAUNCHER: u32 = 90;
pub(crate) const GUARD: u32 = 100;
pub(crate) const HOST: u32 = 200;
pub(crate) const PROGRAM: u32 = 300;
pub(crate) const OWNER: u32 = 400;
pub(crate) const CLIENT: u32 = 500;
pub(crate) const WATCHER: u32 = 700;

pub(crate) const ALIVE: Liveness = Liveness::Alive(None);
pub(crate) const DEAD: Liveness = Liveness::Dead(Death::Gone);
pub(crate) const UNKNOWN: Liveness = Liveness::Unknown(Doubt::OtherPidNamespace);
/// What is said of a process that no fact names.
pub(crate) const UNNAMED: Liveness = Liveness::Unknown(Doubt::NoIdentity);

pub(crate) const DAMAGE: Damage = Damage { offset: 7, length: 3, flaw: Flaw::Checksum };

/// Where a log ends, where that matters to nobody.
pub(crate) const END: u64 = 100_000;

/// Between two facts of a told session.
pub(crate) const STEP_MS: u64 = 1_000;
const FIRST: Moment = Moment { wall: 1_700_000_000_000, boot: 50_000 };

pub(crate) fn machine_id() -> SystemId {
    SystemId::parse("6f1c8a52e0b94d3f8a7c1d2e3f405162").unwrap()
}

pub(crate) fn boot_id() -> SystemId {
    SystemId::parse("0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d").unwrap()
}

/// A process of this machine and boot, told from others by its pid alone.
pub(crate) fn process(pid: u32) -> Identity {
    let born = u64::from(pid) * 10;
    Identity {
        machine: Some(machine_id()),
        boot: boot_id(),
        kernel_boot: true,
        pid_ns: FileId { dev: 4, ino: 4_026_531_836 },
        time_ns: Some(FileId { dev: 4, ino: 4_026_531_834 }),
        pid,
        start_ticks: Some(born),
        seen_ticks: Some(born + 2),
        pidfs: Some(u64::from(pid) + 1_000_000),
        uid: Some(1000),
        exe: Some(FileId { dev: 2049, ino: 77 }),
    }
}

pub(crate) fn guarded() -> Body {
    let lock = FileId { dev: 2049, ino: 4711 };
    Body::Guarded(Guarded { guard: process(GUARD), lock, version: "0.1.0".into() })
}

pub(crate) fn launched() -> Body {
    Body::Launched(Box::new(Launched {
        id: "k3v9q2zr".into(),
        name: Some("nightly".into()),
        argv: vec!["make".into(), "test".into()],
        argv_cut: false,
        cwd: "/srv/app".into(),
        env_names: "PATH=TERM".into(),
        labels: std::iter::once(("team".into(), "a".into())).collect(),
        size: Some(abide_core::evidence::Size { cols: 80, rows: 24 }),
        launcher: Some(process(LAUNCHER)),
        program: Some(process(PROGRAM)),
        agent: None,
        begun: None,
        stdin: Some("pipe".into()),
        terms: Terms {
            timeout_ms: Some(1),
            grace_ms: Some(3),
            remove: true,
            durable: true,
            record_bytes: Some(2),
            keep_last: true,
            checkpoint_ms: Some(500),
        },
    }))
}

pub(crate) fn hosted() -> Body {
    Body::Hosted(Hosted { host: process(HOST), generation: 1, version: "0.1.0".into() })
}

pub(crate) fn started() -> Body {
    Body::Started(Started { program: process(PROGRAM), image: "/usr/bin/make".into(), cgroup: None })
}

pub(crate) fn stop_asked() -> Body {
    Body::StopAsked(StopAsked { by: "client:500".into(), grace_ms: 1_000, time_is_up: false })
}

pub(crate) fn ended(how: How) -> Body {
    let outcome = Outcome { how, observed_by: Some(Observer::Guard), cause: None };
    Body::Ended(Box::new(Ended::of(outcome)))
}

/// The same as its witness tells it now: with the word that counted.
pub(crate) fn ended_with(how: How, word: Option<&Body>) -> Body {
    let declared = word.map(|body| {
        let Body::Declared(word) = body else { panic!("{} is no word", body.name()) };
        Declared { summary: None, ..word.clone() }
    });
    let Body::Ended(ended) = ended(how) else { unreachable!("it is an end") };
    Body::Ended(Box::new(Ended { word: Some(Word { declared, unclear: false }), ..*ended }))
}

/// What a slot holds that was filled with these frames.
pub(crate) fn padded(mut frames: Vec<u8>) -> Vec<u8> {
    assert!(frames.len() < SLOT_SIZE);
    frames.resize(SLOT_SIZE, b'\n');
    frames
}

/// A session being told: numbers the facts of each witness and lets the clock run.
#[derive(Clone, Default)]
pub(crate) struct Story {
    pub(crate) facts: Vec<Fact>,
    counts: HashMap<Witness, u64>,
}

impl Story {
    pub(crate) fn tell(mut self, role: Role, pid: u32, body: Body) -> Self {
        let witness = witness(role, pid);
        let seq = self.counts.entry(witness).or_default();
        *seq += 1;
        let at = moment(self.facts.len() as u64);
        self.facts.push(Fact { witness, seq: *seq, at, body });
        self
    }

    pub(crate) fn guard(self, body: Body) -> Self {
        self.tell(Role::Guard, GUARD, body)
    }

    pub(crate) fn client(self, body: Body) -> Self {
        self.tell(Role::Client, CLIENT, body)
    }

    /// All facts as they are stored.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.facts.iter().flat_map(|fact| encode(fact).unwrap()).collect()
    }

    pub(crate) fn evidence(&self) -> Evidence {
        fold(&self.facts)
    }
}

/// A session that runs under a guard and a host.
pub(crate) fn running() -> Story {
    let story = Story::default().guard(guarded()).guard(launched());
    story.tell(Role::Host, HOST, hosted()).guard(started())
}

pub(crate) fn witness(role: Role, pid: u32) -> Witness {
    Witness { role, pid, boot: boot_id().short() }
}

/// The instant of a story's n-th fact.
pub(crate) fn moment(n: u64) -> Moment {
    let passed = n * STEP_MS;
    Moment { wall: FIRST.wall + passed.cast_signed(), boot: FIRST.boot + passed }
}

/// A minute after the longest story.
pub(crate) fn now() -> Now {
    Now { at: moment(100), boot: boot_id().short(), time_ns: process(GUARD).time_ns }
}

pub(crate) fn fold(facts: &[Fact]) -> Evidence {
    let mut evidence = Evidence::default();
    for fact in facts {
        evidence.add(0, Found::Fact(Box::new(fact.clone())));
    }
    evidence
}

/// What a scanner finds in the bytes when they come in these pieces.
pub(crate) fn scan<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Found> {
    let mut scanner = Scanner::default();
    let mut all = Vec::new();
    let mut note = |_, found| all.push(found);
    for piece in pieces {
        scanner.feed(piece, &mut note);
    }
    scanner.finish(&mut note);
    all
}

pub(crate) fn seen(program: Liveness, guard: Liveness, host: Liveness) -> Seen {
    Seen { guard, host, program, owner: UNNAMED, watcher: UNNAMED }
}

pub(crate) fn all_dead() -> Seen {
    Seen { guard: DEAD, host: DEAD, program: DEAD, owner: DEAD, watcher: UNNAMED }
}

pub(crate) fn judge_story(story: &Story, seen: &Seen) -> Verdict {
    derive(&story.evidence(), seen, now())
}
