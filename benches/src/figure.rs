//! Figures with their unit, the bars they are held to, and lines of the table. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    Ms,
    MbPerS,
    MsPerMb,
    Kib,
    Mib,
    Times,
    Count,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Figure {
    pub value: f64,
    pub unit: Unit,
}

/// What a figure is held to.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Bar {
    /// So many times the peer's, at most.
    AtMost(f64),
    /// So many times the peer's, at least.
    AtLeast(f64),
    /// No more than that, whatever the peer's is.
    Within(f64),
    /// Stated, and held to nothing.
    Stated,
}

/// What it was measured against, or what else is worth knowing.
pub type Named = (String, Figure);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    pub what: String,
    pub ours: Figure,
    pub peer: Option<Named>,
    pub bar: Bar,
    /// What the least that must be done takes, done by processes that do nothing else.
    pub floor: Option<Named>,
    pub beside: Vec<Named>,
}

impl Figure {
    pub const fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }

    pub fn micros(micros: u64) -> Self {
        Self::new(micros as f64 / 1000.0, Unit::Ms)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Ms => " ms",
            Unit::MbPerS => " MB/s",
            Unit::MsPerMb => " ms/MB",
            Unit::Kib => " KiB",
            Unit::Mib => " MiB",
            Unit::Times => "x",
            Unit::Count => "",
        };
        let decimals = match self.value.abs() {
            _ if self.unit == Unit::Count => 0,
            less if less < 9.995 => 2,
            less if less < 99.95 => 1,
            _ => 0,
        };
        write!(out, "{:.decimals$}{unit}", self.value)
    }
}

impl Line {
    pub fn new(what: &str, ours: Figure, bar: Bar) -> Self {
        Self { what: what.to_owned(), ours, peer: None, bar, floor: None, beside: Vec::new() }
    }

    /// The same, held against a peer. Without its figure the bar cannot be judged.
    pub fn against(mut self, name: &str, figure: Option<Figure>) -> Self {
        self.peer = figure.map(|figure| (name.to_owned(), figure));
        self
    }

    pub fn floor(mut self, name: &str, figure: Figure) -> Self {
        self.floor = Some((name.to_owned(), figure));
        self
    }

    pub fn beside(mut self, name: &str, figure: Figure) -> Self {
        self.beside.push((name.to_owned(), figure));
        self
    }

    /// Ours by the peer's.
    pub fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().filter(|(_, peer)| peer.value > 0.0).map(|(_, peer)| self.ours.value / peer.value)
    }

    /// How much of what the bar allows is used: up to 1 it holds.
    pub fn used(&self) -> Option<f64> {
        match self.bar {
            Bar::AtMost(times) => Some(self.ratio()? / times),
            Bar::AtLeast(times) => Some(times / self.ratio()?),
            Bar::Within(0.0) => Some(if self.ours.value > 0.0 { f64::INFINITY } else { 0.0 }),
            Bar::Within(most) => Some(self.ours.value / most),
            Bar::Stated => None,
        }
    }

    /// How many times the floor's cost is ours: at 1, nothing is left to save.
    pub fn above_floor(&self) -> Option<f64> {
        let (_, floor) =
            self.floor.as_ref().filter(|(_, floor)| floor.value > 0.0 && self.ours.value > 0.0)?;
        let times = self.ours.value / floor.value;
        Some(if matches!(self.bar, Bar::AtLeast(_)) { 1.0 / times } else { times })
    }

    pub fn bar_says(&self) -> String {
        match self.bar {
            Bar::AtMost(times) => format!("at most {times}x"),
            Bar::AtLeast(times) => format!("at least {times}x"),
            Bar::Within(most) => format!("at most {}", Figure::new(most, self.ours.unit)),
            Bar::Stated => "stated".to_owned(),
        }
    }

    pub fn verdict(&self) -> &'static str {
        match (self.bar, self.used()) {
            (Bar::Stated, _) => "",
            (_, Some(used)) if used <= 1.0 => "holds",
            (_, Some(_)) => "MISSED",
            (_, None) => "no peer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Figure, Line, Unit};

    #[test]
    fn a_bar_holds_up_to_what_it_allows() {
        let ms = |value| Figure::new(value, Unit::Ms);
        let line =
            |bar, ours, theirs: Option<f64>| Line::new("", ms(ours), bar).against("peer", theirs.map(ms));
        let cases = [
            (line(Bar::AtMost(1.5), 3.0, Some(2.0)), "holds"),
            (line(Bar::AtMost(1.5), 3.1, Some(2.0)), "MISSED"),
            (line(Bar::AtLeast(0.5), 1.0, Some(2.0)), "holds"),
            (line(Bar::AtLeast(0.5), 0.9, Some(2.0)), "MISSED"),
            (line(Bar::Within(5.0), 5.0, None), "holds"),
            (line(Bar::Within(0.0), 0.0, None), "holds"),
            (line(Bar::Within(0.0), 1.0, None), "MISSED"),
            (line(Bar::AtMost(1.0), 1.0, None), "no peer"),
            (line(Bar::Stated, 1.0, Some(2.0)), ""),
        ];
        for (line, verdict) in cases {
            assert_eq!(line.verdict(), verdict, "{line:?}");
        }
    }

    #[test]
    fn the_floor_is_left_by_so_many_times_what_it_costs() {
        let ms = |value| Figure::new(value, Unit::Ms);
        let line = |bar, ours, floor| Line::new("", ms(ours), bar).floor("", ms(floor)).above_floor();
        assert_eq!(line(Bar::AtMost(1.0), 3.0, 2.0), Some(1.5));
        assert_eq!(line(Bar::AtLeast(1.0), 50.0, 100.0), Some(2.0), "half of the speed is twice the cost");
        assert_eq!(line(Bar::AtMost(1.0), 3.0, 0.0), None);
        assert_eq!(Line::new("", ms(3.0), Bar::AtMost(1.0)).above_floor(), None);
    }

    #[test]
    fn figures_have_three_digits() {
        let says = |value| Figure::new(value, Unit::Ms).to_string();
        assert_eq!(
            [says(0.123), says(1.0), says(12.34), says(99.96)],
            ["0.12 ms", "1.00 ms", "12.3 ms", "100 ms"]
        );
    }
}
