//! The codes that are passed on: the declared one first, then what was observed, and never one that no fact holds.

use abide_core::evidence::{Body, Closing, How};
use abide_core::verdict::Codes;

use crate::bodies::{declared, exec_failed, noted, sealed};
use crate::common::{ALIVE, DEAD, Story, UNKNOWN, UNNAMED, ended, guarded, judge_story, running, seen};

const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const ENOEXEC: i32 = 8;
const NONE: Codes = Codes { exit: None, wait: None, agrees: None };

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

fn exited(code: u8) -> Body {
    ended(How::Exited { code })
}

/// Everyone is dead: what does a session pass on?
fn check(story: Story, (exit, wait, agrees): (Option<u8>, Option<u8>, Option<bool>)) {
    let verdict = judge_story(&story, &seen(DEAD, DEAD, DEAD));
    assert_eq!(verdict.codes, Codes { exit, wait, agrees }, "{verdict:#?}");
}
