//! When reminders of an active issue are due.

use std::num::NonZeroU32;

use jiff::{SignedDuration, Timestamp};

use crate::checks::schedule::TimeScale;
use crate::clock::is_ahead;
use crate::issues::Fingerprint;
use crate::issues::record::Issue;
use crate::sites::settings::Escalation;

/// The interval that repeats for as long as the issue is active, in minutes.
const DAILY: u32 = 1_440;

/// How many days before a domain expires channels are reminded of its issue, whatever the settings say: losing a domain
/// is worse than an outage.
const DAYS_BEFORE_EXPIRY: [i64; 3] = [14, 7, 1];

/// When people are reminded of an active issue.
#[derive(Debug, Clone, Copy)]
pub enum Reminders<'a> {
    /// At these intervals from the opening.
    Escalation(&'a Escalation),
    /// This many minutes after each alert, until somebody acknowledges the issue.
    Repeat(NonZeroU32),
}

/// The first reminder of an issue after an instant; `None` if there are no more.
pub(crate) fn next_reminder(
    issue: &Issue,
    after: Timestamp,
    reminders: Reminders<'_>,
    time_scale: TimeScale,
) -> Option<Timestamp> {
    let next = match reminders {
        Reminders::Escalation(escalation) => {
            next_interval(issue.lifecycle.opened_at(), after, escalation, time_scale)
        }
        Reminders::Repeat(_) if issue.lifecycle.acknowledgement().is_some() => None,
        Reminders::Repeat(minutes) => after.checked_add(time_scale.minutes(minutes.get())).ok(),
    };
    next.into_iter().chain(next_before_expiry(issue, after)).min()
}

/// The first of the intervals from the opening that ends after an instant. The interval 0 is the alert of the opening
/// itself.
fn next_interval(
    opened_at: Timestamp,
    after: Timestamp,
    escalation: &Escalation,
    time_scale: TimeScale,
) -> Option<Timestamp> {
    let day = SignedDuration::try_from(time_scale.minutes(DAILY)).ok()?;
    if is_ahead(opened_at, after) {
        // The issue opened before the clock was set back, so no interval can be counted from its opening.
        return after.checked_add(day).ok().filter(|_| escalation.enabled);
    }
    let intervals =
        escalation.intervals.iter().filter(|minutes| escalation.enabled && **minutes > 0);
    let escalated = intervals.filter_map(|&minutes| {
        let once = opened_at.checked_add(time_scale.minutes(minutes)).ok()?;
        if minutes != DAILY || once > after {
            return Some(once);
        }
        let passed = after.duration_since(opened_at).as_nanos() / day.as_nanos().max(1);
        let days = i32::try_from(passed).ok()?.checked_add(1)?;
        opened_at.checked_add(day.checked_mul(days)?).ok()
    });
    escalated.filter(|due| *due > after).min()
}

/// The first reminder after an instant of a domain that expires.
pub(crate) fn next_before_expiry(issue: &Issue, after: Timestamp) -> Option<Timestamp> {
    let is_domain = issue.id.fingerprint() == Fingerprint::DnsDomainExpiring;
    let ends_at = issue.ends_at().filter(|_| is_domain);
    let expiry = ends_at.into_iter().flat_map(|expires_at| {
        let before =
            move |days: i64| expires_at.checked_sub(SignedDuration::from_hours(24 * days)).ok();
        DAYS_BEFORE_EXPIRY.into_iter().filter_map(before)
    });
    expiry.filter(|due| *due > after).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::{SiteId, UserId};
    use crate::issues::record::acknowledge;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    const OPENED: &str = "2026-11-20T09:54:00Z";

    fn issue(fingerprint: Fingerprint) -> Issue {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        Issue {
            context: json!({ "measured": { "expires_at": "2026-12-10T00:00:00+00:00" } }),
            ..Issue::opened(site, fingerprint, at(OPENED))
        }
    }

    fn escalation(intervals: &[u32]) -> Escalation {
        Escalation { enabled: true, intervals: intervals.iter().copied().collect() }
    }

    /// The reminders after the opening, as long as there are any, five at most.
    fn reminders(fingerprint: Fingerprint, escalation: &Escalation) -> Vec<String> {
        reminders_of(&issue(fingerprint), Reminders::Escalation(escalation))
    }

    fn reminders_of(issue: &Issue, of: Reminders<'_>) -> Vec<String> {
        let mut after = issue.lifecycle.opened_at();
        let mut reminders = Vec::new();
        while let Some(next) = next_reminder(issue, after, of, TimeScale::default())
            && reminders.len() < 5
        {
            reminders.push(next.to_string());
            after = next;
        }
        reminders
    }

    #[test]
    fn reminders_come_at_their_intervals_and_daily_ones_for_ever() {
        let down = |intervals: &[u32]| reminders(Fingerprint::StatusDown, &escalation(intervals));
        assert_eq!(down(&[0]), [""; 0], "the opening itself");
        assert_eq!(down(&[0, 15, 60]), ["2026-11-20T10:09:00Z", "2026-11-20T10:54:00Z"]);
        let daily = ["21", "22", "23", "24", "25"].map(|day| format!("2026-11-{day}T09:54:00Z"));
        assert_eq!(down(&[1_440]), daily);
        let mixed = down(&[360, 1_440]);
        assert_eq!(mixed[..2], ["2026-11-20T15:54:00Z".to_owned(), daily[0].clone()]);
        let off = Escalation { enabled: false, ..escalation(&[15]) };
        assert_eq!(reminders(Fingerprint::StatusDown, &off), [""; 0]);
    }

    #[test]
    fn a_channel_with_its_own_pace_reminds_until_somebody_acknowledges() {
        let repeat = Reminders::Repeat(NonZeroU32::new(30).expect("not 0"));
        let down = issue(Fingerprint::StatusDown);
        let expected = ["10:24", "10:54", "11:24", "11:54", "12:24"];
        assert_eq!(
            reminders_of(&down, repeat),
            expected.map(|time| format!("2026-11-20T{time}:00Z"))
        );
        let by = UserId(uuid::Uuid::nil());
        let known = |fingerprint| {
            let issue = issue(fingerprint);
            acknowledge(issue, by, at("2026-11-20T10:00:00Z")).expect("it is open").after
        };
        assert_eq!(reminders_of(&known(Fingerprint::StatusDown), repeat), [""; 0]);
        let expiring = reminders_of(&known(Fingerprint::DnsDomainExpiring), repeat);
        assert_eq!(expiring.len(), 3, "a domain must not be lost: {expiring:?}");
    }

    #[test]
    fn the_end_of_a_domain_is_told_again_fourteen_seven_and_one_day_before() {
        let off = Escalation::default();
        let expected = ["2026-11-26T00:00:00Z", "2026-12-03T00:00:00Z", "2026-12-09T00:00:00Z"];
        assert_eq!(reminders(Fingerprint::DnsDomainExpiring, &off), expected);
        assert_eq!(reminders(Fingerprint::DnsLookupFailed, &off), [""; 0]);
    }
}
