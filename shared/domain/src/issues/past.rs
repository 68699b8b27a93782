//! What an issue was like at an earlier moment, as far as its record tells.

use jiff::Timestamp;
use serde_json::Value;

use super::record::Issue;
use super::{Acknowledgement, Lifecycle, Responder, Timeline, TimelineEntry, TimelineKey};

/// An issue as it was at an entry of its timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct PastIssue {
    /// The issue.
    pub issue: Issue,
    /// When this state was written.
    pub at: Timestamp,
}

/// The summary of earlier openings: the record only keeps that of the last one.
const FORGOTTEN: &str = "The details of this earlier opening are not kept.";

impl Issue {
    /// The issue as it was at an entry of its timeline; `None` if the timeline does not tell. For the last opening,
    /// this is what was written at the time; for earlier openings, summary and context are not kept.
    pub fn as_of(&self, place: usize) -> Option<PastIssue> {
        let entries = self.timeline.entries();
        let (entry, until) = (*entries.get(place)?, entries.get(..=place)?);
        let is_opening = |entry: &TimelineEntry| entry.key == TimelineKey::Opened;
        let opening = until.iter().rposition(is_opening)?;
        let is_last_opening = entries.iter().rposition(is_opening) == Some(opening);
        let lifecycle = lifecycle(&until[opening..])?;
        // The time of the last evaluated check is the time of the last transition.
        let evaluated_at = self.last_evaluated_at.filter(|_| match lifecycle {
            Lifecycle::Open { .. } => is_last_opening && self.lifecycle.is_active(),
            _ => lifecycle == self.lifecycle,
        });
        let at = evaluated_at.filter(|_| entry.by.is_none()).unwrap_or(entry.timestamp);
        let mut issue = Self {
            lifecycle,
            timeline: Timeline::of(until),
            seen: self.seen.without_last(entries.len() - until.len()),
            last_evaluated_at: evaluated_at,
            updated_at: at,
            ..self.clone()
        };
        if !is_last_opening {
            FORGOTTEN.clone_into(&mut issue.summary);
            issue.context = Value::Null;
        }
        Some(PastIssue { issue, at })
    }
}

/// The state of an issue after some entries, of which the first is its opening.
fn lifecycle(entries: &[TimelineEntry]) -> Option<Lifecycle> {
    let (opening, last) = (entries.first()?, entries.last()?);
    let opened_at = opening.timestamp;
    let acknowledged = entries
        .iter()
        .filter(|entry| entry.key == TimelineKey::Acknowledged)
        .find_map(|entry| Some(Acknowledgement { at: entry.timestamp, by: entry.by? }));
    Some(match (last.key, acknowledged) {
        (TimelineKey::Opened, _) => Lifecycle::Open { opened_at },
        (TimelineKey::Acknowledged, taken) => {
            let Acknowledgement { at, by } = taken?;
            Lifecycle::Acknowledged { opened_at, at, by }
        }
        (TimelineKey::Resolved, acknowledged) => {
            let by = last.by.and_then(Responder::member);
            Lifecycle::Resolved { opened_at, acknowledged, at: last.timestamp, by }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::id::{IssueId, SiteId, UserId};
    use crate::issues::record::{acknowledge, resolve};
    use crate::issues::{Fingerprint, SeenTimes};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    /// An issue that a check opened at a slot, and that was written two seconds later.
    fn opened(before: Option<Issue>, second: i64) -> Issue {
        let site = SiteId(Uuid::from_u128(1));
        let lifecycle = Lifecycle::open(at(second));
        let timeline = before.as_ref().map(|issue| issue.timeline.clone()).unwrap_or_default();
        Issue {
            id: IssueId::new(site, Fingerprint::StatusDown, at(0)),
            rev: before.map_or(1, |issue| issue.rev + 1),
            lifecycle,
            timeline: timeline.then(lifecycle),
            seen: SeenTimes::default(),
            chosen_severity: None,
            summary: format!("down since {second}"),
            context: json!({ "failures": 2 }),
            check: None,
            previous_check: None,
            last_evaluated_at: Some(at(second + 2)),
            snoozed_until: None,
            address: None,
            notes: Vec::new(),
            acts: Vec::new(),
            created_at: at(0),
            updated_at: at(second + 2),
        }
    }

    #[test]
    fn an_opening_is_told_as_it_was_written() {
        let first = opened(None, 0);
        let taken = acknowledge(first.clone(), UserId(Uuid::from_u128(7)), at(10)).expect("open");
        let past = taken.after.as_of(0).expect("an entry");
        assert_eq!(past, PastIssue { issue: Issue { rev: 2, ..first }, at: at(2) });
        let past = taken.after.as_of(1).expect("an entry");
        assert_eq!((past.issue.lifecycle, past.at), (taken.after.lifecycle, at(10)));
        assert_eq!(taken.after.as_of(2), None);
    }

    #[test]
    fn of_an_earlier_opening_the_record_tells_who_and_when_and_not_what() {
        let by = UserId(Uuid::from_u128(7));
        let over = resolve(opened(None, 0), by, at(10)).expect("active").after;
        let again = opened(Some(over.clone()), 20);
        let past = again.as_of(1).expect("an entry");
        assert_eq!((past.issue.lifecycle, past.at), (over.lifecycle, at(10)));
        assert_eq!(past.issue.timeline, over.timeline);
        assert_eq!((past.issue.summary.as_str(), past.issue.context), (FORGOTTEN, Value::Null));
        let last = again.as_of(2).expect("an entry");
        assert_eq!(last, PastIssue { issue: again, at: at(22) });
    }

    #[test]
    fn an_end_whose_opening_is_not_kept_is_not_told() {
        let over = Lifecycle::open(at(0)).resolve(at(10), None).expect("active");
        let issue = Issue { timeline: Timeline::default().then(over), ..opened(None, 20) };
        assert_eq!(issue.as_of(0), None);
    }
}
