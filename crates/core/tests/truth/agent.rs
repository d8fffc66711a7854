//! Turn, attention and stuck: what an agent does and wants, and when nobody can tell.

use abide_core::evidence::{Body, Fact, How, Role, TurnOpened, Wants};
use abide_core::identity::{Doubt, Liveness};
use abide_core::moment::Moment;
use abide_core::status::Status;
use abide_core::verdict::{Attention, Now, Rule, STUCK_AFTER_MS, Seen, Turn, Verdict, derive};

use crate::bodies::{attention, declared, noted, turn_closed, turn_opened};
use crate::common::{
    ALIVE, CLIENT, DEAD, Story, UNKNOWN, UNNAMED, boot_id, ended, judge_story, now, running, stop_asked,
};

const HOOK: u32 = 600;
const ALL_ALIVE: Seen = Seen { guard: ALIVE, host: ALIVE, program: ALIVE, owner: ALIVE, watcher: UNNAMED };
const ALL_DEAD: Seen = Seen { guard: DEAD, host: DEAD, program: DEAD, owner: DEAD, watcher: UNNAMED };

#[test]
fn a_turn_is_worked_on_while_its_owner_lives_however_old_it_is() {
    check_turn(&working(), ALIVE, Turn::Working);
    let late = judge_after(&working(), ALIVE, 24 * STUCK_AFTER_MS);
    assert_eq!((late.turn, late.stuck_since, late.status), (Turn::Working, None, Status::Running));
}

#[test]
fn a_turn_is_settled_once_it_is_closed_or_its_owner_is_dead() {
    check_turn(&working().tell(Role::Hook, HOOK, turn_closed("t1")), ALIVE, Turn::Settled);
    check_turn(&working(), DEAD, Turn::Settled);
    check_turn(&working().tell(Role::Hook, HOOK, turn_closed("t0")), ALIVE, Turn::Working);
}

#[test]
fn an_agent_that_ends_in_the_middle_of_a_turn_leaves_no_turn_open() {
    let killed = ended(How::Signaled { signal: 9, core: false });
    let crashed = ended(How::Signaled { signal: 11, core: true });
    let left = ended(How::Exited { code: 0 });
    for end in [killed, crashed, left] {
        for (owner, turn) in [(DEAD, Turn::Settled), (UNKNOWN, Turn::Unknown), (UNNAMED, Turn::Unknown)] {
            let asking = working().tell(Role::Hook, HOOK, attention(Wants::Approval));
            let verdict = judge_story(&asking.guard(end.clone()), &Seen { owner, ..ALL_DEAD });
            assert_eq!((verdict.turn, verdict.attention), (turn, Attention::None));
            assert_eq!((verdict.status, verdict.stuck_since), (Status::Exited, None));
        }
    }
    let outlived = working().guard(ended(How::Exited { code: 0 }));
    let verdict = judge_story(&outlived, &Seen { owner: ALIVE, ..ALL_DEAD });
    assert_eq!((verdict.status, verdict.turn), (Status::Exited, Turn::Working), "only its wrapper ended");
    let lost = judge_story(&working(), &ALL_DEAD);
    assert_eq!((lost.status, lost.turn), (Status::Lost, Turn::Settled));
}

#[test]
fn an_agent_that_outlives_the_program_that_started_it_keeps_its_session_open() {
    let wrapper_killed = Seen { owner: ALIVE, ..ALL_DEAD };
    let verdict = judge_story(&working(), &wrapper_killed);
    assert_eq!((verdict.status, verdict.rule), (Status::Unattended, Rule::AgentLives));
    assert_eq!(verdict.turn, Turn::Working);
    let unclear = judge_story(&working(), &Seen { owner: UNKNOWN, ..ALL_DEAD });
    assert_eq!((unclear.status, unclear.rule), (Status::Unknown, Rule::AgentUnclear));
    let settled = working().tell(Role::Hook, HOOK, turn_closed("t1"));
    assert_eq!(judge_story(&settled, &wrapper_killed).status, Status::Lost);
    let finishing = judge_story(&working(), &Seen { host: ALIVE, ..wrapper_killed });
    assert_eq!(finishing.status, Status::Exiting, "its guard or host has yet to say how it ended");
}

