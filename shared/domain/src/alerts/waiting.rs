//! What people still need to hear about an issue, and when it is due.

use jiff::{SignedDuration, Timestamp};

use super::delivery::DeliveryState;
use super::due::{AlertPolicy, Due, News, due};
use crate::issues::record::Issue;
use crate::sites::settings::QuietTime;

/// News that people have not heard yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What they would be notified of now.
    pub news: News,
    /// When it is sent; `None` if the channel is off.
    pub due: Option<Timestamp>,
}

impl DeliveryState {
    /// What waits to be sent about an issue; `None` if people know everything. A reminder waits from the time when it
    /// is due, and an opening from the start, even if the channel has a delay.
    pub fn waiting(
        &self,
        issue: &Issue,
        policy: &AlertPolicy<'_>,
        now: Timestamp,
    ) -> Option<Waiting> {
        let awake = QuietTime { enabled: false, ..*policy.quiet_time };
        let lifecycle = issue.lifecycle;
        let waits = lifecycle.is_active() && lifecycle.acknowledgement().is_none();
        let delay = if waits { SignedDuration::ZERO } else { policy.delay };
        let awake = AlertPolicy { quiet_time: &awake, delay, ..*policy };
        let Due::Notify { news, .. } = due(issue, self.notified, self.from, &awake, now) else {
            return None;
        };
        let due = self
            .due
            .map(|due| due.max(policy.quiet_time.until(due.max(now), policy.zone).unwrap_or(due)));
        Some(Waiting { news, due })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::Filter;
    use crate::alerts::due::Notified;
    use crate::alerts::reminder::Reminders;
    use crate::checks::schedule::TimeScale;
    use crate::id::SiteId;
    use crate::issues::Fingerprint;
    use crate::maintenance::Windows;
    use crate::sites::settings::{Escalation, TimeOfDay};
    use crate::sites::tag::Tags;
    use crate::time_zone::NamedZone;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn alerts_wait_until_they_are_due_and_quiet_time_is_over() {
        let opened_at = at("2026-11-20T09:54:00Z");
        let site = SiteId(Uuid::from_u128(7));
        let issue = Issue::opened(site, Fingerprint::StatusDown, opened_at);
        let [starts_at, ends_at] =
            ["10:00", "11:00"].map(|time| TimeOfDay::parse(time).expect("a time of day"));
        let quiet = |enabled| QuietTime { enabled, starts_at, ends_at };
        let escalation = Escalation { enabled: true, intervals: [60].into() };
        let now = opened_at + SignedDuration::from_mins(1);
        let waiting = |notified, due, is_quiet| {
            let delivery = DeliveryState {
                notified,
                due,
                ..DeliveryState::new(issue.id, opened_at, opened_at)
            };
            let (filter, quiet_time) = (Filter::default(), quiet(is_quiet));
            let policy = AlertPolicy {
                ended: None,
                filter: &filter,
                since: opened_at,
                quiet_time: &quiet_time,
                zone: &NamedZone::utc(),
                windows: &Windows::default(),
                monitor: site,
                tags: &Tags::new(),
                selects: true,
                reminders: Reminders::Escalation(&escalation),
                delay: SignedDuration::ZERO,
                time_scale: TimeScale::default(),
            };
            delivery.waiting(&issue, &policy, now)
        };
        let opening = |due| Some(Waiting { news: News::Opened { before: Vec::new() }, due });
        let due = Some(at("2026-11-20T10:04:00Z"));
        assert_eq!(waiting(None, due, false), opening(due));
        assert_eq!(waiting(None, due, true), opening(Some(at("2026-11-20T11:00:00Z"))));
        assert_eq!(waiting(None, None, false), opening(None), "nothing is sent to the channel");
        let notified = Some(Notified { opened_at, reminded_until: opened_at });
        assert_eq!(waiting(notified, due, false), None, "a reminder is due in an hour");
    }
}
