//! What a channel for people is notified of: the current state of an issue is compared with what the channel was
//! notified of before.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::AlertKind;
use super::channel::{Channel, EventKind, Filter};
use super::ended::EndReason;
use super::reminder::{Reminders, next_before_expiry, next_reminder};
use crate::accounts::team::Team;
use crate::checks::schedule::TimeScale;
use crate::clock::is_ahead;
use crate::id::MonitorId;
use crate::issues::record::Issue;
use crate::issues::{Lifecycle, Outage};
use crate::maintenance::Windows;
use crate::monitor::Monitor;
use crate::sites::settings::{QuietTime, Settings};
use crate::sites::tag::Tags;
use crate::time_zone::NamedZone;

/// What a channel was notified of about an issue that is active as far as it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notified {
    /// The opening that it knows about.
    pub opened_at: Timestamp,
    /// The time up to which reminders were sent or are no longer needed.
    pub reminded_until: Timestamp,
}

/// What decides what is due, besides the issue.
#[derive(Debug, Clone, Copy)]
pub struct AlertPolicy<'a> {
    /// Which alerts the channel wants.
    pub filter: &'a Filter,
    /// Issues that opened before are not for the channel.
    pub since: Timestamp,
    /// The hours in which people get no alerts.
    pub quiet_time: &'a QuietTime,
    /// The time zone of the quiet time.
    pub zone: &'a NamedZone,
    /// The maintenance windows of the team, in which no reminders are sent.
    pub windows: &'a Windows,
    /// The site or heartbeat of the issue.
    pub monitor: MonitorId,
    /// Its tags.
    pub tags: &'a Tags,
    /// Whether the channel is about the site, by its tags.
    pub selects: bool,
    /// When reminders are sent.
    pub reminders: Reminders<'a>,
    /// How long after an opening people are notified of it.
    pub delay: SignedDuration,
    /// How long a monitoring minute is.
    pub time_scale: TimeScale,
    /// Why monitoring of the issue ended, if it did.
    pub ended: Option<EndReason>,
}

impl<'a> AlertPolicy<'a> {
    /// The rules for a channel and an issue of a site, from the team and its settings. `ended` is why monitoring of the
    /// issue ended, if it did.
    pub fn of(
        channel: &'a Channel,
        (team, settings): (&'a Team, &'a Settings),
        monitor: &'a Monitor,
        ended: Option<EndReason>,
        time_scale: TimeScale,
    ) -> Self {
        let Filter { delay_minutes, repeat_minutes, .. } = channel.filter;
        let delay = delay_minutes.map(|minutes| time_scale.minutes(minutes.get()));
        Self {
            ended,
            filter: &channel.filter,
            since: channel.since.unwrap_or(Timestamp::MAX),
            quiet_time: &settings.quiet_time,
            zone: &team.zone,
            windows: &team.windows,
            monitor: monitor.id(),
            tags: monitor.tags(),
            selects: channel.filter.selects(monitor.tags()),
            reminders: match repeat_minutes {
                Some(minutes) => Reminders::Repeat(minutes),
                None => Reminders::Escalation(&settings.escalation),
            },
            delay: delay.and_then(|delay| delay.try_into().ok()).unwrap_or_default(),
            time_scale,
        }
    }

    /// When people are notified of an opening, unless somebody acknowledges it before.
    fn announced_at(&self, opened_at: Timestamp) -> Timestamp {
        opened_at.saturating_add(self.delay).unwrap_or(Timestamp::MAX)
    }

    /// Whether people whose channel has a delay would have been notified of an outage that is over, if nothing else had
    /// held the alert back.
    fn announces(&self, outage: Outage, issue: &Issue) -> bool {
        // An acknowledgement may have been withdrawn, which the timeline does not say.
        let is_acknowledged = match outage.opened_at == issue.lifecycle.opened_at() {
            true => issue.lifecycle.acknowledgement().is_some(),
            false => outage.is_acknowledged,
        };
        let announced_at = self.announced_at(outage.opened_at);
        !is_acknowledged && outage.ended_at.is_some_and(|end| end >= announced_at)
    }

    /// When people whose channel has a delay are notified of an active issue; `None` if somebody has acknowledged it and
    /// no domain is about to expire.
    fn announcement(&self, issue: &Issue) -> Option<Timestamp> {
        let opened_at = issue.lifecycle.opened_at();
        match issue.lifecycle.acknowledgement() {
            Some(_) => next_before_expiry(issue, opened_at),
            None => Some(self.announced_at(opened_at)),
        }
    }

