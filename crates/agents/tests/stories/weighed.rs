//! What signs say together.

use abide_agents::{Level, Sign, Source, Standing, weigh};
use abide_core::verdict::{Attention, Turn};

const NOW: i64 = 1_000_000;

fn sign(source: Source, level: Level, at: i64) -> Sign {
    let since = match source {
        Source::Title | Source::Screen => None,
        Source::Registry | Source::Hook | Source::Transcript => Some(at),
    };
    Sign { source, level, at, since, until: None, says: String::new() }
}

/// Turn and attention, and who decided on the turn.
fn told(signs: &[Sign]) -> (Turn, Attention, Option<Source>) {
    let Standing { turn, attention, turn_by, .. } = weigh(signs, NOW);
    (turn, attention, turn_by)
}

#[test]
fn what_was_seen_on_a_screen_says_nothing_once_it_has_expired() {
    let shown = |until: i64| Sign { until: Some(until), ..sign(Source::Screen, Level::APPROVAL, NOW - 10) };
    let asks = (Turn::Working, Attention::Approval, Some(Source::Screen));
    assert_eq!(told(&[shown(NOW + 1)]), asks);
    assert_eq!(told(&[shown(NOW)]), (Turn::Unknown, Attention::Unknown, None));
    let open = sign(Source::Transcript, Level::of(Turn::Working), NOW - 500);
    let asks = (Turn::Working, Attention::Approval, Some(Source::Transcript));
    assert_eq!(told(&[shown(NOW + 1), open.clone()]), asks);
    let works = (Turn::Working, Attention::Unknown, Some(Source::Transcript));
    assert_eq!(told(&[shown(NOW - 1), open]), works);
}

/// Row 54: a turn that takes long is one all the same.
#[test]
fn what_an_agent_told_holds_until_it_tells_something_else() {
    let day = 86_400_000;
    let hook = sign(Source::Hook, Level::APPROVAL, NOW - day);
    assert_eq!(told(std::slice::from_ref(&hook)), (Turn::Working, Attention::Approval, Some(Source::Hook)));
    let closed = sign(Source::Transcript, Level::SETTLED, NOW - day + 1);
    assert_eq!(told(&[hook.clone(), closed]), (Turn::Settled, Attention::None, Some(Source::Transcript)));
    let listed = sign(Source::Registry, Level::SETTLED, NOW - day + 1);
    assert_eq!(told(&[hook, listed]), (Turn::Settled, Attention::None, Some(Source::Registry)));
}

/// An agent runs its hooks before it changes its list of sessions and repaints its title.
#[test]
fn what_stood_there_before_a_hook_told_of_something_does_not_contradict_it() {
    let told_by = |signs: &[Sign]| told(signs).2;
    for (before, hook, after) in
        [(Level::SETTLED, Level::WORKING, Level::APPROVAL), (Level::WORKING, Level::SETTLED, Level::WORKING)]
    {
        let edge = sign(Source::Hook, hook, NOW - 5_000);
        let listed = |level, at| sign(Source::Registry, level, at);
        assert_eq!(told_by(&[edge.clone(), listed(before, NOW - 5_001)]), Some(Source::Hook));
        assert_eq!(told_by(&[edge.clone(), listed(after, NOW - 4_999)]), Some(Source::Registry));
        // Since when a title has been as it is, nobody knows: for a while it may be the one of before.
        let titled = sign(Source::Title, before, NOW);
        let now = |at| sign(Source::Hook, hook, at);
        assert_eq!(told_by(&[titled.clone(), now(NOW - 999)]), Some(Source::Hook));
        assert_eq!(told_by(&[titled.clone(), now(NOW - 1_000)]), Some(Source::Title));
        // The same of a transcript that tells a turn to be over.
        let over = sign(Source::Transcript, Level::SETTLED, NOW - 999);
        assert_eq!(told_by(&[titled.clone(), over]), Some(Source::Transcript));
        let open = sign(Source::Transcript, Level::of(Turn::Working), NOW - 999);
        assert_eq!(told_by(&[titled, open]), Some(Source::Title));
    }
}

#[test]
fn a_question_that_a_hook_told_to_be_answered_is_not_asked_again_by_a_screen_from_before() {
    let works = |at| sign(Source::Hook, Level::WORKING, at);
    let shown = sign(Source::Screen, Level::APPROVAL, NOW - 300);
    let wants = |signs: &[Sign]| told(signs).1;
    assert_eq!(wants(&[works(NOW - 200), shown.clone()]), Attention::None);
    assert_eq!(wants(&[works(NOW - 1_200), shown.clone()]), Attention::None);
    assert_eq!(wants(&[works(NOW - 1_300), shown.clone()]), Attention::Approval);
    // And one that a hook told of is not taken back by a title that is yet to be repainted.
    let asks = sign(Source::Hook, Level::APPROVAL, NOW - 100);
    let titled = sign(Source::Title, Level::WORKING, NOW);
    assert_eq!(wants(&[asks, titled, shown]), Attention::Approval);
}

/// What is written down late, of a turn that is over, is not work.
#[test]
fn a_turn_that_a_hook_closed_is_open_again_only_where_it_is_written_on() {
    let closed = sign(Source::Hook, Level::SETTLED, NOW - 5_000);
    let open =
        |at| Sign { since: Some(NOW - 9_000), ..sign(Source::Transcript, Level::of(Turn::Working), at) };
    assert_eq!(told(&[closed.clone(), open(NOW - 4_900)]).0, Turn::Settled);
    assert_eq!(told(&[closed, open(NOW - 3_900)]).0, Turn::Working);
}
