//! A damaged record does not lie. Every truncation and every altered byte of a whole session's files, everyone
//! dead: the true verdict or `unknown`, never another code, and the damage is located.

use abide_core::evidence::How;
use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, SLOT_SIZE, Scanner, encode};
use abide_core::identity::{Doubt, Liveness};
use abide_core::status::Status;
use abide_core::verdict::{Rule, Verdict, derive};

use crate::bodies::{declared, signalled};
use crate::common::{
    ALIVE, DEAD, END, Story, UNNAMED, all_dead, ended, ended_with, guarded, launched, now, padded, running,
    seen, started, stop_asked,
};

/// What the program declared, and what its exit said.
const CODE: u8 = 3;
const EXITED: How = How::Exited { code: 0 };

/// Who wrote the end: a witness of today tells the word that counted once more, one of before did not, and had only what
/// the program left as a file in the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Today,
    Before,
}

/// A session's two files. The outcome stands in both.
struct Files {
    log: Vec<u8>,
    slot: Vec<u8>,
    /// Where the frames of the log start, and where the last one ends.
    bounds: Vec<usize>,
}

fn files() -> Files {
    files_of(Of::Today)
}

fn files_of(of: Of) -> Files {
    let story = running().client(stop_asked()).guard(signalled());
    let story = match of {
        Of::Today => story.client(declared(CODE)).guard(ended_with(EXITED, Some(&declared(CODE)))),
        Of::Before => story.guard(declared(CODE)).guard(ended(EXITED)),
    };
    let frames: Vec<Vec<u8>> = story.facts.iter().map(|fact| encode(fact).unwrap()).collect();
    let last = match of {
        Of::Today => 1,
        Of::Before => 2,
    };
    let slot = padded(frames[frames.len() - last..].concat());
    let bounds = (0..=frames.len()).map(|n| frames[..n].concat().len()).collect();
    Files { log: frames.concat(), slot, bounds }
}

#[test]
fn an_intact_record_gives_the_true_verdict_with_and_without_its_slot() {
    for Files { log, slot, .. } in [Of::Today, Of::Before].map(files_of) {
        for slot in [Some(&slot[..]), None] {
            let (evidence, verdict) = judge(Evidence::read(&log), slot);
            assert_eq!((verdict.status, verdict.codes.wait), (Status::Exited, Some(CODE)));
            assert!(!evidence.is_damaged());
        }
    }
}

#[test]
fn a_log_cut_at_any_byte_never_lies() {
    let Files { log, slot, bounds } = files();
    let mut reader = Reader::default();
    for cut in 1..log.len() {
        reader = reader.read(&log[cut - 1..cut]);
        let read = reader.clone().finish();
        check_damage(&read, &format!("cut at {cut}"), |damage| damage.offset + damage.length == cut as u64);
        let on_a_bound = bounds.iter().any(|&bound| cut + 1 == bound || cut == bound || cut == bound + 1);
        assert_eq!(read.is_damaged(), !on_a_bound, "cut at {cut}: {:?}", read.record.damage);
        for slot in [Some(&slot[..]), None] {
            let (evidence, verdict) = judge(read.clone(), slot);
            check_truth(&verdict, &format!("cut at {cut}, slot {}", slot.is_some()));
            let end_is_whole = cut + 1 >= log.len();
            let may_miss_the_end = slot.is_none() && !end_is_whole;
            assert!(!may_miss_the_end || verdict.status == Status::Unknown, "cut at {cut}");
            assert!(evidence.is_damaged() || verdict.status == Status::Exited, "cut at {cut}");
        }
    }
}

#[test]
fn a_log_with_any_byte_of_its_beginning_altered_never_lies() {
    let start = files().bounds[..3].to_vec();
    start.windows(2).for_each(|frame| alter_frame(Of::Today, frame[0]..frame[1]));
}

#[test]
fn a_log_with_any_later_byte_altered_never_lies() {
    let rest = files().bounds[2..].to_vec();
    rest.windows(2).for_each(|frame| alter_frame(Of::Today, frame[0]..frame[1]));
}

#[test]
fn a_log_of_an_older_abide_with_any_byte_of_its_word_or_its_end_altered_never_lies() {
    let bounds = files_of(Of::Before).bounds;
    bounds[bounds.len() - 3..].windows(2).for_each(|frame| alter_frame(Of::Before, frame[0]..frame[1]));
}

