//! What a session's user is told of, in which order, and when it is tried again: by the facts alone.

use abide_core::evidence::notification::{DELAYS_MS, Due, Matter, Notifications, Patience};
use abide_core::evidence::{Body, Closing, Fact, How, Role, Wants};
use abide_core::verdict::Now;

use crate::bodies::{attention, exec_failed, notified, sealed, turn_closed, turn_opened};
use crate::common::{Story, ended, moment, now, running};

const CODE: How = How::Exited { code: 3 };
const SCRIBE: u32 = 800;
const COURIER: u32 = 900;

fn scribe(story: Story, body: Body) -> Story {
    story.tell(Role::Adapter, SCRIBE, body)
}

fn told(facts: &[Fact]) -> Notifications {
    let mut all = Notifications::new("k3v9q2zr");
    facts.iter().for_each(|fact| all.add(fact.clone()));
    all
}

/// Everything that is told, in order, if each try succeeds.
fn in_order(mut story: Story, on: &[Matter]) -> Vec<(String, Matter)> {
    let mut order = Vec::new();
    loop {
        let all = told(&story.facts);
        let Due::Now(one, 0) = all.due("command", on, now(), Patience::Heeded) else { return order };
        order.push((one.key.clone(), one.matter));
        story = story.tell(Role::Courier, COURIER, notified(&one.key, true));
    }
}

fn keys(story: Story, on: &[Matter]) -> Vec<String> {
    in_order(story, on).into_iter().map(|(key, _)| key).collect()
}

#[test]
fn what_an_agent_wants_what_it_has_done_and_the_end_are_told_in_order_and_once() {
    let story = scribe(running(), turn_opened("t1"));
    let story = scribe(story, attention(Wants::Approval));
    let story = scribe(story, attention(Wants::None));
    let story = scribe(scribe(story, turn_closed("t1")), turn_closed("t1"));
    let story = story.guard(ended(CODE));
    let matters: Vec<Matter> = in_order(story, Matter::ALL).into_iter().map(|(_, matter)| matter).collect();
    assert_eq!(matters, [Matter::Attention, Matter::Turn, Matter::End]);
    let again = scribe(scribe(running(), turn_opened("t1")), turn_closed("t1")).guard(ended(CODE));
    assert_eq!(keys(again, &[Matter::End]), ["k3v9q2zr/ended"]);
    assert_eq!(keys(running(), Matter::ALL), [""; 0]);
    // A turn that nobody opened was none: the agent waits for its first.
    assert_eq!(keys(scribe(running(), turn_closed("")), Matter::ALL), [""; 0]);
}

#[test]
fn an_end_that_was_sealed_is_told_and_so_is_one_that_was_seen_after_all() {
    let lost = || running().client(sealed(Closing::Lost));
    assert_eq!(keys(lost(), Matter::ALL), ["k3v9q2zr/sealed"]);
    assert_eq!(keys(lost().guard(ended(CODE)), Matter::ALL), ["k3v9q2zr/sealed", "k3v9q2zr/ended"]);
    assert_eq!(keys(lost().guard(ended(How::Lost)), Matter::ALL), ["k3v9q2zr/sealed"]);
    let seen = running().guard(ended(CODE)).client(sealed(Closing::Lost)).guard(ended(CODE));
    assert_eq!(keys(seen, Matter::ALL), ["k3v9q2zr/ended"]);
    assert_eq!(keys(running().guard(exec_failed(2)), Matter::ALL), ["k3v9q2zr/ended"]);
    let mut in_slot = told(&running().facts);
    in_slot.add_slot(&running().guard(ended(CODE)).evidence());
    assert!(
        matches!(in_slot.due("command", Matter::ALL, now(), Patience::Heeded), Due::Now(one, 0) if one.key == "k3v9q2zr/ended")
    );
}

#[test]
fn what_fails_is_tried_again_ever_later_then_given_up_until_somebody_asks() {
    let mut story = running().guard(ended(CODE));
    let key = "k3v9q2zr/ended";
    for (tries, delay) in DELAYS_MS.iter().enumerate() {
        story = story.tell(Role::Courier, COURIER, notified(key, false));
        let at = moment(story.facts.len() as u64 - 1);
        let due = |boot: u64| Now { at: abide_core::moment::Moment { boot, ..at }, ..now() };
        let all = told(&story.facts);
        let stands = |boot: u64| match all.due("command", Matter::ALL, due(boot), Patience::Heeded) {
            Due::Now(one, before) => Some((one.key.clone(), before)),
            Due::At(next) => {
                assert_eq!(next, at.boot + delay);
                None
            }
            Due::Nothing => panic!("it is still tried"),
        };
        assert_eq!(stands(at.boot + delay - 1), None);
        assert_eq!(stands(at.boot + delay), Some((key.to_owned(), tries + 1)));
        // Another boot's clock says nothing of how long it was.
        let rebooted = Now { boot: 7, ..due(0) };
        assert!(matches!(all.due("command", Matter::ALL, rebooted, Patience::Heeded), Due::Now(..)));
        // Another who is told is not kept back.
        assert!(matches!(all.due("webhook", Matter::ALL, now(), Patience::Heeded), Due::Now(_, 0)));
    }
    story = story.tell(Role::Courier, COURIER, notified(key, false));
    let all = told(&story.facts);
    assert_eq!(all.due("command", Matter::ALL, now(), Patience::Heeded), Due::Nothing);
    assert!(matches!(all.due("command", Matter::ALL, now(), Patience::Ignored), Due::Now(_, 6)));
    assert_eq!(all.undelivered("command", Matter::ALL), (1, Some("it exited with 1")));
    let all = told(&story.tell(Role::Courier, COURIER, notified(key, true)).facts);
    assert_eq!(all.due("command", Matter::ALL, now(), Patience::Ignored), Due::Nothing);
    assert_eq!(all.undelivered("command", Matter::ALL).0, 0);
}

#[test]
fn what_is_still_tried_keeps_back_what_came_after_it() {
    let story = scribe(scribe(running(), turn_opened("t1")), turn_closed("t1"));
    let first = keys(scribe(scribe(running(), turn_opened("t1")), turn_closed("t1")), Matter::ALL).remove(0);
    let story = story.guard(ended(CODE)).tell(Role::Courier, COURIER, notified(&first, false));
    let at = moment(story.facts.len() as u64 - 1);
    let all = told(&story.facts);
    let soon = Now { at, ..now() };
    assert_eq!(all.due("command", Matter::ALL, soon, Patience::Heeded), Due::At(at.boot + DELAYS_MS[0]));
    assert!(matches!(all.due("command", &[Matter::End], soon, Patience::Heeded), Due::Now(..)));
}
