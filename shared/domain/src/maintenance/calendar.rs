//! The maintenance windows of a team as an iCalendar feed (RFC 5545), to which calendar programs subscribe.
//!
//! Each instance is an event of its own, in UTC. Calendar programs therefore need no definitions of time zones, and
//! show the same times as Vedette, even if clocks change or somebody has ended an instance early.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::window::{Instance, MaintenanceWindow};
use super::windows::Windows;
use crate::text::disrupts_line;

/// How far ahead the feed goes. Programs read it again at least every day.
const AHEAD: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The longest line, in bytes, without its end: RFC 5545, §3.1.
const LINE_MAX: usize = 75;

/// The feed of a team with a name, whose windows were last changed at `changed_at`.
pub fn calendar(team: &str, windows: &Windows, changed_at: Timestamp, now: Timestamp) -> String {
    let mut feed = String::new();
    for fixed in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Vedette//Maintenance windows//EN"] {
        push(&mut feed, fixed);
    }
    push(&mut feed, &format!("X-WR-CALNAME:{} maintenance", escaped(team)));
    push(&mut feed, "REFRESH-INTERVAL;VALUE=DURATION:PT1H");
    for window in windows.current_ones(now) {
        for instance in shown(window, now) {
            event(&mut feed, window, instance, changed_at);
        }
    }
    push(&mut feed, "END:VCALENDAR");
    feed
}

/// The active instance of a window, and those that start within [`AHEAD`]; no more than one a day, whatever the rule.
fn shown(window: &MaintenanceWindow, now: Timestamp) -> impl Iterator<Item = Instance> {
    let end = now.saturating_add(AHEAD).unwrap_or(Timestamp::MAX);
    let next = |instance: &Instance| window.next_after(instance.start);
    let first = window.active_at(now).or_else(|| window.next_after(now));
    std::iter::successors(first, next).take_while(move |instance| instance.start <= end)
}

fn event(
    feed: &mut String,
    window: &MaintenanceWindow,
    Instance { start, end }: Instance,
    changed_at: Timestamp,
) {
    let utc = |at: Timestamp| at.strftime("%Y%m%dT%H%M%SZ").to_string();
    push(feed, "BEGIN:VEVENT");
    push(feed, &format!("UID:{}-{}", window.id, start.as_second()));
    push(feed, &format!("DTSTAMP:{}", utc(changed_at)));
    push(feed, &format!("DTSTART:{}", utc(start)));
    push(feed, &format!("DTEND:{}", utc(end)));
    push(feed, &format!("SUMMARY:{}", escaped(&window.name)));
    // Subscribers do not appear busy during a window.
    push(feed, "TRANSP:TRANSPARENT");
    push(feed, "END:VEVENT");
}

/// A text value: RFC 5545, §3.3.11.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\\' | ';' | ',' => {
                let _ = write!(escaped, "\\{character}");
            }
            character if disrupts_line(character) => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

/// Adds a line. A long one continues in the next line after a space.
fn push(feed: &mut String, line: &str) {
    let mut room = LINE_MAX;
    for character in line.chars() {
        if character.len_utf8() > room {
            feed.push_str("\r\n ");
            room = LINE_MAX - 1;
        }
        feed.push(character);
        room -= character.len_utf8();
    }
    feed.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::id::WindowId;
    use crate::maintenance::{NewWindow, Recurrence, parse_start};
    use crate::time_zone::NamedZone;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn window(number: u128, name: &str, start: &str, rule: Option<&str>) -> MaintenanceWindow {
        let new = NewWindow {
            name: name.to_owned(),
            starts_at: Some(parse_start(start).expect("a start")),
            recurrence: rule.map(|rule| Recurrence::parse(rule).expect("a rule")),
            ..NewWindow::lasting(60)
        };
        let zone = NamedZone::parse("Europe/Berlin").expect("a zone");
        new.into_window(WindowId(Uuid::from_u128(number)), &zone, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn each_instance_is_an_event_in_utc_through_a_clock_change() {
        let now = at("2026-10-18T00:30:00Z");
        let weekly = window(
            1,
            "Updates; all, of\\them\u{2028}\u{202e}",
            "2026-10-18T02:00",
            Some("FREQ=WEEKLY;UNTIL=20261031T000000Z"),
        );
        let windows = Windows::default().with(weekly, now).expect("a window");
        let feed = calendar("Shop, Ltd", &windows, now, now);
        insta::assert_snapshot!(feed.replace("\r\n", "\n"), @r"
        BEGIN:VCALENDAR
        VERSION:2.0
        PRODID:-//Vedette//Maintenance windows//EN
        X-WR-CALNAME:Shop\, Ltd maintenance
        REFRESH-INTERVAL;VALUE=DURATION:PT1H
        BEGIN:VEVENT
        UID:00000000-0000-0000-0000-000000000001-1792281600
        DTSTAMP:20261018T003000Z
        DTSTART:20261018T000000Z
        DTEND:20261018T010000Z
        SUMMARY:Updates\; all\, of\\them  
        TRANSP:TRANSPARENT
        END:VEVENT
        BEGIN:VEVENT
        UID:00000000-0000-0000-0000-000000000001-1792886400
        DTSTAMP:20261018T003000Z
        DTSTART:20261025T000000Z
        DTEND:20261025T010000Z
        SUMMARY:Updates\; all\, of\\them  
        TRANSP:TRANSPARENT
        END:VEVENT
        END:VCALENDAR
        ");
        assert_eq!(feed.matches("\r\n").count(), feed.matches('\n').count());
    }

    #[test]
    fn the_feed_goes_ninety_days_ahead_and_names_no_instance_that_was_ended() {
        let now = at("2026-11-20T01:30:00Z");
        let daily = window(1, "Daily", "2026-11-20T02:00", Some("FREQ=DAILY"));
        let later = window(2, "Later", "2027-03-01T02:00", None);
        let windows = Windows::default().with(daily.clone(), now).expect("a window");
        let windows = windows.with(later, now).expect("another");
        let events =
            |windows: &Windows| calendar("Shop", windows, now, now).matches("BEGIN:VEVENT").count();
        assert_eq!(events(&windows), 91);
        let ended = windows.with_ended(daily.id, now).expect("it is active");
        assert_eq!(events(&ended), 90);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_text_is_lost(text in "\\PC{0,200}") {
            let mut feed = String::new();
            push(&mut feed, &text);
            prop_assert!(feed.split("\r\n").all(|line| line.len() <= LINE_MAX));
            let unfolded = feed.replace("\r\n ", "");
            prop_assert_eq!(unfolded.trim_end_matches("\r\n"), text);
        }
    }
}