    /// Until when news about an active issue is held back that is due from `due` on: by a snooze, a maintenance window or
    /// quiet time. `None` if it can be sent now.
    pub(super) fn held_until(
        &self,
        issue: &Issue,
        due: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let snoozed = issue.snoozed_until.filter(|until| *until > due.max(now));
        snoozed
            .or_else(|| (due > now).then_some(due))
            .or_else(|| self.windows.until(self.monitor, self.tags, now, now))
            .or_else(|| self.quiet_time.until(now, self.zone))
    }
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Nothing, and nothing will be until the issue opens again. What the channel was notified of can be forgotten.
    Nothing,
    /// Nothing now; `at` says when that changes.
    Later {
        /// When to look again, unless something happens before.
        at: Option<Timestamp>,
        /// What the channel then knows without an alert.
        notified: Option<Notified>,
    },
    /// An alert is due.
    Notify {
        /// What to say.
        news: News,
        /// What the channel knows after it was notified; `None` if nothing needs to be remembered.
        notified: Option<Notified>,
    },
}

/// What people are notified of about an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It is active.
    Opened {
        /// When it was active before, if people were not told that this ended.
        before: Vec<Outage>,
    },
    /// It is still active.
    StillActive {
        /// Since when the reminder is due.
        due: Timestamp,
    },
    /// It is over.
    Resolved {
        /// When it was active between the opening that people know and the last one.
        before: Vec<Outage>,
    },
    /// It was active and is over, and nobody was notified.
    Missed {
        /// When it was active, including the last time.
        outages: Vec<Outage>,
    },
}

impl News {
    /// The kind of news that it is grouped with when there is a lot.
    pub const fn kind(&self) -> AlertKind {
        match self {
            Self::Opened { .. } => AlertKind::Opened,
            Self::Missed { .. } => AlertKind::Missed,
            Self::Resolved { .. } => AlertKind::Resolved,
            Self::StillActive { .. } => AlertKind::Reminder,
        }
    }

    /// Since when people could have been notified.
    pub fn since(&self, issue: &Issue) -> Timestamp {
        let opened_at = issue.lifecycle.opened_at();
        match self {
            Self::Opened { .. } => opened_at,
            Self::Missed { .. } | Self::Resolved { .. } => {
                issue.lifecycle.resolved_at().unwrap_or(opened_at)
            }
            Self::StillActive { due } => *due,
        }
    }
}

impl QuietTime {
    /// The end of the quiet time at an instant; `None` if the instant is not in quiet time. Quiet time begins and ends
    /// when the clocks of the zone show its times. If the clocks skip one of these times, it moves later by as much as
    /// they skip. If they show it twice, the first time counts.
    pub fn until(&self, now: Timestamp, zone: &NamedZone) -> Option<Timestamp> {
        if !self.enabled {
            return None;
        }
        let today = zone.local(now).date();
        // A quiet time that includes midnight began yesterday.
        let first_days = [today.yesterday().ok(), Some(today)].into_iter().flatten();
        let windows = first_days.filter_map(|day| {
            let passes_midnight = self.ends_at < self.starts_at;
            let last_day = if passes_midnight { day.tomorrow().ok()? } else { day };
            let from = zone.instant_of(day.to_datetime(self.starts_at.civil()))?;
            let until = zone.instant_of(last_day.to_datetime(self.ends_at.civil()))?;
            Some(from..until)
        });
        windows.filter(|window| window.contains(&now)).map(|window| window.end).max()
    }
}

impl Filter {
    /// Whether the channel wants news of a kind about an issue.
    pub fn wants(&self, kind: EventKind, issue: &Issue) -> bool {
        let fingerprint = issue.id.fingerprint();
        let wants_event = match kind {
            EventKind::Acknowledged => self.events.contains(&kind),
            kind => is_in(&self.events, &kind),
        };
        wants_event
            && is_in(&self.tools, &fingerprint.tool())
            && is_in(&self.severities, &issue.severity())
    }

    /// Whether the channel is about the sites with these tags.
    pub fn selects(&self, tags: &Tags) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches(tags))
    }

    /// Whether the channel wants any news at all about an issue.
    pub(crate) fn wants_any(&self, issue: &Issue) -> bool {
        EventKind::ALL.iter().any(|kind| self.wants(*kind, issue))
    }
}

fn is_in<T: Ord>(set: &std::collections::BTreeSet<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}

