//! Pictures of a site's past, drawn here; what they show stands beside them in words, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};
use vedette_domain::checks::history::DayUptime;
use vedette_domain::sites::site_state::SiteState;

const HEIGHT: u32 = 40;
/// Width of a day with the gap behind it, and of its bar.
const DAY: usize = 5;
const BAR: usize = 4;

const fn class(day: DayUptime) -> &'static str {
    let state = match day {
        DayUptime::Down => SiteState::Down,
        DayUptime::Partly => SiteState::Issues,
        DayUptime::Up => SiteState::Up,
        DayUptime::Unknown => SiteState::Unknown,
    };
    state.as_str()
}

const fn says(day: DayUptime) -> &'static str {
    match day {
        DayUptime::Down => "without any check that found the site up",
        DayUptime::Partly => "with checks that found the site down",
        DayUptime::Up => "without any check that found the site down",
        DayUptime::Unknown => "without checks",
    }
}

/// A bar for each day, in one path for each kind of day; what is not up also differs by its height.
pub(crate) fn uptime_bars(days: &[DayUptime]) -> Markup {
    let mut paths: BTreeMap<DayUptime, (u32, String)> = BTreeMap::new();
    for (place, &kind) in days.iter().enumerate() {
        let x = place * DAY;
        let height = match kind {
            DayUptime::Unknown => 4,
            DayUptime::Down => HEIGHT,
            DayUptime::Partly => HEIGHT * 3 / 4,
            DayUptime::Up => HEIGHT / 2,
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
                path class=(class(*kind)) d=(path) {
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
    use super::*;

    #[test]
    fn days_of_a_kind_share_a_path() {
        let of = DayUptime::of;
        let bars = uptime_bars(&[of(0, 0), of(9, 9), of(8, 9), of(9, 9), of(0, 9)]);
        insta::assert_snapshot!(bars.into_string(), @r#"<svg class="chart bars" viewBox="0 0 25 40" preserveAspectRatio="none" role="img" aria-label="Uptime of the last 5 days, a bar for each; today is last"><path class="down" d="M20 0h4v40h-4z"><title>1 day without any check that found the site up</title></path><path class="issues" d="M10 10h4v30h-4z"><title>1 day with checks that found the site down</title></path><path class="up" d="M5 20h4v20h-4zM15 20h4v20h-4z"><title>2 days without any check that found the site down</title></path><path class="unknown" d="M0 36h4v4h-4z"><title>1 day without checks</title></path></svg>"#);
    }

    #[test]
    fn a_line_is_broken_where_there_is_nothing() {
        let values = [(0, 50.0), (22, 100.0), (23, 25.0)];
        let line = line(&values, 24, 100.0, "Mean of each hour", "The slowest hour: 100 ms");
        insta::assert_snapshot!(line.into_string(), @r#"<svg class="chart" viewBox="0 0 480 100" role="img" aria-label="Mean of each hour"><path class="line" d="M0.0 50.0h10.0M440.0 5.0h10.0L460.0 72.5h10.0"><title>The slowest hour: 100 ms</title></path></svg>"#);
    }
}
