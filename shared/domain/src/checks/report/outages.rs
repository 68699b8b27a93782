//! When the issues of a site were active, and when the site was down.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::Span;
use crate::checks::history::{day_of, day_start};
use crate::issues::record::Issue;
use crate::issues::{Fingerprint, Problem, TIMELINE_MAX};

/// The outages of a day, and how long they lasted on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutageDay {
    /// The UTC day.
    pub date: Date,
    /// How many overlap it.
    pub outages: usize,
    /// How long they lasted on it, together.
    pub down: SignedDuration,
}

/// The problems in a span with their issues, oldest first. If monitoring has ended during the current outage, it ended
/// it.
pub fn problems(
    span: Span,
    issues: &[Issue],
    monitoring_ended_at: Option<Timestamp>,
) -> Vec<(&Issue, Problem)> {
    let all = issues.iter().flat_map(|issue| {
        let ended_at = monitoring_ended_at.filter(|_| is_outage(issue));
        issue.problems().into_iter().map(move |problem| (issue, problem.or_ended(ended_at)))
    });
    let in_span = all.filter(|(_, problem)| {
        day_of(problem.began_at) <= span.to
            && problem.ended_at.is_none_or(|end| day_of(end) >= span.from)
    });
    let mut problems: Vec<_> = in_span.collect();
    problems.sort_by_key(|(issue, problem)| (problem.began_at, issue.id));
    problems
}

/// Whether the problems of an issue are outages.
pub fn is_outage(issue: &Issue) -> bool {
    issue.id.fingerprint() == Fingerprint::StatusDown
}

/// The days of a span, with their outages and downtime.
pub fn outage_days(span: Span, outages: &[Problem], now: Timestamp) -> Vec<OutageDay> {
    let days = span.dates().map(|date| {
        let (start, end) = (day_start(date), day_start(date.saturating_add(1.day())));
        let down = outages.iter().map(|outage| outage.within(start, end, now));
        OutageDay {
            date,
            outages: outages.iter().filter(|outage| outage.overlaps(start, end)).count(),
            down: down.fold(SignedDuration::ZERO, SignedDuration::saturating_add),
        }
    });
    days.collect()
}

/// The outages among the problems of a site.
pub fn outages(problems: &[(&Issue, Problem)]) -> Vec<Problem> {
    let outages = problems.iter().filter(|(issue, _)| is_outage(issue));
    outages.map(|(_, outage)| *outage).collect()
}

/// Since when all outages are known; `None` if all of them are. A long timeline has lost its oldest entries.
pub fn known_since(issues: &[Issue]) -> Option<Timestamp> {
    let full = issues.iter().map(|issue| issue.timeline.entries());
    let full = full.filter(|entries| entries.len() >= TIMELINE_MAX);
    full.filter_map(|entries| Some(entries.first()?.timestamp)).max()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::id::SiteId;
    use crate::issues::{Lifecycle, Timeline};

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    /// An issue that opened and ended at these instants, alternately.
    fn issue(fingerprint: Fingerprint, moments: &[&str]) -> Issue {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let mut timeline = Timeline::default();
        let mut lifecycle = Lifecycle::open(at(moments[0]));
        for (place, moment) in moments.iter().enumerate() {
            lifecycle = match place {
                0 => lifecycle,
                _ if place % 2 == 0 => lifecycle.reopen(at(moment)).expect("reopened"),
                _ => lifecycle.resolve(at(moment), None).expect("resolved"),
            };
            timeline = timeline.then(lifecycle);
        }
        Issue { lifecycle, timeline, ..Issue::opened(site, fingerprint, at(moments[0])) }
    }

    #[test]
    fn an_outage_counts_on_the_days_that_it_touches() {
        let issues = [
            issue(
                Fingerprint::StatusDown,
                &[
                    "2026-11-01T00:00:00Z",
                    "2026-11-01T01:00:00Z",
                    "2026-11-19T23:00:00Z",
                    "2026-11-20T02:00:00Z",
                    "2026-11-21T10:00:00Z",
                ],
            ),
            issue(Fingerprint::SslInvalid, &["2026-11-20T00:00:00Z"]),
        ];
        let span = Span { from: date(2026, 11, 19), to: date(2026, 11, 21) };
        let found = problems(span, &issues, None);
        let opened: Vec<_> =
            found.iter().map(|(_, problem)| problem.opened_at.to_string()).collect();
        assert_eq!(
            opened,
            ["2026-11-19T23:00:00Z", "2026-11-20T00:00:00Z", "2026-11-21T10:00:00Z"]
        );
        let now = at("2026-11-21T12:00:00Z");
        assert_eq!(found[0].1.lasted(now), SignedDuration::from_hours(3));
        assert_eq!(found[2].1.lasted(now), SignedDuration::from_hours(2));
        let days = outage_days(span, &outages(&found), now);
        let days: Vec<_> = days.iter().map(|day| (day.outages, day.down.as_hours())).collect();
        assert_eq!(days, [(1, 1), (1, 2), (1, 2)]);
        let ended = problems(span, &issues, Some(at("2026-11-21T10:30:00Z")));
        assert_eq!(ended[1].1.lasted(now), SignedDuration::from_hours(36), "no outage");
        assert_eq!(ended[2].1.lasted(now), SignedDuration::from_mins(30));
        let before = Span { from: date(2026, 11, 2), to: date(2026, 11, 18) };
        assert_eq!(problems(before, &issues, None), []);
        assert_eq!(known_since(&issues), None);
    }

    #[test]
    fn a_full_timeline_says_since_when_all_is_known() {
        let moments: Vec<String> = (0..TIMELINE_MAX + 1)
            .map(|hour| {
                (at("2026-11-01T00:00:00Z") + SignedDuration::from_hours(hour as i64)).to_string()
            })
            .collect();
        let moments: Vec<&str> = moments.iter().map(String::as_str).collect();
        let issues = [issue(Fingerprint::StatusDown, &moments)];
        assert_eq!(known_since(&issues), Some(at("2026-11-01T01:00:00Z")));
    }
}
