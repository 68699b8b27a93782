//! How fast a site answered. The last 24 hours show each check, with the median and the 95th percentile of half hours,
//! or of minutes if the site is new, and the phases of the median. Longer ranges show the mean of hours or days. There is
//! a gap where no check succeeded. The time axis begins where the site's data begins, until there is data for the whole
//! range.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use serde_json::{Value, json};
use vedette_domain::checks::evidence::PHASE_NAMES;
use vedette_domain::checks::history::{Day, HourResponses, day_start};
use vedette_domain::checks::report::{Span, is_outage};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Problem;
use vedette_domain::maintenance::Instance;
use vedette_domain::time;

use super::SiteView;
use super::range::{self, Range};
use super::timings::{Timing, median_phases, percentile};
use crate::chart::{self, Band, BandKind, Plot};
use crate::clock::Clock;
use crate::words::counted;
use crate::{assets, layout};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);
const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// What was measured at a place of the plot.
struct Point {
    place: usize,
    start: Timestamp,
    /// The median or mean.
    ms: u64,
    /// The 95th percentile, if every check is known.
    p95: Option<u64>,
    /// What the median consists of, if the phases of checks are known.
    phases: Option<[u64; PHASE_NAMES.len()]>,
}

/// The time axis, divided into places. It may begin within the first place, and ends within the last.
struct Scale {
    from: Timestamp,
    to: Timestamp,
    /// Since when there is data, if it is shorter than the range that was chosen.
    since: Option<Timestamp>,
    /// When the first place begins, and how long each place is.
    start: Timestamp,
    step: SignedDuration,
    places: i64,
    /// The value that is shown for each place.
    what: &'static str,
    unit: &'static str,
}

/// How many minutes a place of the last 24 hours can take. The shortest is used with which at most [`FINEST`] places
/// cover the data.
const MINUTES: [(i64, &str); 6] = [
    (1, "minute"),
    (2, "2 minutes"),
    (5, "5 minutes"),
    (10, "10 minutes"),
    (15, "15 minutes"),
    (HALF_HOUR, "half hour"),
];
const HALF_HOUR: i64 = 30;
const FINEST: i64 = 48;

impl Scale {
    /// The axis of a range of a site whose data begins at `since`.
    fn of(range: Range, span: Span, now: Timestamp, since: Timestamp) -> Self {
        let floor = |at: Timestamp, step: SignedDuration| {
            let step = step.as_secs();
            Timestamp::from_second(at.as_second().div_euclid(step) * step).unwrap_or(at)
        };
        let back = |step: SignedDuration, places: i64| {
            let all = SignedDuration::from_secs(step.as_secs() * (places - 1));
            floor(now, step).saturating_sub(all).unwrap_or(now)
        };
        let full = match range.hours() {
            Some(24) => back(SignedDuration::from_mins(HALF_HOUR), FINEST),
            Some(hours) => back(HOUR, hours),
            None => day_start(span.from),
        };
        // Shorter axes could not be labeled.
        let from = full.max(since.min(now.saturating_sub(MINUTE).unwrap_or(now)));
        let lasts = now.duration_since(from);
        let (step, what, unit) = match range.hours() {
            Some(24) => {
                let covers = |(minutes, _): &&(i64, &str)| lasts.as_mins() < minutes * FINEST;
                let (minutes, unit) =
                    *MINUTES.iter().find(covers).unwrap_or(&(HALF_HOUR, "half hour"));
                (SignedDuration::from_mins(minutes), "Median", unit)
            }
            Some(_) => (HOUR, "Mean", "hour"),
            None => (DAY, "Mean", "UTC day"),
        };
        let start = floor(from, step);
        let places = now.duration_since(start).as_secs().div_euclid(step.as_secs()) + 1;
        Self {
            from,
            to: now,
            since: (from > full).then_some(since),
            start,
            step,
            places,
            what,
            unit,
        }
    }

    /// The place of an instant, if it has one.
    fn index(&self, at: Timestamp) -> Option<usize> {
        let passed = at.duration_since(self.start).as_secs().div_euclid(self.step.as_secs());
        usize::try_from(passed).ok().filter(|_| passed < self.places)
    }

    /// The position of an instant on the axis, from 0 to 1 if it is within.
    fn place(&self, at: Timestamp) -> f64 {
        let all = self.to.duration_since(self.from).as_secs_f64();
        at.duration_since(self.from).as_secs_f64() / all
    }

