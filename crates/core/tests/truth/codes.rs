//! The codes that are passed on: the declared one first, then what was observed, and never one that no fact holds.

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Found, encode};
use abide_core::evidence::{Body, Closing, Ended, How, Sealed, Word};
use abide_core::verdict::{Codes, because, derive};

use crate::bodies::{declared, exec_failed, noted, sealed};
use crate::common::{
    ALIVE, DAMAGE, DEAD, Story, UNKNOWN, UNNAMED, all_dead, ended, ended_with, guarded, judge_story, now,
    padded, running, seen,
};

const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const ENOEXEC: i32 = 8;
const NONE: Codes = Codes { exit: None, wait: None, agrees: None, unclear: false };

#[test]
fn an_observed_exit_is_passed_on_as_it_is() {
    for code in 0..=u8::MAX {
        check(running().guard(exited(code)), (Some(code), Some(code), None));
    }
}

#[test]
fn a_signal_is_128_and_its_number_for_wait_and_no_exit_code() {
    for (signal, wait) in [(1, 129), (9, 137), (11, 139), (15, 143), (64, 192)] {
        for core in [false, true] {
            let story = running().guard(ended(How::Signaled { signal, core }));
            check(story, (None, Some(wait), None));
        }
    }
    let impossible = running().guard(ended(How::Signaled { signal: 200, core: false }));
    check(impossible, (None, Some(u8::MAX), None));
}

#[test]
fn a_failed_exec_is_127_if_nothing_was_found_and_126_otherwise() {
    check(running().guard(exec_failed(ENOENT)), (None, Some(127), None));
    check(running().guard(exec_failed(EACCES)), (None, Some(126), None));
    check(running().guard(exec_failed(ENOEXEC)), (None, Some(126), None));
}

#[test]
fn an_end_that_nobody_observed_has_no_code() {
    for story in [
        running(),
        running().guard(ended(How::Lost)),
        running().client(sealed(Closing::Lost)),
        running().client(sealed(Closing::NeverRan)),
        Story::default().guard(guarded()),
        Story::default().guard(Body::Removed(noted())),
    ] {
        check(story, (None, Some(125), None));
    }
}

#[test]
fn a_declared_result_outranks_the_exit_status_and_disagreement_is_shown() {
    check(running().guard(declared(0)).guard(exited(17)), (Some(0), Some(0), Some(false)));
    check(running().guard(declared(17)).guard(exited(17)), (Some(17), Some(17), Some(true)));
    let killed = ended(How::Signaled { signal: 9, core: false });
    check(running().guard(declared(0)).guard(killed), (Some(0), Some(0), Some(false)));
}

#[test]
fn a_result_that_comes_after_the_end_changes_nothing() {
    let late = |story: Story| story.client(declared(0));
    check(late(running().guard(exited(17))), (Some(17), Some(17), None));
    check(late(running().guard(ended(How::Signaled { signal: 9, core: false }))), (None, Some(137), None));
    check(late(running().guard(ended(How::Lost))), (None, Some(125), None));
    check(late(running().guard(exec_failed(ENOENT))), (None, Some(127), None));
    check(late(running().client(sealed(Closing::Lost))), (None, Some(125), None));
    check(late(running().guard(declared(4)).guard(exited(17))), (Some(4), Some(4), Some(false)));
    let observed_late = late(running().client(sealed(Closing::Lost))).guard(exited(17));
    check(observed_late, (Some(17), Some(17), None));
}

#[test]
fn a_declared_result_is_all_there_is_when_nobody_observed_the_end() {
    check(running().guard(declared(4)), (Some(4), Some(4), None));
    check(running().guard(declared(4)).client(sealed(Closing::Lost)), (Some(4), Some(4), None));
}

#[test]
fn a_session_that_is_not_over_has_no_code_even_with_a_declared_result() {
    let story = running().guard(declared(0));
    for (program, helpers) in
        [(ALIVE, ALIVE), (ALIVE, DEAD), (DEAD, ALIVE), (UNKNOWN, DEAD), (UNKNOWN, UNNAMED)]
    {
        assert_eq!(judge_story(&story, &seen(program, helpers, helpers)).codes, NONE);
    }
    let removing = running().guard(declared(0)).client(Body::Removing(noted()));
    assert_eq!(judge_story(&removing, &seen(DEAD, DEAD, DEAD)).codes, NONE);
}

#[test]
fn a_session_keeps_the_code_that_was_observed_while_and_after_it_is_removed() {
    let removing = |story: Story| story.client(Body::Removing(noted()));
    check(removing(running().guard(exited(3))), (Some(3), Some(3), None));
    check(removing(running().guard(declared(0)).guard(exited(3))), (Some(0), Some(0), Some(false)));
    check(removing(running().guard(declared(0)).guard(exec_failed(ENOENT))), (None, Some(127), None));
    check(removing(running().client(sealed(Closing::Lost))), (None, Some(125), None));
    let story = running().guard(exited(3)).client(Body::Removing(noted())).client(Body::Removed(noted()));
    check(story, (Some(3), Some(3), None));
}

