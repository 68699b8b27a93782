//! Charts of a site's past, drawn here. A text next to each chart says the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use maud::{Markup, html};
use vedette_domain::checks::history::{DayUptime, Downtime, day_start};
use vedette_domain::checks::report::OutageDay;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::time;

use crate::clock::Clock;
use crate::words::counted;

/// The width of a day with the gap after it, and of its bar.
const DAY: usize = 3;
const BAR: usize = 2;
const HEIGHT: u32 = 24;

/// Where bars are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bars {
    /// In a row of a list, at their own size.
    OfList,
    /// Across a site's page.
    OfSite,
}

/// The state of a day, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bar {
    /// An outage overlaps it.
    Down(Downtime),
    /// Today, when the newest check failed and no issue is open.
    Failing,
    Partly,
    Maintenance,
    Up,
    Unknown,
}

impl From<DayUptime> for Bar {
    fn from(day: DayUptime) -> Self {
        match day {
            DayUptime::Down(downtime) => Self::Down(downtime),
            DayUptime::Partly => Self::Partly,
            DayUptime::Maintenance => Self::Maintenance,
            DayUptime::Up => Self::Up,
            DayUptime::Unknown => Self::Unknown,
        }
    }
}

impl Bar {
    /// Today's bar, which is at least as bad as the state of the site.
    pub(crate) fn today(day: DayUptime, state: SiteState) -> Self {
        let of_site = match state {
            SiteState::Down => Self::Down(Downtime::Minutes),
            SiteState::Failing => Self::Failing,
            SiteState::Issues
            | SiteState::Unchecked
            | SiteState::Up
            | SiteState::Unknown
            | SiteState::Paused => {
                return day.into();
            }
        };
        match (day.into(), of_site) {
            (day @ Self::Down(_), _) => day,
            (_, of_site) => of_site,
        }
    }

    /// Its class, and its height in a list: the worse, the taller.
    const fn look(self) -> (&'static str, u32) {
        match self {
            Self::Down(Downtime::Long) => ("d", HEIGHT),
            Self::Down(Downtime::Hours) => ("d", 21),
            Self::Down(Downtime::Hour) => ("d", 18),
            Self::Down(Downtime::Minutes) => ("d", 15),
            Self::Failing => ("f", 12),
            Self::Partly => ("w", 10),
            Self::Maintenance => ("m", 7),
            Self::Up => ("u", 7),
            Self::Unknown => ("o", 2),
        }
    }

    /// Its classes on a site's page.
    pub(crate) const fn classes(self) -> &'static str {
        match self {
            Self::Down(Downtime::Long) => "d",
            Self::Down(Downtime::Hours) => "d s3",
            Self::Down(Downtime::Hour) => "d s2",
            Self::Down(Downtime::Minutes) => "d s1",
            Self::Failing => "f",
            Self::Partly => "w",
            Self::Maintenance => "m",
            Self::Up => "",
            Self::Unknown => "o",
        }
    }

    /// What it says about its day.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Down(Downtime::Long) => "down for 8 hours or more",
            Self::Down(Downtime::Hours) => "down for 2 to 8 hours",
            Self::Down(Downtime::Hour) => "down for 30 minutes to 2 hours",
            Self::Down(Downtime::Minutes) => "down for less than 30 minutes",
            Self::Failing => "failing now",
            Self::Partly => "some checks failed, no outage",
            Self::Maintenance => "failed in maintenance only",
            Self::Up => "no downtime",
            Self::Unknown => "no checks",
        }
    }

    pub(crate) const fn is_down(self) -> bool {
        matches!(self, Self::Down(_))
    }
}

/// A bar for each day; the last one is today.
pub(crate) fn bars(days: &[DayUptime], state: SiteState) -> Vec<Bar> {
    let mut bars: Vec<Bar> = days.iter().copied().map(Bar::from).collect();
    if let (Some(bar), Some(today)) = (bars.last_mut(), days.last()) {
        *bar = Bar::today(*today, state);
    }
    bars
}

/// How many days are down, as a text for screen readers.
pub(crate) fn bars_label(bars: &[Bar]) -> String {
    match bars.iter().filter(|bar| bar.is_down()).count() {
        0 => format!("{} days, none with downtime", bars.len()),
        down => format!("{} days, {down} with downtime", bars.len()),
    }
}

