//! What a channel that is sent snapshots has to know about an issue, and in which words.
//!
//! The alert is stored with the [`DeliveryState`] before it is sent for the first time. From then on its receiver may
//! know it, so it is repeated until the receiver has been sent its end for a while.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::channel::{EventKind, SnapshotAlert};
use super::compose::{self, AlertSubject};
use super::delivery::DeliveryState;
use super::due::{AlertPolicy, News, Notified};
use super::standing::StandingAlert;
use super::text::{cut, one_line};
use crate::issues::{Fingerprint, Severity};
use crate::monitor::Monitor;

/// The longest label or annotation, in characters.
const TEXT_MAX: usize = 1_000;

impl DeliveryState {
    /// The delivery state of a channel that is sent snapshots, after its issue was looked at; `None` if nothing needs to be
    /// remembered. What the receiver knows is independent of quiet time, in which it would otherwise end by itself.
    /// `is_requested` is whether a person asks to send again what the receiver refused.
    pub(super) fn looked_at(
        &self,
        subject: &AlertSubject<'_>,
        policy: &AlertPolicy<'_>,
        is_requested: bool,
        now: Timestamp,
    ) -> Option<Self> {
        let lifecycle = subject.issue.lifecycle;
        let known = self.standing.as_deref();
        let is_firing = known.is_some_and(StandingAlert::is_active);
        let is_new = known.is_none();
        let is_wanted = lifecycle.is_active()
            && policy.ended.is_none()
            && policy.filter.wants(EventKind::Opened, subject.issue)
            && (!is_new || policy.selects && lifecycle.opened_at() >= policy.since);
        let awake_at = policy.quiet_time.until(now, policy.zone);
        let due = awake_at.filter(|_| is_wanted && !is_firing);
        let standing = match known {
            known if is_wanted && due.is_none() => Some(begun(known, subject, now)),
            Some(known) if is_firing => Some(ended(known, subject, now)),
            known => known.cloned(),
        };
        let standing = standing.map(|new| {
            let is_same = known.is_some_and(|known| known.alert == new.alert);
            Box::new(StandingAlert {
                is_refused: new.is_refused && is_same && !is_requested,
                ..new
            })
        });
        if standing.is_none() && !lifecycle.is_active() {
            return None;
        }
        // The issue of a deleted site is kept for as long as it has an alert.
        let notified = standing.as_ref().map(|standing| Notified {
            opened_at: standing.alert.starts_at,
            reminded_until: standing.changed_at,
        });
        let is_held = self.is_held || due.is_some() || self.missed.is_some();
        let rev = self.rev + 1;
        Some(Self { notified, due, standing, is_held, missed: None, rev, ..self.clone() })
    }

    /// The delivery state without its alert, of whose end the receiver knows.
    #[must_use]
    pub(super) fn without_alert(&self) -> Self {
        Self { standing: None, notified: None, ..self.clone() }
    }
}

/// The alert of an issue that is open.
fn begun(
    known: Option<&StandingAlert>,
    subject: &AlertSubject<'_>,
    now: Timestamp,
) -> StandingAlert {
    let starts_at = subject.issue.lifecycle.opened_at().min(now);
    let before = known.filter(|known| known.is_active() && known.alert.starts_at == starts_at);
    let labels = known.map_or_else(|| labels(subject), |known| known.alert.labels.clone());
    let (annotations, url) = annotations(subject, &News::Opened { before: Vec::new() }, now);
    StandingAlert {
        alert: SnapshotAlert { labels, annotations, starts_at, ends_at: None, url },
        changed_at: before.map_or(now, |before| before.changed_at),
        is_refused: before.is_some_and(|before| before.is_refused),
    }
}

/// An alert that ends, because its issue is over or no longer concerns the channel.
fn ended(known: &StandingAlert, subject: &AlertSubject<'_>, now: Timestamp) -> StandingAlert {
    let (annotations, url) = annotations(subject, &News::Resolved { before: Vec::new() }, now);
    let ends_at = subject.issue.lifecycle.resolved_at().unwrap_or(now);
    let ends_at = Some(ends_at.max(known.alert.starts_at));
    let alert = SnapshotAlert { annotations, ends_at, url, ..known.alert.clone() };
    StandingAlert { alert, changed_at: now, is_refused: false }
}