/// Facts that were lost before an end may have held a word, and it outranks what was observed.
#[test]
fn an_end_behind_damage_passes_on_no_code_unless_its_word_is_told() {
    let declared_three = declared(3);
    let told = |story: Story, damage: bool| {
        let mut evidence = Evidence::default();
        for (n, fact) in story.facts.iter().enumerate() {
            if damage && n == 3 {
                evidence.damaged(DAMAGE);
            }
            evidence.add(0, Found::Fact(Box::new(fact.clone())));
        }
        derive(&evidence, &all_dead(), now()).codes
    };
    let codes = |exit, wait, unclear| Codes { exit, wait: Some(wait), agrees: None, unclear };
    let unclear = codes(None, 125, true);
    for code in [0, 3, 17] {
        assert_eq!(told(running().guard(exited(code)), false), codes(Some(code), code, false));
        assert_eq!(told(running().guard(exited(code)), true), unclear, "an older witness told no word");
        let wordless = running().guard(ended_with(How::Exited { code }, None));
        assert_eq!(told(wordless, true), codes(Some(code), code, false), "nothing was declared");
        let word = || ended_with(How::Exited { code }, Some(&declared_three));
        let lost = told(running().guard(word()), true);
        assert_eq!((lost.wait, lost.agrees), (Some(3), Some(code == 3)), "the word is told once more");
        let kept = told(running().client(declared(3)).guard(word()), true);
        assert_eq!((kept.wait, kept.agrees), (Some(3), Some(code == 3)));
        let superseded = running().client(declared(0)).guard(word());
        assert_eq!(told(superseded, true), unclear, "a later word may be lost, or the other came late");
        let again = running().client(declared(3)).client(declared(0)).guard(word());
        assert_eq!(told(again, true), unclear, "the same word may have come once more, and be lost");
        let overtaken = running().client(declared(3)).client(declared(0)).guard(word());
        assert_eq!(told(overtaken, false).wait, Some(0), "it came before the end was on record");
        let cut_out = running().client(declared(0)).guard(word());
        assert_eq!(told(cut_out, false), unclear, "the word that counted is not on record any more");
        assert_eq!(told(running().client(declared(0)).guard(exited(code)), true), unclear);
    }
    let sealed_lost = running().client(declared(0)).client(sealed(Closing::Lost));
    assert_eq!(told(sealed_lost, true), unclear);
    let removed = running().client(declared(0)).client(Body::Removed(noted()));
    assert_eq!(told(removed, true), unclear);
    assert_eq!(told(running().guard(exec_failed(ENOENT)), true), codes(None, 127, false), "it never ran");
}

/// The log may have been cut without a trace: whoever closed the session knows more of its last word than the log shows.
#[test]
fn whoever_closed_a_session_and_could_not_tell_its_last_word_leaves_no_code() {
    let unclear = Codes { wait: Some(125), unclear: true, ..NONE };
    let Body::Ended(told) = ended_with(How::Exited { code: 0 }, None) else { panic!("not an end") };
    let word = Some(Word { declared: None, unclear: true });
    let ended = Body::Ended(Box::new(Ended { word, ..*told }));
    let Body::Sealed(told) = sealed(Closing::Lost) else { panic!("not a seal") };
    let sealed = Body::Sealed(Box::new(Sealed { word_unclear: true, ..*told }));
    for closing in [ended, sealed] {
        for story in [running(), running().client(declared(0))] {
            let verdict = judge_story(&story.guard(closing.clone()), &seen(DEAD, DEAD, DEAD));
            assert_eq!(verdict.codes, unclear, "{verdict:#?}");
        }
    }
}

#[test]
fn damage_behind_the_end_takes_no_code() {
    let mut evidence = running().guard(exited(17)).evidence();
    evidence.damaged(DAMAGE);
    assert_eq!(derive(&evidence, &all_dead(), now()).codes.wait, Some(17));
}

#[test]
fn the_slot_tells_the_word_that_a_damaged_log_has_lost() {
    let story = running().guard(declared(3)).guard(exited(0));
    let frames: Vec<Vec<u8>> = story.facts.iter().map(|fact| encode(fact).unwrap()).collect();
    let mut log = frames.concat();
    let lost = frames[..4].concat().len() + 20;
    log[lost] ^= 1;
    let slots = [(frames[4..].concat(), Some(3), false), (frames[5].clone(), Some(125), true)];
    for (slot, wait, unclear) in slots {
        let slot = padded(slot);
        let mut evidence = Evidence::read(&log);
        assert!(evidence.is_closed() && evidence.wants_slot());
        evidence.add_slot(None, Some(&slot), i64::MAX, log.len() as u64);
        let verdict = derive(&evidence, &all_dead(), now());
        assert_eq!((verdict.codes.wait, verdict.codes.unclear), (wait, unclear), "{verdict:#?}");
        let proof = because(verdict.rule, &evidence, &all_dead(), now());
        assert_eq!(proof.iter().any(|ground| ground.says == Codes::UNCLEAR), unclear, "{proof:#?}");
    }
}

fn exited(code: u8) -> Body {
    ended(How::Exited { code })
}

/// Everyone is dead: what does a session pass on?
fn check(story: Story, (exit, wait, agrees): (Option<u8>, Option<u8>, Option<bool>)) {
    let verdict = judge_story(&story, &seen(DEAD, DEAD, DEAD));
    assert_eq!(verdict.codes, Codes { exit, wait, agrees, unclear: false }, "{verdict:#?}");
}
