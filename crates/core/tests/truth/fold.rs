//! Facts folded into evidence: gaps, the slot, and what endless nonsense may cost.

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw, Found, LONGEST_LINE, SLOT_SIZE, encode};
use abide_core::evidence::{Body, Fact, How, Role};
use abide_core::verdict::{Rule, derive};

use crate::bodies::{declared, exec_failed, noted, turn_closed, turn_opened};
use crate::common::{
    CLIENT, DAMAGE, END, GUARD, Story, all_dead, ended, fold, guarded, launched, moment, now, padded,
    running, started, stop_asked, witness,
};

const TEN_MIB: usize = 10 * 1024 * 1024;
const DAMAGE_KEPT: usize = 16;

#[test]
fn the_first_end_counts_and_the_latest_word_on_the_work() {
    let story = running()
        .guard(declared(1))
        .guard(declared(0))
        .guard(ended(How::Exited { code: 3 }))
        .guard(ended(How::Exited { code: 4 }));
    let evidence = story.evidence();
    assert_eq!(evidence.closing.ended.unwrap().body.outcome.how, How::Exited { code: 3 });
    assert_eq!(evidence.work.declared.unwrap().body.exit_code, 0);
    assert_eq!(evidence.record.facts, 8);
}

#[test]
fn only_the_close_of_the_latest_turn_closes_it() {
    let opened_twice = running().guard(turn_opened("t1")).guard(turn_opened("t2"));
    let evidence = opened_twice.guard(turn_closed("t1")).evidence();
    assert!(!evidence.work.turn_closed, "t1 is not the latest turn");
    let closed = running().guard(turn_opened("t1")).guard(turn_closed("t1"));
    assert!(closed.evidence().work.turn_closed);
    let reopened = running().guard(turn_opened("t1")).guard(turn_closed("t1")).guard(turn_opened("t1"));
    assert!(!reopened.evidence().work.turn_closed);
}

#[test]
fn a_fact_that_is_missing_from_a_witness_own_count_is_a_gap() {
    let story = running().guard(stop_asked()).client(Body::Noted(noted())).guard(started());
    for missing in 0..story.facts.len() {
        let mut facts = story.facts.clone();
        let gone = facts.remove(missing);
        let is_last_of_its_witness = !facts[missing..].iter().any(|fact| fact.witness == gone.witness);
        let bytes: Vec<u8> = facts.iter().flat_map(|fact| encode(fact).unwrap()).collect();
        let flaws: Vec<Flaw> =
            Evidence::read(&bytes).record.damage.iter().map(|damage| damage.flaw).collect();
        let expected = if is_last_of_its_witness { vec![] } else { vec![Flaw::Gap] };
        assert_eq!(flaws, expected, "without fact {missing}");
    }
}

#[test]
fn who_serves_a_session_is_counted_however_many_others_wrote() {
    let mut story = running();
    for pid in 1_000..1_300 {
        story = story.tell(Role::Client, pid, Body::Noted(noted()));
    }
    let story = story.tell(Role::Guard, 101, guarded()).tell(Role::Guard, 101, Body::Noted(noted()));
    let evidence = story.evidence();
    let last = |pid| evidence.last_seq(&witness(Role::Guard, pid));
    assert_eq!((last(101), last(GUARD) > 0, evidence.is_damaged()), (2, true, false));
    let mut facts = story.facts;
    facts.remove(facts.len() - 2);
    assert!(fold(&facts).is_damaged(), "a missing fact of the new guard is missed");
}

#[test]
fn a_gap_is_located_at_the_fact_behind_it() {
    let story = Story::default().guard(guarded()).guard(launched()).guard(started());
    let first = encode(&story.facts[0]).unwrap();
    let bytes = [&first[..], &encode(&story.facts[2]).unwrap()].concat();
    let gap = Damage { offset: first.len() as u64 + 1, length: 0, flaw: Flaw::Gap };
    assert_eq!(Evidence::read(&bytes).record.damage, [gap]);
}

