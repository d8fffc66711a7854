//! Instants and durations as people and programs read them. Reads no clock: now is always an argument.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// An instant of wall time in ms; RFC 3339 in UTC as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) i64);

impl Time {
    /// As the people of this time zone write it.
    pub(crate) fn local(self) -> String {
        self.instant().to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// The same, to the millisecond.
    pub(crate) fn local_exact(self) -> String {
        self.instant().to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
    }

    /// Whatever stands in a file is an instant; what the years 0 to 9999 do not reach is their end.
    fn instant(self) -> Timestamp {
        const YEAR_0: i64 = -62_167_219_200_000;
        Timestamp::from_millisecond(self.0.max(YEAR_0)).unwrap_or(Timestamp::MAX)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.instant().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "description": "RFC 3339, UTC, to the millisecond" })
    }
}

const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];

/// A duration in its two largest units: `3m 2s`.
pub(crate) fn span(ms: u64) -> String {
    let Some(first) = UNITS.iter().position(|(_, unit)| ms >= *unit) else {
        return format!("{ms}ms");
    };
    let (name, unit) = UNITS[first];
    let mut text = format!("{}{name}", ms / unit);
    if let Some((next, smaller)) = UNITS.get(first + 1)
        && ms % unit / smaller > 0
    {
        text.push_str(&format!(" {}{next}", ms % unit / smaller));
    }
    text
}

/// How long ago, in one unit: `3m ago`.
pub(crate) fn ago(ms: u64) -> String {
    match UNITS.iter().find(|(_, unit)| ms >= *unit) {
        Some((name, unit)) => format!("{}{name} ago", ms / unit),
        None => "just now".to_owned(),
    }
}

/// A size in bytes, in the unit that reads best.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64 / 1024.0;
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_rfc_3339_whatever_a_file_says() {
        let json = |ms| serde_json::to_value(Time(ms)).unwrap();
        assert_eq!(json(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(json(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(json(i64::MAX), "9999-12-30T22:00:00.999Z");
        assert_eq!(json(i64::MIN), "0000-01-01T00:00:00.000Z");
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(
            [0, 999, 1000, 61_000, 3_600_000, 90_061_000].map(span),
            ["0ms", "999ms", "1s", "1m 1s", "1h", "1d 1h"]
        );
        assert_eq!([0, 1500, 180_000, 7_300_000].map(ago), ["just now", "1s ago", "3m ago", "2h ago"]);
        assert_eq!([0, 1023, 1536, 5 << 20].map(size), ["0 B", "1023 B", "1.5 KiB", "5.0 MiB"]);
    }
}