fn alter_frame(of: Of, frame: std::ops::Range<usize>) {
    let Files { log, slot, bounds } = files_of(of);
    let end = bounds[bounds.len() - 2];
    // What stands before the altered frame reads as ever, so it is read once.
    let before = Reader::default().read(&log[..frame.start]);
    for at in frame.clone() {
        for (what, altered) in alterations(&log, at) {
            let read = before.clone().read(&altered[frame.start..]).finish();
            let name = format!("byte {at} {what}");
            assert!(read.is_damaged(), "{name}: not noticed");
            check_damage(&read, &name, |damage| is_near(damage, at, altered.len()));
            for slot in [Some(&slot[..]), None] {
                let (_, verdict) = judge(read.clone(), slot);
                check_truth(&verdict, &name);
                // An older end does not tell its word: that must be whole too, or stand in the slot.
                let end_is_whole = (!frame.contains(&end) && of == Of::Today) || slot.is_some();
                assert!(!end_is_whole || verdict.codes.wait == Some(CODE), "{name}: {verdict:#?}");
            }
        }
    }
}

#[test]
fn a_program_that_lives_is_told_by_what_is_left_of_its_record() {
    let Files { log, bounds, .. } = files();
    let empty = vec![b'\n'; SLOT_SIZE];
    // What was on record while it ran: guarded, launched, hosted, started.
    let log = &log[..bounds[4]];
    let alive = seen(ALIVE, ALIVE, ALIVE);
    for (lost, frame) in bounds[..5].windows(2).enumerate() {
        let mut altered = log.to_vec();
        altered[frame[0] + 20] ^= 1;
        let mut evidence = Evidence::read(&altered);
        evidence.add_slot(None, Some(&empty), i64::MAX, log.len() as u64);
        assert!(evidence.is_damaged());
        let verdict = derive(&evidence, &alive, now());
        assert_eq!(verdict.status, Status::Running, "without fact {lost}: {:?}", verdict.rule);
        let dead = derive(&evidence, &all_dead(), now());
        assert_eq!((dead.status, dead.codes.wait), (Status::Unknown, None), "without fact {lost}");
    }
}

#[test]
fn one_without_a_beginning_can_still_tell_while_somebody_lives_to_record_its_end() {
    let story = Story::default().guard(guarded());
    let mut evidence = story.evidence();
    evidence.damaged(Damage { offset: 7, length: 3, flaw: Flaw::Checksum });
    let (alive, dead) = (seen(UNNAMED, ALIVE, UNNAMED), seen(UNNAMED, DEAD, UNNAMED));
    for (seen, beyond) in [(alive, false), (dead, true)] {
        let rule = derive(&evidence, &seen, now()).rule;
        assert_eq!((rule, rule.is_beyond_telling(&evidence, &seen)), (Rule::NoBeginning, beyond));
    }
}

/// Who the guard is cannot be read, and nobody holds the directory: that is no death, but nobody will add to the record.
#[test]
fn a_directory_that_nobody_holds_proves_no_death_and_ends_the_wait() {
    let mut evidence = Story::default().guard(launched()).guard(started()).evidence();
    evidence.damaged(Damage { offset: 7, length: 3, flaw: Flaw::Checksum });
    let not_held = Liveness::Unknown(Doubt::NotHeld);
    let cases = [
        (DEAD, not_held, Rule::EndUnclear, true),
        (DEAD, UNNAMED, Rule::EndUnclear, false),
        (ALIVE, not_held, Rule::ServiceUnclear, false),
    ];
    for (program, guard, rule, beyond) in cases {
        let seen = seen(program, guard, UNNAMED);
        let told = derive(&evidence, &seen, now());
        assert_eq!((told.rule, told.rule.is_beyond_telling(&evidence, &seen)), (rule, beyond));
        assert_eq!((told.status, told.codes.wait), (Status::Unknown, None));
    }
}

/// Evidence being read in pieces.
#[derive(Clone, Default)]
struct Reader {
    scanner: Scanner,
    evidence: Evidence,
}

impl Reader {
    fn read(mut self, piece: &[u8]) -> Self {
        self.scanner.feed(piece, &mut |offset, found| self.evidence.add(offset, found));
        self
    }

