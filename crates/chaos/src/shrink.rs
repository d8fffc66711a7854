//! Makes a failing schedule shorter, as long as it still fails. Pure but for the question whether it does.

use crate::schedule::{Schedule, Step};

/// Looks for the shortest schedule that still fails: first without whole sessions, then without single steps, in ever
/// smaller pieces. `fails` is asked of each; it says no as well when there is no more time.
pub fn shrink(schedule: &Schedule, mut fails: impl FnMut(&Schedule) -> bool) -> Schedule {
    let mut best = schedule.clone();
    let tags = |schedule: &Schedule| schedule.tags();
    let without_tags = |schedule: &Schedule, gone: &[u32]| {
        Schedule(schedule.0.iter().copied().filter(|step| !gone.contains(&step.tag)).collect())
    };
    best = smaller(&best, tags, without_tags, &mut fails);
    let steps = |schedule: &Schedule| (0..schedule.0.len()).collect::<Vec<usize>>();
    let without_steps = |schedule: &Schedule, gone: &[usize]| {
        let kept = schedule.0.iter().enumerate().filter(|(at, _)| !gone.contains(at));
        Schedule(kept.map(|(_, step)| *step).collect())
    };
    best = smaller(&best, steps, without_steps, &mut fails);
    let begin = best.0.first().map_or(0, |step| step.at_ms);
    let sooner = Schedule(best.0.iter().map(|step| Step { at_ms: step.at_ms - begin, ..*step }).collect());
    if begin > 0 && fails(&sooner) { sooner } else { best }
}

/// Leaves out halves, then quarters, and so on, down to single parts.
fn smaller<T: Copy>(
    schedule: &Schedule,
    parts: impl Fn(&Schedule) -> Vec<T>,
    without: impl Fn(&Schedule, &[T]) -> Schedule,
    fails: &mut impl FnMut(&Schedule) -> bool,
) -> Schedule {
    let mut best = schedule.clone();
    let mut piece = parts(&best).len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < parts(&best).len() {
            let all = parts(&best);
            let gone = &all[at..all.len().min(at + piece)];
            let tried = without(&best, gone);
            if tried.0.len() < best.0.len() && fails(&tried) {
                best = tried;
            } else {
                at += piece;
            }
        }
        if piece == 1 {
            return best;
        }
        piece = piece.div_ceil(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Act, Likes, Order, generate};

    #[test]
    fn only_what_makes_it_fail_is_left() {
        let schedule = generate(3, 20_000, &Likes::all());
        let exit = |step: &&Step| matches!(step.act, Act::Order(Order::Exit, _));
        let wanted = *schedule.0.iter().filter(exit).nth(2).unwrap();
        let is_there = |tried: &Schedule| {
            let launched =
                tried.0.iter().any(|step| step.tag == wanted.tag && matches!(step.act, Act::Launch(..)));
            launched && tried.0.iter().any(|step| step.tag == wanted.tag && step.act == wanted.act)
        };
        let mut asked = 0;
        let short = shrink(&schedule, |tried| {
            asked += 1;
            is_there(tried)
        });
        assert_eq!(short.0.len(), 2, "{short}");
        assert!(short.0[0].at_ms == 0 && asked < 200, "{short} after {asked}");
    }

    #[test]
    fn what_fails_always_shrinks_to_nothing() {
        assert_eq!(shrink(&generate(3, 5_000, &Likes::all()), |_| true).0, []);
    }
}
