//! Verdicts on the past: what was true at an instant, as far as what was written later proves it.

use abide_core::evidence::{Body, Guarded, How, Role};
use abide_core::identity::{Death, Doubt, Identity, Liveness};
use abide_core::status::Status;
use abide_core::verdict::{Now, Rule, Seen, Turn, Verdict, derive, hindsight, witnessed};

use crate::bodies::{found_dead, noted, sealed, signalled, turn_closed, turn_opened};
use crate::common::{
    ALIVE, DEAD, HOST, PROGRAM, Story, UNNAMED, all_dead, ended, fold, moment, process, running, started,
    stop_asked,
};

const SECOND_GUARD: u32 = 101;
const HOOK: u32 = 600;

#[test]
fn at_every_instant_of_a_normal_life_the_past_verdict_is_what_was_true_then() {
    let life = running()
        .client(stop_asked())
        .guard(signalled())
        .guard(ended(How::Exited { code: 0 }))
        .guard(Body::Summary(Box::default()))
        .client(Body::Removing(noted()))
        .client(Body::Removed(noted()));
    let truth = [
        (Status::Unknown, false),
        (Status::Starting, false),
        (Status::Starting, false),
        (Status::Starting, false),
        (Status::Running, false),
        (Status::Running, true),
        (Status::Running, true),
        (Status::Exited, false),
        (Status::Exited, false),
        (Status::Destroying, false),
        (Status::Destroyed, false),
    ];
    assert_eq!(truth.len(), life.facts.len() + 1);
    for (facts, (status, stopping)) in truth.into_iter().enumerate() {
        let verdict = past(&life, facts, &all_dead());
        assert_eq!((verdict.status, verdict.stopping), (status, stopping), "after {facts} facts");
    }
}

#[test]
fn what_a_host_found_dead_is_dead_where_it_cannot_be_seen_and_nothing_else_is() {
    let unseen = Liveness::Unknown(Doubt::OtherPidNamespace);
    let told = |life: Story, program| witnessed(&life.evidence(), program);
    let dead = Liveness::Dead(Death::Witnessed);
    assert_eq!(told(running().tell(Role::Host, HOST, found_dead(PROGRAM)), unseen), dead);
    assert_eq!(told(running(), unseen), unseen);
    assert_eq!(told(running().tell(Role::Host, HOST, found_dead(HOOK)), unseen), unseen, "another one");
    let found = || running().tell(Role::Host, HOST, found_dead(PROGRAM));
    assert_eq!(told(found(), ALIVE), ALIVE, "live evidence outranks what is on file");
    let seen = Seen { guard: ALIVE, host: ALIVE, program: dead, owner: UNNAMED, watcher: UNNAMED };
    assert_eq!(derive(&found().evidence(), &seen, Now::past(0)).rule, Rule::Finishing);
}

#[test]
fn the_past_of_a_session_that_still_runs_is_proved_by_its_life_now() {
    let life = running().client(stop_asked());
    let truth = [
        Status::Unknown,
        Status::Starting,
        Status::Starting,
        // Its host is there, which no guard starts before the program.
        Status::Running,
        Status::Running,
        Status::Running,
    ];
    let alive = Seen { guard: ALIVE, host: ALIVE, program: ALIVE, owner: UNNAMED, watcher: UNNAMED };
    for (facts, status) in truth.into_iter().enumerate() {
        assert_eq!(past(&life, facts, &alive).status, status, "after {facts} facts");
    }
}

#[test]
fn what_nobody_proves_about_the_past_is_unknown_and_never_dead() {
    let life = running().tell(Role::Sealer, 700, sealed(abide_core::evidence::Closing::Lost));
    let before_the_seal = past(&life, 4, &all_dead());
    assert_eq!((before_the_seal.status, before_the_seal.rule), (Status::Unknown, Rule::CannotTell));
    assert_eq!(past(&life, 5, &all_dead()).status, Status::Lost);
}

#[test]
fn no_past_verdict_has_a_code_before_the_end() {
    let life = running().guard(ended(How::Exited { code: 3 }));
    for facts in 0..life.facts.len() {
        let verdict = past(&life, facts, &all_dead());
        assert_eq!((verdict.codes.exit, verdict.codes.wait, verdict.outcome), (None, None, None));
    }
    assert_eq!(past(&life, life.facts.len(), &all_dead()).codes.wait, Some(3));
}

