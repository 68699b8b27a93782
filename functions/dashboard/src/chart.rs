//! Pictures of a site's past, drawn here; what they show stands beside them in words, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};
use vedette_domain::checks::history::DayUptime;

use crate::words::counted;

/// A day with the gap behind it, and its bar.
const DAY: usize = 3;
const BAR: usize = 2;
const HEIGHT: u32 = 24;

/// Where bars stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bars {
    /// In a row of a list, as they are.
    OfList,
    /// Over the width of a site's page.
    OfSite,
}

/// The class of a kind of day, and the height of its bar: the worse, the taller.
const fn bar(day: DayUptime) -> (&'static str, u32) {
    match day {
        DayUptime::Down => ("d", HEIGHT),
        DayUptime::Partly => ("w", 16),
        DayUptime::Up => ("u", 9),
        DayUptime::Unknown => ("o", 2),
    }
}

fn says(day: DayUptime, count: usize) -> String {
    let days = counted(count, "day", "days");
    match day {
        DayUptime::Down => format!("{days} on which every check failed"),
        DayUptime::Partly => format!("{days} on which some checks failed"),
        DayUptime::Up => format!("{days} on which no check failed"),
        DayUptime::Unknown => format!("{days} without checks"),
    }
}

/// A bar for each day, in one path for each kind of day.
pub(crate) fn uptime_bars(days: &[DayUptime], bars: Bars) -> Markup {
    let mut paths: BTreeMap<DayUptime, (usize, String)> = BTreeMap::new();
    for (place, &kind) in days.iter().enumerate() {
        let (x, (_, height)) = (place * DAY, bar(kind));
        let (count, path) = paths.entry(kind).or_default();
        *count += 1;
        // Writing to a string cannot fail.
        let _ = write!(path, "M{x} {}h{BAR}v{height}h-{BAR}z", HEIGHT - height);
    }
    let failed = |kind| paths.get(&kind).map_or(0, |(count, _)| *count);
    let label = match failed(DayUptime::Down) + failed(DayUptime::Partly) {
        0 => format!("{} days, none with failed checks", days.len()),
        failed => format!("{} days, {failed} with failed checks", days.len()),
    };
    let (class, ratio) = match bars {
        Bars::OfList => ("d90", "xMaxYMid slice"),
        Bars::OfSite => ("d90 whole", "none"),
    };
    html! {
        svg class=(class) viewBox={ "0 0 " (days.len() * DAY) " " (HEIGHT) } preserveAspectRatio=(ratio) role="img" aria-label=(label) {
            @for (kind, (count, path)) in &paths {
                path class=(bar(*kind).0) d=(path) { title { (says(*kind, *count)) } }
            }
        }
    }
}

/// What the bars mean.
pub(crate) fn legend() -> Markup {
    let parts =
        [("up", "Up"), ("issues", "Some checks failed"), ("down", "Down"), ("paused", "No checks")];
    html! { span.legend.bk { @for (class, words) in parts { span class=(class) { i {} (words) } } } }
}

/// Width and height of a plot. It is stretched; its words are not.
const WIDTH: f64 = 1000.0;
const PLOT: f64 = 240.0;
/// How many parts the height has.
const GRID: u32 = 4;

/// A line of values over time.
pub(crate) struct Plot<'a> {
    /// The values by their place among so many, in ascending order; the line is broken where there is none.
    pub(crate) values: &'a [(usize, f64)],
    pub(crate) places: usize,
    /// The highest value that there is room for, which is rounded up; the lowest is 0.
    pub(crate) top: f64,
    pub(crate) unit: &'a str,
    /// What the plot shows, in a sentence, and what is the most of it.
    pub(crate) label: &'a str,
    pub(crate) title: &'a str,
    /// Outages: from where to where of the width, from 0 to 1, and how long they were.
    pub(crate) bands: &'a [(f64, f64, String)],
    /// What stands below, from left to right.
    pub(crate) ticks: &'a [Markup],
}

/// The step of the grid: a round number.
fn step(top: f64) -> f64 {
    let least = top.max(1.0) / f64::from(GRID);
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|part| part * power);
    let found = steps.into_iter().find(|step| *step >= least - 1e-9);
    found.unwrap_or(least)
}

/// Bands that can have their duration above them without a crowd.
const NAMED_BANDS: usize = 3;