/// What identifies the alert of an issue. Labels of tags have a prefix, so that they replace no others.
fn labels(subject: &AlertSubject<'_>) -> BTreeMap<String, String> {
    let AlertSubject { issue, monitor, team, .. } = *subject;
    let fingerprint = issue.id.fingerprint();
    let (kind, id) = match monitor {
        Monitor::Site(_) => ("site", "site_id"),
        Monitor::Heartbeat(_) => ("heartbeat", "heartbeat_id"),
    };
    let mut labels = texts([
        ("alertname", alertname(fingerprint)),
        ("severity", issue.severity().to_string()),
        ("tool", fingerprint.tool().to_string()),
        (kind, one_line(monitor.name())),
        (id, monitor.id().to_string()),
        ("issue", issue.id.to_string()),
        ("team", one_line(&team.name)),
    ]);
    for tag in monitor.tags() {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let key = tag.key().replace(|c| !is_valid(c), "_");
        let value = tag.value().unwrap_or("true");
        let values = labels.entry(format!("tag_{key}")).or_default();
        *values = if values.is_empty() { value.to_owned() } else { format!("{values},{value}") };
    }
    labels
}

/// The name of the alerts of a fingerprint: `StatusDown` for `status:down`.
fn alertname(fingerprint: Fingerprint) -> String {
    let words = fingerprint.as_str().split([':', '-', '_']).filter_map(|word| {
        let mut chars = word.chars();
        chars.next().map(|first| format!("{}{}", first.to_ascii_uppercase(), chars.as_str()))
    });
    words.collect()
}

/// What an alert says, and where to read more.
fn annotations(
    subject: &AlertSubject<'_>,
    news: &News,
    now: Timestamp,
) -> (BTreeMap<String, String>, Option<String>) {
    let alert = compose::one(subject, news, now).tamed();
    let annotations = [
        ("summary", Some(alert.title())),
        ("description", Some(alert.lines.join("\n"))),
        ("url", alert.site_url),
        ("runbook", alert.runbook),
    ];
    let annotations = annotations
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), cut(&text?, TEXT_MAX, |_| 1))));
    (annotations.collect(), alert.link.map(|link| link.url))
}

/// An alert that tests a channel. It ends by itself.
pub(super) fn test(
    channel: &str,
    team: &str,
    period: SignedDuration,
    now: Timestamp,
) -> SnapshotAlert {
    let alert = compose::test(channel, team, now).tamed();
    SnapshotAlert {
        labels: texts([
            ("alertname", "VedetteTest".to_owned()),
            ("severity", Severity::Info.to_string()),
            ("channel", alert.name.clone()),
            ("team", one_line(team)),
        ]),
        annotations: texts([("summary", alert.title()), ("description", alert.lines.join("\n"))]),
        starts_at: now,
        ends_at: now.saturating_add(period).ok(),
        url: None,
    }
}