    fn at(&self, place: usize) -> Timestamp {
        let passed = SignedDuration::from_secs(self.step.as_secs() * place as i64);
        self.start.saturating_add(passed).unwrap_or(self.start)
    }

    /// Where the axis begins and ends, in places.
    fn axis(&self) -> (f64, f64) {
        let places =
            |at: Timestamp| at.duration_since(self.start).as_secs_f64() / self.step.as_secs_f64();
        (places(self.from), places(self.to))
    }

    /// The labels below the plot, from left to right: times of a short axis, or else days, each at most once.
    fn ticks(&self, range: Range, clock: Clock<'_>) -> Vec<Markup> {
        let all = self.to.duration_since(self.from).as_secs();
        let days = all / DAY.as_secs();
        let has_times = range == Range::Day || days < 2;
        let count = if has_times { all / MINUTE.as_secs() } else { days }.clamp(1, TICKS);
        let at = |part: i64| {
            let at = self.from.saturating_add(SignedDuration::from_secs(all * part / count));
            at.unwrap_or(clock.now)
        };
        let ticks = (0..count).map(at).map(|at| match range {
            _ if has_times => clock.time(at),
            Range::Day | Range::Week => clock.day(at),
            // The days are UTC days, in every time zone.
            Range::Month | Range::Quarter | Range::Year => html! { (clock.utc_day(at)) },
        });
        ticks.chain([html! { "Now" }]).collect()
    }

    /// `of the last 7 days`, or since when there is data.
    fn words(&self, range: Range, clock: Clock<'_>) -> String {
        match self.since {
            Some(since) => format!("since {}", clock.zone.minute(since)),
            None => format!("of the last {}", range.words()),
        }
    }
}

/// When the data of a site begins: when it was added, or with its first check if that is older, as it is if somebody
/// has imported the checks.
fn since(view: &SiteView<'_>) -> Timestamp {
    let added = view.access.stored.site.created_at;
    let hours = view.history.watched.iter().flat_map(Day::response_hours);
    let first = hours.map(|hour| hour.start).min();
    // The first check was at any time of its hour.
    let is_older = |hour: &Timestamp| hour.saturating_add(HOUR).is_ok_and(|end| end <= added);
    first.filter(is_older).unwrap_or(added)
}

/// The usual distance between two values, in places. A larger distance leaves a gap in the line.
fn reach(places: impl Iterator<Item = usize>) -> usize {
    let places: Vec<usize> = places.collect();
    let steps = places.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let mut steps: Vec<usize> = steps.filter(|step| *step > 0).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(1)
}

/// The number of labels on the time axis.
const TICKS: i64 = 6;

pub(super) fn part(view: &SiteView<'_>) -> Markup {
    let SiteView { range, span, clock, history, .. } = *view;
    let days = &history.watched;
    let scale = Scale::of(range, span, clock.now, since(view));
    let points = match range.hours() {
        Some(24) => half_hours(&history.timings, &scale),
        Some(_) => hourly(days, outages(view), &scale),
        None => daily(days, &scale),
    };
    let reach = match range.hours() {
        Some(24) => reach(history.timings.iter().filter_map(|timing| scale.index(timing.at))),
        Some(_) => {
            let mut hours: Vec<_> = days.iter().flat_map(Day::response_hours).collect();
            hours.sort_by_key(|hour| hour.start);
            reach(hours.iter().filter_map(|hour| scale.index(hour.start)))
        }
        None => 1,
    };
    let bands = bands(&scale, view);
    let has_failures = range == Range::Day && history.timings.iter().any(|timing| !timing.up);
    html! {
        section.card {
            header {
                h2 { "Response time" }
                div.row {
                    @if let Some(since) = scale.since { span.quiet.small { "Since " (beginning(since, clock)) } }
                    (range::choice(view.access.stored.site.id, range))
                }
            }
            @if points.is_empty() && !has_failures {
                p.in.quiet { "No response times in the last " (range.words()) "." }
            } @else {
                div.in {
                    // The script draws a plot to zoom into, from the values in the table and the marks in the picture.
                    div data-step=(scale.step.as_secs()) data-from=(scale.from.as_second())
                        data-to=(scale.to.as_second()) data-reach=(reach) data-bands=(spans(&bands)) {
                        (drawn(&scale, &points, reach, &bands, view))
                        div.row.far.m2 {
                            div.legend {
                                @if !points.is_empty() {
                                    span { i.ln {} (scale.what) " of each " (scale.unit) }
                                    @if range == Range::Day {
                                        span { i.ln.p95 {} "95th percentile" }
                                        span { i.pt {} "Check" }
                                    }
                                }
                                @if has_failures { span.failing { i {} "Failed check" } }
                                @if points.iter().any(|point| point.phases.is_some()) {
                                    @for (part, name) in PHASE_NAMES.iter().enumerate() {
                                        span class={ "ph " (chart::part_class(part)) } { i {} (name) }
                                    }
                                }
                                @for (kind, class, word) in
                                    [(BandKind::Down, "down", "Down"), (BandKind::Maintenance, "info", "Maintenance")] {
                                    @if bands.iter().any(|band| band.kind == kind) {
                                        span class=(class) { i {} (word) }
                                    }
                                }
                            }
                        }
                        (table(&points, &scale, view))
                    }
                    @for script in assets::plot() { script src=(script) defer {} }
                }
            }
        }
    }
}

