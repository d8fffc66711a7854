//! The main cases of the verdict, one sentence each.

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw};
use abide_core::evidence::{Body, Cause, Closing, How, Launched, Observer, Role, Started};
use abide_core::identity::{Death, Doubt, Identity, Liveness, Qualifier};
use abide_core::status::Status;
use abide_core::verdict::{Ground, Now, Rule, Seen, because, deny, derive, last_seen};

use crate::bodies::{adopted, exec_failed, noted, sealed, watched};
use crate::common::{
    ALIVE, CLIENT, DAMAGE, DEAD, HOST, STEP_MS, Story, UNKNOWN, UNNAMED, WATCHER, boot_id, ended, guarded,
    hosted, judge_story, launched, moment, now, running, seen, started, stop_asked,
};

const EXITED: How = How::Exited { code: 3 };
const REBOOTED: Liveness = Liveness::Dead(Death::Reboot);

/// Program, guard and host.
type Three = (Liveness, Liveness, Liveness);

#[test]
fn while_a_guard_launches_the_session_is_starting() {
    let guard_only = || Story::default().guard(guarded());
    check(guard_only(), (UNNAMED, ALIVE, UNNAMED), Status::Starting, Rule::Launching);
    let at_the_gate = || guard_only().guard(launched());
    check(at_the_gate(), (ALIVE, ALIVE, UNNAMED), Status::Starting, Rule::Launching);
    check(at_the_gate(), (UNKNOWN, ALIVE, UNNAMED), Status::Starting, Rule::Launching);
}

/// The log may have been cut before `started`, and before `hosted` too: who holds the host's lock is there all the same.
#[test]
fn a_program_whose_host_is_alive_has_passed_the_gate() {
    let at_the_gate = || Story::default().guard(guarded()).guard(launched());
    let with_host = || at_the_gate().tell(Role::Host, HOST, hosted());
    for story in [at_the_gate(), with_host()] {
        check(story.clone(), (ALIVE, ALIVE, ALIVE), Status::Running, Rule::Served);
        check(story, (UNKNOWN, ALIVE, ALIVE), Status::Running, Rule::Vouched);
    }
    check(with_host(), (ALIVE, ALIVE, DEAD), Status::Starting, Rule::Launching);
}

#[test]
fn a_guard_that_died_before_the_gate_never_ran_anything() {
    let story = || Story::default().guard(guarded());
    check(story(), (UNNAMED, DEAD, UNNAMED), Status::Failed, Rule::NeverRan);
    check(story(), (UNNAMED, REBOOTED, UNNAMED), Status::Failed, Rule::NeverRan);
    check(story(), (UNNAMED, UNKNOWN, UNNAMED), Status::Unknown, Rule::CannotTell);
}

#[test]
fn a_process_that_was_let_through_the_gate_decides_by_its_own_life() {
    let story = || Story::default().guard(guarded()).guard(launched());
    check(story(), (ALIVE, DEAD, UNNAMED), Status::Unattended, Rule::Unserved);
    check(story(), (DEAD, DEAD, UNNAMED), Status::Lost, Rule::AllDead);
    check(story(), (UNKNOWN, DEAD, UNNAMED), Status::Unknown, Rule::CannotTell);
}

#[test]
fn a_launch_without_an_identity_is_no_proof_that_nothing_ran() {
    let Body::Launched(complete) = launched() else { panic!("not a launch") };
    let nameless = Body::Launched(Box::new(Launched { program: None, ..*complete }));
    let story = || Story::default().guard(guarded()).guard(nameless.clone());
    check(story(), (UNNAMED, DEAD, UNNAMED), Status::Unknown, Rule::CannotTell);
    check(story(), (UNNAMED, ALIVE, UNNAMED), Status::Starting, Rule::Launching);
}

#[test]
fn one_living_helper_is_enough_to_serve_a_living_program() {
    check(running(), (ALIVE, ALIVE, ALIVE), Status::Running, Rule::Served);
    check(running(), (ALIVE, DEAD, ALIVE), Status::Running, Rule::Served);
    check(running(), (ALIVE, ALIVE, DEAD), Status::Running, Rule::Served);
    let stopped = Liveness::Alive(Some(Qualifier::Stopped));
    check(running(), (stopped, stopped, stopped), Status::Running, Rule::Served);
}

