//! When files are saved, and what the evidence keeps of what was.

use abide_core::evidence::fold::SAVED_KEPT;
use abide_core::evidence::{Body, Checkpointed, Noted, Reason};
use abide_core::verdict::checkpoint::Schedule;

use crate::bodies::{turn_closed, turn_opened};
use crate::common::{Story, fold, running, stop_asked};

fn heard(signal: i32) -> Body {
    Body::Noted(Noted { text: "heard".into(), heard: Some(signal), gone: None })
}

fn saved(file: &str, copy: u64, size: u64) -> Body {
    let path = format!("checkpoints/{copy}");
    Body::Checkpointed(Checkpointed { path, file: file.into(), size, ..Checkpointed::default() })
}

/// What is due at each of these times, each after so many more facts. The interval is half a second.
fn check(story: &Story, steps: &[(u64, usize, Option<Reason>)]) {
    let mut facts = story.facts.len() - steps.iter().map(|(_, more, _)| more).sum::<usize>();
    let until = |facts: usize| fold(&story.facts[..facts]);
    let mut schedule = Schedule::new(&until(facts));
    for (at, more, expected) in steps {
        facts += more;
        assert_eq!(schedule.due(*at, &until(facts)), *expected, "at {at}");
    }
}

#[test]
fn a_turn_begins_with_a_checkpoint_and_has_one_at_each_interval_until_it_closes() {
    let interval = Some(Reason::Interval);
    check(
        &running().guard(turn_opened("t1")).guard(turn_closed("t1")).guard(turn_opened("t2")),
        &[
            (1_000, 1, interval),
            (1_499, 0, None),
            (1_500, 0, interval),
            (9_000, 1, None),
            (9_100, 1, interval),
            (9_200, 0, None),
        ],
    );
}

#[test]
fn a_turn_that_follows_another_between_two_looks_begins_with_a_checkpoint() {
    let interval = Some(Reason::Interval);
    check(
        &running().guard(turn_opened("t1")).guard(turn_closed("t1")).guard(turn_opened("t2")),
        &[(1_000, 1, interval), (1_100, 2, interval), (1_200, 0, None)],
    );
}

#[test]
fn where_there_was_nothing_to_save_it_is_due_at_every_look_until_there_is() {
    let story = running().guard(turn_opened("t1"));
    let evidence = fold(&story.facts);
    let mut schedule = Schedule::new(&evidence);
    assert_eq!(schedule.due(1_000, &evidence), Some(Reason::Interval));
    schedule.nothing_yet();
    // Nobody comes because of it.
    assert_eq!(schedule.wake_at(&evidence), Some(1_500));
    assert_eq!(schedule.due(1_100, &evidence), Some(Reason::Interval));
    assert_eq!(schedule.due(1_200, &evidence), None);
    assert_eq!(schedule.due(1_600, &evidence), Some(Reason::Interval));
}

#[test]
fn a_program_that_is_no_agent_is_always_at_work() {
    check(&running(), &[(0, 0, Some(Reason::Interval)), (500, 0, Some(Reason::Interval))]);
}

#[test]
fn a_signal_or_a_stop_is_heeded_at_once_and_once() {
    check(
        &running().guard(heard(1)).guard(heard(15)).guard(stop_asked()),
        &[
            (0, 0, Some(Reason::Interval)),
            (1, 1, Some(Reason::Hangup)),
            (2, 0, None),
            (3, 1, Some(Reason::Terminate)),
            (4, 1, Some(Reason::Stop)),
            (5, 0, None),
        ],
    );
}

#[test]
fn what_is_heard_while_no_turn_is_open_saves_nothing_then_or_later() {
    check(
        &running().guard(turn_closed("")).guard(heard(1)).guard(turn_opened("t1")),
        &[(0, 1, None), (1, 1, None), (2, 1, Some(Reason::Interval))],
    );
}

#[test]
fn the_next_scribe_heeds_what_the_last_one_did_not_come_to() {
    check(&running().guard(turn_opened("t1")).guard(heard(1)), &[(0, 0, Some(Reason::Hangup))]);
    check(
        &running().guard(turn_opened("t1")).guard(heard(1)).guard(saved("a", 1, 9)),
        &[(0, 0, Some(Reason::Interval))],
    );
}

#[test]
fn of_each_file_the_latest_checkpoint_and_all_its_copies_are_known() {
    let story = running().guard(saved("a", 1, 10)).guard(saved("b", 2, 5)).guard(saved("a", 1, 12));
    let work = story.guard(saved("a", 3, 7)).evidence().work;
    let of = |at: usize| (work.saved[at].latest.body.size, work.saved[at].copies.clone());
    assert_eq!((of(0), of(1)), ((7, vec![(1, 12), (3, 7)]), (5, vec![(2, 5)])));
    assert_eq!(work.copies, 3);
}

#[test]
fn endless_files_are_not_all_remembered() {
    let story = (1..=200).fold(running(), |story, n| story.guard(saved(&format!("f{n}"), n, 1)));
    let work = story.evidence().work;
    assert_eq!((work.saved.len(), work.copies), (SAVED_KEPT, 200));
    assert_eq!(work.saved.last().unwrap().latest.body.file, "f200");
}

#[test]
fn a_checkpoint_of_an_earlier_or_later_version_is_read() {
    let read = |text: &str| serde_json::from_str::<Checkpointed>(text).expect("it is read");
    assert_eq!(read(r#"{"path":"checkpoints/1"}"#).size, 0);
    assert_eq!(read(r#"{"path":"x","reason":"moon","more":[1]}"#).reason, Reason::Other);
}