#[test]
fn a_gap_of_a_known_witness_is_noticed_however_many_witnesses_there_are() {
    let hooks = |story: Story, pid| story.tell(Role::Hook, pid, Body::Noted(noted()));
    let mut facts = (10_000..10_300).fold(running(), hooks).guard(stop_asked()).guard(started()).facts;
    assert!(!fold(&facts).is_damaged());
    let stop = facts.iter().position(|fact| fact.body == stop_asked()).unwrap();
    facts.remove(stop);
    assert_eq!(fold(&facts).record.damage[0].flaw, Flaw::Gap);
}

#[test]
fn a_count_at_its_end_or_going_back_does_no_harm() {
    let fact =
        |seq| Fact { witness: witness(Role::Client, CLIENT), seq, at: moment(0), body: Body::Noted(noted()) };
    assert!(!fold(&[1, 2, 1, 2].map(fact)).is_damaged(), "a pid that was used again counts from 1 again");
    assert!(fold(&[u64::MAX, u64::MAX, 1, 0, u64::MAX].map(fact)).is_damaged());
}

#[test]
fn any_order_of_witnesses_is_whole_if_each_kept_its_own_order() {
    let [a, b] = [GUARD, CLIENT].map(|pid| {
        (1..=3).map(move |seq| Fact {
            witness: witness(Role::Guard, pid),
            seq,
            at: moment(seq),
            body: Body::Noted(noted()),
        })
    });
    for choices in 0..64 {
        let (mut a, mut b) = (a.clone(), b.clone());
        let next = |n| {
            if choices >> n & 1 == 0 { a.next().or_else(|| b.next()) } else { b.next().or_else(|| a.next()) }
        };
        let facts: Vec<Fact> = (0..6).filter_map(next).collect();
        assert_eq!((facts.len(), fold(&facts).is_damaged()), (6, false), "order {choices:06b}");
    }
}

#[test]
fn a_slot_of_newlines_is_empty_and_a_missing_one_is_damage() {
    let mut evidence = running().evidence();
    evidence.add_slot(None, Some(&[b'\n'; 4096]), i64::MAX, END);
    assert_eq!(evidence, running().evidence());
    evidence.add_slot(None, None, i64::MAX, END);
    assert_eq!(evidence.record.damage, [Damage { offset: 0, length: 0, flaw: Flaw::NoSlot }]);
}

#[test]
fn a_slot_gives_the_end_that_the_log_lacks_and_never_another() {
    let three = running().guard(ended(How::Exited { code: 3 }));
    let slot = padded(encode(three.facts.last().unwrap()).unwrap());
    let mut cut_off = running().evidence();
    cut_off.add_slot(None, Some(&slot), i64::MAX, END);
    assert_eq!(cut_off.closing.ended.unwrap().body.outcome.how, How::Exited { code: 3 });
    assert!(cut_off.record.damage.is_empty());

    let mut other = running().guard(ended(How::Exited { code: 4 })).evidence();
    other.add_slot(None, Some(&slot), i64::MAX, END);
    assert_eq!(other.closing.ended.unwrap().body.outcome.how, How::Exited { code: 4 });
}

#[test]
fn a_slot_that_was_filled_after_an_instant_says_nothing_of_it() {
    let fact = running().guard(ended(How::Exited { code: 3 })).facts.pop().unwrap();
    let slot = padded(encode(&fact).unwrap());
    for (until, filled) in [(fact.at.wall - 1, false), (fact.at.wall, true), (i64::MAX, true)] {
        let mut evidence = running().evidence();
        evidence.add_slot(None, Some(&slot), until, END);
        assert_eq!(evidence.closing.ended.is_some(), filled, "until {until}");
    }
}