#[test]
fn a_living_program_without_helpers_is_unattended() {
    check(running(), (ALIVE, DEAD, DEAD), Status::Unattended, Rule::Unserved);
    check(running(), (ALIVE, DEAD, UNKNOWN), Status::Unknown, Rule::ServiceUnclear);
    check(running(), (ALIVE, UNKNOWN, DEAD), Status::Unknown, Rule::ServiceUnclear);
}

#[test]
fn a_living_helper_vouches_for_a_program_that_cannot_be_seen() {
    check(running(), (UNKNOWN, ALIVE, UNKNOWN), Status::Running, Rule::Vouched);
    check(running(), (UNKNOWN, DEAD, ALIVE), Status::Running, Rule::Vouched);
    check(running(), (UNKNOWN, DEAD, DEAD), Status::Unknown, Rule::CannotTell);
    check(running(), (UNKNOWN, UNKNOWN, UNKNOWN), Status::Unknown, Rule::CannotTell);
}

#[test]
fn a_dead_program_is_exiting_while_a_helper_lives_and_lost_when_all_are_dead() {
    check(running(), (DEAD, ALIVE, ALIVE), Status::Exiting, Rule::Finishing);
    check(running(), (DEAD, DEAD, ALIVE), Status::Exiting, Rule::Finishing);
    check(running(), (DEAD, ALIVE, UNKNOWN), Status::Exiting, Rule::Finishing);
    check(running(), (DEAD, DEAD, UNKNOWN), Status::Unknown, Rule::EndUnclear);
    check(running(), (DEAD, DEAD, DEAD), Status::Lost, Rule::AllDead);
}

#[test]
fn a_recorded_end_is_final_whatever_lives() {
    for everyone in [ALIVE, DEAD, UNKNOWN, REBOOTED] {
        let all = (everyone, everyone, everyone);
        check(running().guard(ended(EXITED)), all, Status::Exited, Rule::Ended);
        check(running().guard(ended(How::Lost)), all, Status::Lost, Rule::EndedUnseen);
        check(running().guard(exec_failed(2)), all, Status::Failed, Rule::ExecFailed);
        check(running().guard(sealed(Closing::Lost)), all, Status::Lost, Rule::SealedLost);
        check(running().guard(sealed(Closing::NeverRan)), all, Status::Failed, Rule::SealedNeverRan);
        check(running().guard(Body::Removing(noted())), all, Status::Destroying, Rule::Removing);
        let removed = running().guard(Body::Removing(noted())).guard(Body::Removed(noted()));
        check(removed, all, Status::Destroyed, Rule::Removed);
    }
}

#[test]
fn an_end_is_not_believed_of_a_program_that_is_proved_alive() {
    for closing in [ended(EXITED), ended(How::Lost), sealed(Closing::Lost)] {
        let mut evidence = running().guard(closing).evidence();
        for other in [DEAD, UNKNOWN] {
            assert!(!deny(&mut evidence, other) && !evidence.is_damaged());
        }
        assert!(deny(&mut evidence, ALIVE) && evidence.is_damaged(), "the disagreement is shown");
        let verdict = derive(&evidence, &seen(ALIVE, ALIVE, ALIVE), now());
        assert_eq!((verdict.rule, verdict.outcome, verdict.codes.wait), (Rule::Served, None, None));
    }
    let mut removed = running().guard(ended(EXITED)).guard(Body::Removing(noted())).evidence();
    assert!(!deny(&mut removed, ALIVE), "who is removed may be alive");
}

#[test]
fn without_a_number_of_its_own_a_process_that_looks_alike_denies_no_end() {
    let Body::Started(started) = started() else { panic!("not a start") };
    let program = Identity { pidfs: None, ..started.program };
    let story = running().guard(Body::Started(Started { program, ..started })).guard(ended(EXITED));
    assert!(!deny(&mut story.evidence(), ALIVE));
}