#[test]
fn without_any_word_of_a_turn_nothing_is_known_of_it() {
    for owner in [ALIVE, DEAD, UNKNOWN, UNNAMED] {
        check_turn(&running(), owner, Turn::Unknown);
        check_turn(&running().tell(Role::Hook, HOOK, turn_closed("t1")), owner, Turn::Unknown);
    }
    assert_eq!(judge_story(&running(), &ALL_ALIVE).attention, Attention::Unknown);
    let waits = running().tell(Role::Adapter, HOOK, turn_closed(""));
    assert_eq!(judge_story(&waits, &ALL_ALIVE).turn, Turn::Settled, "it waits for its first");
}

#[test]
fn an_open_turn_is_stuck_only_after_an_hour_without_evidence_or_a_judgeable_owner() {
    let opened = working();
    let last = opened.facts.last().unwrap().at;
    for owner in [UNKNOWN, UNNAMED, Liveness::Unknown(Doubt::Hidden)] {
        let early = judge_after(&opened, owner, STUCK_AFTER_MS - 1);
        assert_eq!((early.turn, early.stuck_since), (Turn::Working, None));
        let late = judge_after(&opened, owner, STUCK_AFTER_MS);
        assert_eq!((late.turn, late.stuck_since), (Turn::Unknown, Some(last)));
        assert_eq!(late.status, Status::Running, "a label, never an end");
        assert_eq!(late.rule.closing(), None, "never sealed");
    }
    let dead = judge_after(&opened, DEAD, STUCK_AFTER_MS);
    assert_eq!((dead.turn, dead.stuck_since), (Turn::Settled, None));
}

#[test]
fn any_sign_of_life_starts_the_hour_again_and_the_words_of_clients_do_not() {
    let sign = working().guard(Body::Noted(noted()));
    let since_sign = judge_after(&sign, UNKNOWN, STUCK_AFTER_MS).stuck_since;
    assert_eq!(since_sign, Some(sign.facts.last().unwrap().at));
    let asked = working().client(stop_asked());
    let since_turn = judge_after(&asked, UNKNOWN, STUCK_AFTER_MS).stuck_since;
    assert_eq!(since_turn, Some(working().facts.last().unwrap().at));
}

#[test]
fn a_turn_that_was_just_opened_is_not_stuck_whoever_told_of_it() {
    let mut story = running().tell(Role::Client, CLIENT, turn_opened("t1"));
    let opened = story.facts.last_mut().unwrap();
    opened.at.boot += 2 * STUCK_AFTER_MS;
    opened.at.wall += 2 * STUCK_AFTER_MS.cast_signed();
    let verdict = judge_after(&story, UNKNOWN, 1);
    assert_eq!((verdict.turn, verdict.stuck_since), (Turn::Working, None));
}

#[test]
fn silence_is_measured_by_the_boot_clock_and_across_boots_by_wall_time() {
    let opened = working();
    let last = opened.facts.last().unwrap().at;
    let stuck = |now: Now| derive(&opened.evidence(), &Seen { owner: UNKNOWN, ..ALL_ALIVE }, now).stuck_since;
    let boot = boot_id().short();
    let hour = STUCK_AFTER_MS.cast_signed();
    let mut at = last;
    at.wall += 24 * hour;
    assert_eq!(stuck(Now { at, ..now() }), None, "the wall clock was set forward");
    assert_eq!(
        stuck(Now { at, boot: boot ^ 1, ..now() }),
        Some(last),
        "boot clocks of two boots are not compared"
    );
    at = last;
    at.wall -= 24 * hour;
    at.boot += STUCK_AFTER_MS;
    assert_eq!(stuck(Now { at, ..now() }), Some(last), "the wall clock was set back");
    assert_eq!(stuck(Now { at, boot: boot ^ 1, ..now() }), None);
}

