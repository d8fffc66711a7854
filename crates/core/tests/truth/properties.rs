//! Properties of any facts, in any order, cut anywhere: no panic, a legal verdict, and no code that no fact holds.

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Found, SLOT_SIZE, encode};
use abide_core::evidence::{Body, Closing, Fact, How, Role, Wants};
use abide_core::identity::{Death, Doubt, Liveness, Qualifier};
use abide_core::moment::Moment;
use abide_core::status::Status;
use abide_core::verdict::{Codes, Now, Seen, Verdict, derive, hindsight};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

use crate::bodies::{declared, every_kind, exec_failed, sealed, turn_closed, turn_opened};
use crate::common::{DEAD, boot_id, ended, ended_with, fold, now, running, scan, witness};

/// The same cases every time.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 200,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_facts_cut_anywhere_give_a_legal_verdict(
        facts in vec(any_fact(), 0..12),
        slot in proptest::option::of(vec(any_fact(), 0..2)),
        cuts in any::<[Option<Index>; 2]>(),
        seen in any_seen(),
        now in any_now(),
    ) {
        let log = cut_off(&facts, cuts[0]);
        let mut evidence = Evidence::read(&log);
        if evidence.wants_slot() {
            let mut slot_bytes = slot.as_ref().map(|facts| cut_off(facts, cuts[1]));
            if let Some(bytes) = slot_bytes.as_mut().filter(|_| cuts[1].is_none()) {
                bytes.resize(SLOT_SIZE, b'\n');
            }
            evidence.add_slot(None, slot_bytes.as_deref(), i64::MAX, log.len() as u64);
        }
        let all: Vec<Fact> = facts.iter().chain(slot.iter().flatten()).cloned().collect();
        let verdict = derive(&evidence, &seen, now);
        check_legal(&all, &evidence, &verdict)?;
        prop_assert_eq!(&verdict, &derive(&evidence, &seen, now), "the same input gives the same verdict");
    }

    #[test]
    fn any_bytes_give_a_verdict_without_a_code(
        bytes in vec(any::<u8>(), 0..600),
        slot in proptest::option::of(vec(any::<u8>(), 0..100)),
        seen in any_seen(),
        now in any_now(),
    ) {
        let mut evidence = Evidence::read(&bytes);
        evidence.add_slot(None, slot.as_deref(), i64::MAX, bytes.len() as u64);
        check_legal(&[], &evidence, &derive(&evidence, &seen, now))?;
    }

    #[test]
    fn what_is_terminal_stays_so_while_processes_die_and_no_fact_is_added(
        facts in vec(any_fact(), 0..12),
        cut in any::<Option<Index>>(),
        seen in any_seen(),
        deaths in any::<[bool; 5]>(),
        now in any_now(),
    ) {
        let evidence = Evidence::read(&cut_off(&facts, cut));
        let before = derive(&evidence, &seen, now);
        let later = |liveness: Liveness, dies| if dies && liveness.is_alive() { DEAD } else { liveness };
        let after = Seen {
            guard: later(seen.guard, deaths[0]),
            host: later(seen.host, deaths[1]),
            program: later(seen.program, deaths[2]),
            owner: later(seen.owner, deaths[3]),
            watcher: later(seen.watcher, deaths[4]),
        };
        let after = derive(&evidence, &after, now);
        prop_assert!(!before.status.is_terminal() || after.status == before.status);
        prop_assert!(!before.status.is_terminal() || after.codes == before.codes);
    }

    #[test]
    fn codes_never_change_by_what_is_added_after_an_end_unless_someone_saw_what_a_sealer_could_not(
        facts in vec(any_fact(), 0..8),
        closing in any_closing(),
        more in vec(any_fact(), 0..8),
        seen in any_seen(),
        now in any_now(),
    ) {
        let facts = [running().facts, facts, vec![closing]].concat();
        let before = fold(&facts);
        let observed = |fact: &Fact| how_of(fact).is_some_and(|how| how != How::Lost);
        let nobody_saw = !facts.iter().any(observed);
        let more: Vec<Fact> = more.into_iter().filter(|fact| !(nobody_saw && observed(fact))).collect();
        let after = fold(&[facts, more].concat());
        prop_assert_eq!(&before.work.declared, &after.work.declared);
        let (before, after) = (derive(&before, &seen, now), derive(&after, &seen, now));
        prop_assert!(before.codes == after.codes, "{before:#?} {after:#?}");
        let kept = [before.status, Status::Destroying, Status::Destroyed];
        prop_assert!(kept.contains(&after.status), "{before:#?} {after:#?}");
    }

    #[test]
    fn pieces_of_any_size_read_like_the_whole(
        facts in vec(any_fact(), 1..8),
        noise in vec(any::<u8>(), 0..40),
        cuts in vec(any::<Index>(), 0..6),
    ) {
        let bytes = [stored(&facts), noise, stored(&facts)].concat();
        let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        bounds.extend([0, bytes.len()]);
        bounds.sort_unstable();
        let pieces = bounds.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(scan(pieces), scan([&bytes[..]]));
    }

    #[test]
    fn the_order_between_witnesses_changes_neither_the_status_nor_the_codes(
        guard in vec(any_body(), 0..8),
        notes in vec(select(undeciding()), 0..8),
        order in vec(any::<bool>(), 16),
        seen in any_seen(),
        now in any_now(),
    ) {
        let alone = numbered(Role::Guard, 100, guard);
        let mut guards = alone.clone().into_iter();
        let mut clients = numbered(Role::Client, 500, notes).into_iter();
        let next = |first: &bool| match first {
            true => guards.next().or_else(|| clients.next()),
            false => clients.next().or_else(|| guards.next()),
        };
        let mixed: Vec<Fact> = order.iter().filter_map(next).collect();
        let (apart, together) = (fold(&alone), fold(&mixed));
        prop_assert!(!together.is_damaged(), "each kept its own order");
        let (apart, together) = (derive(&apart, &seen, now), derive(&together, &seen, now));
        prop_assert_eq!((apart.status, apart.codes, apart.turn), (together.status, together.codes, together.turn));
    }

    #[test]
    fn hindsight_is_legal_and_never_deadly_at_any_instant(
        facts in vec(any_fact(), 0..12),
        instant in any::<Index>(),
        seen in any_seen(),
        now in any_now(),
    ) {
        let past = fold(&facts[..instant.index(facts.len() + 1)]);
        let then = hindsight(&past, &fold(&facts), &seen);
        prop_assert!(![then.guard, then.host, then.owner].iter().any(|l| l.is_dead()));
        let found = past.helpers.gone.is_some() && then.program == Liveness::Dead(Death::Witnessed);
        prop_assert!(found || !then.program.is_dead());
        check_legal(&facts, &past, &derive(&past, &then, now))?;
    }
}

