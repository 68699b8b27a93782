//! Pictures of a site's past, drawn here; what they show stands beside them in words, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};
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
        svg.chart.bars viewBox={ "0 0 " (days.len() * DAY) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (kind, (count, path)) in &paths {
                path class=(kind.as_str()) d=(path) {
                    title { (count) " " (if *count == 1 { "day" } else { "days" }) " " (says(*kind)) }
                }
            }
        }
    }
}

/// Width and height of a plot.
const WIDTH: usize = 480;
const PLOT: f64 = 100.0;
/// Room above the highest value and below the lowest one.
const MARGIN: f64 = 5.0;

/// A line of values by their place among so many, in ascending order; broken where there is none. `top`
/// is the highest value of the plot, the lowest is 0.
pub(crate) fn line(
    values: &[(usize, f64)],
    places: usize,
    top: f64,
    label: &str,
    title: &str,
) -> Markup {
    let step = WIDTH as f64 / places.max(1) as f64;
    let mut path = String::new();
    let mut before = None;
    for &(place, value) in values {
        let pen = if place > 0 && before == Some(place - 1) { 'L' } else { 'M' };
        let y = PLOT - MARGIN - (PLOT - 2.0 * MARGIN) * value / top.max(1.0);
        // A lone value is a short line.
        let _ = write!(path, "{pen}{:.1} {y:.1}h{:.1}", place as f64 * step, step / 2.0);
        before = Some(place);
    }
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (PLOT) } role="img" aria-label=(label) {
            path.line d=(path) { title { (title) } }
        }
    }
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
    fn a_line_is_broken_where_there_is_nothing() {
        let values = [(0, 50.0), (22, 100.0), (23, 25.0)];
        let line = line(&values, 24, 100.0, "Mean of each hour", "The slowest hour: 100 ms");
        insta::assert_snapshot!(line.into_string(), @"");
    }
}