#[test]
fn a_slot_holds_the_last_word_and_nothing_else_counts_in_it() {
    let failed = running().guard(exec_failed(2)).facts.pop().unwrap();
    let mut evidence = Evidence::default();
    evidence.add_slot(None, Some(&padded(encode(&failed).unwrap())), i64::MAX, END);
    assert!(evidence.closing.exec_failed.is_some());

    let mut last_word = running().guard(declared(0)).guard(ended(How::Exited { code: 3 })).facts;
    let ended = last_word.pop().unwrap();
    let declared = last_word.pop().unwrap();
    let slot = padded([encode(&declared).unwrap(), encode(&ended).unwrap()].concat());
    let mut evidence = running().evidence();
    evidence.add_slot(None, Some(&slot), i64::MAX, END);
    assert!(evidence.closing.ended.is_some() && evidence.work.declared.is_some() && !evidence.is_damaged());

    for fact in running().guard(Body::Removed(noted())).facts {
        let mut evidence = Evidence::default();
        evidence.add_slot(None, Some(&padded(encode(&fact).unwrap())), i64::MAX, END);
        assert_eq!(evidence, Evidence::default(), "{}", fact.body.name());
    }
}

#[test]
fn a_slot_that_knows_of_more_facts_than_the_log_shows_that_the_log_was_cut() {
    let whole = running().guard(declared(0)).guard(ended(How::Exited { code: 3 }));
    let slot = padded(encode(whole.facts.last().unwrap()).unwrap());
    let mut evidence = running().evidence();
    evidence.add_slot(None, Some(&slot), i64::MAX, END);
    let gap = Damage { offset: END, length: 0, flaw: Flaw::Gap };
    assert_eq!((evidence.closing.ended.is_some(), &evidence.record.damage[..]), (true, &[gap][..]));
    assert_eq!(gap.says(), format!("facts are missing before this place at byte {END}"));
}

#[test]
fn a_slot_that_is_not_as_long_as_it_was_made_is_damage_also_if_nothing_is_left_in_it() {
    for length in [0, 1, 512, SLOT_SIZE - 1] {
        let mut evidence = running().evidence();
        evidence.add_slot(None, Some(&vec![b'\n'; length]), i64::MAX, END);
        let cut = Damage { offset: length as u64, length: 0, flaw: Flaw::BadSlot };
        assert_eq!(evidence.record.damage, [cut]);
        assert_eq!(derive(&evidence, &all_dead(), now()).rule, Rule::Damaged, "it may have held an end");
    }
}