/// What is due about an issue to people who were notified of `notified`. `from` is the first opening that they may not
/// have been notified of.
pub fn due(
    issue: &Issue,
    notified: Option<Notified>,
    from: Timestamp,
    policy: &AlertPolicy<'_>,
    now: Timestamp,
) -> Due {
    let opened_at = issue.lifecycle.opened_at();
    let is_active = issue.lifecycle.is_active();
    if notified.is_none() && opened_at < policy.since {
        return Due::Nothing;
    }
    if notified.is_none() && !is_active && (opened_at < from || !policy.selects) {
        return Due::Nothing;
    }
    let is_known = notified.is_some_and(|notified| notified.opened_at == opened_at);
    let hears_of_end = notified.is_some() && policy.ended.is_some();
    if is_active && !is_known && !policy.selects && !hears_of_end {
        // The site may still get tags that match. Those who know of an earlier opening are notified of the end.
        return Due::Later { at: None, notified };
    }
    let wants = |kind| policy.filter.wants(kind, issue);
    let notify = |news, after| match policy.quiet_time.until(now, policy.zone) {
        Some(end) => Due::Later { at: Some(end), notified },
        None => Due::Notify { news, notified: after },
    };
    let from = notified.map_or(from.max(policy.since), |notified| notified.opened_at);
    let before = || outages(issue, from).filter(|outage| outage.opened_at != opened_at).collect();
    if matches!(issue.lifecycle, Lifecycle::Resolved { .. }) {
        return match notified {
            Some(_) if wants(EventKind::Resolved) => {
                notify(News::Resolved { before: before() }, None)
            }
            None if !policy.delay.is_zero()
                && !outages(issue, from).any(|outage| policy.announces(outage, issue)) =>
            {
                Due::Nothing
            }
            None if wants(EventKind::Opened) => {
                let outages = outages(issue, from).collect();
                notify(News::Missed { outages }, None)
            }
            // It wants only resolutions.
            None if wants(EventKind::Resolved) => notify(News::Resolved { before: before() }, None),
            _ => Due::Nothing,
        };
    }
    if policy.ended.is_some() {
        return match notified {
            Some(_) if wants(EventKind::Resolved) => {
                notify(News::Resolved { before: before() }, None)
            }
            _ => Due::Later { at: None, notified },
        };
    }
    // After the clock was set back, nothing can be counted from an opening.
    let is_countable = !is_ahead(opened_at, now);
    if !is_known && !policy.delay.is_zero() && is_countable {
        let due = policy.announcement(issue);
        let at = due.map(|due| policy.held_until(issue, due, now));
        if at != Some(None) {
            return Due::Later { at: at.flatten(), notified };
        }
    }
    let known = match notified {
        Some(notified) if is_known => notified,
        _ if wants(EventKind::Opened) => {
            let reminded_until = if is_countable { now.max(opened_at) } else { now };
            let notified = Notified { opened_at, reminded_until };
            return notify(News::Opened { before: before() }, Some(notified));
        }
        _ if wants(EventKind::Resolved) || wants(EventKind::Reminder) => {
            Notified { opened_at, reminded_until: opened_at }
        }
        _ => return Due::Nothing,
    };
    let later = |at| Due::Later { at, notified: Some(known) };
    if !wants(EventKind::Reminder) {
        return later(None);
    }
    let next = next_reminder(issue, known.reminded_until, policy.reminders, policy.time_scale);
    let Some(next) = next else { return later(None) };
    let since = issue.snoozed_until.map_or(next, |until| until.max(next));
    if let Some(at) = policy.held_until(issue, next, now) {
        return later(Some(at));
    }
    let notified = Notified { reminded_until: now, ..known };
    Due::Notify { news: News::StillActive { due: since }, notified: Some(notified) }
}

