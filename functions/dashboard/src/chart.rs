//! Pictures of a site's past, drawn here; what they show stands beside them in words, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_domain::history::HourResponses;
use vedette_domain::report::UptimeDay;
use vedette_domain::site_state::SiteState;

const HEIGHT: u32 = 40;
/// Width of a day with the gap behind it, and of its bar.
const DAY: usize = 5;
const BAR: usize = 4;

/// How a day was.
const fn kind(day: &UptimeDay) -> SiteState {
    match (day.total_checks, day.up_checks) {
        (0, _) => SiteState::Unknown,
        (_, 0) => SiteState::Down,
        (total, up) if up < total => SiteState::Issues,
        _ => SiteState::Up,
    }
}

const fn says(kind: SiteState) -> &'static str {
    match kind {
        SiteState::Down => "without any check that found the site up",
        SiteState::Issues => "with checks that found the site down",
        SiteState::Up => "without any check that found the site down",
        SiteState::Unknown | SiteState::Paused => "without checks",
    }
}

/// A bar for each day, in one path for each kind of day; what is not up also differs by its height.
pub(crate) fn uptime_bars(days: &[UptimeDay]) -> Markup {
    let mut paths: BTreeMap<SiteState, (u32, String)> = BTreeMap::new();
    for (place, day) in days.iter().enumerate() {
        let (kind, x) = (kind(day), place * DAY);
        let height = match kind {
            SiteState::Unknown | SiteState::Paused => 4,
            SiteState::Down => HEIGHT,
            SiteState::Issues => HEIGHT * 3 / 4,
            SiteState::Up => HEIGHT / 2,
        };
        let (count, path) = paths.entry(kind).or_default();
        *count += 1;
        // Writing to a string cannot fail.
        let _ = write!(path, "M{x} {}h{BAR}v{height}h-{BAR}z", HEIGHT - height);
    }
    let label = format!("Uptime of the last {} days, a bar for each; today is last", days.len());
    html! {
        svg.chart.bars viewBox={ "0 0 " (days.len() * DAY) " " (HEIGHT) } role="img" aria-label=(label) {
            @for (kind, (count, path)) in &paths {
                path class=(kind.as_str()) d=(path) {
                    title { (count) " " (if *count == 1 { "day" } else { "days" }) " " (says(*kind)) }
                }
            }
        }
    }
}

const HOURS: i64 = 24;
/// Width of an hour.
const HOUR: i64 = 20;

/// The mean response times of the last hours in milliseconds, by how many hours ago they began.
pub(crate) fn last_day(
    hours: impl IntoIterator<Item = HourResponses>,
    now: Timestamp,
) -> BTreeMap<i64, u64> {
    let means = hours.into_iter().filter_map(|hour| {
        let ago = now.duration_since(hour.start).as_hours();
        let mean = hour.sum_ms.checked_div(hour.count)?;
        (now >= hour.start && ago < HOURS).then_some((HOURS - 1 - ago, mean))
    });
    means.collect()
}

/// A line of mean response times, by the place of their hour; broken where there were no checks.
pub(crate) fn response_line(means: &BTreeMap<i64, u64>) -> Markup {
    let slowest = means.values().copied().max().unwrap_or_default().max(1);
    let mut path = String::new();
    let mut before = None;
    for (&place, &mean) in means {
        let pen = if before == Some(place - 1) { 'L' } else { 'M' };
        let y = 96 - 90 * mean / slowest;
        // A lone hour is a short line.
        let _ = write!(path, "{pen}{} {y}h{}", place * HOUR, HOUR / 2);
        before = Some(place);
    }
    html! {
        svg.chart viewBox={ "0 0 " (HOURS * HOUR) " 100" } role="img" aria-label="Mean response time of each hour of the last day" {
            path.line d=(path) { title { "The slowest hour: " (slowest) " ms" } }
        }
    }
}

/// The first instant of an hour by its place.
pub(crate) fn hour_of_place(place: i64, now: Timestamp) -> Timestamp {
    let ago = SignedDuration::from_hours(HOURS - 1 - place);
    let at = now.saturating_sub(ago).unwrap_or(now);
    let past = SignedDuration::from_secs(at.as_second().rem_euclid(3_600));
    at.saturating_sub(past).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_of_a_kind_share_a_path() {
        let day = |total_checks, up_checks| UptimeDay {
            date: date(2026, 11, 20),
            uptime_percentage: None,
            response_time: None,
            total_checks,
            up_checks,
        };
        let bars = uptime_bars(&[day(0, 0), day(9, 9), day(9, 8), day(9, 9), day(9, 0)]);
        insta::assert_snapshot!(bars.into_string(), @r#"<svg class="chart bars" viewBox="0 0 25 40" role="img" aria-label="Uptime of the last 5 days, a bar for each; today is last"><path class="down" d="M20 0h4v40h-4z"><title>1 day without any check that found the site up</title></path><path class="issues" d="M10 10h4v30h-4z"><title>1 day with checks that found the site down</title></path><path class="unknown" d="M0 36h4v4h-4z"><title>1 day without checks</title></path><path class="up" d="M5 20h4v20h-4zM15 20h4v20h-4z"><title>2 days without any check that found the site down</title></path></svg>"#);
    }

    #[test]
    fn a_line_is_broken_where_there_were_no_checks() {
        let now: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let hour = |start: &str, count, sum_ms| HourResponses {
            start: start.parse().expect("a timestamp"),
            count,
            sum_ms,
            slowest_ms: 0,
        };
        let means = last_day(
            [
                hour("2026-11-19T09:00:00Z", 1, 9),
                hour("2026-11-19T10:00:00Z", 2, 100),
                hour("2026-11-20T08:00:00Z", 1, 100),
                hour("2026-11-20T09:00:00Z", 1, 25),
                hour("2026-11-20T10:00:00Z", 1, 9),
            ],
            now,
        );
        assert_eq!(means, [(0, 50), (22, 100), (23, 25)].into());
        assert_eq!(hour_of_place(0, now).to_string(), "2026-11-19T10:00:00Z");
        assert_eq!(hour_of_place(23, now).to_string(), "2026-11-20T09:00:00Z");
        insta::assert_snapshot!(response_line(&means).into_string(), @r#"<svg class="chart" viewBox="0 0 480 100" role="img" aria-label="Mean response time of each hour of the last day"><path class="line" d="M0 51h10M440 6h10L460 74h10"><title>The slowest hour: 100 ms</title></path></svg>"#);
    }
}