#[test]
fn an_end_that_nobody_observed_does_not_prove_that_the_program_lived_until_it_was_recorded() {
    let life = running().tell(Role::Guard, SECOND_GUARD, guarded_by(process(SECOND_GUARD))).tell(
        Role::Guard,
        SECOND_GUARD,
        ended(How::Lost),
    );
    let verdict = past(&life, 4, &all_dead());
    assert_eq!((verdict.status, verdict.rule), (Status::Unknown, Rule::CannotTell));
}

#[test]
fn the_guard_of_then_is_not_proved_by_the_guard_of_now() {
    let life = running().tell(Role::Guard, SECOND_GUARD, guarded_by(process(SECOND_GUARD)));
    let now = Seen { guard: ALIVE, host: DEAD, program: DEAD, owner: UNNAMED, watcher: UNNAMED };
    let verdict = past(&life, 4, &now);
    assert_eq!(verdict.status, Status::Unknown, "{verdict:#?}");
}

#[test]
fn a_stranger_with_the_pid_of_a_helper_does_not_prove_that_it_lived() {
    let client = |story: Story| story.tell(Role::Client, HOST, Body::Noted(noted()));
    let life = client(client(client(running())));
    assert_eq!(past(&life, 4, &all_dead()).status, Status::Unknown);

    let mut other_boot = running().tell(Role::Host, HOST, Body::Noted(noted()));
    other_boot.facts[4].witness.boot ^= 1;
    other_boot.facts[4].seq = 9;
    assert_eq!(past(&other_boot, 4, &all_dead()).status, Status::Unknown);
}

#[test]
fn two_processes_with_one_pid_are_told_apart_by_every_mark_on_record() {
    let tickless = |inode| Identity { start_ticks: None, pidfs: Some(inode), ..process(SECOND_GUARD) };
    let life = running().tell(Role::Guard, SECOND_GUARD, guarded_by(tickless(1))).tell(
        Role::Guard,
        SECOND_GUARD,
        guarded_by(tickless(2)),
    );
    let full = life.evidence();
    let before = fold(&life.facts[..5]);
    let now = Seen { guard: ALIVE, host: DEAD, program: DEAD, owner: UNNAMED, watcher: UNNAMED };
    let mut unwritten = full;
    unwritten.record = before.record.clone();
    assert!(!hindsight(&before, &unwritten, &now).guard.is_alive());
}

#[test]
fn a_turn_that_was_open_then_was_worked_on_if_its_owner_is_alive_now() {
    let life = running().tell(Role::Hook, HOOK, turn_opened("t1")).tell(Role::Hook, HOOK, turn_closed("t1"));
    let alive = Seen { guard: ALIVE, host: ALIVE, program: ALIVE, owner: ALIVE, watcher: ALIVE };
    assert_eq!(past(&life, 5, &alive).turn, Turn::Working);
    assert_eq!(past(&life, 6, &alive).turn, Turn::Settled);
}

#[test]
fn hindsight_never_claims_a_death() {
    let life = running().client(stop_asked()).guard(ended(How::Exited { code: 0 })).guard(started());
    for facts in 0..=life.facts.len() {
        for everyone in [ALIVE, DEAD, UNNAMED] {
            let now = Seen {
                guard: everyone,
                host: everyone,
                program: everyone,
                owner: everyone,
                watcher: everyone,
            };
            let then = hindsight(&fold(&life.facts[..facts]), &life.evidence(), &now);
            let dead =
                [then.guard, then.host, then.program, then.owner].iter().any(|l: &Liveness| l.is_dead());
            assert!(!dead, "after {facts} facts");
        }
    }
}

/// The verdict on the instant after so many facts.
fn past(life: &Story, facts: usize, now: &Seen) -> Verdict {
    let before = fold(&life.facts[..facts]);
    let seen = hindsight(&before, &life.evidence(), now);
    derive(&before, &seen, Now { at: moment(facts as u64), boot: 0, time_ns: None })
}

fn guarded_by(guard: Identity) -> Body {
    let Body::Guarded(first) = crate::common::guarded() else { panic!("not a guard") };
    Body::Guarded(Guarded { guard, ..first })
}