/// The outages since an opening that have ended, as far back as the issue's timeline goes.
fn outages(issue: &Issue, from: Timestamp) -> impl Iterator<Item = Outage> {
    let all = issue.timeline.outages().into_iter();
    all.filter(move |outage| outage.opened_at >= from && outage.ended_at.is_some())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;

    use super::*;
    use crate::sites::settings::TimeOfDay;

    fn quiet(starts_at: &str, ends_at: &str) -> QuietTime {
        let [starts_at, ends_at] =
            [starts_at, ends_at].map(|at| TimeOfDay::parse(at).expect("a time of day"));
        QuietTime { enabled: true, starts_at, ends_at }
    }

    #[test]
    fn quiet_time_has_its_first_minute_and_not_its_last_also_across_midnight() {
        let at = |text: &str| -> Timestamp { text.parse().expect("a timestamp") };
        let day = quiet("12:00", "13:30");
        let night = quiet("22:00", "07:00");
        for (window, now, until) in [
            (day, "2026-11-20T11:59:59Z", None),
            (day, "2026-11-20T12:00:00Z", Some("2026-11-20T13:30:00Z")),
            (day, "2026-11-20T13:29:59.999Z", Some("2026-11-20T13:30:00Z")),
            (day, "2026-11-20T13:30:00Z", None),
            (night, "2026-11-20T21:59:59Z", None),
            (night, "2026-11-20T22:00:00Z", Some("2026-11-21T07:00:00Z")),
            (night, "2026-11-21T00:00:00Z", Some("2026-11-21T07:00:00Z")),
            (night, "2026-11-21T06:59:59Z", Some("2026-11-21T07:00:00Z")),
            (night, "2026-11-21T07:00:00Z", None),
        ] {
            assert_eq!(window.until(at(now), &NamedZone::utc()), until.map(at), "{now}");
        }
        let off = QuietTime { enabled: false, ..night };
        assert_eq!(off.until(at("2026-11-21T00:00:00Z"), &NamedZone::utc()), None);
    }

    #[test]
    fn quiet_time_follows_the_clocks_of_the_zone_through_both_changes_of_a_year() {
        let at = |text: &str| -> Timestamp { text.parse().expect("a timestamp") };
        let berlin = NamedZone::parse("Europe/Berlin").expect("a zone");
        let night = quiet("22:00", "07:00");
        // In the night of 29 March clocks go from 02:00 to 03:00, in that of 25 October from 03:00 to 02:00.
        let (in_gap, over_gap) = (quiet("02:15", "02:45"), quiet("01:30", "02:30"));
        for (window, now, until) in [
            (night, "2026-01-20T20:59:59Z", None),
            (night, "2026-01-20T21:00:00Z", Some("2026-01-21T06:00:00Z")),
            (night, "2026-07-20T20:00:00Z", Some("2026-07-21T05:00:00Z")),
            (night, "2026-07-21T05:00:00Z", None),
            (night, "2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00Z")),
            (night, "2026-03-29T04:59:59Z", Some("2026-03-29T05:00:00Z")),
            (night, "2026-10-24T20:00:00Z", Some("2026-10-25T06:00:00Z")),
            (night, "2026-10-25T05:59:59Z", Some("2026-10-25T06:00:00Z")),
            // A skipped time counts as later by what was skipped.
            (in_gap, "2026-03-29T01:14:59Z", None),
            (in_gap, "2026-03-29T01:15:00Z", Some("2026-03-29T01:45:00Z")),
            (over_gap, "2026-03-29T00:30:00Z", Some("2026-03-29T01:30:00Z")),
            // A time that is shown twice counts once.
            (in_gap, "2026-10-25T00:15:00Z", Some("2026-10-25T00:45:00Z")),
            (in_gap, "2026-10-25T01:15:00Z", None),
            (over_gap, "2026-10-25T00:29:59Z", Some("2026-10-25T00:30:00Z")),
            (over_gap, "2026-10-25T01:00:00Z", None),
        ] {
            assert_eq!(window.until(at(now), &berlin), until.map(at), "{now}");
        }
    }

    proptest! {
        /// In UTC, where clocks never change, the end follows from the minutes alone; in any zone, it is in the future.
        #[test]
        fn quiet_time_ends_ahead(
            second in -2_000_000_000_i64..4_000_000_000,
            starts in 0_i64..1440,
            length in 1_i64..1440,
            zone in prop::sample::select(NamedZone::names()),
        ) {
            let time = |minute: i64| format!("{:02}:{:02}", minute / 60 % 24, minute % 60);
            let window = quiet(&time(starts), &time(starts + length));
            let now = Timestamp::from_second(second).expect("a timestamp");
            let passed = (second.div_euclid(60) - starts).rem_euclid(1440);
            let end = (second.div_euclid(60) - passed + length) * 60;
            let until = (passed < length).then(|| Timestamp::from_second(end).expect("a timestamp"));
            prop_assert_eq!(window.until(now, &NamedZone::utc()), until);
            let zone = NamedZone::parse(&zone).expect("a zone");
            if let Some(until) = window.until(now, &zone) {
                prop_assert!(until > now);
                // A zone may skip a whole day.
                prop_assert!(until.duration_since(now) <= SignedDuration::from_hours(48));
            }
        }
    }
}