/// A bar for each day, drawn as one path for each state.
pub(crate) fn uptime_bars(days: &[Bar], bars: Bars) -> Markup {
    let mut paths: BTreeMap<Bar, (usize, String)> = BTreeMap::new();
    for (place, &kind) in days.iter().enumerate() {
        let (x, (_, height)) = (place * DAY, kind.look());
        let (count, path) = paths.entry(kind).or_default();
        *count += 1;
        // Writing to a string cannot fail.
        let _ = write!(path, "M{x} {}h{BAR}v{height}h-{BAR}z", HEIGHT - height);
    }
    let (class, ratio) = match bars {
        Bars::OfList => ("d90", "xMaxYMid slice"),
        Bars::OfSite => ("d90 whole", "none"),
    };
    html! {
        svg class=(class) viewBox={ "0 0 " (days.len() * DAY) " " (HEIGHT) } preserveAspectRatio=(ratio) role="img" aria-label=(bars_label(days)) {
            @for (kind, (count, path)) in &paths {
                path class=(kind.look().0) d=(path) { title { (counted(*count, "day", "days")) ": " (kind.words()) } }
            }
        }
    }
}

/// A bar for each day, with what it says on hover and focus. Days with an outage link to `address`, if it gives one.
pub(crate) fn day_bars(
    days: &[(Bar, OutageDay)],
    clock: Clock<'_>,
    address: &dyn Fn(&OutageDay) -> Option<String>,
) -> Markup {
    let bars: Vec<Bar> = days.iter().map(|(bar, _)| *bar).collect();
    html! {
        div.days role="group" aria-label=(bars_label(&bars)) {
            @for (bar, day) in days {
                @let said = says(*bar, day, clock);
                @match address(day).filter(|_| bar.is_down()) {
                    Some(address) => a class=(bar.classes()) href=(address) data-t=(said) aria-label=(said) { i {} },
                    None => span class=(bar.classes()) data-t=(said) { i {} },
                }
            }
        }
    }
}

/// `26 Nov: down 4 h 14 min in 2 outages`.
fn says(bar: Bar, day: &OutageDay, clock: Clock<'_>) -> String {
    let date = clock.utc_day(day_start(day.date));
    if !bar.is_down() || day.outages == 0 {
        return format!("{date}: {}", bar.words());
    }
    let outages = counted(day.outages, "outage", "outages");
    format!("{date}: down {} in {outages}", time::duration(day.down))
}

/// What the bars mean, as far as they occur.
pub(crate) fn legend(bars: impl Iterator<Item = Bar>) -> Markup {
    let shown: BTreeSet<&str> = bars.map(|bar| bar.look().0).collect();
    let parts = [
        ("u", "up", "No downtime"),
        ("w", "issues", "Some checks failed"),
        ("m", "info", "Maintenance"),
        ("f", "failing", "Failing now"),
        ("d", "down", "Down: the longer, the taller"),
        ("o", "paused", "No checks"),
    ];
    html! {
        span.legend.bk {
            @for (_, class, words) in parts.into_iter().filter(|(kind, ..)| shown.contains(kind)) {
                span class=(class) { i {} (words) }
            }
        }
    }
}

/// How a site does not answer: down for this many hours, or failing since a moment ago.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Trouble {
    Down(f64),
    Failing,
}

/// The width of an hour in a sparkline, and the heights between which its line runs.
const HOUR: usize = 4;
const LINE: (f64, f64) = (21.0, 4.0);