#[test]
fn attention_is_what_was_asked_last_and_nothing_once_the_turn_is_settled() {
    for (wants, expected) in [
        (Wants::None, Attention::None),
        (Wants::Approval, Attention::Approval),
        (Wants::Answer, Attention::Answer),
    ] {
        let story = || working().tell(Role::Hook, HOOK, attention(wants));
        assert_eq!(judge_story(&story(), &ALL_ALIVE).attention, expected);
        let settled = story().tell(Role::Hook, HOOK, turn_closed("t1"));
        assert_eq!(judge_story(&settled, &ALL_ALIVE).attention, Attention::None);
        let orphaned = judge_story(&story(), &Seen { owner: DEAD, ..ALL_ALIVE });
        assert_eq!(orphaned.attention, Attention::None);
    }
    let twice = working().tell(Role::Hook, HOOK, attention(Wants::Approval)).tell(
        Role::Hook,
        HOOK,
        attention(Wants::None),
    );
    assert_eq!(judge_story(&twice, &ALL_ALIVE).attention, Attention::None);
}

#[test]
fn in_a_turn_without_an_owner_the_program_stands_for_its_agent() {
    let Body::TurnOpened(opened) = turn_opened("t1") else { panic!("not a turn") };
    let ownerless = Body::TurnOpened(Box::new(TurnOpened { owner: None, ..*opened }));
    let story = running().tell(Role::Hook, HOOK, ownerless);
    check_turn(&story, UNNAMED, Turn::Working);
    let judged = |program: Liveness| {
        let Now { at, .. } = now();
        let at = Moment { wall: at.wall, boot: at.boot + STUCK_AFTER_MS };
        derive(&story.evidence(), &Seen { program, owner: UNNAMED, ..ALL_ALIVE }, Now { at, ..now() })
    };
    assert_eq!((judged(ALIVE).turn, judged(ALIVE).stuck_since), (Turn::Working, None), "however long");
    assert_eq!(judged(DEAD).turn, Turn::Settled);
    assert!(judged(UNKNOWN).stuck_since.is_some());
}

#[test]
fn a_declared_success_outranks_the_exit_status_in_the_middle_of_a_turn() {
    let story = working().tell(Role::Hook, HOOK, declared(0)).guard(ended(How::Exited { code: 17 }));
    let verdict = judge_story(&story, &ALL_DEAD);
    assert_eq!((verdict.codes.wait, verdict.codes.agrees), (Some(0), Some(false)));
    assert_eq!(verdict.outcome.unwrap().how, How::Exited { code: 17 }, "both are shown");
}

#[test]
fn every_word_for_turn_and_attention_is_the_specification_s() {
    let turns = [Turn::Working, Turn::Settled, Turn::Unknown].map(Turn::name);
    assert_eq!(turns, ["working", "settled", "unknown"]);
    let wants = [Attention::None, Attention::Approval, Attention::Answer, Attention::Unknown];
    assert_eq!(wants.map(Attention::name), ["none", "approval", "answer", "unknown"]);
}

/// A running agent with an open turn.
fn working() -> Story {
    running().tell(Role::Hook, HOOK, turn_opened("t1"))
}

fn check_turn(story: &Story, owner: Liveness, expected: Turn) {
    let verdict = judge_story(story, &Seen { owner, ..ALL_ALIVE });
    assert_eq!((verdict.turn, verdict.stuck_since), (expected, None));
}

/// Everyone lives but perhaps the owner, and so long was nothing heard.
fn judge_after(story: &Story, owner: Liveness, quiet_ms: u64) -> Verdict {
    let is_sign = |fact: &&Fact| fact.witness.role != Role::Client || is_turn(&fact.body);
    let last = story.facts.iter().rfind(is_sign).unwrap().at;
    let mut at = last;
    at.boot += quiet_ms;
    at.wall += quiet_ms.cast_signed();
    derive(&story.evidence(), &Seen { owner, ..ALL_ALIVE }, Now { at, ..now() })
}

const fn is_turn(body: &Body) -> bool {
    matches!(body, Body::TurnOpened(_))
}
