//! How instants are written for clients.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// ISO 8601 in UTC with whole seconds and a `+00:00` offset: `2026-11-20T09:54:00+00:00`.
pub fn wire(instant: Timestamp) -> String {
    TimeZone::UTC.to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
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