/// When the data begins: a time of the last 24 hours, or else a day.
fn beginning(since: Timestamp, clock: Clock<'_>) -> Markup {
    match clock.now.duration_since(since) < DAY {
        true => clock.time(since),
        false => clock.day(since),
    }
}

fn drawn(
    scale: &Scale,
    points: &[Point],
    reach: usize,
    bands: &[Band],
    view: &SiteView<'_>,
) -> Markup {
    let line: Vec<(usize, f64)> =
        points.iter().map(|point| (point.place, point.ms as f64)).collect();
    let upper: Vec<(usize, f64)> =
        points.iter().filter_map(|point| Some((point.place, point.p95? as f64))).collect();
    let stack = stack(points);
    let timings: &[Timing] = if view.range == Range::Day { &view.history.timings } else { &[] };
    let shown = timings.iter().filter(|timing| scale.index(timing.at).is_some());
    let (up, failed): (Vec<&Timing>, Vec<&Timing>) = shown.partition(|timing| timing.up);
    let dots: Vec<_> = up.iter().map(|timing| (scale.place(timing.at), timing.ms)).collect();
    let marks: Vec<_> = failed.iter().map(|timing| scale.place(timing.at)).collect();
    let Scale { what, unit, .. } = *scale;
    let slowest = points.iter().map(|point| point.ms).max().unwrap_or(0);
    let top = points.iter().filter_map(|point| point.p95).max().unwrap_or(0).max(slowest);
    let failures = match failed.len() {
        0 => String::new(),
        failed => format!(", {}", counted(failed, "failed check", "failed checks")),
    };
    let label = format!(
        "{what} response time of each {unit} {}{failures}",
        scale.words(view.range, view.clock)
    );
    chart::plot(&Plot {
        values: &line,
        upper: &upper,
        stack: &stack,
        dots: &dots,
        marks: &marks,
        axis: scale.axis(),
        reach,
        top: top as f64,
        unit: "ms",
        label: &label,
        title: &format!("The slowest {unit}: {slowest} ms"),
        bands,
        ticks: &scale.ticks(view.range, view.clock),
    })
}

/// The phases of the medians, each on top of those before it.
fn stack(points: &[Point]) -> Vec<Vec<(usize, f64)>> {
    let known: Vec<_> =
        points.iter().filter_map(|point| Some((point.place, point.phases?))).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let until = |phase: usize| {
        let passed = |phases: &[u64]| phases.iter().take(phase + 1).sum::<u64>() as f64;
        known.iter().map(|(place, phases)| (*place, passed(phases))).collect()
    };
    (0..PHASE_NAMES.len()).map(until).collect()
}

/// When the site was down or in maintenance, in the order in which these times end.
fn bands(scale: &Scale, view: &SiteView<'_>) -> Vec<Band> {
    let now = view.clock.now;
    let down = outages(view).map(|outage| {
        let end = outage.ended_at.unwrap_or(now);
        (BandKind::Down, outage.began_at, end, outage.lasted(now))
    });
    let maintenance = maintenance(scale, view).into_iter().map(|Instance { start, end }| {
        (BandKind::Maintenance, start, end, end.duration_since(start))
    });
    let mut bands: Vec<Band> = down
        .chain(maintenance)
        .map(|(kind, start, end, lasted)| Band {
            kind,
            from: scale.place(start),
            to: scale.place(end),
            lasted: time::duration(lasted),
        })
        .filter(|band| band.to > 0.0)
        .collect();
    bands.sort_by(|one, other| one.to.total_cmp(&other.to));
    bands
}