    fn finish(mut self) -> Evidence {
        self.scanner.finish(&mut |offset, found| self.evidence.add(offset, found));
        self.evidence
    }
}

#[test]
fn a_slot_with_any_byte_altered_or_cut_never_lies() {
    let Files { log, slot, bounds } = files();
    let without_end = Evidence::read(&log[..bounds[bounds.len() - 2]]);
    // What is filled of it, and some of what is not.
    let filled = slot.iter().rposition(|&byte| byte != b'\n').unwrap() + 8;
    for at in (0..filled).chain((filled..SLOT_SIZE).step_by(97)) {
        let cut = (format!("slot cut at {at}"), slot[..at].to_vec());
        for (what, altered) in alterations(&slot, at).into_iter().chain([cut]) {
            let name = format!("slot byte {at} {what}");
            let (evidence, verdict) = judge(without_end.clone(), Some(&altered));
            check_truth(&verdict, &name);
            let noticed = evidence.is_damaged() || verdict.status == Status::Exited;
            assert!(noticed, "{name}: not noticed");
        }
    }
}

#[test]
fn a_log_whose_blocks_were_zeroed_never_lies() {
    let Files { log, slot, .. } = files();
    for start in (0..log.len()).step_by(64) {
        for length in [1, 64, 512, 4096] {
            let mut altered = log.clone();
            let end = log.len().min(start + length);
            altered[start..end].fill(0);
            let name = format!("zeroes from {start} to {end}");
            let read = Evidence::read(&altered);
            assert!(read.is_damaged(), "{name}: not noticed");
            for slot in [Some(&slot[..]), None] {
                check_truth(&judge(read.clone(), slot).1, &name);
            }
        }
    }
}

/// The bytes with one of them altered, in each of the ways that change it.
fn alterations(bytes: &[u8], at: usize) -> Vec<(String, Vec<u8>)> {
    let byte = bytes[at];
    let mut ways = vec![byte ^ 1, byte ^ 0x80, b'\n'];
    ways.retain(|&way| way != byte);
    ways.dedup();
    let alter = |way| {
        let mut altered = bytes.to_vec();
        altered[at] = way;
        (format!("as {way:#04x}"), altered)
    };
    ways.into_iter().map(alter).collect()
}

/// The slot is asked only for what the log lacks.
fn judge(mut evidence: Evidence, slot: Option<&[u8]>) -> (Evidence, Verdict) {
    if evidence.wants_slot() {
        evidence.add_slot(None, slot, i64::MAX, END);
    }
    let verdict = derive(&evidence, &all_dead(), now());
    (evidence, verdict)
}

/// The verdict is the true one or `unknown`, and no code but the true one is in it.
fn check_truth(verdict: &Verdict, name: &str) {
    let codes = verdict.codes;
    match verdict.status {
        Status::Exited if codes.unclear => {
            assert_eq!((codes.exit, codes.wait), (None, Some(125)), "{name}");
        }
        Status::Exited => assert_eq!((codes.exit, codes.wait), (Some(CODE), Some(CODE)), "{name}"),
        Status::Unknown => assert_eq!((codes.exit, codes.wait), (None, None), "{name}"),
        Status::Starting | Status::Running | Status::Unattended | Status::Exiting => panic!("{name}: alive"),
        Status::Failed | Status::Lost | Status::Destroying | Status::Destroyed => {
            panic!("{name}: {}", verdict.status.name())
        }
    }
    let how = verdict.outcome.as_ref().map(|outcome| outcome.how);
    assert!(how.is_none_or(|how| how == EXITED), "{name}: {how:?}");
}

/// All damage is where it should be. A gap stands before the next fact of its witness.
fn check_damage(evidence: &Evidence, name: &str, located: impl Fn(&Damage) -> bool) {
    let places = evidence.record.damage.iter().filter(|damage| damage.flaw != Flaw::Gap);
    assert!(places.clone().all(located), "{name}: {:?}", evidence.record.damage);
    assert!(!evidence.is_damaged() || places.count() > 0, "{name}: a gap alone tells no place");
}

/// The altered byte is in the damaged place, or is the newline that now stands beside it.
fn is_near(damage: &Damage, at: usize, length: usize) -> bool {
    let (start, end) = (damage.offset, damage.offset + damage.length);
    let at = at as u64;
    end <= length as u64 && start <= at + 1 && at <= end
}