/// The mean response times of the last hours; the current hour is the last. The line has a gap where there is no value,
/// and ends when the site stops answering.
pub(crate) fn sparkline(means: &[Option<u32>], trouble: Option<Trouble>) -> Markup {
    let width = HOUR * means.len().saturating_sub(1);
    let block = trouble.map(|trouble| {
        let (class, hours) = match trouble {
            Trouble::Down(hours) => ("gap", hours.max(1.0)),
            Trouble::Failing => ("gap one", 0.6),
        };
        (class, ((width as f64 - hours * HOUR as f64).max(0.0)).round() as usize)
    });
    let until = block.map_or(width, |(_, from)| from);
    let shown = means.iter().enumerate().map(|(place, mean)| (place * HOUR, *mean));
    let points: Vec<(usize, f64)> = shown
        .filter(|(x, _)| *x <= until)
        .filter_map(|(x, mean)| Some((x, f64::from(mean?))))
        .collect();
    let (Some(least), Some(most)) = (
        points.iter().map(|(_, ms)| *ms).reduce(f64::min),
        points.iter().map(|(_, ms)| *ms).reduce(f64::max),
    ) else {
        return html! { span {} };
    };
    // A difference of a few milliseconds must not look like a mountain.
    let span = (most - least).max(most * 0.4).max(1.0);
    let middle = f64::midpoint(least, most);
    let y = |ms: f64| {
        let part = 0.5 + (ms - middle) / span;
        (LINE.0 + part * (LINE.1 - LINE.0)).round()
    };
    let mut line = String::new();
    for run in points.chunk_by(|(x, _), (next, _)| x + HOUR == *next) {
        for (place, (x, ms)) in run.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(line, "{}{x} {}", if place == 0 { 'M' } else { 'L' }, y(*ms));
        }
        if run.len() == 1 {
            line.push_str("h1");
        }
    }
    let label = format!("Response time, 24 hours: {least} to {most} ms");
    html! {
        svg.spark viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
            path d=(line) {}
            @if let Some((class, from)) = block { path class=(class) d={ "M" (from) " 2H" (width) "v20H" (from) "z" } {} }
        }
    }
}

/// Width and height of a plot. The plot is stretched, but its text is not.
const WIDTH: f64 = 1000.0;
const PLOT: f64 = 240.0;
/// The number of horizontal parts.
const GRID: u32 = 4;

/// A line of values over time.
#[derive(Clone, Copy)]
pub(crate) struct Plot<'a> {
    /// The values by their place on the time axis, in ascending order. The line has a gap where there is none.
    pub(crate) values: &'a [(usize, f64)],
    /// A second line, above the first.
    pub(crate) upper: &'a [(usize, f64)],
    /// What some of the values consist of, from the bottom: each line is a part on top of the parts before it, and the
    /// last line has the values themselves. All lines have the same places.
    pub(crate) stack: &'a [Vec<(usize, f64)>],
    /// Single values, each with its distance from the left, from 0 to 1. A value above the top is drawn at the top.
    pub(crate) dots: &'a [(f64, f64)],
    /// Where a failure left no value, from 0 to 1.
    pub(crate) marks: &'a [f64],
    /// Where the time axis begins and ends, in places. It may begin and end within a place.
    pub(crate) axis: (f64, f64),
    /// The line connects two values that are at most this many places apart.
    pub(crate) reach: usize,
    /// The highest value to make room for, which is rounded up; the lowest is 0.
    pub(crate) top: f64,
    pub(crate) unit: &'a str,
    /// A sentence that says what the plot shows and its highest value.
    pub(crate) label: &'a str,
    pub(crate) title: &'a str,
    /// Times that differ, in the order in which they end.
    pub(crate) bands: &'a [Band],
    /// The labels below the plot, from left to right.
    pub(crate) ticks: &'a [Markup],
}

/// A time that differs from others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Band {
    pub(crate) kind: BandKind,
    /// Where it begins and ends, from 0 to 1.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// How long it was.
    pub(crate) lasted: String,
}

/// Why a time differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BandKind {
    /// An outage.
    Down,
    Maintenance,
}

impl BandKind {
    /// The class of the area and that of the label, and the word of the label.
    const fn look(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Down => ("band", "mark", "Down"),
            Self::Maintenance => ("maint", "mark mm", "Maintenance"),
        }
    }
}

/// The label above a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BandLabel {
    /// Which band it is for.
    pub(crate) band: usize,
    /// The middle of the part that is shown, from 0 to 1.
    middle: f64,
    /// The line that it is on, counted from the plot, so that it does not touch a newer one.
    pub(crate) line: usize,
    /// Whether there is room for it on a phone: it is the newest or the longest.
    pub(crate) is_main: bool,
}

/// The most bands that all have labels without crowding. Of more, the newest and the longest have one.
const LABELED_BANDS: usize = 3;
/// Labels whose middles are closer than this part of the width touch.
const LABEL_WIDTH: f64 = 0.17;

