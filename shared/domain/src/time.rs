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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_whole_seconds_and_an_offset() {
        let instant: Timestamp = "2026-11-20T09:54:00.999Z".parse().expect("a timestamp");
        assert_eq!(wire(instant), "2026-11-20T09:54:00+00:00");
    }
}