#[test]
fn an_end_in_the_slot_that_no_guard_of_the_session_can_have_written_is_damage_and_no_end() {
    const OTHER: u32 = 101;
    let end = || ended(How::Exited { code: 0 });
    let whole = running().evidence();
    let mut damaged = running().evidence();
    damaged.damaged(DAMAGE);
    let last = |story: Story| story.facts.last().unwrap().clone();
    let other = || Story::default().tell(Role::Guard, OTHER, guarded()).tell(Role::Guard, OTHER, launched());
    let ended_by = |role| last(other().tell(role, OTHER, Body::Noted(noted())).tell(role, OTHER, end()));
    let late = |fact: Fact| Fact { at: moment(50), ..fact };
    let of = |session: &str, mut fact: Fact| {
        let of = Some(session.to_owned());
        if let Body::Ended(ended) = &mut fact.body {
            ended.session = of;
        } else if let Body::ExecFailed(failed) = &mut fact.body {
            failed.session = of;
        }
        late(fact)
    };
    let ours = whole.id().expect("it was launched").to_owned();
    let unstarted = Story::default().guard(guarded()).guard(launched()).evidence();
    let failure = |role| last(other().tell(role, OTHER, exec_failed(2)));
    let mut unlaunched = Story::default().guard(guarded()).evidence();
    unlaunched.damaged(DAMAGE);
    let early = Fact { at: moment(0), ..last(running().guard(end())) };
    let cases = [
        ("a guard of another session", of("other", ended_by(Role::Guard)), &whole, false),
        ("a watcher of another session", of("other", ended_by(Role::Watcher)), &whole, false),
        ("the same, of a damaged log", of("other", ended_by(Role::Guard)), &damaged, false),
        ("the same, of a log without its launch", of("other", ended_by(Role::Guard)), &unlaunched, false),
        ("a later guard whose facts were cut off", of(&ours, ended_by(Role::Guard)), &whole, true),
        ("one that does not say whose end it is", late(ended_by(Role::Guard)), &damaged, true),
        ("one that found no room before", late(Fact { seq: 1, ..ended_by(Role::Guard) }), &whole, true),
        ("nobody who sees ends", late(ended_by(Role::Client)), &damaged, false),
        ("one from before the session", early.clone(), &whole, false),
        ("the same, of a damaged log", early, &damaged, false),
        ("its guard", last(running().guard(end())), &whole, true),
        (
            "a guard that failed to start what has started",
            last(running().guard(exec_failed(2))),
            &whole,
            false,
        ),
        ("a guard that failed to start it", of(&ours, failure(Role::Guard)), &unstarted, true),
        ("one that failed to start another", of("other", failure(Role::Guard)), &unstarted, false),
    ];
    for (who, fact, evidence, believed) in cases {
        let mut told = evidence.clone();
        told.add_slot(Some(&ours), Some(&padded(encode(&fact).unwrap())), i64::MAX, END);
        let flaws = told.record.damage.iter().filter(|damage| damage.flaw == Flaw::ForeignSlot).count();
        assert_eq!((told.closing.is_recorded(), flaws), (believed, usize::from(!believed)), "{who}");
        let rule = derive(&told, &all_dead(), now()).rule;
        assert_eq!(rule.status().is_terminal(), believed, "{who}: {rule:?}");
    }
}

#[test]
fn an_empty_log_is_damage() {
    let evidence = Evidence::read(b"");
    assert_eq!(evidence.record.damage, [Damage { offset: 0, length: 0, flaw: Flaw::Empty }]);
}

#[test]
fn ten_mib_of_garbage_are_located_counted_and_not_kept() {
    let mut noise = 0x9e37_79b9_u32;
    let mut next = || {
        noise ^= noise << 13;
        noise ^= noise >> 17;
        noise ^= noise << 5;
        noise.to_le_bytes()
    };
    let garbage: Vec<u8> = std::iter::repeat_with(&mut next).take(16 * 1024).flatten().collect();
    let mut bytes = garbage.repeat(TEN_MIB / garbage.len());
    let behind = running();
    bytes.extend_from_slice(&behind.bytes());
    let evidence = Evidence::read(&bytes);
    assert_eq!(evidence.record.damage.len(), DAMAGE_KEPT);
    assert!(evidence.record.more_damage > 10_000);
    assert!(evidence.record.damage.iter().all(|damage| damage.offset + damage.length <= TEN_MIB as u64));
    assert_eq!(evidence.beginning, behind.evidence().beginning, "what stands behind it is read");
}

#[test]
fn ten_mib_without_a_newline_are_one_damage_and_the_next_fact_is_read() {
    let line = vec![b'x'; TEN_MIB];
    let next = encode(&running().facts[0]).unwrap();
    for piece in [TEN_MIB, 64 * 1024, LONGEST_LINE, LONGEST_LINE + 1] {
        let mut scanner = abide_core::evidence::frame::Scanner::default();
        let mut found = Vec::new();
        for bytes in line.chunks(piece).chain([&next[..]]) {
            scanner.feed(bytes, &mut |offset, one| found.push((offset, one)));
        }
        scanner.finish(&mut |offset, one| found.push((offset, one)));
        let damage = Damage { offset: 0, length: TEN_MIB as u64, flaw: Flaw::TooLong };
        let fact = Box::new(running().facts[0].clone());
        let behind = TEN_MIB as u64 + 1;
        assert_eq!(found, [(0, Found::Damage(damage)), (behind, Found::Fact(fact))], "pieces of {piece}");
    }
}
