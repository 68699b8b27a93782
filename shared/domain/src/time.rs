//! How instants are written for clients and for people.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// ISO 8601 in UTC with whole seconds and a `+00:00` offset: `2026-11-20T09:54:00+00:00`.
pub fn wire(instant: Timestamp) -> String {
    TimeZone::UTC.to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

/// `2026-11-21 12:01 UTC`
pub fn instant(at: Timestamp) -> String {
    TimeZone::UTC.to_datetime(at).strftime("%Y-%m-%d %H:%M UTC").to_string()
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
/// date: `27 Oct`, with the year if it is another one.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    let lasted = match seconds.abs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3_600 => format!("{} min", seconds / 60),
        seconds @ ..86_400 => format!("{} h", seconds / 3_600),
        seconds @ ..172_800 => format!("{} day", seconds / 86_400),
        seconds @ ..604_800 => format!("{} days", seconds / 86_400),
        _ => return day(at, now),
    };
    if seconds < 0 { format!("in {lasted}") } else { format!("{lasted} ago") }
}

/// The UTC day of an instant: `27 Oct`, with the year if it is another one.
pub fn day(at: Timestamp, now: Timestamp) -> String {
    let [at, now] = [at, now].map(|instant| TimeZone::UTC.to_datetime(instant));
    let format = if at.year() == now.year() { "%-d %b" } else { "%-d %b %Y" };
    at.strftime(format).to_string()
}

/// The UTC time of day of an instant: `14:32`.
pub fn clock(at: Timestamp) -> String {
    TimeZone::UTC.to_datetime(at).strftime("%H:%M").to_string()
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
            assert_eq!(ago(now - SignedDuration::from_secs(seconds), now), said);
        }
        assert_eq!(clock(now), "09:54");
    }

    #[test]
    fn instants_have_whole_seconds_and_an_offset() {
        let instant: Timestamp = "2026-11-20T09:54:00.999Z".parse().expect("a timestamp");
        assert_eq!(wire(instant), "2026-11-20T09:54:00+00:00");
    }
}