pub(crate) fn plot(plot: &Plot<'_>) -> Markup {
    let step = step(plot.top);
    let top = step * f64::from(GRID);
    let (line, area) = lines(plot, top);
    let band = |from: f64, to: f64| {
        let [from, to] = [from, to].map(|part| part.clamp(0.0, 1.0) * WIDTH);
        format!("M{from:.1} 0H{:.1}V{PLOT}H{from:.1}z", to.max(from + 2.0))
    };
    html! {
        div.drawn {
            div.plot role="img" aria-label=(plot.label) {
                svg {
                    svg viewBox={ "0 0 " (WIDTH) " " (PLOT) } preserveAspectRatio="none" width="100%" height="100%" {
                        @for part in 0..=GRID { path.grid d={ "M0 " (PLOT / f64::from(GRID) * f64::from(part)) "H" (WIDTH) } {} }
                        @for (from, to, _) in plot.bands { path.band d=(band(*from, *to)) {} }
                        path.area d=(area) {}
                        path.line d=(line) { title { (plot.title) } }
                    }
                    @for part in 0..=GRID {
                        text x="-10" y={ (100 - 100 * part / GRID) "%" } dy="4" text-anchor="end" {
                            (step * f64::from(part)) "\u{202f}" (plot.unit)
                        }
                    }
                    @if plot.bands.len() <= NAMED_BANDS {
                        @for (from, to, lasted) in plot.bands {
                            @let middle = f64::midpoint(*from, *to).clamp(0.0, 1.0);
                            text.mark x={ (format!("{:.1}", middle * 100.0)) "%" } y="0" dy="-6" text-anchor=(anchor(middle)) {
                                tspan.wide { "Down " } (lasted)
                            }
                        }
                    }
                }
            }
            div.xs {
                @for (place, tick) in plot.ticks.iter().enumerate() { span.x2[place % 2 == 1] { (tick) } }
            }
        }
    }
}

const fn anchor(middle: f64) -> &'static str {
    match middle {
        ..0.08 => "start",
        0.92.. => "end",
        _ => "middle",
    }
}

/// The line, and the area below it.
fn lines(plot: &Plot<'_>, top: f64) -> (String, String) {
    let width = WIDTH / plot.places.max(1) as f64;
    let (mut line, mut area) = (String::new(), String::new());
    let runs = plot.values.chunk_by(|(place, _), (next, _)| place + 1 == *next);
    for run in runs {
        let at = |(place, value): &(usize, f64)| {
            ((*place as f64 + 0.5) * width, PLOT - PLOT * value / top)
        };
        // A lone value is a short line.
        let points = match run {
            [(place, value)] => {
                let (x, y) = at(&(*place, *value));
                vec![(x - width / 2.0, y), (x + width / 2.0, y)]
            }
            run => run.iter().map(at).collect(),
        };
        for (place, (x, y)) in points.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(line, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
        }
        if let [(first, _), .., (last, _)] = points[..] {
            let _ = write!(area, "M{first:.1} {PLOT}");
            for (x, y) in &points {
                let _ = write!(area, "L{x:.1} {y:.1}");
            }
            let _ = write!(area, "L{last:.1} {PLOT}z");
        }
    }
    (line, area)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_a_kind_share_a_path() {
        let of = DayUptime::of;
        let bars = uptime_bars(&[of(0, 0), of(9, 9), of(8, 9), of(9, 9), of(0, 9)], Bars::OfList);
        insta::assert_snapshot!(bars.into_string(), @r#"<svg class="d90" viewBox="0 0 15 24" preserveAspectRatio="xMaxYMid slice" role="img" aria-label="5 days, 2 with failed checks"><path class="d" d="M12 0h2v24h-2z"><title>1 day on which every check failed</title></path><path class="w" d="M6 8h2v16h-2z"><title>1 day on which some checks failed</title></path><path class="u" d="M3 15h2v9h-2zM9 15h2v9h-2z"><title>2 days on which no check failed</title></path><path class="o" d="M0 22h2v2h-2z"><title>1 day without checks</title></path></svg>"#);
    }

    #[test]
    fn a_line_is_broken_where_there_is_nothing() {
        let plot = Plot {
            values: &[(0, 60.0), (2, 120.0), (3, 30.0)],
            places: 4,
            top: 120.0,
            unit: "ms",
            label: "",
            title: "",
            bands: &[],
            ticks: &[],
        };
        let (line, area) = lines(&plot, 200.0);
        assert_eq!(line, "M0.0 168.0L250.0 168.0M625.0 96.0L875.0 204.0");
        assert_eq!(area.matches('z').count(), 2);
    }

    #[test]
    fn the_grid_has_round_numbers() {
        for (top, expected) in
            [(195.0, 50.0), (1.0, 0.25), (8.5, 2.5), (100.0, 25.0), (401.0, 200.0)]
        {
            assert!((step(top) - expected).abs() < 1e-9, "{top}: {}", step(top));
        }
    }
}
