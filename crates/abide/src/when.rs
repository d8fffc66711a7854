//! Instants and durations as people type them. Reads no clock: now is an argument.

use abide_core::failure::{Code, Failure};
use abide_core::instant::{self, At, Time};
use jiff::civil::{self, Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const FORMS: &str =
    "2026-01-31T14:03:00Z, \"2026-01-31 14:03\", 2026-01-31 (its midnight), 14:03:20, -10m or \"10m ago\"";

/// The instant that a text means, in ms of wall time.
///
/// # Errors
/// If it means none, or one that is yet to come.
pub(crate) fn instant(text: &str, now: i64) -> Result<i64, Failure> {
    let bad = |why: &str| {
        Failure::new(Code::BadTime, format!("`{text}` {why}")).hint(format!("a time is given as {FORMS}"))
    };
    let zoned = local(now).ok_or_else(|| bad("cannot be compared: the clock of this machine is far off"))?;
    let ago = before(text).map(|ms| now.saturating_sub_unsigned(ms));
    let wall = ago.or_else(|| on_calendar(text.trim(), &zoned)).ok_or_else(|| bad("is no time"))?;
    if wall > now { Err(bad("is yet to come")) } else { Ok(wall) }
}

fn local(now: i64) -> Option<Zoned> {
    Timestamp::from_millisecond(now).ok().map(|now| now.to_zoned(TimeZone::system()))
}

/// Whether a text has the form of a time, be it one to come.
fn means_time(text: &str, now: i64) -> bool {
    local(now).is_none_or(|now| on_calendar(text.trim(), &now).is_some())
}

/// The instant of a recording that a text means: a time, or any other name of it; else a mark of that name.
///
/// # Errors
/// If it means none, or a time that is yet to come.
pub(crate) fn at(text: &str, now: i64) -> Result<At, Failure> {
    if let Some(at) = At::parse(text).or_else(|| before(text).map(At::Ago)) {
        return Ok(at);
    }
    let named = ["+", "#", "seq:", "entry:", "mark:"].iter().any(|form| text.trim().starts_with(form));
    // A time that was mistyped, such as 25:00; a mark that looks like one is named with `mark:`.
    let named = named || text.contains(':') && text.trim().chars().all(|c| c.is_ascii_digit() || c == ':');
    match (instant(text, now), means_time(text, now)) {
        (Ok(wall), _) => Ok(At::Wall(wall)),
        (Err(_), false) if !named && !text.trim().is_empty() => Ok(At::Mark(text.trim().to_owned())),
        (Err(failure), _) => Err(failure.hint(format!("an instant is given as {FORMS}, {}", instant::FORMS))),
    }
}

/// The time that a text means, where a duration alone means that long ago.
///
/// # Errors
/// As `instant`.
pub(crate) fn since(text: &str, now: i64) -> Result<Time, Failure> {
    match duration_ms(text.trim()).or_else(|| before(text)) {
        Some(ms) => Ok(Time::Ago(ms)),
        None => instant(text, now).map(Time::Wall),
    }
}

/// `-10m`, `10m ago`, in ms.
fn before(text: &str) -> Option<u64> {
    let text = text.trim();
    let (dashed, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (ago, rest) = rest.strip_suffix("ago").map_or((false, rest), |rest| (true, rest.trim_end()));
    duration_ms(rest).filter(|_| dashed || ago)
}

fn on_calendar(text: &str, now: &Zoned) -> Option<i64> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant.as_millisecond());
    }
    // `2030` and `10` are names of marks rather than times.
    let local = if text.contains(':') {
        let date_time = text.parse::<DateTime>().ok();
        date_time.or_else(|| Some(now.date().to_datetime(text.parse::<civil::Time>().ok()?)))?
    } else {
        let date = text.parse::<Date>().ok().filter(|_| text.len() == "2026-01-31".len());
        date?.to_datetime(civil::Time::midnight())
    };
    Some(Timestamp::from(local.to_zoned(now.time_zone().clone()).ok()?).as_millisecond())
}