#[test]
fn an_observed_end_outranks_a_sealed_one_in_either_order() {
    let dead = (DEAD, DEAD, DEAD);
    let before = running().guard(ended(EXITED)).client(sealed(Closing::Lost));
    check(before, dead, Status::Exited, Rule::Ended);
    let after = running().client(sealed(Closing::Lost)).guard(ended(EXITED));
    check(after, dead, Status::Exited, Rule::Ended);
    let unseen = running().guard(ended(How::Lost)).client(sealed(Closing::Lost));
    let outcome = judge_story(&unseen, &seen(DEAD, DEAD, DEAD)).outcome.unwrap();
    assert_eq!(outcome.observed_by, Some(Observer::Guard), "the first word on an end that nobody saw");
    check(unseen, dead, Status::Lost, Rule::EndedUnseen);
}

#[test]
fn an_adopted_program_is_unattended_until_it_dies_and_then_lost() {
    let story = || Story::default().client(adopted());
    check(story(), (ALIVE, UNNAMED, UNNAMED), Status::Unattended, Rule::Unserved);
    check(story(), (DEAD, UNNAMED, UNNAMED), Status::Lost, Rule::AllDead);
    check(story(), (UNKNOWN, UNNAMED, UNNAMED), Status::Unknown, Rule::CannotTell);
}

#[test]
fn a_watcher_keeps_a_program_unattended_and_its_end_from_being_lost_while_it_lives() {
    let story = Story::default().client(adopted()).tell(Role::Watcher, WATCHER, watched());
    let stands = |program: Liveness, watcher: Liveness| {
        let verdict = judge_story(&story, &Seen { watcher, ..seen(program, UNNAMED, UNNAMED) });
        (verdict.status, verdict.rule)
    };
    assert_eq!(stands(ALIVE, ALIVE), (Status::Unattended, Rule::Watched));
    assert_eq!(stands(ALIVE, DEAD), (Status::Unattended, Rule::Unserved));
    assert_eq!(stands(DEAD, ALIVE), (Status::Exiting, Rule::Finishing));
    assert_eq!(stands(DEAD, UNKNOWN), (Status::Unknown, Rule::EndUnclear));
    assert_eq!(stands(DEAD, DEAD), (Status::Lost, Rule::AllDead));
    assert_eq!(stands(UNKNOWN, ALIVE), (Status::Unknown, Rule::CannotTell));
}

#[test]
fn a_record_that_says_nothing_is_unknown() {
    check(Story::default(), (UNNAMED, UNNAMED, UNNAMED), Status::Unknown, Rule::NoBeginning);
    let notes = Story::default().client(Body::Noted(noted()));
    check(notes, (UNNAMED, UNNAMED, UNNAMED), Status::Unknown, Rule::NoBeginning);
}

#[test]
fn a_damaged_record_proves_nothing_by_what_it_lacks() {
    let dead = (DEAD, DEAD, DEAD);
    check_damaged(running(), dead, Status::Unknown, Rule::Damaged);
    check_damaged(Story::default().guard(guarded()), dead, Status::Unknown, Rule::NoBeginning);
    check_damaged(Story::default(), dead, Status::Unknown, Rule::NoBeginning);
    let hostless = Story::default().guard(guarded()).guard(launched()).guard(started());
    check_damaged(hostless, (DEAD, DEAD, UNNAMED), Status::Unknown, Rule::EndUnclear);
}

#[test]
fn a_damaged_record_still_holds_what_it_holds() {
    let dead = (DEAD, DEAD, DEAD);
    check_damaged(running().guard(ended(EXITED)), dead, Status::Exited, Rule::Ended);
    check_damaged(running().guard(exec_failed(2)), dead, Status::Failed, Rule::ExecFailed);
    check_damaged(running().client(sealed(Closing::Lost)), dead, Status::Lost, Rule::SealedLost);
    check_damaged(running(), (ALIVE, ALIVE, ALIVE), Status::Running, Rule::Served);
    check_damaged(Story::default().guard(ended(EXITED)), dead, Status::Exited, Rule::Ended);
    check_damaged(Story::default().guard(exec_failed(2)), dead, Status::Failed, Rule::ExecFailed);
    let unlaunched = || Story::default().guard(guarded()).guard(started());
    check_damaged(unlaunched(), (ALIVE, ALIVE, ALIVE), Status::Running, Rule::Served);
    check_damaged(unlaunched(), dead, Status::Unknown, Rule::Damaged);
    let unstarted = Story::default().guard(guarded()).guard(launched());
    check_damaged(unstarted, (ALIVE, ALIVE, ALIVE), Status::Running, Rule::Served);
}

