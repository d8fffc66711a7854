//! Any log, any slot, any liveness: reading and deriving do not panic, do not depend on how the bytes come in
//! pieces, and pass on no code that no fact holds.
//!
//! The input: a byte of choices, a byte for each process, the slot's length, the slot, the log. With the first
//! choice set, the lines of both files get right checksums, so that what lies behind the checksum is reached.

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Found, SLOT_SIZE, Scanner, encode};
use abide_core::evidence::{Body, Fact, How};
use abide_core::identity::{Death, Doubt, Liveness, Qualifier};
use abide_core::moment::Moment;
use abide_core::status::Status;
use abide_core::verdict::{Now, Seen, Verdict, derive, hindsight};

const CHECKSUMS: u8 = 1;
const NO_SLOT: u8 = 2;

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let [choices, guard, host, program, owner, slot_length, rest @ ..] = input else {
        return;
    };
    let (slot, log) = rest.split_at(usize::from(*slot_length).min(rest.len()));
    let (slot, log) = match choices & CHECKSUMS {
        0 => (slot.to_vec(), log.to_vec()),
        _ => (with_checksums(slot), with_checksums(log)),
    };
    let seen = Seen {
        guard: pick(*guard),
        host: pick(*host),
        program: pick(*program),
        owner: pick(*owner),
        watcher: pick(choices >> 2),
    };
    let now = Now {
        at: Moment { wall: i64::from(*guard) << 40, boot: u64::from(*host) << 20 },
        boot: 0,
        time_ns: None,
    };

    let mut evidence = Evidence::read(&log);
    check_pieces(&log, &evidence);
    let mut slot = (choices & NO_SLOT == 0).then_some(slot);
    if let Some(slot) = slot.as_mut().filter(|_| slot_length % 2 == 0) {
        slot.resize(SLOT_SIZE.max(slot.len()), b'\n');
    }
    if evidence.wants_slot() {
        evidence.add_slot(None, slot.as_deref(), i64::MAX, log.len() as u64);
    }
    let facts: Vec<Fact> = scan(&log).into_iter().chain(scan(slot.as_deref().unwrap_or_default())).collect();
    check(&facts, &evidence, &derive(&evidence, &seen, now));
    let past = Evidence::read(&log[..log.len() / 2]);
    check(&facts, &past, &derive(&past, &hindsight(&past, &evidence, &seen), now));
}

fn check(facts: &[Fact], evidence: &Evidence, verdict: &Verdict) {
    assert_eq!(verdict.status, verdict.rule.status());
    // What has ended and is being removed still has its code.
    let leaving = verdict.status == Status::Destroying && evidence.closing.is_recorded();
    assert_eq!(verdict.codes.wait.is_some(), verdict.status.is_terminal() || leaving);
    assert!(!(verdict.rule.closing().is_some() && evidence.is_damaged()), "damage proves no end");
    let held = |code: u8| {
        facts.iter().any(|fact| code_of(&fact.body) == Some(code) || word_of(&fact.body) == Some(code))
    };
    assert!(verdict.codes.exit.is_none_or(held), "an invented code");
    let told = |code: u8| code == 125 || held(code) || facts.iter().any(|fact| stands_for(&fact.body, code));
    assert!(verdict.codes.wait.is_none_or(told), "an invented code to wait for");
    assert!(verdict.status != Status::Exited || evidence.closing.ended.is_some());
}

/// Read in two pieces, the log is the same; and each fact is read back from what it is written as.
fn check_pieces(log: &[u8], whole: &Evidence) {
    let (front, back) = log.split_at(log.len() / 3);
    let mut evidence = Evidence::default();
    let mut scanner = Scanner::default();
    let mut add = |offset, found| evidence.add(offset, found);
    scanner.feed(front, &mut add);
    scanner.feed(back, &mut add);
    scanner.finish(&mut add);
    assert!(log.is_empty() || evidence == *whole, "pieces read otherwise than the whole");
    for fact in scan(log) {
        let again = scan(&encode(&fact).expect("what was read can be written"));
        assert_eq!(again, [fact]);
    }
}

fn scan(bytes: &[u8]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut scanner = Scanner::default();
    let mut take = |_, found| match found {
        Found::Fact(fact) => facts.push(*fact),
        Found::Damage(damage) => assert!(damage.offset + damage.length <= bytes.len() as u64),
    };
    scanner.feed(bytes, &mut take);
    scanner.finish(&mut take);
    facts
}

fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    lines
        .flat_map(|line| [format!("\n{:08x} ", crc32fast::hash(line)).as_bytes(), line, b"\n"].concat())
        .collect()
}

fn code_of(body: &Body) -> Option<u8> {
    match (body, how_of(body)) {
        (Body::Declared(declared), _) => Some(declared.exit_code),
        (_, Some(How::Exited { code })) => Some(code),
        _ => None,
    }
}

/// The code of the word that an end tells once more.
fn word_of(body: &Body) -> Option<u8> {
    let Body::Ended(ended) = body else { return None };
    ended.word.as_ref()?.declared.as_ref().map(|word| word.exit_code)
}

fn stands_for(body: &Body, code: u8) -> bool {
    match (body, how_of(body)) {
        (Body::ExecFailed(failed), _) => code == if failed.errno == 2 { 127 } else { 126 },
        (_, Some(How::ExecFailed { errno })) => code == if errno == 2 { 127 } else { 126 },
        (_, Some(How::Signaled { signal, .. })) => code == signal.saturating_add(128),
        _ => false,
    }
}

fn how_of(body: &Body) -> Option<How> {
    if let Body::Ended(ended) = body {
        return Some(ended.outcome.how);
    }
    matches!(body, Body::Sealed(_)).then_some(How::Lost)
}

fn pick(byte: u8) -> Liveness {
    match byte % 6 {
        0 => Liveness::Alive(None),
        1 => Liveness::Alive(Some(Qualifier::Stopped)),
        2 => Liveness::Dead(Death::Gone),
        3 => Liveness::Dead(Death::Reboot),
        4 => Liveness::Unknown(Doubt::NoIdentity),
        _ => Liveness::Unknown(Doubt::Hidden),
    }
}