/// A duration such as `90s`, `1h30m`, `1.5s` or `250ms`, in ms.
pub(crate) fn duration_ms(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] =
        [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];
    let mut rest = text;
    let mut total: u64 = 0;
    loop {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let digits = rest.find(|c| !is_number(c))?;
        let end = rest[digits..].find(is_number).map_or(rest.len(), |length| digits + length);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == rest[digits..end].trim())?;
        total = total.checked_add(instant::scaled(&rest[..digits], *unit)?)?;
        rest = &rest[end..];
        if rest.is_empty() {
            return Some(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    #[test]
    fn durations_are_numbers_with_units() {
        assert_eq!(duration_ms("250ms"), Some(250));
        assert_eq!(duration_ms("1h30m"), Some(5_400_000));
        assert_eq!(duration_ms("2d 1s"), Some(172_801_000));
        assert_eq!(duration_ms("1.5s"), Some(1_500));
        assert_eq!(duration_ms("1m 0.25s"), Some(60_250));
        for bad in
            ["", "5", "m", "-1s", "1x", ".5s", "1.2.3s", "1s.", "99999999999999999999s", "30000000000000w"]
        {
            assert_eq!(duration_ms(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn instants_are_dates_or_times_or_distances() {
        assert_eq!(instant("-10m", NOW).unwrap(), NOW - 600_000);
        assert_eq!(instant("1h ago", NOW).unwrap(), NOW - 3_600_000);
        assert_eq!(instant("1.5h ago", NOW).unwrap(), NOW - 5_400_000);
        assert_eq!(since("1.5h", NOW).unwrap(), Time::Ago(5_400_000));
        assert_eq!(since("-1.5h", NOW).unwrap(), Time::Ago(5_400_000));
        assert_eq!(since("2023-11-14T22:13:19.5Z", NOW).unwrap(), Time::Wall(NOW - 500));
        assert_eq!(instant("2023-11-14T22:13:19.5Z", NOW).unwrap(), NOW - 500);
        assert_eq!(instant("2023-11-14T23:13:20+01:00", NOW).unwrap(), NOW);
        let local = Timestamp::from_millisecond(NOW - 20_000).unwrap().to_zoned(TimeZone::system());
        assert_eq!(instant(&local.strftime("%Y-%m-%d %H:%M").to_string(), NOW).unwrap(), NOW - 20_000);
        assert_eq!(instant(&local.strftime("%H:%M:%S").to_string(), NOW).unwrap(), NOW - 20_000);
        let midnight = local.start_of_day().expect("it has one").timestamp().as_millisecond();
        assert_eq!(instant(&local.strftime("%Y-%m-%d").to_string(), NOW).unwrap(), midnight);
    }

    #[test]
    fn an_instant_of_a_recording_is_a_time_or_another_name_of_it() {
        assert_eq!(at("-10m", NOW).unwrap(), At::Ago(600_000));
        assert_eq!(at("1.5s ago", NOW).unwrap(), At::Ago(1_500));
        assert_eq!(at("2023-11-14T22:13:19.5Z", NOW).unwrap(), At::Wall(NOW - 500));
        for mark in ["10", "2030", "20231114", "2023-11", "1.2"] {
            assert_eq!(at(mark, NOW).unwrap(), At::Mark(mark.to_owned()));
        }
        assert_eq!(at("+12.5s", NOW).unwrap(), At::Since(12_500_000));
        assert_eq!(at("#7", NOW).unwrap(), At::Entry(7));
        assert_eq!(at("before the build", NOW).unwrap(), At::Mark("before the build".to_owned()));
        assert_eq!(at("mark:14:03", NOW).unwrap(), At::Mark("14:03".to_owned()));
        for bad in ["", "+soon", "#x", "seq:", "2023-11-14T22:13:21Z", "2023-11-16"] {
            let failure = at(bad, NOW).unwrap_err();
            assert_eq!(failure.code, Code::BadTime, "{bad:?}");
            assert!(failure.hint.unwrap().contains("mark:NAME"));
        }
    }

    #[test]
    fn what_is_no_time_or_to_come_is_refused_with_the_forms() {
        for bad in [
            "",
            "soon",
            "10m",
            "10",
            "2023-11",
            "2023-11-99",
            "2023-11-16",
            "25:00",
            "-",
            "ago",
            "2023-11-14T22:13:21Z",
        ] {
            let failure = instant(bad, NOW).unwrap_err();
            assert_eq!(failure.code, Code::BadTime, "{bad:?}");
            assert!(failure.hint.unwrap().contains("14:03:20"));
        }
    }

    #[test]
    fn digits_and_colons_that_are_no_time_are_no_mark_either() {
        for bad in ["25:00", "12:99", "1:2:3:4", ":"] {
            let failure = at(bad, NOW).unwrap_err();
            assert!(failure.message.contains("is no time") && failure.hint.unwrap().contains("mark:NAME"));
        }
        assert_eq!(at("mark:25:00", NOW), Ok(At::Mark("25:00".to_owned())));
        assert_eq!(at("v1:2", NOW), Ok(At::Mark("v1:2".to_owned())));
    }
}