#[test]
fn an_unobserved_end_has_the_cause_that_is_known() {
    let cause = |story: Story, program, helpers| {
        let verdict = judge_story(&story, &seen(program, helpers, helpers));
        let outcome = verdict.outcome.unwrap();
        assert_eq!((outcome.how, outcome.observed_by), (How::Lost, None));
        outcome.cause.unwrap()
    };
    let gate = || Story::default().guard(guarded()).guard(launched());
    assert_eq!(cause(running(), DEAD, DEAD), Cause::HelpersDied);
    assert_eq!(cause(running(), REBOOTED, REBOOTED), Cause::Reboot);
    assert_eq!(cause(gate(), DEAD, DEAD), Cause::LaunchBroke);
    assert_eq!(cause(Story::default().guard(guarded()), UNNAMED, DEAD), Cause::LaunchBroke);
    assert_eq!(cause(Story::default().client(adopted()), DEAD, UNNAMED), Cause::NotOurs);
}

#[test]
fn a_stop_that_was_asked_for_is_the_cause_unless_a_better_one_is_on_record() {
    let story = running().client(stop_asked()).guard(ended(EXITED));
    let outcome = judge_story(&story, &seen(DEAD, DEAD, DEAD)).outcome.unwrap();
    assert_eq!((outcome.cause, outcome.observed_by), (Some(Cause::Asked), Some(Observer::Guard)));
    let Body::Ended(mut oom) = ended(How::Signaled { signal: 9, core: false }) else { panic!("not an end") };
    oom.outcome.cause = Some(Cause::Oom);
    let story = running().client(stop_asked()).guard(Body::Ended(oom));
    assert_eq!(judge_story(&story, &seen(DEAD, DEAD, DEAD)).outcome.unwrap().cause, Some(Cause::Oom));
}

#[test]
fn a_session_asked_to_stop_is_stopping_until_its_program_is_gone() {
    let story = running().client(stop_asked());
    let stopping = |program, helpers| judge_story(&story, &seen(program, helpers, helpers)).stopping;
    assert!(stopping(ALIVE, ALIVE) && stopping(ALIVE, DEAD) && stopping(UNKNOWN, ALIVE));
    assert!(!stopping(DEAD, ALIVE) && !stopping(DEAD, DEAD));
    assert!(!judge_story(&running(), &seen(ALIVE, ALIVE, ALIVE)).stopping);
}

#[test]
fn durations_run_by_the_boot_clock_and_only_while_life_is_proved() {
    let alive = seen(ALIVE, ALIVE, ALIVE);
    let uptime = |story: &Story, seen: &Seen, now| derive(&story.evidence(), seen, now).uptime_ms;
    assert_eq!(uptime(&running(), &alive, now()), Some(97 * STEP_MS));
    let set_back = Now { at: abide_core::moment::Moment { wall: 0, ..now().at }, ..now() };
    assert_eq!(uptime(&running(), &alive, set_back), Some(97 * STEP_MS));
    let other_boot = Now { boot: boot_id().short() ^ 1, ..now() };
    assert_eq!(uptime(&running(), &alive, other_boot), None);
    assert_eq!(uptime(&running(), &seen(UNKNOWN, ALIVE, ALIVE), now()), None);
    let over = running().guard(stop_asked()).guard(ended(EXITED));
    assert_eq!(uptime(&over, &seen(DEAD, DEAD, DEAD), now()), Some(2 * STEP_MS));
    assert_eq!(moment(1).since(moment(2)), 0, "never negative");
}

#[test]
fn a_verdict_cites_the_facts_the_damage_and_the_kernel() {
    let mut evidence = running().evidence();
    evidence.damaged(Damage { offset: 41, length: 8, flaw: Flaw::Checksum });
    let proof = prove(&evidence, &seen(DEAD, DEAD, UNKNOWN));
    let facts: Vec<&str> = proof.iter().map(|ground| ground.fact.as_str()).collect();
    assert_eq!(facts, ["guarded", "launched", "hosted", "started", "damage", "dead", "dead", "unknown"]);
    assert!(proof[4].says.contains("at byte 41, 8 bytes"));
    assert!(proof[7].says.contains(&Doubt::OtherPidNamespace.says()));

    let over = prove(&running().guard(ended(EXITED)).evidence(), &seen(DEAD, DEAD, DEAD));
    assert_eq!(over.last().unwrap().says, "exited with code 3");
    assert!(over.iter().all(|ground| ground.witness != "kernel"), "a recorded end asks nobody");
}

