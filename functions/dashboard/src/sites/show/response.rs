//! How fast a site answered. What has no checks is a gap, and so is when the site was down: what is
//! measured then is how long it took to fail.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_domain::checks::history::{Day, HourResponses, day_start};
use vedette_domain::checks::report::Span;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;

use super::range::Range;
use crate::{assets, chart, layout};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The mean of an hour or a day, by its place among those of the range.
struct Mean {
    place: usize,
    start: Timestamp,
    ms: u64,
}

pub(super) fn part(
    days: &[Day],
    issues: &[Issue],
    (range, span): (Range, Span),
    now: Timestamp,
) -> Markup {
    let (means, places, unit, step) = match range.hours() {
        Some(hours) => (hourly(days, issues, hours, now), hours, "hour", HOUR),
        None => (daily(days, span), i64::from(range.days()), "day", DAY),
    };
    let slowest = means.iter().map(|mean| mean.ms).max();
    let line: Vec<(usize, f64)> = means.iter().map(|mean| (mean.place, mean.ms as f64)).collect();
    let label = format!("Mean response time of each {unit} of the last {}", range.words());
    html! {
        h2 { "Response time" }
        @match slowest {
            None => p { "There are no response times of the last " (range.words()) "." },
            Some(slowest) => {
                p {
                    "The last " (range.words()) " by the " (unit) ", up to " (slowest)
                    " ms on average. A gap has no checks, or found the site down."
                }
                // A script draws the table's values larger.
                div data-step=(step.as_secs()) {
                    (chart::line(&line, usize::try_from(places).unwrap_or(1), slowest as f64, &label,
                        &format!("The slowest {unit}: {slowest} ms")))
                    (table(&means, unit))
                }
                @for script in assets::plot() { script src=(script) defer {} }
            }
        }
    }
}

fn table(means: &[Mean], unit: &str) -> Markup {
    html! {
        details {
            summary { "As a table" }
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
    let down = issues.iter().filter(|issue| issue.id.fingerprint() == Fingerprint::StatusDown);
    let down: Vec<_> = down.flat_map(|issue| issue.timeline.spans()).collect();
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