/// The labels of bands, the newest first.
pub(crate) fn labels(bands: &[Band]) -> Vec<BandLabel> {
    let shown = |band: &Band| (band.from.clamp(0.0, 1.0), band.to.clamp(0.0, 1.0));
    let length = |band: &Band| band.to - band.from;
    let longest = (0..bands.len()).max_by(|one, other| {
        length(&bands[*one]).total_cmp(&length(&bands[*other])).then(other.cmp(one))
    });
    let mut labels: Vec<BandLabel> = Vec::new();
    for (band, of) in bands.iter().enumerate().rev() {
        let is_main = labels.is_empty() || Some(band) == longest;
        if !is_main && bands.len() > LABELED_BANDS {
            continue;
        }
        let (from, to) = shown(of);
        let middle = f64::midpoint(from, to);
        let touches = |newer: &&BandLabel| (newer.middle - middle).abs() < LABEL_WIDTH;
        let line = labels.iter().filter(touches).map(|newer| newer.line + 1).max().unwrap_or(0);
        labels.push(BandLabel { band, middle, line, is_main });
    }
    labels
}

/// The step of the grid: a round number.
fn step(top: f64) -> f64 {
    let least = top.max(1.0) / f64::from(GRID);
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|part| part * power);
    let found = steps.into_iter().find(|step| *step >= least - 1e-9);
    found.unwrap_or(least)
}

