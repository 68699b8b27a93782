//! Instances of windows, compared with the crate `rrule` and with what clocks show.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::civil::{Date, DateTime, date};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::prelude::*;
use rrule::{RRuleSet, Tz};
use serde_json::json;
use uuid::Uuid;

use super::recurrence::RECURRENCE_MAX;
use super::*;
use crate::id::{SiteId, WindowId};
use crate::sites::selector::Selector;
use crate::sites::tag::{Tag, Tags};
use crate::time_zone::NamedZone;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn site(number: u128) -> SiteId {
    SiteId(Uuid::from_u128(number))
}

fn window(zone: &str, start: &str, minutes: u32, rule: Option<&str>) -> MaintenanceWindow {
    let new = NewWindow {
        name: "Deployment".to_owned(),
        starts_at: Some(parse_start(start).expect("a start")),
        recurrence: rule.map(|rule| Recurrence::parse(rule).expect("a rule")),
        ..NewWindow::lasting(minutes)
    };
    let zone = NamedZone::parse(zone).expect("a zone");
    new.into_window(WindowId(Uuid::from_u128(1)), &zone, Timestamp::UNIX_EPOCH)
}

fn tags(texts: &[&str]) -> Tags {
    texts.iter().map(|text| Tag::parse(text).expect("a tag")).collect()
}

fn selected(selector: &str, window: MaintenanceWindow) -> MaintenanceWindow {
    MaintenanceWindow { selector: Some(Selector::parse(selector).expect("a selector")), ..window }
}

/// The next starts of a window.
fn starts(window: &MaintenanceWindow, after: &str, count: usize) -> Vec<String> {
    let mut after = at(after);
    let mut starts = Vec::new();
    while starts.len() < count
        && let Some(next) = window.next_after(after)
    {
        starts.push(next.start.to_string());
        after = next.start;
    }
    starts
}

