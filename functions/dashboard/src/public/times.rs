//! Times as readers of a status page see them: on the clock of the page's time zone.

use jiff::{Timestamp, Zoned};
use maud::{Markup, html};
use vedette_domain::time;
use vedette_domain::time_zone::NamedZone;

/// The time zone of a page, and the current time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times<'a> {
    pub(super) zone: &'a NamedZone,
    pub(super) now: Timestamp,
}

impl Times<'_> {
    /// A time of day, with its date unless it is today: `02:46 CET`, `23 Nov, 12:40 CET`.
    pub(super) fn minute(self, at: Timestamp) -> Markup {
        let (local, today) = (self.zone.local(at), self.zone.local(self.now));
        let format = if local.date() == today.date() {
            "%H:%M %Z"
        } else if local.year() == today.year() {
            "%-d %b, %H:%M %Z"
        } else {
            "%-d %b %Y, %H:%M %Z"
        };
        self.tagged(at, &written(&local, format))
    }

    /// When something was, and how long ago that is: `02:46 CET, 14 min ago`.
    pub(super) fn minute_ago(self, at: Timestamp) -> Markup {
        html! { (self.minute(at)) ", " (time::ago(at, self.now, self.zone)) }
    }

    /// From when to when: `Thu 26 Nov, 01:00 to 02:30 CET`.
    pub(super) fn range(self, from: Timestamp, to: Timestamp) -> Markup {
        let [start, end] = [from, to].map(|at| self.zone.local(at));
        let day = if start.year() == self.zone.local(self.now).year() {
            "%a %-d %b"
        } else {
            "%a %-d %b %Y"
        };
        let is_same_day = start.date() == end.date();
        // The clocks may change in between.
        let is_same_offset = start.offset() == end.offset();
        let start = format!(
            "{}, {}",
            written(&start, day),
            written(&start, if is_same_offset { "%H:%M" } else { "%H:%M %Z" })
        );
        let end = match is_same_day {
            true => written(&end, "%H:%M %Z"),
            false => format!("{}, {}", written(&end, day), written(&end, "%H:%M %Z")),
        };
        html! { (self.tagged(from, &start)) " to " (self.tagged(to, &end)) }
    }

    /// A date and a time with the zone: `2026-11-24 02:46 CET`.
    pub(super) fn instant(self, at: Timestamp) -> Markup {
        self.tagged(at, &self.zone.minute(at))
    }

    fn tagged(self, at: Timestamp, text: &str) -> Markup {
        html! { time datetime=(time::wire(at)) title=(self.zone.minute(at)) { (text) } }
    }
}

fn written(local: &Zoned, format: &str) -> String {
    local.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn shown(markup: &Markup) -> String {
        let texts =
            markup.0.split('<').map(|rest| rest.split_once('>').map_or(rest, |(_, text)| text));
        texts.collect()
    }

    #[test]
    fn times_are_those_of_the_zone_and_as_short_as_can_be() {
        let zone = NamedZone::parse("Europe/Berlin").expect("a zone");
        let times = Times { zone: &zone, now: at("2026-11-24T02:00:00Z") };
        for (instant, expected) in [
            ("2026-11-24T01:46:00Z", "02:46 CET"),
            ("2026-11-23T22:59:00Z", "23 Nov, 23:59 CET"),
            ("2026-09-26T06:02:00Z", "26 Sep, 08:02 CEST"),
            ("2025-12-31T22:00:00Z", "31 Dec 2025, 23:00 CET"),
        ] {
            assert_eq!(shown(&times.minute(at(instant))), expected);
        }
        for (from, to, expected) in [
            ("2026-11-26T00:00:00Z", "2026-11-26T01:30:00Z", "Thu 26 Nov, 01:00 to 02:30 CET"),
            (
                "2026-11-26T22:00:00Z",
                "2026-11-27T01:00:00Z",
                "Thu 26 Nov, 23:00 to Fri 27 Nov, 02:00 CET",
            ),
            ("2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "Sun 25 Oct, 02:00 CEST to 03:00 CET"),
            ("2027-01-01T00:00:00Z", "2027-01-01T01:00:00Z", "Fri 1 Jan 2027, 01:00 to 02:00 CET"),
        ] {
            assert_eq!(shown(&times.range(at(from), at(to))), expected);
        }
        assert_eq!(shown(&times.minute_ago(at("2026-11-24T01:46:00Z"))), "02:46 CET, 14 min ago");
    }
}
