//! How fast a site answered. What has no checks is a gap, and so is when the site was down: what is
//! measured then is how long it took to fail.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_domain::checks::history::{Day, HourResponses, day_start};
use vedette_domain::checks::report::Span;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;
use vedette_domain::time;

use super::SiteView;
use super::range::{self, Range};
use crate::chart::{self, Plot};
use crate::{assets, layout};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The mean of an hour or a day, by its place among those of the range.
struct Mean {
    place: usize,
    start: Timestamp,
    ms: u64,
}

/// What is plotted: an hour or a day at each place.
struct Scale {
    /// When the first place begins, and how long each is.
    start: Timestamp,
    step: SignedDuration,
    places: i64,
    unit: &'static str,
}

impl Scale {
    fn of(range: Range, span: Span, now: Timestamp) -> Self {
        match range.hours() {
            Some(hours) => {
                let hour = Timestamp::from_second(now.as_second().div_euclid(3_600) * 3_600);
                let start = hour
                    .unwrap_or(now)
                    .saturating_sub(HOUR * (i32::try_from(hours).unwrap_or(1) - 1));
                Self { start: start.unwrap_or(now), step: HOUR, places: hours, unit: "hour" }
            }
            None => {
                let places = i64::from(range.days());
                Self { start: day_start(span.from), step: DAY, places, unit: "day" }
            }
        }
    }

    /// Where an instant lies, from 0 to 1 where it is within.
    fn place(&self, at: Timestamp) -> f64 {
        let all = self.step.as_secs_f64() * self.places as f64;
        at.duration_since(self.start).as_secs_f64() / all
    }

    /// What stands below the plot, from left to right.
    fn ticks(&self, range: Range, now: Timestamp) -> Vec<Markup> {
        let all = self.step.as_secs() * self.places;
        let at = |part: i64| {
            let at = self.start.saturating_add(SignedDuration::from_secs(all * part / TICKS));
            at.unwrap_or(now)
        };
        let ticks = (0..TICKS).map(at).map(|at| match range {
            Range::Day => layout::clock(at),
            Range::Week | Range::Month | Range::Quarter | Range::Year => {
                html! { (time::day(at, now)) }
            }
        });
        ticks.chain([html! { "Now" }]).collect()
    }
}

/// The parts of the axis of time that have a name.
const TICKS: i64 = 6;

pub(super) fn part(view: &SiteView<'_>) -> Markup {
    let SiteView { range, span, now, history, .. } = *view;
    let (days, issues) = (&history.watched, &history.issues);
    let scale = Scale::of(range, span, now);
    let means = match range.hours() {
        Some(hours) => hourly(days, issues, hours, now),
        None => daily(days, span),
    };
    let slowest = means.iter().map(|mean| mean.ms).max();
    html! {
        section.card {
            header { h2 { "Response time" } (range::choice(view.access.stored.site.id, range)) }
            @match slowest {
                None => p.in.quiet { "No response times in the last " (range.words()) "." },
                Some(slowest) => div.in {
                    // A script draws the table's values larger.
                    div data-step=(scale.step.as_secs()) data-from=(scale.start.as_second())
                        data-bands=(spans(view)) {
                        (drawn(&scale, &means, slowest, view))
                        div.row.far.m2 {
                            div.legend {
                                span { i.ln {} "Mean of each " (scale.unit) }
                                span.down { i {} "Down" }
                            }
                        }
                        (table(&means, scale.unit))
                    }
                    @for script in assets::plot() { script src=(script) defer {} }
                },
            }
        }
    }
}

fn drawn(scale: &Scale, means: &[Mean], slowest: u64, view: &SiteView<'_>) -> Markup {
    let line: Vec<(usize, f64)> = means.iter().map(|mean| (mean.place, mean.ms as f64)).collect();
    let bands: Vec<_> = outages(&view.history.issues)
        .map(|(from, to)| {
            let end = to.unwrap_or(view.now);
            let lasted = time::duration(end.duration_since(from));
            (scale.place(from), scale.place(end), lasted)
        })
        .filter(|(_, end, _)| *end > 0.0)
        .collect();
    let unit = scale.unit;
    let label = format!("Mean response time of each {unit} of the last {}", view.range.words());
    chart::plot(&Plot {
        values: &line,
        places: usize::try_from(scale.places).unwrap_or(1),
        top: slowest as f64,
        unit: "ms",
        label: &label,
        title: &format!("The slowest {unit}: {slowest} ms"),
        bands: &bands,
        ticks: &scale.ticks(view.range, view.now),
    })
}

/// The outages for the script: from and until, in seconds.
fn spans(view: &SiteView<'_>) -> String {
    let spans = outages(&view.history.issues)
        .map(|(from, to)| format!("{}-{}", from.as_second(), to.unwrap_or(view.now).as_second()));
    spans.collect::<Vec<_>>().join(" ")
}

/// When the site was down, as its status issue tells.
fn outages(issues: &[Issue]) -> impl Iterator<Item = (Timestamp, Option<Timestamp>)> {
    let down = issues.iter().filter(|issue| issue.id.fingerprint() == Fingerprint::StatusDown);
    down.flat_map(|issue| issue.timeline.spans())
}

fn table(means: &[Mean], unit: &str) -> Markup {
    html! {
        details.list.m2 {
            summary { "View as table" }
            table {
                (layout::columns(&format!("Mean response time of each {unit}, the latest first"), &["From", "Mean"]))
                tbody {
                    @for mean in means.iter().rev() {
                        tr { th scope="row" { (layout::instant(mean.start)) } td { (mean.ms) " ms" } }
                    }
                }
            }
        }
    }
}

/// The hours that began in the range and in which the site was not known to be down.
fn hourly(days: &[Day], issues: &[Issue], hours: i64, now: Timestamp) -> Vec<Mean> {
    let down: Vec<_> = outages(issues).collect();
    let was_down = |hour: &HourResponses| {
        let end = hour.start.saturating_add(HOUR).unwrap_or(hour.start);
        down.iter().any(|(from, to)| *from < end && to.is_none_or(|to| to > hour.start))
    };
    let means = days.iter().flat_map(Day::response_hours).filter_map(|hour| {
        let ago = now.duration_since(hour.start).as_hours();
        let is_within = now >= hour.start && ago < hours;
        let place = usize::try_from(hours - 1 - ago).ok().filter(|_| is_within)?;
        let ms = hour.sum_ms.checked_div(hour.count)?;
        (!was_down(&hour)).then_some(Mean { place, start: hour.start, ms })
    });
    sorted(means.collect())
}

/// The days on which a check found the site up.
fn daily(days: &[Day], span: Span) -> Vec<Mean> {
    let means = days.iter().filter(|day| day.sums.up > 0).filter_map(|day| {
        let place = usize::try_from((day.date - span.from).get_days()).ok()?;
        let ms = day.mean_response_ms()?;
        Some(Mean { place, start: day_start(day.date), ms })
    });
    sorted(means.collect())
}

fn sorted(mut means: Vec<Mean>) -> Vec<Mean> {
    means.sort_by_key(|mean| mean.place);
    means
}