/// What holds of every verdict, whatever it was derived from.
fn check_legal(facts: &[Fact], evidence: &Evidence, verdict: &Verdict) -> Result<(), TestCaseError> {
    let Verdict { status, codes, .. } = verdict;
    prop_assert_eq!(*status, verdict.rule.status());
    let leaving = *status == Status::Destroying && evidence.closing.is_recorded();
    prop_assert_eq!(codes.wait.is_some(), status.is_terminal() || leaving);
    prop_assert!(!verdict.stopping || (status.is_stoppable() && evidence.closing.stop_asked.is_some()));
    prop_assert!(verdict.stuck_since.is_none() || !status.is_terminal());
    prop_assert!(codes.agrees.is_none() || evidence.work.declared.is_some());
    prop_assert!(*status != Status::Lost || !evidence.is_damaged() || verdict.rule.closing().is_none());

    let without = Codes { wait: Some(125), unclear: true, ..Codes::default() };
    prop_assert!(!codes.unclear || *codes == without);
    prop_assert!(!codes.unclear || evidence.is_damaged(), "a sound record leaves no word unclear");

    let held: Vec<u8> = facts.iter().flat_map(codes_of).collect();
    prop_assert!(codes.exit.is_none_or(|code| held.contains(&code)), "{:?} of {held:?}", codes.exit);
    let passed_on = |code| held.contains(&code) || facts.iter().any(|fact| stands_for(fact, code));
    prop_assert!(codes.wait.is_none_or(|code| code == 125 || passed_on(code)), "{:?}", codes.wait);
    let hows: Vec<How> = facts.iter().filter_map(how_of).collect();
    let how = verdict.outcome.as_ref().map_or(How::Lost, |outcome| outcome.how);
    prop_assert!(how == How::Lost || hows.contains(&how), "{how:?} of {hows:?}");
    Ok(())
}

/// The exit codes that a fact holds.
fn codes_of(fact: &Fact) -> Vec<u8> {
    if let Body::Declared(declared) = &fact.body {
        return vec![declared.exit_code];
    }
    let exited = how_of(fact).and_then(|how| match how {
        How::Exited { code } => Some(code),
        How::Signaled { .. } | How::ExecFailed { .. } | How::Lost => None,
    });
    let word = if let Body::Ended(ended) = &fact.body { ended.word.as_ref() } else { None };
    let word = word.and_then(|word| word.declared.as_ref()).map(|word| word.exit_code);
    exited.into_iter().chain(word).collect()
}

/// Whether `wait` may exit with this code because of this fact.
fn stands_for(fact: &Fact, code: u8) -> bool {
    match how_of(fact) {
        Some(How::Signaled { signal, .. }) => code == signal.saturating_add(128),
        Some(How::ExecFailed { errno }) => code == if errno == 2 { 127 } else { 126 },
        Some(How::Exited { .. } | How::Lost) | None => false,
    }
}

fn how_of(fact: &Fact) -> Option<How> {
    if let Body::ExecFailed(failed) = &fact.body {
        return Some(How::ExecFailed { errno: failed.errno });
    }
    if let Body::Ended(ended) = &fact.body { Some(ended.outcome.how) } else { None }
}

