//! Instants of a recording: where one is, and how people and programs name one. Times of the day and distances from now
//! are read by the front, which knows the calendar; everything else that names an instant is read here.

use std::fmt;

/// A place in a recording: what came up to here, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Instant {
    /// How many entries came, this one included.
    pub entry: u64,
    /// How many bytes of output came.
    pub position: u64,
    /// Microseconds since the recording began.
    pub micros: u64,
    /// The same on the wall clock, in ms.
    pub wall: i64,
    /// In the middle of its entry, some of whose output came later. Only then its position names it and nothing else: behind
    /// an entry others than output may follow at the same position, and only the entry's number does.
    pub within: bool,
}

/// How an instant is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// When the wall clock showed this, in ms.
    Wall(i64),
    /// So many ms before now, whatever the wall clock was set to in between.
    Ago(u64),
    /// So many microseconds after the recording began.
    Since(u64),
    /// Once so many bytes of output had come.
    Position(u64),
    /// Once so many entries had come.
    Entry(u64),
    /// Where the last mark of this name was set.
    Mark(String),
}

/// A time that is none of a recording in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// As in `At`.
    Wall(i64),
    Ago(u64),
}

impl Time {
    /// By the wall clock alone, in ms, where it shows this now.
    #[must_use]
    pub const fn wall(self, now: i64) -> i64 {
        match self {
            Self::Wall(wall) => wall,
            Self::Ago(ms) => now.saturating_sub_unsigned(ms),
        }
    }
}

/// From one instant to another; without them, the whole recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Span {
    pub from: Option<At>,
    pub to: Option<At>,
}

/// The forms that are read here, for hints.
pub const FORMS: &str = "+12.5s after the start, seq:4096, #123 (or entry:123), mark:NAME";

impl At {
    /// The instant that a text names; none if the text has none of these forms.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let named = |prefix: &str| text.strip_prefix(prefix);
        if let Some(since) = named("+") {
            return micros(since).map(Self::Since);
        }
        if let Some(position) = named("seq:") {
            return position.parse().ok().map(Self::Position);
        }
        if let Some(entry) = named("#").or_else(|| named("entry:")) {
            return entry.parse().ok().map(Self::Entry);
        }
        named("mark:").filter(|name| !name.is_empty()).map(|name| Self::Mark(name.to_owned()))
    }
}

/// As it is typed, but for wall times, which only the front can write.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wall(ms) => write!(f, "{ms} ms of wall time"),
            Self::Ago(ms) => write!(f, "-{}.{:03}s", ms / 1_000, ms % 1_000),
            Self::Since(micros) => write!(f, "+{}.{:06}s", micros / 1_000_000, micros % 1_000_000),
            Self::Position(position) => write!(f, "seq:{position}"),
            Self::Entry(entry) => write!(f, "#{entry}"),
            Self::Mark(name) => write!(f, "mark:{name}"),
        }
    }
}

/// A duration such as `12.5s`, `1m30s`, `250ms`, or seconds without a unit, in microseconds.
#[must_use]
pub fn micros(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("us", 1),
        ("ms", 1_000),
        ("s", 1_000_000),
        ("m", 60_000_000),
        ("h", 3_600_000_000),
        ("d", 86_400_000_000),
    ];
    let mut rest = text;
    let mut total: u64 = 0;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(length);
        let unit = match unit.trim() {
            "" if rest == text => 1_000_000,
            named => UNITS.iter().find(|(name, _)| *name == named)?.1,
        };
        total = total.checked_add(scaled(number, unit)?)?;
        rest = after;
        if rest.is_empty() {
            return Some(total);
        }
    }
}

/// A number with or without a fraction, times the unit.
#[must_use]
pub fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Further digits say less than a microsecond of any unit that people give fractions of.
    let digits = &fraction[..fraction.len().min(8)];
    let part: u64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let tens = digits.bytes().fold(1, |tens, _| tens * 10);
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(part.checked_mul(unit)? / tens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_may_have_fractions_and_mean_seconds_without_a_unit() {
        for (text, expected) in [
            ("12.5s", 12_500_000),
            ("12.5", 12_500_000),
            ("0", 0),
            ("1m30s", 90_000_000),
            ("1m 0.25s", 60_250_000),
            ("250ms", 250_000),
            ("0.000001", 1),
            ("1.5h", 5_400_000_000),
            ("7us", 7),
        ] {
            assert_eq!(micros(text), Some(expected), "{text:?}");
        }
        for bad in ["", "s", "1x", "-1s", "1s2", ".5", "1.2.3s", "99999999999999999999", "999999999999d"] {
            assert_eq!(micros(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn every_form_of_an_instant_is_read_and_written_alike() {
        for (text, expected) in [
            ("+12.500000s", At::Since(12_500_000)),
            ("seq:4096", At::Position(4096)),
            ("#123", At::Entry(123)),
            ("mark:before the build", At::Mark("before the build".to_owned())),
        ] {
            assert_eq!(At::parse(text), Some(expected.clone()), "{text}");
            assert_eq!(expected.to_string(), text);
        }
        assert_eq!(At::parse("entry:7"), Some(At::Entry(7)));
        assert_eq!(At::parse("+1m30s"), Some(At::Since(90_000_000)));
        for none in
            ["14:03", "-10m", "2026-01-31T14:03:00Z", "#", "#x", "seq:-1", "+", "mark:", "nightly", "10"]
        {
            assert_eq!(At::parse(none), None, "{none:?}");
        }
    }
}
