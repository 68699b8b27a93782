//! When the issues of a site were active, according to their timelines.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::Span;
use crate::checks::history::{day_of, day_start};
use crate::issues::record::Issue;
use crate::issues::{Fingerprint, Outage, TIMELINE_MAX};

/// A day of outages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutageDay {
    /// The UTC day.
    pub date: Date,
    /// How many opened.
    pub opened: usize,
    /// How long the site was down.
    pub down: SignedDuration,
}

/// The outages in a span with their issues, oldest first.
pub fn outages(span: Span, issues: &[Issue]) -> Vec<(&Issue, Outage)> {
    let all = issues
        .iter()
        .flat_map(|issue| issue.timeline.outages().into_iter().map(move |outage| (issue, outage)));
    let in_span = all.filter(|(_, outage)| {
        day_of(outage.opened_at) <= span.to
            && outage.ended_at.is_none_or(|end| day_of(end) >= span.from)
    });
    let mut outages: Vec<_> = in_span.collect();
    outages.sort_by_key(|(issue, outage)| (outage.opened_at, issue.id));
    outages
}

/// The days of a span, with their outages and downtime.
pub fn outage_days(span: Span, outages: &[(&Issue, Outage)], now: Timestamp) -> Vec<OutageDay> {
    let days = span.dates().map(|date| {
        let (start, end) = (day_start(date), day_start(date.saturating_add(1.day())));
        let down = outages
            .iter()
            .filter(|(issue, _)| issue.id.fingerprint() == Fingerprint::StatusDown)
            .map(|(_, outage)| {
                let from = outage.opened_at.max(start);
                let to = outage.ended_at.unwrap_or(now).min(end);
                to.duration_since(from).max(SignedDuration::ZERO)
            });
        let opened = outages.iter().filter(|(_, outage)| day_of(outage.opened_at) == date);
        OutageDay {
            date,
            opened: opened.count(),
            down: down.fold(SignedDuration::ZERO, SignedDuration::saturating_add),
        }
    });
    days.collect()
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
    use serde_json::Value;

    use super::*;
    use crate::id::{IssueId, SiteId};
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
        Issue {
            id: IssueId::new(site, fingerprint, at(moments[0])),
            rev: 1,
            lifecycle,
            timeline,
            chosen_severity: None,
            summary: String::new(),
            context: Value::Null,
            check: None,
            previous_check: None,
            last_evaluated_at: None,
            snoozed_until: None,
            notes: Vec::new(),
            acts: Vec::new(),
            created_at: at(moments[0]),
            updated_at: at(moments[0]),
        }
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
        let found = outages(span, &issues);
        let opened: Vec<_> = found.iter().map(|(_, outage)| outage.opened_at.to_string()).collect();
        assert_eq!(
            opened,
            ["2026-11-19T23:00:00Z", "2026-11-20T00:00:00Z", "2026-11-21T10:00:00Z"]
        );
        let now = at("2026-11-21T12:00:00Z");
        assert_eq!(found[0].1.lasted(now), SignedDuration::from_hours(3));
        assert_eq!(found[2].1.lasted(now), SignedDuration::from_hours(2));
        let days = outage_days(span, &found, now);
        let days: Vec<_> = days.iter().map(|day| (day.opened, day.down.as_hours())).collect();
        assert_eq!(days, [(1, 1), (1, 2), (1, 2)]);
        let before = Span { from: date(2026, 11, 2), to: date(2026, 11, 18) };
        assert_eq!(outages(before, &issues), []);
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
