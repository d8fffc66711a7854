//! What signs say together.

use abide_agents::{Level, Sign, Source, Standing, weigh};
use abide_core::verdict::{Attention, Turn};

const NOW: i64 = 1_000_000;

fn sign(source: Source, level: Level, at: i64) -> Sign {
    Sign { source, level, at, until: None, says: String::new() }
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
    let listed = sign(Source::Registry, Level::SETTLED, NOW - 2 * day);
    assert_eq!(told(&[hook, listed]), (Turn::Settled, Attention::None, Some(Source::Registry)));
}