#[test]
fn a_rule_is_read_in_any_case_and_written_in_one_way() {
    for (text, written) in [
        ("FREQ=DAILY", "FREQ=DAILY"),
        ("freq=weekly;byday=su", "FREQ=WEEKLY;BYDAY=SU"),
        ("BYDAY=FR,MO,FR;INTERVAL=2;FREQ=WEEKLY", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR"),
        ("FREQ=MONTHLY;BYDAY=+2TU,-1FR", "FREQ=MONTHLY;BYDAY=2TU,-1FR"),
        ("FREQ=MONTHLY;BYMONTHDAY=15,-1,01", "FREQ=MONTHLY;BYMONTHDAY=-1,1,15"),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13"),
        ("FREQ=DAILY;INTERVAL=1;UNTIL=20271231T235959Z", "FREQ=DAILY;UNTIL=20271231T235959Z"),
    ] {
        let rule = Recurrence::parse(text).expect(text);
        assert_eq!(rule.to_string(), written);
        assert_eq!(Recurrence::parse(written), Ok(rule));
    }
}

#[test]
fn what_is_not_supported_is_refused_with_its_reason() {
    for (text, why) in [
        ("", RecurrenceError::Syntax),
        ("FREQ", RecurrenceError::Syntax),
        ("FREQ=DAILY;", RecurrenceError::Syntax),
        ("RRULE:FREQ=DAILY", RecurrenceError::Part),
        ("FREQ=DAILY;COUNT=3", RecurrenceError::Part),
        ("FREQ=WEEKLY;WKST=SU", RecurrenceError::Part),
        ("FREQ=DAILY;BYHOUR=2", RecurrenceError::Part),
        ("FREQ=DAILY;FREQ=DAILY", RecurrenceError::Twice("FREQ")),
        ("BYDAY=MO", RecurrenceError::Frequency),
        ("FREQ=YEARLY", RecurrenceError::Frequency),
        ("FREQ= DAILY", RecurrenceError::Frequency),
        ("FREQ=DAILY;INTERVAL=0", RecurrenceError::Interval),
        ("FREQ=DAILY;INTERVAL=1001", RecurrenceError::Interval),
        ("FREQ=DAILY;INTERVAL=99999999999", RecurrenceError::Interval),
        ("FREQ=DAILY;INTERVAL=+1", RecurrenceError::Interval),
        ("FREQ=DAILY;INTERVAL=", RecurrenceError::Interval),
        ("FREQ=WEEKLY;BYDAY=", RecurrenceError::Day),
        ("FREQ=WEEKLY;BYDAY=MO,", RecurrenceError::Day),
        ("FREQ=WEEKLY;BYDAY=MON", RecurrenceError::Day),
        ("FREQ=MONTHLY;BYDAY=6MO", RecurrenceError::Day),
        ("FREQ=MONTHLY;BYDAY=0MO", RecurrenceError::Day),
        ("FREQ=MONTHLY;BYDAY=\u{e9}", RecurrenceError::Day),
        ("FREQ=WEEKLY;BYDAY=1MO", RecurrenceError::NumberedDay),
        ("FREQ=DAILY;BYDAY=-1MO", RecurrenceError::NumberedDay),
        ("FREQ=MONTHLY;BYDAY=2TU;BYMONTHDAY=9", RecurrenceError::NumberedDayOfMonth),
        ("FREQ=MONTHLY;BYMONTHDAY=32", RecurrenceError::MonthDay),
        ("FREQ=MONTHLY;BYMONTHDAY=0", RecurrenceError::MonthDay),
        ("FREQ=MONTHLY;BYMONTHDAY=--1", RecurrenceError::MonthDay),
        ("FREQ=WEEKLY;BYMONTHDAY=1", RecurrenceError::WeeklyMonthDay),
        ("FREQ=DAILY;UNTIL=20271231", RecurrenceError::Until),
        ("FREQ=DAILY;UNTIL=20271231T235959", RecurrenceError::Until),
        ("FREQ=DAILY;UNTIL=20270230T000000Z", RecurrenceError::Until),
        ("FREQ=DAILY;UNTIL=-9990101T000000Z", RecurrenceError::Until),
    ] {
        assert_eq!(Recurrence::parse(text), Err(why), "{text}");
    }
    let long = format!("FREQ=DAILY;BYDAY={}", "MO,".repeat(RECURRENCE_MAX));
    assert_eq!(Recurrence::parse(&long), Err(RecurrenceError::TooLong));
}

#[test]
fn rules_are_said_in_words() {
    let start = date(2026, 11, 29);
    for (rule, words) in [
        ("FREQ=DAILY", "every day"),
        ("FREQ=DAILY;INTERVAL=3", "every 3 days"),
        ("FREQ=DAILY;BYDAY=MO,TU", "every day on Monday and Tuesday"),
        ("FREQ=WEEKLY", "every week on Sunday"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR", "every 2 weeks on Monday, Wednesday and Friday"),
        ("FREQ=MONTHLY", "every month on the 29th"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,-1", "every month on the last day and the 1st"),
        ("FREQ=MONTHLY;BYMONTHDAY=12,22,23", "every month on the 12th, the 22nd and the 23rd"),
        ("FREQ=MONTHLY;BYDAY=2TU", "every month on the 2nd Tuesday"),
        (
            "FREQ=MONTHLY;BYDAY=-1FR,-2MO",
            "every month on the 2nd-to-last Monday and the last Friday",
        ),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "every month on Friday if it is the 13th"),
    ] {
        assert_eq!(Recurrence::parse(rule).expect(rule).in_words(start), words);
    }
}

#[test]
fn a_start_is_read_strictly() {
    for wrong in [
        "2026-11-29",
        "2026-11-29 02:00",
        "2026-11-29T02:00Z",
        "2026-11-29T02:00:00.5",
        "2026-11-31T02:00",
        "2026-11-29T24:00",
        "1999-12-31T23:59",
        "2200-01-01T00:00",
        "-026-11-29T02:00",
        "",
    ] {
        assert_eq!(parse_start(wrong), None, "{wrong}");
    }
    assert!(parse_start("2026-11-29T02:00").is_some());
    assert!(parse_start("2026-11-29T02:00:59").is_some());
}

#[test]
fn a_window_contains_its_first_instant_and_not_its_last() {
    let window = window("Europe/Berlin", "2026-11-29T02:00", 90, None);
    let (start, end) = (at("2026-11-29T01:00:00Z"), at("2026-11-29T02:30:00Z"));
    let instance = Some(Instance { start, end });
    let moment = SignedDuration::from_nanos(1);
    for (now, active, next, is_over) in [
        (start - moment, None, instance, false),
        (start, instance, None, false),
        (end - moment, instance, None, false),
        (end, None, None, true),
    ] {
        assert_eq!(window.active_at(now), active, "{now}");
        assert_eq!(window.next_after(now), next, "{now}");
        assert_eq!(window.is_over(now), is_over, "{now}");
    }
}

#[test]
fn a_window_starts_at_its_time_of_day_through_both_clock_changes() {
    // Clocks go from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
    let night = window("Europe/Berlin", "2026-01-01T22:00", 60, Some("FREQ=DAILY"));
    let spring = ["2026-03-27T21:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T20:00:00Z"];
    assert_eq!(starts(&night, "2026-03-27T12:00:00Z", 3), spring);
    let autumn = ["2026-10-23T20:00:00Z", "2026-10-24T20:00:00Z", "2026-10-25T21:00:00Z"];
    assert_eq!(starts(&night, "2026-10-23T12:00:00Z", 3), autumn);
    let last_sunday =
        window("Europe/Berlin", "2026-01-25T02:30", 30, Some("FREQ=MONTHLY;BYDAY=-1SU"));
    // A skipped time moves later by as much as was skipped. Of a time that is shown twice, the first one counts.
    let skipped = ["2026-02-22T01:30:00Z", "2026-03-29T01:30:00Z", "2026-04-26T00:30:00Z"];
    assert_eq!(starts(&last_sunday, "2026-02-01T00:00:00Z", 3), skipped);
    let twice = ["2026-09-27T00:30:00Z", "2026-10-25T00:30:00Z", "2026-11-29T01:30:00Z"];
    assert_eq!(starts(&last_sunday, "2026-09-01T00:00:00Z", 3), twice);
}

#[test]
fn a_window_that_begins_and_ends_in_the_gap_takes_place_after_it() {
    let in_gap = window("Europe/Berlin", "2026-03-28T02:15", 30, Some("FREQ=DAILY"));
    let instance = in_gap.active_at(at("2026-03-29T01:30:00Z")).expect("03:30 in Berlin");
    let (start, end) = (at("2026-03-29T01:15:00Z"), at("2026-03-29T01:45:00Z"));
    assert_eq!(instance, Instance { start, end }, "03:15 to 03:45");
    assert_eq!(in_gap.active_at(at("2026-03-29T00:59:59Z")), None);
    // In the nights before and after, it is at its usual time.
    for night in ["2026-03-28T01:15:00Z", "2026-03-30T00:15:00Z"] {
        assert_eq!(in_gap.active_at(at(night)).map(|it| it.start), Some(at(night)));
    }
    // What passes counts, not what clocks show: this one takes two hours, from 01:30 to 04:30.
    let over_gap = window("Europe/Berlin", "2026-03-29T01:30", 120, None);
    let instance = over_gap.next_after(at("2026-03-01T00:00:00Z")).expect("an instance");
    assert_eq!(instance.end, at("2026-03-29T02:30:00Z"));
    // Samoa skipped a whole day.
    let samoa = window("Pacific/Apia", "2011-12-28T10:00", 60, Some("FREQ=DAILY"));
    let days = ["2011-12-29T20:00:00Z", "2011-12-30T20:00:00Z", "2011-12-31T20:00:00Z"];
    assert_eq!(starts(&samoa, "2011-12-29T00:00:00Z", 3), days);
}

#[test]
fn dates_that_a_month_does_not_have_are_left_out() {
    let leap =
        window("UTC", "2024-02-29T00:00", 60, Some("FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=29"));
    let leaps = ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"];
    assert_eq!(starts(&leap, "2024-03-01T00:00:00Z", 2), leaps);
    let century = starts(&leap, "2096-03-01T00:00:00Z", 1);
    assert_eq!(century, ["2104-02-29T00:00:00Z"], "2100 is no leap year");
    let monthly = window("UTC", "2024-02-29T00:00", 60, Some("FREQ=MONTHLY"));
    assert_eq!(starts(&monthly, "2025-01-30T00:00:00Z", 1), ["2025-03-29T00:00:00Z"]);
    let last = window("UTC", "2024-01-31T00:00", 60, Some("FREQ=MONTHLY"));
    let long = ["2024-03-31T00:00:00Z", "2024-05-31T00:00:00Z", "2024-07-31T00:00:00Z"];
    assert_eq!(starts(&last, "2024-02-01T00:00:00Z", 3), long);
    let never = window("UTC", "2026-11-24T00:00", 60, Some("FREQ=DAILY;INTERVAL=7;BYDAY=MO"));
    assert_eq!(never.first_date(), None);
}

#[test]
fn a_rule_ends_with_the_last_start_at_or_before_its_end() {
    let rule = "FREQ=DAILY;UNTIL=20261130T020000Z";
    let window = window("UTC", "2026-11-29T02:00", 60, Some(rule));
    assert_eq!(starts(&window, "2026-11-28T00:00:00Z", 9).len(), 2);
    let late = at("2026-11-30T02:59:59Z");
    assert!(!window.is_over(late));
    assert!(window.is_over(at("2026-11-30T03:00:00Z")));
}

#[test]
fn ending_an_instance_leaves_the_next_one() {
    let daily = MaintenanceWindow {
        id: WindowId(Uuid::from_u128(2)),
        ..window("UTC", "2026-11-29T02:00", 60, Some("FREQ=DAILY"))
    };
    let once = window("UTC", "2026-11-29T02:00", 60, None);
    let now = at("2026-11-29T02:10:00Z");
    let windows = Windows::default().with(once.clone(), now).expect("a window");
    let windows = windows.with(daily.clone(), now).expect("another");
    assert_eq!(windows.until(site(1), [], now, now), Some(at("2026-11-29T03:00:00Z")));
    let windows = windows.with_ended(once.id, now).expect("it is active");
    assert_eq!(
        windows.iter().map(|it| it.id).collect::<Vec<_>>(),
        [daily.id],
        "it was the only one"
    );
    let windows = windows.with_ended(daily.id, now).expect("it is active");
    assert_eq!(windows.until(site(1), [], now, now), None);
    assert_eq!(windows.with_ended(daily.id, now), Err(WindowRefusal::NotActive));
    let tomorrow = at("2026-11-30T02:10:00Z");
    assert_eq!(windows.until(site(1), [], tomorrow, tomorrow), Some(at("2026-11-30T03:00:00Z")));
    assert_eq!(windows.without(daily.id, now).iter().next(), None);
}

#[test]
fn what_took_place_is_remembered() {
    let daily = MaintenanceWindow {
        id: WindowId(Uuid::from_u128(2)),
        ..window("UTC", "2026-11-28T02:00", 60, Some("FREQ=DAILY"))
    };
    let once = window("UTC", "2026-11-29T02:00", 60, None);
    let (first, now) = (at("2026-11-27T12:00:00Z"), at("2026-11-29T02:10:00Z"));
    let windows = Windows::default().with(once.clone(), first).expect("a window");
    let windows = windows.with(daily.clone(), first).expect("another");
    let ended = windows.with_ended(once.id, now).expect("it is active");
    let removed = ended.without(daily.id, at("2026-11-29T02:30:00Z"));
    let stored = serde_json::to_value(&removed).expect("a text");
    assert_eq!(serde_json::from_value::<Windows>(stored).expect("windows"), removed);
    let shown = |windows: &Windows| -> Vec<_> {
        let found =
            windows.instances(site(1), [], at("2026-11-28T00:00:00Z"), at("2026-12-01T00:00:00Z"));
        found
            .iter()
            .map(|of| format!("{} {}", of.start, of.end.duration_since(of.start).as_mins()))
            .collect()
    };
    let [one, two, three] = [28, 29, 30].map(|day| format!("2026-11-{day}T02:00:00Z"));
    assert_eq!(
        shown(&windows),
        [format!("{two} 60"), format!("{one} 60"), format!("{two} 60"), format!("{three} 60")]
    );
    let expected = [format!("{two} 10"), format!("{one} 60"), format!("{two} 30")];
    assert_eq!(shown(&removed), expected);
    assert_eq!(removed.until(site(1), [], now, now), None);
    // Each further change forgets what is long ago or too much.
    let next = |number: u128, day: i64| MaintenanceWindow {
        id: WindowId(Uuid::from_u128(number)),
        ..window(
            "UTC",
            &format!("{}T02:00", date(2026, 11, 29).saturating_add(day.days())),
            60,
            None,
        )
    };
    let later = at("2027-02-28T12:00:00Z");
    let much_later = removed.with(next(9, 92), later).expect("room");
    assert_eq!(shown(&much_later), expected, "91 days later");
    let longer = removed.with(next(9, 95), at("2027-03-02T12:00:00Z")).expect("room");
    assert_eq!(shown(&longer), [""; 0]);
    let then = at("2026-11-30T02:01:00Z");
    let before = at("2026-11-30T01:00:00Z");
    let many =
        (3..40).fold(removed, |all, number| all.with(next(number, 1), before).expect("room"));
    let many =
        (3..40).fold(many, |all, number| all.without(WindowId(Uuid::from_u128(number)), then));
    assert_eq!(shown(&many), vec![format!("{three} 1"); 20]);
}

#[test]
fn a_changed_window_took_place_as_it_was() {
    let of = |sites: &[u128], start: &str, rule: Option<&str>| MaintenanceWindow {
        sites: (!sites.is_empty()).then(|| sites.iter().copied().map(site).collect()),
        ..window("UTC", start, 60, rule)
    };
    let daily = |time: &str| of(&[], &format!("2026-11-20T{time}"), Some("FREQ=DAILY"));
    let named =
        |window: MaintenanceWindow| MaintenanceWindow { name: "Backup".to_owned(), ..window };
    let changes = |changes: &[(&str, MaintenanceWindow)]| {
        changes.iter().fold(Windows::default(), |all, (now, window)| {
            let next = all.with(window.clone(), at(now)).expect("room");
            let stored = serde_json::to_value(&next).expect("a text");
            assert_eq!(serde_json::from_value::<Windows>(stored).expect("windows"), next);
            next
        })
    };
    let shown = |windows: &Windows, number: u128| -> Vec<_> {
        let (from, to) = (at("2026-11-27T12:00:00Z"), at("2026-11-30T12:00:00Z"));
        let found = windows.instances(site(number), [], from, to);
        found
            .iter()
            .map(|of| format!("{:.16} {:.16}", of.start.to_string(), of.end.to_string()))
            .collect()
    };
    let [two, three] = ["02:00", "03:00"].map(daily);
    let created = "2026-11-28T12:00:00Z";
    // Not before it was created.
    let expected = ["2026-11-29T02:00 2026-11-29T03:00", "2026-11-30T02:00 2026-11-30T03:00"];
    assert_eq!(shown(&changes(&[(created, two.clone())]), 1), expected);
    // A change of the name changes nothing.
    let renamed = changes(&[(created, two.clone()), ("2026-11-29T02:30:00Z", named(two.clone()))]);
    assert_eq!(shown(&renamed, 1), expected);
    assert_eq!(renamed.iter().count(), 1);
    // Another time, between two instances and in one.
    let moved = changes(&[(created, two.clone()), ("2026-11-29T12:00:00Z", three.clone())]);
    let expected = ["2026-11-29T02:00 2026-11-29T03:00", "2026-11-30T03:00 2026-11-30T04:00"];
    assert_eq!(shown(&moved, 1), expected);
    let moved = changes(&[(created, two.clone()), ("2026-11-29T02:30:00Z", three.clone())]);
    let expected = [
        "2026-11-29T02:00 2026-11-29T02:30",
        "2026-11-29T03:00 2026-11-29T04:00",
        "2026-11-30T03:00 2026-11-30T04:00",
    ];
    assert_eq!(shown(&moved, 1), expected);
    assert_eq!(
        moved.until(site(1), [], at("2026-11-29T02:31:00Z"), at("2026-11-29T02:40:00Z")),
        None
    );
    // Another site, while it is active.
    let once = |sites: &[u128]| of(sites, "2026-11-29T02:00", None);
    let other = changes(&[(created, once(&[1])), ("2026-11-29T02:20:00Z", once(&[1, 2]))]);
    let before = ["2026-11-29T02:00 2026-11-29T02:20", "2026-11-29T02:20 2026-11-29T03:00"];
    assert_eq!(shown(&other, 1), before);
    assert_eq!(shown(&other, 2), before[1..]);
    // Ended, and then changed or removed: what it was after its end was no maintenance.
    let [ended, later] = ["2026-11-29T02:10:00Z", "2026-11-29T02:40:00Z"].map(at);
    let early = changes(&[(created, two.clone())]).with_ended(two.id, ended).expect("active");
    let expected = ["2026-11-29T02:00 2026-11-29T02:10"];
    assert_eq!(shown(&early.without(two.id, later), 1), expected);
    let moved = early.with(daily("05:00"), later).expect("room");
    let next = ["2026-11-29T05:00 2026-11-29T06:00", "2026-11-30T05:00 2026-11-30T06:00"];
    assert_eq!(shown(&moved, 1), [&expected[..], &next].concat());
    // Removed, it does not take place again even where nothing but its rule is known.
    let removed = changes(&[(created, two.clone())]).without(two.id, at("2026-11-29T02:30:00Z"));
    assert_eq!(shown(&removed, 1), ["2026-11-29T02:00 2026-11-29T02:30"]);
    let stored = serde_json::to_value(&removed).expect("a text");
    let text = stored.as_str().expect("a text").replace(r#","o":true"#, "");
    let unmarked: Windows = serde_json::from_value(json!(text)).expect("windows");
    assert!(unmarked.current_ones(at("2026-11-29T02:30:00Z")).is_empty());
}

#[test]
fn a_run_is_in_a_window_that_any_of_its_instants_is_in() {
    let window = MaintenanceWindow {
        sites: Some([site(1)].into()),
        ..window("UTC", "2026-11-29T02:00", 60, None)
    };
    let windows = Windows::default().with(window, at("2026-11-29T00:00:00Z")).expect("a window");
    let end = Some(at("2026-11-29T03:00:00Z"));
    for (from, to, until) in [
        ("2026-11-29T01:59:00Z", "2026-11-29T01:59:59Z", None),
        ("2026-11-29T01:59:00Z", "2026-11-29T02:00:00Z", end),
        ("2026-11-29T02:00:01Z", "2026-11-29T01:59:59Z", end),
        ("2026-11-29T01:00:00Z", "2026-11-29T04:00:00Z", end),
        ("2026-11-29T02:59:59Z", "2026-11-29T03:00:30Z", end),
        ("2026-11-29T03:00:00Z", "2026-11-29T03:00:30Z", None),
    ] {
        assert_eq!(windows.until(site(1), [], at(from), at(to)), until, "{from} to {to}");
        assert_eq!(windows.until(site(2), [], at(from), at(to)), None, "another site");
    }
}

#[test]
fn a_window_with_a_selector_is_for_the_sites_whose_tags_match() {
    let prod = selected("env:prod, !legacy", window("UTC", "2026-11-29T02:00", 60, None));
    let windows = Windows::default().with(prod, at("2026-11-29T00:00:00Z")).expect("a window");
    let (now, end) = (at("2026-11-29T02:30:00Z"), at("2026-11-29T03:00:00Z"));
    for (texts, is_covered) in [
        (&["env:prod"][..], true),
        (&["env:prod", "team:shop"], true),
        (&["env:prod", "legacy"], false),
        (&["env:test"], false),
        (&[], false),
    ] {
        let tags = tags(texts);
        assert_eq!(windows.until(site(1), &tags, now, now), is_covered.then_some(end), "{texts:?}");
        assert_eq!(windows.instances(site(1), &tags, now, end).len(), usize::from(is_covered));
    }
}

#[test]
fn the_instances_of_a_time_are_those_that_overlap_it() {
    let daily = window("UTC", "2026-11-20T22:00", 4 * 60, Some("FREQ=DAILY"));
    let other = MaintenanceWindow {
        id: WindowId(Uuid::from_u128(2)),
        sites: Some(BTreeSet::from([site(1)])),
        ..window("UTC", "2026-11-28T12:00", 30, None)
    };
    let now = at("2026-11-19T00:00:00Z");
    let windows = [daily, other].into_iter();
    let windows =
        windows.fold(Windows::default(), |all, window| all.with(window, now).expect("room"));
    let starts = |site, from, to| -> Vec<_> {
        let found = windows.instances(site, [], at(from), at(to));
        found.into_iter().map(|instance| instance.start.to_string()).collect()
    };
    let [night, next, noon] =
        ["2026-11-27T22:00:00Z", "2026-11-28T22:00:00Z", "2026-11-28T12:00:00Z"];
    // One is active when the time begins and one when it ends.
    let (from, to) = ("2026-11-28T01:59:59Z", "2026-11-28T22:00:01Z");
    assert_eq!(starts(site(1), from, to), [night, next, noon]);
    assert_eq!(starts(site(2), from, to), [night, next]);
    // Neither its end nor a start at the end of the time overlaps.
    assert!(starts(site(2), "2026-11-28T02:00:00Z", next).is_empty());
    assert!(starts(site(2), "2026-11-10T00:00:00Z", "2026-11-20T22:00:00Z").is_empty());
}

#[test]
fn windows_are_saved_only_if_they_will_be_active_and_fit() {
    let now = at("2026-11-29T02:30:00Z");
    let over = window("UTC", "2026-11-29T01:00", 90, None);
    assert_eq!(Windows::default().with(over, now), Err(WindowRefusal::Over));
    let off = window("UTC", "2026-11-29T01:00", 90, Some("FREQ=WEEKLY;BYDAY=MO"));
    assert_eq!(Windows::default().with(off, now), Err(WindowRefusal::OffRule));
    let both = MaintenanceWindow {
        sites: Some([site(1)].into()),
        ..selected("env:prod", window("UTC", "2026-11-29T02:00", 60, None))
    };
    assert_eq!(Windows::default().with(both, now), Err(WindowRefusal::SitesAndSelector));
    let numbered = |number: u128| MaintenanceWindow {
        id: WindowId(Uuid::from_u128(number)),
        ..window("UTC", "2026-11-29T02:00", 60, None)
    };
    let full = (0..WINDOWS_MAX as u128)
        .fold(Windows::default(), |all, number| all.with(numbered(number), now).expect("room"));
    assert_eq!(full.with(numbered(99), now), Err(WindowRefusal::TooMany));
    assert!(full.with(numbered(7), now).is_ok(), "replaces one");
    let later = at("2026-11-29T03:00:00Z");
    let next = MaintenanceWindow {
        id: WindowId(Uuid::from_u128(99)),
        ..window("UTC", "2026-11-30T02:00", 60, None)
    };
    assert_eq!(
        full.with(next.clone(), later).map(|all| all.iter().count()),
        Ok(1),
        "others are over"
    );
    let many = |number: u128| MaintenanceWindow {
        id: WindowId(Uuid::from_u128(number)),
        sites: Some((0..SITES_MAX as u128).map(site).collect()),
        ..next.clone()
    };
    let four =
        (0..4).fold(Windows::default(), |all, number| all.with(many(number), now).expect("room"));
    assert_eq!(four.with(many(4), now), Err(WindowRefusal::TooLong));
}

#[test]
fn windows_are_stored_in_one_text() {
    let now = at("2026-11-29T02:30:00Z");
    let one = MaintenanceWindow {
        sites: Some([site(7)].into()),
        ended_at: Some(at("2026-11-28T02:30:00Z")),
        ..window("Europe/Berlin", "2026-11-29T02:00", 60, Some("FREQ=DAILY"))
    };
    let windows = Windows::default().with(one, now).expect("a window");
    let stored = serde_json::to_value(&windows).expect("a text");
    insta::assert_snapshot!(stored.as_str().expect("a text"), @r#"[{"i":"00000000-0000-0000-0000-000000000001","n":"Deployment","s":["00000000-0000-0000-0000-000000000007"],"a":"2026-11-29T02:00:00","z":"Europe/Berlin","m":60,"r":"FREQ=DAILY","e":"2026-11-28T02:30:00Z","c":1795919400}]"#);
    assert_eq!(serde_json::from_value::<Windows>(stored).expect("windows"), windows);
    let selected = selected("env:prod, !legacy", window("UTC", "2026-11-29T02:00", 60, None));
    let windows = Windows::default().with(selected, now).expect("a window");
    let stored = serde_json::to_value(&windows).expect("a text");
    insta::assert_snapshot!(stored.as_str().expect("a text"), @r#"[{"i":"00000000-0000-0000-0000-000000000001","n":"Deployment","t":"env:prod, !legacy","a":"2026-11-29T02:00:00","z":"UTC","m":60,"c":1795919400}]"#);
    assert_eq!(serde_json::from_value::<Windows>(stored).expect("windows"), windows);
}

#[test]
fn a_window_that_starts_now_is_active_even_when_clocks_show_the_hour_again() {
    let berlin = || NamedZone::parse("Europe/Berlin").expect("a zone");
    for now in ["2026-10-25T00:30:00.9Z", "2026-10-25T01:30:00.9Z", "2026-11-29T02:30:00Z"] {
        let now = at(now);
        let (start, zone) = MaintenanceWindow::starting_now(berlin(), now);
        let window =
            MaintenanceWindow { start, zone, ..window("UTC", "2026-11-29T02:00", 5, None) };
        let instance = window.active_at(now).expect("it is active");
        assert_eq!(instance.start.as_second(), now.as_second());
    }
}

#[test]
fn the_seeds_of_the_fuzzer_are_read_or_refused() {
    let read = |name: &str| {
        let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/recurrence/");
        let text = std::fs::read_to_string(format!("{seeds}{name}")).expect("a seed");
        Recurrence::parse(&text)
    };
    for name in ["daily", "weekly", "monthly", "days"] {
        assert!(read(name).is_ok(), "{name}");
    }
    assert_eq!(read("refused"), Err(RecurrenceError::Part));
}

/// A rule, perhaps one with hardly any instances.
fn any_rule() -> impl Strategy<Value = String> {
    let weekday = prop::sample::select(vec!["MO", "TU", "WE", "TH", "FR", "SA", "SU"]);
    let weekdays = prop::collection::btree_set(weekday, 0..4);
    let month_days = prop::collection::btree_set(
        prop_oneof![1_i8..=31, prop::sample::select(vec![-1_i8, -2, -29, -30, -31])],
        0..4,
    );
    let nth = prop::sample::select(vec![-2_i8, -1, 1, 2, 3, 4, 5]);
    (0_usize..3, 1_u32..20, weekdays, month_days, prop::option::of(nth)).prop_map(
        |(frequency, interval, days, month_days, nth)| {
            let mut rule = format!("FREQ={}", ["DAILY", "WEEKLY", "MONTHLY"][frequency]);
            write!(rule, ";INTERVAL={interval}").expect("a text");
            let nth = nth.filter(|_| frequency == 2 && month_days.is_empty());
            if !days.is_empty() {
                let nth = nth.map(|nth| nth.to_string()).unwrap_or_default();
                let days: Vec<String> = days.iter().map(|day| format!("{nth}{day}")).collect();
                write!(rule, ";BYDAY={}", days.join(",")).expect("a text");
            }
            if !month_days.is_empty() && frequency != 1 {
                let days: Vec<String> = month_days.iter().map(ToString::to_string).collect();
                write!(rule, ";BYMONTHDAY={}", days.join(",")).expect("a text");
            }
            rule
        },
    )
}

/// A rule, and a date on which it lets a window start.
fn any_recurrence() -> impl Strategy<Value = (String, Date)> {
    let days = (0_i64..4_000).prop_map(|days| date(2020, 1, 1).saturating_add(days.days()));
    (any_rule(), days).prop_filter_map("never", |(rule, from)| {
        let parsed = Recurrence::parse(&rule).expect("a rule");
        // Without dates of its own, a rule has those of its start.
        let first = parsed.next_date(from, from)?;
        Some((rule, first))
    })
}

/// What `rrule` finds from a start, up to some day.
fn found(zone: &str, start: DateTime, rule: &str, until: Date) -> Vec<Timestamp> {
    let start = start.strftime("%Y%m%dT%H%M%S");
    let text = format!("DTSTART;TZID={zone}:{start}\nRRULE:{rule}");
    let set: RRuleSet = text.parse().expect("a set");
    let end = until.to_zoned(jiff::tz::TimeZone::UTC).expect("a time").timestamp();
    let end = chrono::DateTime::from_timestamp(end.as_second(), 0).expect("in range");
    let found = set.before(end.with_timezone(&Tz::UTC)).all(u16::MAX);
    found.dates.iter().map(|at| Timestamp::from_second(at.timestamp()).expect("in range")).collect()
}

proptest! {
    #[test]
    fn instances_are_those_that_rrule_finds(
        (rule, first) in any_recurrence(),
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
        // No clock of these zones changes then.
        hour in 5_i8..22,
        minutes in 1..=DURATION_MAX_MINUTES,
        probes in prop::collection::vec(0_i64..(500 * 86_400), 20),
    ) {
        let start = first.at(hour, 0, 0, 0);
        let end = first.saturating_add(600.days());
        let expected = found(zone, start, &rule, end);
        let window = MaintenanceWindow { start, ..window(zone, "2026-11-29T02:00", minutes, Some(&rule)) };
        prop_assert_eq!(window.first_date(), Some(first));
        let first = window.zone.instant_of(start).expect("an instant");
        for seconds in probes {
            let now = first + SignedDuration::from_secs(seconds - 86_400);
            let last = expected.iter().rev().find(|start| **start <= now);
            let length = SignedDuration::from_mins(minutes.into());
            let active = last.filter(|start| now < **start + length);
            prop_assert_eq!(window.active_at(now).map(|it| it.start), active.copied(), "{}", now);
            let next = expected.iter().find(|start| **start > now);
            if let Some(next) = next {
                prop_assert_eq!(window.next_after(now).map(|it| it.start), Some(*next), "{}", now);
            }
        }
    }

    #[test]
    fn any_text_is_a_rule_or_is_refused(text in "[A-Z0-9=;,+-]{0,40}|\\PC{0,40}") {
        if let Ok(rule) = Recurrence::parse(&text) {
            prop_assert_eq!(Recurrence::parse(&rule.to_string()), Ok(rule));
        }
    }

    /// No window takes long, wherever it starts and whatever its rule is.
    #[test]
    fn no_instant_and_no_rule_is_out_of_range(
        rule in any_rule(),
        year in 2000_i16..2200,
        seconds in Timestamp::MIN.as_second()..=Timestamp::MAX.as_second(),
    ) {
        let start = date(year, 2, 28).at(2, 30, 0, 0);
        let window = MaintenanceWindow { start, ..window("Europe/Berlin", "2026-11-29T02:00", 60, Some(&rule)) };
        let now = Timestamp::from_second(seconds).expect("in range");
        let active = window.active_at(now);
        prop_assert!(active.is_none_or(|it| it.start <= now && now < it.end));
        prop_assert!(window.next_after(now).is_none_or(|it| it.start > now));
    }
}