/// When the site was in maintenance: the windows that are still known, and the checks that say that they were in one.
fn maintenance(scale: &Scale, view: &SiteView<'_>) -> Vec<Instance> {
    let SiteView { access, history, .. } = *view;
    let (windows, site) = (&access.team.team.windows, &access.stored.site);
    let mut known = windows.instances(site.id, &site.tags, scale.from, scale.to);
    let is_known = |start: Timestamp, end: Timestamp, known: &[Instance]| {
        known.iter().any(|instance| instance.start <= end && start <= instance.end)
    };
    let checks = history.timings.chunk_by(|one, next| {
        one.in_maintenance_until.is_some() == next.in_maintenance_until.is_some()
    });
    for run in checks {
        if let [first, .., last] | [first @ last] = run
            && let Some(end) = last.in_maintenance_until
            && !is_known(first.at, end, &known)
        {
            known.push(Instance { start: first.at, end });
        }
    }
    known
}

/// The bands for the script: kind, where each begins and ends, from 0 to 1, how long it was, and for those with a label
/// its line and whether a phone has room for it.
fn spans(bands: &[Band]) -> String {
    let labels = chart::labels(bands);
    let spans = bands.iter().enumerate().map(|(place, Band { kind, from, to, lasted })| {
        let label = labels.iter().find(|label| label.band == place);
        let label = label.map(|label| (label.line, label.is_main));
        json!([*kind == BandKind::Down, from, to, lasted, label])
    });
    Value::from_iter(spans).to_string()
}

/// When the site was down.
fn outages(view: &SiteView<'_>) -> impl Iterator<Item = Problem> {
    let status = view.access.stored.tools.get(&Tool::Status);
    let ended_at = status.and_then(|status| status.monitoring_ended_at);
    let down = view.history.issues.iter().filter(|issue| is_outage(issue));
    down.flat_map(move |issue| issue.problems().into_iter().map(move |of| of.or_ended(ended_at)))
}

