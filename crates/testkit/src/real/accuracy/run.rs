//! One life of an agent: what was true when, what was said meanwhile, and how well both agree.

use std::collections::BTreeMap;

/// What an agent is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum At {
    Idle,
    Working,
    Waiting,
    Done,
    Dead,
}

impl At {
    pub(super) const EACH: [Self; 5] = [Self::Idle, Self::Working, Self::Waiting, Self::Done, Self::Dead];

    const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }
}

/// What became true when, in ms of boot time; none from where on nobody can tell.
pub(super) type Truth = Vec<(u64, Option<At>)>;

/// One answer: when it was asked for and given, and what each source said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) asked: u64,
    pub(super) given: u64,
    pub(super) said: BTreeMap<String, At>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) truth: Truth,
    pub(super) answers: Vec<Answer>,
}

impl Run {
    /// What it was at for how long.
    pub(super) fn lived(&self) -> String {
        let ends =
            self.truth.iter().skip(1).map(|(at, _)| *at).chain(self.answers.last().map(|last| last.given));
        let each = self.truth.iter().zip(ends);
        let each = each.filter_map(|((since, at), end)| {
            Some(format!("{} {} ms", (*at)?.name(), end.saturating_sub(*since)))
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// Every source that said anything.
    pub(super) fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = Vec::new();
        for source in self.answers.iter().flat_map(|answer| answer.said.keys()) {
            if !sources.contains(&source.as_str()) {
                sources.push(source);
            }
        }
        sources.sort_by_key(|source| (*source == super::ALL, *source));
        sources
    }

    /// The same with one more source: what it said from when on.
    pub(super) fn with(mut self, source: &str, told: &[(u64, At)]) -> Self {
        for answer in &mut self.answers {
            let said = told.iter().rev().find(|(since, _)| *since <= answer.given);
            let at = said.map(|(_, at)| *at).filter(|_| answer.said.get(super::ALL) != Some(&At::Dead));
            answer.said.extend(at.map(|at| (source.to_owned(), at)));
        }
        self
    }

    /// The same under another name of a source.
    pub(super) fn renamed(mut self, source: &str, name: &str) -> Self {
        for answer in &mut self.answers {
            let said = answer.said.remove(source);
            answer.said.extend(said.map(|said| (name.to_owned(), said)));
        }
        self
    }

    /// Of the time in which this was true, by the answers that were asked for and given then, each standing for the time since the
    /// one before: for how much of what was told it was right, and for how much anything was told.
    pub(super) fn share(&self, source: &str, state: At) -> String {
        if !self.truth.iter().any(|(_, at)| *at == Some(state)) {
            return String::new();
        }
        let (mut all, mut told, mut right, mut before) = (0, 0, 0, None);
        for one in &self.answers {
            let lasts = one.given - before.replace(one.given).unwrap_or(one.asked);
            if self.during(one) != Some(state) {
                continue;
            }
            let said = one.said.get(source);
            all += lasts;
            told += said.map_or(0, |_| lasts);
            right += said.filter(|said| is_right(**said, state)).map_or(0, |_| lasts);
        }
        match told {
            0 => "-".to_owned(),
            told if told == all => format!("{}%", right * 100 / told),
            told => format!("{}% of {}%", right * 100 / told, told * 100 / all),
        }
    }

    /// The longest time from a change to the first right answer, of those that a source ever told.
    pub(super) fn lag(&self, source: &str) -> String {
        let mut worst = None;
        for (number, (since, state)) in self.truth.iter().enumerate().skip(1) {
            let Some(state) = state else { continue };
            let end = self.truth.get(number + 1).map_or(u64::MAX, |(next, _)| *next);
            let right = |one: &&Answer| {
                one.given >= *since
                    && one.given < end
                    && one.said.get(source).is_some_and(|said| is_right(*said, *state))
            };
            worst = worst.max(self.answers.iter().find(right).map(|one| one.given - since));
        }
        worst.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"))
    }

    /// What a source said instead of what was true, each time.
    pub(super) fn wrong(&self, source: &str) -> Vec<String> {
        let mut told: Vec<(At, At, u64, u64)> = Vec::new();
        for one in &self.answers {
            let (Some(state), Some(said)) = (self.during(one), one.said.get(source)) else { continue };
            let since = self.since(one.given);
            let is_on =
                |last: &&mut (At, At, u64, u64)| (last.0, last.1) == (*said, state) && last.3 >= since;
            if is_right(*said, state) {
                continue;
            }
            match told.last_mut().filter(is_on) {
                Some(last) => last.3 = one.given,
                None => told.push((*said, state, one.asked, one.given)),
            }
        }
        let says = |(said, state, from, to): &(At, At, u64, u64)| {
            let since = self.since(*from);
            let (said, state) = (said.name(), state.name());
            format!("{said} while {state}, asked {} ms into it, told at {} ms", from - since, to - since)
        };
        told.iter().map(says).collect()
    }

    /// What was true all the time from the question to the answer.
    fn during(&self, one: &Answer) -> Option<At> {
        let (since, state) = self.truth.iter().rev().find(|(since, _)| *since <= one.given)?;
        state.filter(|_| *since <= one.asked)
    }

    /// Since when what was true at an instant was true; 0 before anything was.
    fn since(&self, ms: u64) -> u64 {
        self.truth.iter().rev().find(|(since, _)| *since <= ms).map_or(0, |(since, _)| *since)
    }
}

fn is_right(said: At, truth: At) -> bool {
    said == truth || (said == At::Done && truth == At::Idle)
}