pub(crate) fn plot(plot: &Plot<'_>) -> Markup {
    let step = step(plot.top);
    let top = step * f64::from(GRID);
    let (line, area) = lines(plot, plot.values, None, top);
    let (upper, _) = lines(plot, plot.upper, None, top);
    let below = std::iter::once(None).chain(plot.stack.iter().map(|part| Some(part.as_slice())));
    let stack: Vec<_> =
        plot.stack.iter().zip(below).map(|(part, below)| lines(plot, part, below, top)).collect();
    let labels = labels(plot.bands);
    let lines_above = labels.iter().map(|label| label.line).max().unwrap_or(0);
    let (mut dots, mut marks) = (String::new(), String::new());
    for (x, value) in plot.dots {
        // Writing to a string cannot fail.
        let _ = write!(dots, "M{:.0} {:.0}h0", x * WIDTH, PLOT - PLOT * value.min(top) / top);
    }
    for x in plot.marks {
        let _ = write!(marks, "M{:.1} {PLOT}v-14", x * WIDTH);
    }
    let band = |from: f64, to: f64| {
        let [from, to] = [from, to].map(|part| part.clamp(0.0, 1.0) * WIDTH);
        format!("M{from:.1} 0H{:.1}V{PLOT}H{from:.1}z", to.max(from + 2.0))
    };
    html! {
        div.drawn {
            div.plot.two[lines_above == 1].more[lines_above > 1] role="img" aria-label=(plot.label) data-top=(top) {
                svg {
                    svg viewBox={ "0 0 " (WIDTH) " " (PLOT) } preserveAspectRatio="none" width="100%" height="100%" {
                        @for part in 0..=GRID { path.grid d={ "M0 " (PLOT / f64::from(GRID) * f64::from(part)) "H" (WIDTH) } {} }
                        @for Band { kind, from, to, .. } in plot.bands { path class=(kind.look().0) d=(band(*from, *to)) {} }
                        @if stack.is_empty() { path.area d=(area) {} }
                        @for (place, (line, area)) in stack.iter().enumerate() {
                            path class={ "ph " (part_class(place)) } d=(area) {}
                            @if place + 1 < stack.len() { path class={ "pl " (part_class(place)) } d=(line) {} }
                        }
                        @if !dots.is_empty() { path.dots d=(dots) {} }
                        @if !upper.is_empty() { path.p95 d=(upper) {} }
                        path.line d=(line) { title { (plot.title) } }
                        @if !marks.is_empty() { path.failed d=(marks) { title { (counted(plot.marks.len(), "failed check", "failed checks")) } } }
                    }
                    @for part in 0..=GRID {
                        text x="-10" y={ (100 - 100 * part / GRID) "%" } dy="4" text-anchor="end" {
                            (step * f64::from(part)) "\u{202f}" (plot.unit)
                        }
                    }
                    @for BandLabel { band, middle, line, is_main } in labels {
                        @let Band { kind, lasted, .. } = &plot.bands[band];
                        @let (_, class, word) = kind.look();
                        text class={ (class) @if !is_main { " wide" } } x={ (format!("{:.1}", middle * 100.0)) "%" } y="0" dy=(-6 - 16 * line as i32) text-anchor=(anchor(middle)) {
                            tspan.wide { (word) " " } (lasted)
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

/// The class of a part of a stack, counted from the bottom.
pub(crate) fn part_class(part: usize) -> &'static str {
    ["p1", "p2", "p3", "p4 ok"][part]
}

/// The line through some values, and the area below it, which ends at the values `below` at the same places.
fn lines(
    plot: &Plot<'_>,
    values: &[(usize, f64)],
    below: Option<&[(usize, f64)]>,
    top: f64,
) -> (String, String) {
    let (begin, end) = plot.axis;
    let x = |place: usize| (((place as f64) - begin) / (end - begin)).clamp(0.0, 1.0) * WIDTH;
    let y = |value: f64| PLOT - PLOT * value / top;
    let points = |run: &[(usize, f64)]| match *run {
        // A single value becomes a short line.
        [(place, value)] => vec![(x(place), y(value)), (x(place + 1), y(value))],
        _ => {
            let at =
                |(place, value): &(usize, f64)| (f64::midpoint(x(*place), x(place + 1)), y(*value));
            run.iter().map(at).collect::<Vec<_>>()
        }
    };
    let (mut line, mut area) = (String::new(), String::new());
    let mut first = 0;
    for run in values.chunk_by(|(place, _), (next, _)| place + plot.reach >= *next) {
        let upper = points(run);
        let lower = match below.and_then(|below| below.get(first..first + run.len())) {
            Some(below) => points(below),
            None => {
                let ends = [upper.first(), upper.last()];
                ends.into_iter().flatten().map(|(x, _)| (*x, PLOT)).collect()
            }
        };
        first += run.len();
        // Writing to a string cannot fail.
        for (place, (x, y)) in upper.iter().enumerate() {
            let _ = write!(line, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
        }
        for (place, (x, y)) in upper.iter().chain(lower.iter().rev()).enumerate() {
            let _ = write!(area, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
        }
        area.push('z');
    }
    (line, area)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_a_kind_share_a_path() {
        use DayUptime::{Down, Partly, Unknown, Up};
        let days = [Unknown, Up, Partly, Up, Down(Downtime::Hour)];
        let bars = uptime_bars(&bars(&days, SiteState::Up), Bars::OfList);
        insta::assert_snapshot!(bars.into_string(), @r#"<svg class="d90" viewBox="0 0 15 24" preserveAspectRatio="xMaxYMid slice" role="img" aria-label="5 days, 1 with downtime"><path class="d" d="M12 6h2v18h-2z"><title>1 day: down for 30 minutes to 2 hours</title></path><path class="w" d="M6 14h2v10h-2z"><title>1 day: some checks failed, no outage</title></path><path class="u" d="M3 17h2v7h-2zM9 17h2v7h-2z"><title>2 days: no downtime</title></path><path class="o" d="M0 22h2v2h-2z"><title>1 day: no checks</title></path></svg>"#);
    }

    #[test]
    fn today_is_as_bad_as_the_site_and_never_better_when_it_goes_down() {
        use DayUptime::{Down, Maintenance, Partly, Unknown, Up};
        let long = Down(Downtime::Long);
        for day in [Unknown, Up, Partly, Maintenance, Down(Downtime::Minutes), long] {
            let [up, failing, down] = [SiteState::Up, SiteState::Failing, SiteState::Down]
                .map(|state| Bar::today(day, state).look().1);
            assert!(up <= failing && failing <= down, "{day:?}: {up} {failing} {down}");
            assert!(Bar::today(day, SiteState::Down).is_down(), "{day:?}");
        }
        assert_eq!(Bar::today(long, SiteState::Failing), Bar::Down(Downtime::Long));
        let shown = legend(bars(&[long, Up], SiteState::Failing).into_iter()).into_string();
        assert!(shown.contains("Failing now") && shown.contains("Down:"), "{shown}");
        let shown = legend(bars(&[Up], SiteState::Up).into_iter()).into_string();
        assert!(!shown.contains("Failing") && !shown.contains("Down"), "{shown}");
    }

    #[test]
    fn a_sparkline_is_broken_where_there_is_nothing_and_ends_where_the_site_is_down() {
        let means = [Some(100), Some(120), None, Some(110), Some(900), Some(900)];
        let up = sparkline(&means[..4], None).into_string();
        insta::assert_snapshot!(up, @r#"<svg class="spark" viewBox="0 0 12 24" preserveAspectRatio="none" role="img" aria-label="Response time, 24 hours: 100 to 120 ms"><path d="M0 16L4 9M12 13h1"></path></svg>"#);
        let down = sparkline(&means, Some(Trouble::Down(1.2))).into_string();
        insta::assert_snapshot!(down, @r#"<svg class="spark" viewBox="0 0 20 24" preserveAspectRatio="none" role="img" aria-label="Response time, 24 hours: 100 to 120 ms"><path d="M0 16L4 9M12 13h1"></path><path class="gap" d="M15 2H20v20H15z"></path></svg>"#);
        let failing = sparkline(&means[..2], Some(Trouble::Failing)).into_string();
        insta::assert_snapshot!(failing, @r#"<svg class="spark" viewBox="0 0 4 24" preserveAspectRatio="none" role="img" aria-label="Response time, 24 hours: 100 to 100 ms"><path d="M0 13h1"></path><path class="gap one" d="M2 2H4v20H2z"></path></svg>"#);
        assert_eq!(sparkline(&[None, None], None).into_string(), "<span></span>");
    }

    const EMPTY: Plot<'_> = Plot {
        values: &[],
        upper: &[],
        stack: &[],
        dots: &[],
        marks: &[],
        axis: (0.0, 1.0),
        reach: 1,
        top: 120.0,
        unit: "ms",
        label: "",
        title: "",
        bands: &[],
        ticks: &[],
    };

    #[test]
    fn a_line_is_broken_where_there_is_nothing() {
        let plot = Plot {
            values: &[(0, 60.0), (2, 120.0), (3, 30.0)],
            dots: &[(0.5, 50.0), (0.75, 900.0)],
            marks: &[0.25],
            axis: (0.0, 4.0),
            ..EMPTY
        };
        let (line, area) = lines(&plot, plot.values, None, 200.0);
        assert_eq!(line, "M0.0 168.0L250.0 168.0M625.0 96.0L875.0 204.0");
        assert_eq!(area.matches('z').count(), 2);
        let (line, _) = lines(&Plot { reach: 2, ..plot }, plot.values, None, 200.0);
        assert_eq!(line.matches('M').count(), 1);
        let (line, _) = lines(&Plot { axis: (0.5, 2.5), ..plot }, plot.values, None, 200.0);
        assert_eq!(line, "M0.0 168.0L250.0 168.0M875.0 96.0L1000.0 204.0", "a part of a place");
        let drawn = super::plot(&plot).into_string();
        assert!(drawn.contains(r#"<path class="dots" d="M500 180h0M750 0h0">"#), "{drawn}");
        assert!(drawn.contains(r#"<path class="failed" d="M250.0 240v-14">"#), "{drawn}");
    }

    #[test]
    fn the_parts_of_a_stack_lie_on_each_other() {
        let parts = [vec![(0, 20.0), (1, 40.0)], vec![(0, 60.0), (1, 120.0)]];
        let plot = Plot { values: &parts[1], stack: &parts, axis: (0.0, 2.0), ..EMPTY };
        let (_, area) = lines(&plot, &parts[1], Some(&parts[0]), 240.0);
        assert_eq!(area, "M250.0 180.0L750.0 120.0L750.0 200.0L250.0 220.0z");
        let drawn = super::plot(&plot).into_string();
        let classes = ["\"ph p1\"", "\"pl p1\"", "\"ph p2\"", "\"line\""];
        let places: Vec<_> = classes.map(|class| drawn.find(class)).to_vec();
        assert!(places.is_sorted() && places[0].is_some(), "{drawn}");
        assert!(!drawn.contains("\"area\"") && !drawn.contains("\"pl p2\""), "{drawn}");
    }

    #[test]
    fn labels_of_bands_do_not_touch_and_the_newest_and_the_longest_have_one() {
        let band =
            |from: f64, to: f64| Band { kind: BandKind::Down, from, to, lasted: String::new() };
        let shown = |bands: &[Band]| -> Vec<(usize, usize, bool)> {
            labels(bands).iter().map(|of| (of.band, of.line, of.is_main)).collect()
        };
        assert_eq!(shown(&[]), []);
        assert_eq!(shown(&[band(0.1, 0.2), band(0.8, 0.81)]), [(1, 0, true), (0, 0, true)]);
        let close = [band(-0.5, 0.02), band(0.05, 0.06), band(0.1, 0.11)];
        assert_eq!(shown(&close), [(2, 0, true), (1, 1, false), (0, 2, true)]);
        let many = [0.0, 0.25, 0.5, 0.75, 0.875].map(|from| band(from, from + 0.03125));
        assert_eq!(shown(&many), [(4, 0, true), (0, 0, true)], "the first of the longest");
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
