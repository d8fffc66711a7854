//! Pace: a recording's time as it is shown again: from the beginning of a span on, and with idle time no longer than one wants.

/// Maps microseconds of the recording to microseconds of what is made of it.
#[derive(Debug, Clone)]
pub struct Pace {
    idle_limit: Option<u64>,
    last: u64,
    shown: u64,
}

impl Pace {
    /// Begins at so many microseconds of the recording; no pause lasts longer than the limit.
    #[must_use]
    pub const fn new(begins: u64, idle_limit: Option<u64>) -> Self {
        Self { idle_limit, last: begins, shown: 0 }
    }

    /// When something is shown that came at this time; nothing is shown before what came before it.
    pub fn at(&mut self, micros: u64) -> u64 {
        self.shown = self.then(micros);
        self.last = self.last.max(micros);
        self.shown
    }

    /// The same, as a question only.
    #[must_use]
    pub fn then(&self, micros: u64) -> u64 {
        let pause = micros.saturating_sub(self.last);
        self.shown + self.idle_limit.map_or(pause, |limit| pause.min(limit))
    }

    /// When the last thing was shown.
    #[must_use]
    pub const fn shown(&self) -> u64 {
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_begins_with_the_span_and_pauses_are_no_longer_than_wanted() {
        let mut pace = Pace::new(100, Some(50));
        assert_eq!([110, 120, 1_000, 1_010].map(|micros| pace.at(micros)), [10, 20, 70, 80]);
        let mut pace = Pace::new(100, None);
        assert_eq!([100, 90, 1_000].map(|micros| pace.at(micros)), [0, 0, 900]);
        assert_eq!((pace.then(1_500), pace.shown()), (1_400, 900));
    }
}
