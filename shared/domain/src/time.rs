//! How instants are written for clients and for people.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize as _, Serializer};

use crate::time_zone::NamedZone;

/// ISO 8601 in UTC with whole seconds and a `+00:00` offset: `2026-11-20T09:54:00+00:00`.
pub fn wire(instant: Timestamp) -> String {
    TimeZone::UTC.to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

/// Serializes an instant as the API writes it.
///
/// # Errors
///
/// Those of the serializer.
pub fn wire_time<S: Serializer>(instant: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&wire(*instant))
}

/// Serializes an instant, or null.
///
/// # Errors
///
/// Those of the serializer.
pub fn wire_time_or_null<S: Serializer>(
    instant: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    instant.map(wire).serialize(serializer)
}

/// A duration in its two largest units: `45 s`, `12 min`, `1 h 5 min`, `3 d 2 h`.
pub fn duration(lasted: SignedDuration) -> String {
    let seconds = lasted.as_secs().max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let two = |large: i64, unit: &str, small: i64, smaller: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {smaller}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => two(hours, "h", minutes, "min"),
        (days, hours, _) => two(days, "d", hours, "h"),
    }
}

/// How long ago an instant was, or how long until it: `34 s ago`, `2 days ago`, `in 5 min`. From one week on, it is the
/// date in the zone: `27 Oct`, with the year if it is another one.
pub fn ago(at: Timestamp, now: Timestamp, zone: &NamedZone) -> String {
    let seconds = now.duration_since(at).as_secs();
    let lasted = match seconds.abs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3_600 => format!("{} min", seconds / 60),
        seconds @ ..86_400 => format!("{} h", seconds / 3_600),
        seconds @ ..172_800 => format!("{} day", seconds / 86_400),
        seconds @ ..604_800 => format!("{} days", seconds / 86_400),
        _ => return day(at, now, zone),
    };
    if seconds < 0 { format!("in {lasted}") } else { format!("{lasted} ago") }
}

/// The day of an instant in a zone: `27 Oct`, with the year if it is another one.
pub fn day(at: Timestamp, now: Timestamp, zone: &NamedZone) -> String {
    let [at, now] = [at, now].map(|instant| zone.local(instant));
    let format = if at.year() == now.year() { "%-d %b" } else { "%-d %b %Y" };
    at.strftime(format).to_string()
}

/// The time of day of an instant in a zone: `14:32`.
pub fn clock(at: Timestamp, zone: &NamedZone) -> String {
    zone.local(at).strftime("%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_ago_something_was_is_said_in_its_largest_unit_and_as_a_date_after_a_week() {
        let now: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        for (seconds, said) in [
            (0, "0 s ago"),
            (59, "59 s ago"),
            (3_599, "59 min ago"),
            (86_399, "23 h ago"),
            (86_400, "1 day ago"),
            (604_799, "6 days ago"),
            (604_800, "13 Nov"),
            (350 * 86_400, "5 Dec 2025"),
            (-300, "in 5 min"),
        ] {
            let at = now - SignedDuration::from_secs(seconds);
            assert_eq!(ago(at, now, &NamedZone::utc()), said);
        }
    }

    #[test]
    fn times_of_day_and_dates_are_those_of_the_zone_across_both_clock_changes_of_a_year() {
        let berlin = NamedZone::parse("Europe/Berlin").expect("a zone");
        for (instant, time, date) in [
            ("2026-03-29T00:59:00Z", "01:59", "29 Mar"),
            ("2026-03-29T01:00:00Z", "03:00", "29 Mar"),
            ("2026-10-24T22:00:00Z", "00:00", "25 Oct"),
            ("2026-10-25T00:30:00Z", "02:30", "25 Oct"),
            ("2026-10-25T01:30:00Z", "02:30", "25 Oct"),
            ("2026-12-31T22:59:00Z", "23:59", "31 Dec"),
            ("2026-12-31T23:00:00Z", "00:00", "1 Jan"),
        ] {
            let at: Timestamp = instant.parse().expect("a timestamp");
            assert_eq!((&*clock(at, &berlin), &*day(at, at, &berlin)), (time, date), "{instant}");
        }
        let [old, new] = ["2026-12-31T22:59:00Z", "2026-12-31T23:00:00Z"]
            .map(|at| at.parse::<Timestamp>().expect("a timestamp"));
        assert_eq!(day(old, new, &berlin), "31 Dec 2026", "last year there");
        assert_eq!(day(old, new, &NamedZone::utc()), "31 Dec", "the same year in UTC");
    }

    #[test]
    fn instants_have_whole_seconds_and_an_offset() {
        let instant: Timestamp = "2026-11-20T09:54:00.999Z".parse().expect("a timestamp");
        assert_eq!(wire(instant), "2026-11-20T09:54:00+00:00");
    }
}