fn table(points: &[Point], scale: &Scale, view: &SiteView<'_>) -> Markup {
    let Scale { what, unit, .. } = *scale;
    let clock = view.clock;
    let csv = (view.range == Range::Day)
        .then(|| format!("/sites/{}/response-times.csv", view.access.stored.site.id));
    let has_p95 = points.iter().any(|point| point.p95.is_some());
    let has_phases = points.iter().any(|point| point.phases.is_some());
    let mut heads = vec!["From", what];
    heads.extend(has_p95.then_some("95th percentile"));
    heads.extend(PHASE_NAMES.iter().filter(|_| has_phases));
    html! {
        details.list.m2 {
            summary { "View as table" }
            @if let Some(csv) = csv { p.small { a href=(csv) { "Download each check as CSV" } } }
            table {
                (layout::columns(&format!("{what} response time of each {unit}, the latest first"), &heads))
                tbody {
                    @for point in points.iter().rev() {
                        tr {
                            th scope="row" { (clock.instant(point.start)) }
                            td { (point.ms) " ms" }
                            @if let Some(p95) = point.p95 { td { (p95) " ms" } }
                            @if has_phases {
                                @for phase in 0..PHASE_NAMES.len() {
                                    td { @if let Some(phases) = point.phases { (phases[phase]) " ms" } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The half hours in which a check succeeded.
fn half_hours(timings: &[Timing], scale: &Scale) -> Vec<Point> {
    let placed = |timing: &Timing| scale.index(timing.at);
    let runs = timings.chunk_by(|one, next| placed(one) == placed(next));
    let points = runs.filter_map(|run| {
        let place = placed(run.first()?)?;
        Some(Point {
            place,
            start: scale.at(place),
            ms: percentile(run, 50)?,
            p95: percentile(run, 95),
            phases: median_phases(run),
        })
    });
    points.collect()
}

/// The hours with checks, except hours in which the site was down all the time.
fn hourly(days: &[Day], down: impl Iterator<Item = Problem>, scale: &Scale) -> Vec<Point> {
    let down: Vec<_> = down.collect();
    let was_down = |hour: &HourResponses| {
        let end = hour.start.saturating_add(HOUR).unwrap_or(hour.start);
        down.iter().any(|outage| {
            outage.began_at <= hour.start && outage.ended_at.is_none_or(|at| at >= end)
        })
    };
    let hours = days.iter().flat_map(Day::response_hours).filter_map(|hour| {
        let place = scale.index(hour.start)?;
        let ms = hour.sum_ms.checked_div(hour.count)?;
        (!was_down(&hour)).then_some(Point {
            place,
            start: hour.start,
            ms,
            p95: None,
            phases: None,
        })
    });
    sorted(hours.collect())
}

/// The days on which a check found the site up.
fn daily(days: &[Day], scale: &Scale) -> Vec<Point> {
    let days = days.iter().filter(|day| day.sums.up > 0).filter_map(|day| {
        let place = scale.index(day_start(day.date))?;
        let ms = day.mean_response_ms()?;
        Some(Point { place, start: day_start(day.date), ms, p95: None, phases: None })
    });
    sorted(days.collect())
}

fn sorted(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by_key(|point| point.place);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_further_apart_than_most_is_a_gap() {
        for (places, expected) in
            [(&[][..], 1), (&[3], 1), (&[0, 0, 1, 1, 2, 9], 1), (&[0, 2, 4, 10, 12], 2)]
        {
            assert_eq!(reach(places.iter().copied()), expected, "{places:?}");
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn scale(range: Range, since: &str) -> Scale {
        let now = at("2026-11-20T14:31:20Z");
        let day = vedette_domain::checks::history::day_of(now);
        Scale::of(range, Span::until(day, range.days()), now, at(since))
    }

    #[test]
    fn the_axis_is_the_chosen_range_once_there_is_data_for_all_of_it() {
        for (range, start, places) in [
            (Range::Day, "2026-11-19T15:00:00Z", 48),
            (Range::Week, "2026-11-13T15:00:00Z", 168),
            (Range::Month, "2026-10-22T00:00:00Z", 30),
        ] {
            let scale = scale(range, "2025-01-01T00:00:00Z");
            assert_eq!((scale.start.to_string().as_str(), scale.places), (start, places));
            assert_eq!((scale.from, scale.since), (scale.start, None));
            assert_eq!(scale.index(scale.to), usize::try_from(places - 1).ok(), "{range:?}");
            assert_eq!(scale.index(scale.start), Some(0));
            let before = scale.start - SignedDuration::from_secs(1);
            assert_eq!(scale.index(before), None, "{range:?}");
            assert_eq!(scale.ticks(range, Clock::new(scale.to, None, None)).len(), 7);
        }
    }

    #[test]
    fn the_axis_of_a_new_site_begins_with_its_data() {
        for (range, since, unit, places, ticks) in [
            (Range::Day, "2026-11-20T14:09:20Z", "minute", 23, 7),
            (Range::Day, "2026-11-20T13:30:20Z", "2 minutes", 31, 7),
            (Range::Day, "2026-11-20T04:31:20Z", "15 minutes", 41, 7),
            (Range::Week, "2026-11-20T14:09:20Z", "hour", 1, 7),
            (Range::Week, "2026-11-17T02:00:00Z", "hour", 85, 4),
            (Range::Year, "2026-11-20T14:09:20Z", "UTC day", 1, 7),
            (Range::Year, "2026-11-19T14:09:20Z", "UTC day", 2, 7),
            (Range::Year, "2026-11-10T14:09:20Z", "UTC day", 11, 7),
        ] {
            let scale = scale(range, since);
            assert_eq!(
                (scale.from, scale.since),
                (at(since), Some(at(since))),
                "{range:?} {since}"
            );
            assert_eq!((scale.unit, scale.places), (unit, places), "{range:?} {since}");
            assert!(scale.place(scale.from) == 0.0 && (scale.place(scale.to) - 1.0).abs() < 1e-9);
            let (begin, end) = scale.axis();
            assert!((0.0..1.0).contains(&begin) && end > begin && end <= places as f64);
            let clock = Clock::new(scale.to, None, None);
            assert_eq!(scale.ticks(range, clock).len(), ticks, "{range:?} {since}");
        }
        let scale = scale(Range::Day, "2026-11-20T14:31:20Z");
        assert_eq!(scale.from, at("2026-11-20T14:30:20Z"), "it is at least a minute long");
    }
}