fn texts<const COUNT: usize>(texts: [(&str, String); COUNT]) -> BTreeMap<String, String> {
    texts.map(|(name, text)| (name.to_owned(), text)).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::accounts::plan::Plan;
    use crate::accounts::team::Team;
    use crate::alerts::channel::Filter;
    use crate::alerts::ended::EndReason;
    use crate::alerts::reminder::Reminders;
    use crate::checks::schedule::TimeScale;
    use crate::id::{SiteId, TeamId};
    use crate::issues::record::Issue;
    use crate::maintenance::Windows;
    use crate::sites::settings::{Escalation, QuietTime, TimeOfDay};
    use crate::sites::site::Site;
    use crate::sites::site_url::SiteUrl;
    use crate::sites::tag::Tag;
    use crate::time_zone::NamedZone;

    const PERIOD: SignedDuration = SignedDuration::from_mins(5);

    fn at(minute: i64) -> Timestamp {
        let noon: Timestamp = "2026-11-20T12:00:00Z".parse().expect("a timestamp");
        noon + SignedDuration::from_mins(minute)
    }

    fn site(name: &str, tags: &[&str]) -> Monitor {
        let url = SiteUrl::parse("https://shop.test").expect("a URL");
        let id = SiteId(Uuid::from_u128(7 << 64 | 0x8000 << 48 | 7));
        let site = Site::new(id, TeamId(Uuid::from_u128(7)), url, at(-60));
        let tags = tags.iter().map(|tag| Tag::parse(tag).expect("a tag")).collect();
        Site { name: name.to_owned(), tags, ..site }.into()
    }

    fn opened(site: &Monitor, minute: i64) -> Issue {
        let issue = Issue::opened(site.id(), Fingerprint::StatusDown, at(minute));
        Issue { summary: "HTTP 503".to_owned(), ..issue }
    }

    fn resolved(issue: &Issue, minute: i64) -> Issue {
        let lifecycle = issue.lifecycle.resolve(at(minute), None).expect("active");
        Issue { lifecycle, ..issue.clone() }
    }

    /// What a channel knows after a look at an issue. It is quiet from 13:00 to 14:00.
    fn look(
        before: &DeliveryState,
        (issue, monitor): (&Issue, &Monitor),
        (filter, ended): (&Filter, Option<EndReason>),
        minute: i64,
    ) -> Option<DeliveryState> {
        let team = Team::new(monitor.team(), "Ops\nteam", Plan::Agency, at(-60));
        let [starts_at, ends_at] =
            ["13:00", "14:00"].map(|time| TimeOfDay::parse(time).expect("a time"));
        let policy = AlertPolicy {
            ended,
            filter,
            since: at(-60),
            quiet_time: &QuietTime { enabled: true, starts_at, ends_at },
            zone: &NamedZone::utc(),
            windows: &Windows::default(),
            monitor: monitor.id(),
            tags: monitor.tags(),
            selects: filter.selects(monitor.tags()),
            reminders: Reminders::Escalation(&Escalation {
                enabled: false,
                intervals: [60].into(),
            }),
            delay: SignedDuration::ZERO,
            time_scale: TimeScale::default(),
        };
        let subject = AlertSubject {
            issue,
            monitor,
            team: &team,
            zone: &team.zone,
            acknowledged_by: None,
            resolved_by: None,
            base_url: Some("https://vedette.test"),
            ended,
            channel: None,
        };
        before.looked_at(&subject, &policy, false, at(minute))
    }

    fn new(issue: &Issue) -> DeliveryState {
        DeliveryState::new(issue.id, issue.lifecycle.opened_at(), at(0))
    }

    /// When an alert starts and ends, and when the issue is due, in minutes.
    fn times(delivery: Option<&DeliveryState>) -> String {
        let Some(delivery) = delivery else { return "forgotten".to_owned() };
        let minute = |of: Timestamp| of.duration_since(at(0)).as_mins();
        let alert = delivery.standing.as_ref().map(|standing| &standing.alert);
        let due = delivery.due.map_or(String::new(), |due| format!("due {}", minute(due)));
        let alert = alert.map_or(String::new(), |alert| {
            let end = alert.ends_at.map_or(String::new(), |end| minute(end).to_string());
            format!("{}..{end} ", minute(alert.starts_at))
        });
        format!("{alert}{due}").trim().to_owned()
    }

    #[test]
    fn an_alert_has_what_people_route_by() {
        let site = site("Shop \u{202e}\n EU", &["env:prod", "env:eu", "legacy", "a.b-c:x/y"]);
        let issue = opened(&site, 0);
        let known = look(&new(&issue), (&issue, &site), (&Filter::default(), None), 0);
        let standing = known.and_then(|known| known.standing).expect("an alert");
        let (site, id) = (site.id(), issue.id);
        assert_eq!(
            serde_json::to_value(standing.sent(PERIOD, at(2))).expect("JSON"),
            json!({
                "labels": {
                    "alertname": "StatusDown",
                    "severity": "critical",
                    "tool": "status",
                    "site": "Shop EU",
                    "site_id": site,
                    "issue": id,
                    "team": "Ops team",
                    "tag_env": "eu,prod",
                    "tag_legacy": "true",
                    "tag_a_b_c": "x/y",
                },
                "annotations": {
                    "summary": "DOWN: Shop EU",
                    "description": "HTTP 503.",
                    "url": "https://shop.test",
                },
                "startsAt": "2026-11-20T12:00:00Z",
                "endsAt": "2026-11-20T12:17:00Z",
                "generatorURL": format!("https://vedette.test/issues/{id}"),
            })
        );
        let names = Fingerprint::ALL.map(alertname);
        assert!(names.contains(&"BrokenLinksThreshold".to_owned()), "{names:?}");
    }

    #[test]
    fn an_alert_begins_and_ends_with_its_issue() {
        let (shop, all) = (site("Shop", &[]), Filter::default());
        let issue = opened(&shop, 0);
        let warnings = Filter { severities: [Severity::Warning].into(), ..Filter::default() };
        let known = look(&new(&issue), (&issue, &shop), (&all, None), 1).expect("known");
        let over = resolved(&issue, 9);
        let ended = look(&known, (&over, &shop), (&all, None), 10).expect("known");
        let again = opened(&shop, 12);
        let renamed = site("Other", &["env:prod"]);
        let paused = (&all, Some(EndReason::SitePaused));
        for (what, before, issue, rules, minute, expected) in [
            ("it opens", new(&issue), &issue, (&all, None), 1, "0.."),
            ("it goes on", known.clone(), &issue, (&all, None), 3, "0.."),
            ("it is over", known.clone(), &over, (&all, None), 10, "0..9"),
            ("it stays so", ended.clone(), &over, (&all, None), 11, "0..9"),
            ("it opens again", ended.clone(), &again, (&all, None), 13, "12.."),
            ("nobody saw it", new(&over), &over, (&all, None), 10, "forgotten"),
            ("monitoring ends", known.clone(), &issue, paused, 7, "0..7"),
            ("it is unmonitored", new(&issue), &issue, paused, 7, ""),
            ("no longer wanted", known.clone(), &issue, (&warnings, None), 7, "0..7"),
            ("in quiet time", new(&issue), &issue, (&all, None), 70, "due 120"),
            ("known before", known.clone(), &issue, (&all, None), 70, "0.."),
            ("over in it", known.clone(), &over, (&all, None), 70, "0..9"),
            ("again in it", ended, &again, (&all, None), 70, "0..9 due 120"),
            ("the clock was set back", new(&issue), &issue, (&all, None), -30, "-30.."),
        ] {
            let next = look(&before, (issue, &renamed), rules, minute);
            assert_eq!(times(next.as_ref()), expected, "{what}");
            let labels =
                |of: &DeliveryState| of.standing.as_ref().map(|of| of.alert.labels.clone());
            if let (Some(labels_before), Some(next)) = (labels(&before), next) {
                assert_eq!(labels(&next), Some(labels_before), "{what}");
            }
        }
    }

    #[test]
    fn a_refused_alert_is_sent_again_once_it_changes() {
        let (shop, all) = (site("Shop", &[]), Filter::default());
        let issue = opened(&shop, 0);
        let mut known = look(&new(&issue), (&issue, &shop), (&all, None), 1).expect("known");
        known.standing.iter_mut().for_each(|standing| standing.is_refused = true);
        let worse = Issue { summary: "HTTP 500".to_owned(), ..issue.clone() };
        for (issue, expected) in [(&issue, true), (&worse, false), (&resolved(&issue, 2), false)] {
            let next = look(&known, (issue, &shop), (&all, None), 3).expect("known");
            assert_eq!(next.standing.map(|standing| standing.is_refused), Some(expected));
        }
    }

    #[test]
    fn an_end_is_repeated_for_a_period() {
        let (shop, all) = (site("Shop", &[]), Filter::default());
        let issue = opened(&shop, 0);
        let known = look(&new(&issue), (&issue, &shop), (&all, None), 1).expect("known");
        let ended = look(&known, (&resolved(&issue, 9), &shop), (&all, None), 10).expect("known");
        for (delivery, minute, expected) in
            [(&known, 60, false), (&ended, 14, false), (&ended, 15, true), (&ended, 5, true)]
        {
            let standing = delivery.standing.as_ref().expect("an alert");
            assert_eq!(standing.is_expired(PERIOD, at(minute)), expected, "{minute}");
        }
    }

    proptest! {
        #[test]
        fn alertmanager_accepts_every_alert(
            name in "\\PC{0,300}",
            tags in proptest::collection::btree_set("[a-z0-9][a-z0-9_.-]{0,10}(:[a-z0-9_./-]{1,10})?", 0..10),
            summary in "(?s).{0,2000}",
        ) {
            let tags: Vec<_> = tags.iter().map(String::as_str).collect();
            let site = site(&name, &tags);
            let issue = Issue { summary, ..opened(&site, 0) };
            let known = look(&new(&issue), (&issue, &site), (&Filter::default(), None), 1);
            let alert = known.and_then(|known| known.standing).expect("an alert").sent(PERIOD, at(2));
            for label in alert.labels.keys() {
                let mut bytes = label.bytes();
                prop_assert!(bytes.next().is_some_and(|first| first.is_ascii_alphabetic()), "{}", label);
                prop_assert!(bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{}", label);
            }
            prop_assert_eq!(&alert.labels["alertname"], "StatusDown");
            let texts = alert.labels.values().chain(alert.annotations.values());
            prop_assert!(texts.map(|text| text.chars().count()).all(|length| length <= TEXT_MAX));
            prop_assert!(alert.ends_at > Some(alert.starts_at));
        }
    }
}