fn stored(facts: &[Fact]) -> Vec<u8> {
    facts.iter().flat_map(|fact| encode(fact).unwrap()).collect()
}

/// The stored facts up to the cut, if there is one.
fn cut_off(facts: &[Fact], cut: Option<Index>) -> Vec<u8> {
    let mut bytes = stored(facts);
    bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len() + 1)));
    bytes
}

fn numbered(role: Role, pid: u32, bodies: Vec<Body>) -> Vec<Fact> {
    let fact = |(n, body)| {
        let at = Moment { wall: 1_000 * n as i64, boot: 1_000 * n as u64 };
        Fact { witness: witness(role, pid), seq: n as u64 + 1, at, body }
    };
    bodies.into_iter().enumerate().map(fact).collect()
}

/// Facts that decide nothing.
fn undeciding() -> Vec<Body> {
    let names = ["noted", "marked", "checkpointed", "summary", "cut", "drained", "signalled", "notified"];
    let found_dead = |body: &Body| matches!(body, Body::Noted(noted) if noted.gone.is_some());
    every_kind().into_iter().filter(|body| names.contains(&body.name()) && !found_dead(body)).collect()
}

fn any_fact() -> impl Strategy<Value = Fact> {
    let seq = prop_oneof![1..6_u64, Just(0), Just(u64::MAX)];
    let clock =
        (any::<i32>(), any::<u32>()).prop_map(|(wall, boot)| Moment { wall: wall.into(), boot: boot.into() });
    let pid = select(vec![100, 200, 300, 500]);
    (select(Role::ALL), pid, seq, clock, any_body()).prop_map(|(role, pid, seq, at, body)| Fact {
        witness: witness(role, pid),
        seq,
        at,
        body,
    })
}

fn any_closing() -> impl Strategy<Value = Fact> {
    let closing = prop_oneof![
        any_how().prop_map(ended),
        any_how().prop_map(|how| ended_with(how, Some(&declared(3)))),
        any::<i32>().prop_map(exec_failed),
        select(vec![Closing::Lost, Closing::NeverRan]).prop_map(sealed),
    ];
    (any_fact(), closing).prop_map(|(fact, body)| Fact { body, ..fact })
}

fn any_how() -> impl Strategy<Value = How> {
    prop_oneof![
        any::<u8>().prop_map(|code| How::Exited { code }),
        (1..65_u8, any::<bool>()).prop_map(|(signal, core)| How::Signaled { signal, core }),
        Just(How::Lost),
    ]
}

fn any_body() -> impl Strategy<Value = Body> {
    let other =
        "[a-z]{1,8}".prop_map(|name| Body::Other { name: format!("x_{name}"), body: "[null]".into() });
    prop_oneof![
        6 => select(every_kind()),
        1 => any_how().prop_map(ended),
        1 => (any_how(), proptest::option::of(any::<u8>())).prop_map(|(how, code)| {
            ended_with(how, code.map(declared).as_ref())
        }),
        1 => any::<u8>().prop_map(declared),
        1 => any::<i32>().prop_map(exec_failed),
        1 => select(vec![Closing::Lost, Closing::NeverRan]).prop_map(sealed),
        1 => "[ab]".prop_map(|turn| turn_opened(&turn)),
        1 => "[ab]".prop_map(|turn| turn_closed(&turn)),
        1 => select(vec![Wants::None, Wants::Answer]).prop_map(crate::bodies::attention),
        1 => other,
    ]
}

fn any_liveness() -> impl Strategy<Value = Liveness> {
    select(vec![
        Liveness::Alive(None),
        Liveness::Alive(Some(Qualifier::Stopped)),
        Liveness::Alive(Some(Qualifier::Restarting)),
        Liveness::Dead(Death::Gone),
        Liveness::Dead(Death::Reboot),
        Liveness::Unknown(Doubt::NoIdentity),
        Liveness::Unknown(Doubt::Hidden),
    ])
}

fn any_seen() -> impl Strategy<Value = Seen> {
    let each = || any_liveness();
    (each(), each(), each(), each(), each()).prop_map(|(guard, host, program, owner, watcher)| Seen {
        guard,
        host,
        program,
        owner,
        watcher,
    })
}

fn any_now() -> impl Strategy<Value = Now> {
    let boot = select(vec![boot_id().short(), 0]);
    (any::<i64>(), any::<u64>(), boot).prop_map(|(wall, at, boot)| Now {
        at: Moment { wall, boot: at },
        boot,
        ..now()
    })
}

#[test]
fn the_generated_facts_reach_every_kind_and_are_all_read_back() {
    let bodies = [every_kind(), undeciding()].concat();
    assert_eq!(undeciding().len(), 8);
    let facts = numbered(Role::Guard, 100, bodies);
    let found = scan([&stored(&facts)[..]]);
    assert_eq!(found.len(), facts.len());
    assert!(found.iter().all(|one| matches!(one, Found::Fact(_))));
}
