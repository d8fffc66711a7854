//! What a program printed against what a view of its recording shows: numbered lines, each once and in order.

use super::{Kind, Lie};
use crate::truth::Truth;

/// The line that a program prints as its n-th.
#[must_use]
pub fn line(tag: u32, number: u64) -> String {
    format!("line {tag} {number}.")
}

/// The numbers of the whole lines in a text, each with the tag of the session that it says it is of.
fn numbers(text: &str) -> Vec<(u32, u64)> {
    let whole = text.lines().filter_map(|line| {
        let mut words = line.trim_end().strip_prefix("line ")?.strip_suffix('.')?.split(' ');
        let (tag, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some((tag, number))
    });
    whole.collect()
}

/// Judges a whole log that was asked for at `call`. `final_count` if the program is over and told how many lines there are.
#[must_use]
pub fn log(truth: &Truth, call: u64, text: &str, complete: bool) -> Vec<Lie> {
    let floor =
        if complete { truth.output.by(u64::MAX) } else { truth.output.by(call.saturating_sub(super::GRACE)) };
    // Lines that nobody was there to record, or that were damaged afterwards, are missing rightly.
    let excused = truth.abandoned() || truth.harm.recording || truth.harm.evidence;
    let mut lies = order(truth, text, 1, excused);
    let last = numbers(text).last().map_or(0, |(_, number)| *number);
    if last < floor && !excused && truth.held_until <= call {
        lies.push(
            Kind::MissingOutput
                .about(truth.tag, format!("{floor} lines were printed, the log ends at {last}")),
        );
    }
    lies
}

/// Judges a screen: a part of the lines, without a hole.
#[must_use]
pub fn screen(truth: &Truth, text: &str) -> Vec<Lie> {
    let first = numbers(text).first().map_or(1, |(_, number)| *number);
    order(truth, text, first, truth.harm.recording || truth.harm.evidence)
}

fn order(truth: &Truth, text: &str, first: u64, holes: bool) -> Vec<Lie> {
    let mut lies = Vec::new();
    let mut next = first;
    for (tag, number) in numbers(text) {
        let says = |what: &str| format!("{what}: line {number} of {tag} where {next} was due");
        if tag != truth.tag || number > truth.output.told {
            lies.push(Kind::ForeignOutput.about(truth.tag, says("nobody printed this")));
        } else if number < next {
            lies.push(Kind::DoubledOutput.about(truth.tag, says("shown twice")));
        } else if number > next && !holes {
            lies.push(Kind::MissingOutput.about(truth.tag, says("lines are missing")));
        }
        next = number + 1;
    }
    lies.truncate(1);
    lies
}