/// An adapter knows an agent better than the guard that started its wrapper; it was not the guard that said so, nor then.
#[test]
fn who_identified_a_program_better_is_cited_for_that_and_it_started_when_it_did() {
    let again = Body::Started(Started {
        program: crate::common::process(CLIENT),
        image: "/opt/agent".into(),
        cgroup: None,
    });
    let evidence = running().tell(Role::Adapter, CLIENT, again).evidence();
    let proof = prove(&evidence, &seen(ALIVE, ALIVE, ALIVE));
    let cited: Vec<_> = proof.iter().filter(|ground| ground.fact == "started").collect();
    assert_eq!(cited.len(), 1);
    assert!(cited[0].witness.starts_with("adapter") && cited[0].says.contains("/opt/agent"), "{cited:?}");
    let begun = evidence.beginning.started.as_ref().unwrap();
    assert!(begun.witness.role == Role::Guard && cited[0].at.wall > begun.at.wall, "{begun:?}");
}

#[test]
fn who_is_lost_is_told_with_the_last_sign_of_life_and_nobody_else_is() {
    let dead = seen(DEAD, DEAD, DEAD);
    let noted = || running().guard(Body::Noted(noted()));
    let last = |evidence: &Evidence, seen: &Seen| {
        let cited =
            prove(evidence, seen).into_iter().find(|ground| ground.says.contains("last sign of life"));
        let at = last_seen(derive(evidence, seen, now()).rule, evidence);
        assert_eq!(cited.as_ref().map(|ground| ground.at), at, "{cited:?}");
        cited.map(|ground| ground.fact)
    };
    let told = |fact: &str| Some(fact.to_owned());
    assert_eq!(last(&noted().evidence(), &dead), told("noted"), "no other fact is as late");
    assert_eq!(last(&running().evidence(), &dead), told("started"), "it is cited anyway");
    let sealed = noted().tell(Role::Sealer, CLIENT, sealed(Closing::Lost)).evidence();
    assert_eq!(last(&sealed, &dead), told("noted"), "a sealer is no sign of life");
    assert_eq!(last(&noted().evidence(), &seen(ALIVE, DEAD, DEAD)), None);
    assert_eq!(last(&noted().guard(ended(EXITED)).evidence(), &dead), None);
}

#[test]
fn a_sealer_may_close_only_what_is_over_and_not_closed() {
    for &rule in Rule::ALL {
        match rule.closing() {
            Some(Closing::Lost) => assert_eq!((rule, rule.status()), (Rule::AllDead, Status::Lost)),
            Some(Closing::NeverRan) => assert_eq!((rule, rule.status()), (Rule::NeverRan, Status::Failed)),
            None => assert!(rule != Rule::AllDead && rule != Rule::NeverRan),
        }
        let others = Rule::ALL.iter().filter(|other| other.name() == rule.name());
        assert_eq!(others.count(), 1, "two rules are called {}", rule.name());
    }
    assert!(!running().evidence().is_closed());
    assert!(!running().client(sealed(Closing::Lost)).evidence().is_closed(), "the slot may know better");
    assert!(running().guard(ended(EXITED)).evidence().is_closed());
}

fn prove(evidence: &Evidence, seen: &Seen) -> Vec<Ground> {
    because(derive(evidence, seen, now()).rule, evidence, seen, now())
}

fn check(given: Story, (program, guard, host): Three, status: Status, rule: Rule) {
    let verdict = judge_story(&given, &seen(program, guard, host));
    assert_eq!((verdict.status, verdict.rule), (status, rule), "{verdict:#?}");
}

fn check_damaged(given: Story, (program, guard, host): Three, status: Status, rule: Rule) {
    let mut evidence = given.evidence();
    evidence.damaged(DAMAGE);
    let verdict = derive(&evidence, &seen(program, guard, host), now());
    assert_eq!((verdict.status, verdict.rule), (status, rule), "{verdict:#?}");
}
