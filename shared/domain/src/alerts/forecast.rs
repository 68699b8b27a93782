//! When a channel would be notified of an issue.

use jiff::Timestamp;

use super::channel::{Channel, EventKind};
use super::due::{AlertPolicy, Due, due};
use crate::accounts::team::Team;
use crate::checks::schedule::TimeScale;
use crate::checks::tool::Tool;
use crate::issues::record::Issue;
use crate::issues::{Fingerprint, Severity};
use crate::monitor::Monitor;
use crate::sites::settings::Settings;

/// How often an alert may be held back: by a delay, by quiet time, and by some maintenance windows.
const HELD_MAX: usize = 20;

/// An issue that could open.
#[derive(Debug, Clone, Copy)]
pub struct PossibleIssue<'a> {
    /// Its site.
    pub monitor: &'a Monitor,
    /// The tool that would find it.
    pub tool: Tool,
    /// Its severity.
    pub severity: Severity,
    /// When it would open.
    pub at: Timestamp,
}

impl Channel {
    /// When the channel, if it works, would be notified of an issue that nobody acknowledges; `None` if never. In a
    /// maintenance window, issues open at its end.
    pub fn would_be_notified_at(
        &self,
        PossibleIssue { monitor, tool, severity, at }: PossibleIssue<'_>,
        (team, settings): (&Team, &Settings),
        time_scale: TimeScale,
    ) -> Option<Timestamp> {
        let mut opened_at = at;
        for _ in 0..HELD_MAX {
            match team.windows.until(monitor.id(), monitor.tags(), opened_at, opened_at) {
                Some(end) => opened_at = end,
                None => break,
            }
        }
        let fingerprint = Fingerprint::ALL.into_iter().find(|one| one.tool() == tool)?;
        let issue = Issue {
            chosen_severity: Some(severity),
            ..Issue::opened(monitor.id(), fingerprint, opened_at)
        };
        let policy = AlertPolicy::of(self, (team, settings), monitor, None, time_scale);
        let policy = AlertPolicy { since: opened_at, ..policy };
        if !self.target.is_for_people() {
            let quiet_until = || policy.quiet_time.until(opened_at, policy.zone);
            let wants = policy.selects && self.filter.wants(EventKind::Opened, &issue);
            return wants.then(|| quiet_until().unwrap_or(opened_at));
        }
        let mut now = opened_at;
        for _ in 0..HELD_MAX {
            now = match due(&issue, None, opened_at, &policy, now) {
                Due::Notify { .. } => return Some(now),
                Due::Later { at: Some(next), .. } if next > now => next,
                _ => return None,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use uuid::Uuid;

    use super::*;
    use crate::accounts::plan::Plan;
    use crate::alerts::channel::slack::Slack;
    use crate::alerts::channel::webhook::Webhook;
    use crate::alerts::channel::{Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, Target};
    use crate::id::{ChannelId, SiteId, TeamId};
    use crate::sites::selector::Selector;
    use crate::sites::settings::{QuietTime, TimeOfDay};
    use crate::sites::site::Site;
    use crate::sites::site_url::SiteUrl;
    use crate::sites::tag::Tag;

    #[test]
    fn tags_severities_delays_and_quiet_time_decide_when_a_channel_is_notified() {
        let at = |text: &str| -> Timestamp { text.parse().expect("a timestamp") };
        let url = || SecretUrl::new("https://receiver.test/x");
        let people = Target::Slack(Slack { url: url() });
        let keys = SigningKeys::new(SigningKey::from_random([7; SigningKey::BYTES]));
        let program = Target::Webhook(Webhook { url: url(), keys });
        let now = at("2026-11-20T09:54:00Z");
        let team = Team::new(TeamId(Uuid::from_u128(2)), "Ops", Plan::Starter, now);
        let mut settings = Settings::defaults(Plan::Starter);
        let [starts_at, ends_at] =
            ["10:00", "11:00"].map(|time| TimeOfDay::parse(time).expect("a time of day"));
        settings.quiet_time = QuietTime { enabled: true, starts_at, ends_at };
        let site_url = SiteUrl::parse("https://shop.example.com").expect("a URL");
        let mut site = Site::new(SiteId(Uuid::from_u128(7)), team.id, site_url, now);
        site.tags.insert(Tag::parse("env:prod").expect("a tag"));
        let site = Monitor::from(site);
        let when = |target: &Target, filter: Filter, severity, time: &str| {
            let (id, key) =
                (ChannelId(Uuid::from_u128(1)), LinkKey::from_random([7; LinkKey::BYTES]));
            let channel = Channel::new(id, team.id, "Ops", target.clone(), filter, key, now);
            let at = at(&format!("2026-11-20T{time}:00Z"));
            let issue = PossibleIssue { monitor: &site, tool: Tool::Status, severity, at };
            let notified_at =
                channel.would_be_notified_at(issue, (&team, &settings), TimeScale::default());
            notified_at.map(|at| at.strftime("%H:%M").to_string())
        };
        let filter = |selector: &str, minutes| Filter {
            selector: Selector::parse(selector).ok(),
            severities: [Severity::Critical].into(),
            delay_minutes: NonZeroU32::new(minutes),
            ..Filter::default()
        };
        use Severity::{Critical, Info};
        for (target, selector, minutes, severity, time, notified_at) in [
            (&people, "", 0, Critical, "09:00", Some("09:00")),
            (&people, "", 0, Info, "09:00", None),
            (&people, "env", 0, Critical, "09:00", Some("09:00")),
            (&people, "!env", 0, Critical, "09:00", None),
            (&people, "", 30, Critical, "09:00", Some("09:30")),
            (&people, "", 30, Critical, "09:45", Some("11:00")),
            (&people, "", 90, Critical, "09:45", Some("11:15")),
            (&program, "", 0, Critical, "09:00", Some("09:00")),
            (&program, "", 0, Critical, "10:30", Some("11:00")),
            (&program, "!env", 0, Critical, "09:00", None),
        ] {
            let found = when(target, filter(selector, minutes), severity, time);
            assert_eq!(found.as_deref(), notified_at, "{selector} {minutes} {severity} {time}");
        }
    }
}
