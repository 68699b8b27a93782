//! Maintenance windows: the ones that people plan, and when they take place, counted in the plainest way from the
//! first day of each.

use std::iter::successors;

use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::{Value, json};
use vedette_domain::id::SiteId;
use vedette_domain::maintenance::{MaintenanceWindow, Windows};
use vedette_domain::time_zone::NamedZone;

use crate::random::Random;

/// A life begins here, so that half of them see a clock change.
const STARTS: [&str; 4] = [
    "2026-11-20T09:54:00Z",
    // Clocks in Berlin skip an hour at 1:00.
    "2027-03-28T00:30:00Z",
    // Clocks in Berlin show an hour twice from 1:00 on.
    "2027-10-31T00:30:00Z",
    // Clocks on Lord Howe Island show half an hour twice from 15:00 on.
    "2027-04-03T14:30:00Z",
];
const ZONES: [&str; 5] =
    ["UTC", "Europe/Berlin", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns"];
/// The rules of windows that recur, and the days between two instances.
const RULES: [(&str, i64); 3] =
    [("FREQ=DAILY", 1), ("FREQ=DAILY;INTERVAL=2", 2), ("FREQ=WEEKLY", 7)];
/// The longest window, in minutes.
const MINUTES_MAX: u32 = 7 * 24 * 60;

/// When the life with a seed begins.
pub(crate) fn start(seed: u64) -> Timestamp {
    // Lives with and without other locations take turns.
    let place = usize::try_from(seed / 2 % STARTS.len() as u64).expect("small");
    STARTS[place].parse().expect("a timestamp")
}

/// Until when a site is in maintenance, if any instant from one to the other is in a window.
pub(crate) fn maintenance_until(
    windows: &Windows,
    site: SiteId,
    from: Timestamp,
    to: Timestamp,
) -> Option<Timestamp> {
    let covering =
        windows.iter().filter(|window| window.sites.as_ref().is_none_or(|of| of.contains(&site)));
    let instances = covering.flat_map(|window| started_by(window, to));
    instances.map(|(_, end)| end).filter(|end| *end > from).max()
}

/// All instances of a window that started at an instant or before, unless they were ended.
fn started_by(
    window: &MaintenanceWindow,
    at: Timestamp,
) -> impl Iterator<Item = (Timestamp, Timestamp)> {
    let zone = TimeZoneDatabase::bundled().get(window.zone.name()).expect("a zone");
    let every = window.rule.as_ref().map(|rule| {
        let rule = rule.to_string();
        RULES.into_iter().find(|(known, _)| *known == rule).expect("one of the rules").1
    });
    let length = SignedDuration::from_mins(window.minutes.into());
    let ended_at = window.ended_at;
    successors(Some(window.start), move |local| local.checked_add(every?.days()).ok())
        .map(move |local| zone.to_ambiguous_timestamp(local).compatible().expect("an instant"))
        .take_while(move |start| *start <= at)
        .filter(move |start| ended_at.is_none_or(|ended| ended < *start))
        .map(move |start| (start, start + length))
}

/// A window that starts now, or is planned. Each minute is `slowness` minutes long.
pub(crate) fn planned(random: &mut Random, site: SiteId, now: Timestamp, slowness: u32) -> Value {
    let mut body = json!({ "duration_minutes": minutes(random, slowness) });
    if random.happens(600) {
        body["sites"] = json!([site]);
    }
    if random.happens(500) {
        let (zone, start) = zoned_start(random, now, slowness);
        (body["time_zone"], body["starts_at"]) = (zone.name().into(), start);
        if random.happens(600) {
            let (rule, every) = random.one_of(&RULES);
            // It may have recurred for some time.
            let ago = SignedDuration::from_hours(24 * every * random.one_of(&[0, 1, 3]));
            let first = zone.local(now - ago).datetime();
            let start = body["starts_at"].as_str().unwrap_or_default();
            let time = start.split_once('T').map_or("", |(_, time)| time);
            body["starts_at"] = format!("{}T{time}", first.date()).into();
            body["recurrence"] = rule.into();
        }
    }
    body
}

/// What somebody changes of a window.
pub(crate) fn changed(
    random: &mut Random,
    window: &MaintenanceWindow,
    site: SiteId,
    now: Timestamp,
    slowness: u32,
) -> Value {
    match random.below(4) {
        0 => json!({ "duration_minutes": minutes(random, slowness) }),
        1 => json!({ "sites": [site] }),
        2 => json!({ "sites": null }),
        _ => {
            let (zone, start) = zoned_start(random, now, slowness);
            let keeps_zone = zone.name() == window.zone.name();
            match keeps_zone {
                true => json!({ "starts_at": start }),
                false => json!({ "starts_at": start, "time_zone": zone.name() }),
            }
        }
    }
}

fn minutes(random: &mut Random, slowness: u32) -> u32 {
    (random.one_of(&[1, 3, 10, 30]) * slowness).min(MINUTES_MAX)
}

/// A local time soon, or a short time ago, and its zone.
fn zoned_start(random: &mut Random, now: Timestamp, slowness: u32) -> (NamedZone, Value) {
    let later = random.one_of(&[-5, 1, 5, 15]) * i64::from(slowness);
    let zone = NamedZone::parse(random.one_of(&ZONES)).expect("a zone");
    let start = zone.local(now + SignedDuration::from_mins(later)).datetime();
    let start = start.strftime("%Y-%m-%dT%H:%M").to_string().into();
    (zone, start)
}
