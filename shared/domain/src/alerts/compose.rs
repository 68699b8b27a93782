//! The words of an alert. They are composed once for all channels, from the issue, the site and the team.

use jiff::{SignedDuration, Timestamp};

use super::channel::Channel;
use super::due::News;
use super::ended::EndReason;
use super::missed::{MISSED_MAX, MISSED_TIME};
use super::reader_link::ReaderLink;
use super::{Alert, AlertKind, Fact, Link, Thread, link};
use crate::accounts::team::Team;
use crate::issues::past_tense::past;
use crate::issues::record::Issue;
use crate::issues::{Fingerprint, Outage, Responder, TimelineKey};
use crate::locations::Votes;
use crate::monitor::Monitor;
use crate::time::duration;
use crate::time_zone::NamedZone;

/// An issue with everything else that its alert mentions.
#[derive(Debug, Clone, Copy)]
pub struct AlertSubject<'a> {
    /// The issue.
    pub issue: &'a Issue,
    /// The site or heartbeat.
    pub monitor: &'a Monitor,
    /// Its team.
    pub team: &'a Team,
    /// The time zone of the times in the alert.
    pub zone: &'a NamedZone,
    /// The name of the member who acknowledged it.
    pub acknowledged_by: Option<&'a str>,
    /// The name of the user who resolved it by hand.
    pub resolved_by: Option<&'a str>,
    /// The base URL of the dashboard, without a trailing slash; `None` if it is not configured.
    pub base_url: Option<&'a str>,
    /// Why monitoring ended, if that is why the issue is over for its readers.
    pub ended: Option<EndReason>,
    /// The channel that gets the alert; `None` on a page.
    pub channel: Option<&'a Channel>,
}

/// How many characters of a site's notes, its runbook, are shown.
const RUNBOOK_MAX: usize = 300;
/// From this many openings within [`FLAPPING_TIME`], an alert says how many there were.
const FLAPPING: usize = 5;
const FLAPPING_TIME: SignedDuration = SignedDuration::from_hours(24);

/// The current state while an issue of a fingerprint is active, in capitals.
pub(super) const fn active(fingerprint: Fingerprint) -> &'static str {
    match fingerprint {
        Fingerprint::StatusDown => "DOWN",
        Fingerprint::StatusPartial => "PARTLY DOWN",
        Fingerprint::StatusExpectation => "EXPECTATION NOT MET",
        Fingerprint::StatusSlow => "SLOW",
        Fingerprint::SslInvalid => "CERTIFICATE INVALID",
        Fingerprint::SslExpiring => "CERTIFICATE EXPIRING",
        Fingerprint::DnsLookupFailed => "DNS LOOKUP FAILING",
        Fingerprint::DnsRecordsMissing => "DNS RECORDS MISSING",
        Fingerprint::DnsRecordsChanged => "DNS RECORDS CHANGED",
        Fingerprint::DnsDomainExpiring => "DOMAIN EXPIRING",
        Fingerprint::BrokenLinksThreshold => "BROKEN LINKS",
        Fingerprint::PerformanceBudget => "LOW PERFORMANCE",
        Fingerprint::HeartbeatDown => "NOT REPORTING",
        Fingerprint::HeartbeatRunningLong => "RUNNING LONG",
    }
}

/// An alert about one issue.
pub fn one(subject: &AlertSubject<'_>, news: &News, now: Timestamp) -> Alert {
    let AlertSubject { issue, monitor, team, zone, base_url, .. } = *subject;
    let instant = |at| zone.minute(at);
    let fingerprint = issue.id.fingerprint();
    let opened_at = issue.lifecycle.opened_at();
    let word = active(fingerprint);
    let problem = issue.problem();
    let lasted = duration(problem.lasted(now));
    let over_at = problem.ended_at.unwrap_or(now);
    let mut facts = Vec::new();
    let mut fact = |label, value: String| facts.push(Fact { label, value });
    fact("Severity", issue.severity().to_string());
    fact("Since", instant(problem.began_at));
    let (kind, state, mut lines, at) = match news {
        News::Opened { before } => {
            if let Some(failures) = issue.context["failures"].as_u64().filter(|count| *count > 1) {
                fact("Failed checks", format!("{failures} in a row"));
            }
            let mut lines = vec![subject.problem()];
            lines.extend(Votes::read(&issue.context).sentences());
            lines.extend(list_outages(before, zone, now));
            (AlertKind::Opened, word.to_owned(), lines, opened_at)
        }
        News::StillActive { .. } => {
            fact("Duration", lasted.clone());
            let lines = [subject.problem()].into_iter().chain(subject.acknowledged_by()).collect();
            (AlertKind::Reminder, format!("STILL {word} {lasted}"), lines, now)
        }
        News::Resolved { before } => {
            fact("Until", instant(over_at));
            fact("Duration", lasted);
            let (state, mut lines) = match subject.stopped() {
                Some(stopped) => ("MONITORING STOPPED", vec![stopped, subject.problem()]),
                None => {
                    let resolution = format!("Resolved{}.", subject.end(now));
                    ("RESOLVED", vec![resolution, subject.past_problem()])
                }
            };
            lines.extend(list_outages(before, zone, now));
            (AlertKind::Resolved, state.to_owned(), lines, over_at)
        }
        News::Missed { outages } => {
            fact("Until", instant(over_at));
            fact("Duration", lasted);
            let end = format!("Resolved{}, before this alert could be sent.", subject.end(now));
            let mut lines = vec![subject.past_problem(), end];
            let before: Vec<_> =
                outages.iter().copied().filter(|outage| outage.opened_at != opened_at).collect();
            lines.extend(list_outages(&before, zone, now));
            (AlertKind::Missed, format!("WAS {word}"), lines, over_at)
        }
    };
    if let Some(ends_at) = issue.ends_at().filter(|_| !kind.is_over()) {
        let left = duration(ends_at.duration_since(now).abs());
        facts.push(match ends_at > now {
            true => Fact { label: "Time left", value: left },
            false => Fact { label: "Expired", value: format!("{left} ago") },
        });
    }
    lines.extend(flapping(issue, now));
    facts.push(Fact { label: "Team", value: team.name.clone() });
    Alert {
        kind,
        state,
        name: monitor.name().to_owned(),
        lines,
        facts,
        severity: (!kind.is_over()).then(|| issue.severity()),
        site_url: monitor.site().map(|site| site.url.as_str().to_owned()),
        link: base_url.map(|base| Link { text: "Open issue", url: link::issue(base, issue.id) }),
        respond: if kind.is_over() { None } else { subject.reader_link(now) },
        runbook: if kind.is_over() { None } else { monitor.notes().and_then(runbook) },
        thread: Some(Thread { issue: issue.id, opened_at }),
        at,
    }
}

/// An alert that tests a channel.
pub fn test(channel: &str, team: &str, now: Timestamp) -> Alert {
    Alert {
        kind: AlertKind::Test,
        state: "TEST".to_owned(),
        name: channel.to_owned(),
        lines: vec!["This channel works. Alerts about your sites will arrive here.".to_owned()],
        facts: vec![Fact { label: "Team", value: team.to_owned() }],
        severity: None,
        site_url: None,
        link: None,
        respond: None,
        runbook: None,
        thread: None,
        at: now,
    }
}

/// The same, if it comes every week.
pub fn weekly_test(channel: &str, team: &str, now: Timestamp) -> Alert {
    let lines = vec!["This is the weekly test of this channel. It works.".to_owned()];
    Alert { lines, ..test(channel, team, now) }
}

/// An alert that tells a team that one of its other channels does not work. `page` is the URL of that channel's page.
pub fn broken_channel(
    channel: &str,
    reason: &str,
    team: &str,
    page: Option<String>,
    now: Timestamp,
) -> Alert {
    Alert {
        kind: AlertKind::Notice,
        state: "CHANNEL NOT WORKING".to_owned(),
        name: channel.to_owned(),
        lines: vec![
            format!("Alerts are not reaching this channel: {}", sentence(reason)),
            "Fix the cause. If the channel was disabled, enable it again.".to_owned(),
        ],
        link: page.map(|url| Link { text: "View channel", url }),
        ..test(channel, team, now)
    }
}

/// An alert that tells a team's owners that a site can't be checked. `since` is a local time, and `page` the URL of the
/// site's page.
pub fn unchecked(
    name: &str,
    since: &str,
    reason: &str,
    team: &str,
    page: Option<String>,
    now: Timestamp,
) -> Alert {
    Alert {
        kind: AlertKind::Notice,
        state: "CANNOT BE CHECKED".to_owned(),
        name: name.to_owned(),
        lines: vec![
            format!("No check of this site could run since {since}: {}", sentence(reason)),
            "Until one can, you will not hear of an outage of the site. Its page says what to do."
                .to_owned(),
        ],
        link: page.map(|url| Link { text: "View site", url }),
        ..test(name, team, now)
    }
}

/// An alert that tells the readers of a channel that was off that they do not get everything that happened.
pub fn missed(
    channel: &str,
    (since, until): (Timestamp, Timestamp),
    events_url: Option<String>,
    team: &Team,
    zone: &NamedZone,
) -> Alert {
    Alert {
        kind: AlertKind::Notice,
        state: "ALERTS NOT SENT".to_owned(),
        lines: vec![
            format!(
                "This channel was disabled, and alerts from {} to {} were not sent: there were more than \
                 {MISSED_MAX} of them, or some were older than {} days.",
                zone.minute(since),
                zone.minute(until),
                MISSED_TIME.as_hours() / 24
            ),
            "You will still get alerts about issues that are open now.".to_owned(),
        ],
        link: events_url.map(|url| Link { text: "View events", url }),
        ..test(channel, &team.name, until)
    }
}

impl AlertSubject<'_> {
    /// What is wrong: `example.com is down: HTTP 503 Service Unavailable.`
    pub(super) fn problem(&self) -> String {
        sentence(&self.issue.summary)
    }

    /// What was wrong: `example.com was down: HTTP 503 Service Unavailable.`
    pub(super) fn past_problem(&self) -> String {
        sentence(&past(self.issue.id.fingerprint(), &self.issue.summary))
    }

    /// `Monitoring stopped: the site was paused.`
    pub(super) fn stopped(&self) -> Option<String> {
        self.ended.map(|reason| format!("Monitoring stopped: {}.", reason.as_clause()))
    }

    /// `Acknowledged by Ada.`
    pub(super) fn acknowledged_by(&self) -> Option<String> {
        let name = match self.issue.lifecycle.acknowledgement()?.by {
            Responder::Member(_) => self.acknowledged_by?,
            Responder::Reader { channel } => match self.channel {
                None => "a reader of a channel",
                Some(own) if own.id == channel => "a reader of this channel",
                Some(_) => "a reader of another channel",
            },
        };
        Some(format!("Acknowledged by {name}."))
    }

    /// Where the readers of the channel respond to the issue.
    fn reader_link(&self, now: Timestamp) -> Option<Link> {
        let channel = self.channel.filter(|channel| !channel.filter.without_links)?;
        let url = ReaderLink::new(self.issue, now).url(self.base_url?, channel);
        Some(Link { text: "Acknowledge or snooze", url })
    }

    /// How the issue ended, to follow the word `Resolved`: ` by Ada after 12 min`.
    pub(super) fn end(&self, now: Timestamp) -> String {
        let lasted = duration(self.issue.problem().lasted(now));
        match (self.resolved_by, self.issue.lifecycle.resolved_by()) {
            (Some(name), _) => format!(" by {name} after {lasted}"),
            // That user has left since.
            (None, Some(_)) => format!(" manually after {lasted}"),
            (None, None) => format!(" after {lasted}"),
        }
    }
}

/// `This also happened at 2026-11-21 12:01 UTC, for 19 min, and 3 times before that.`
fn list_outages(outages: &[Outage], zone: &NamedZone, now: Timestamp) -> Option<String> {
    let (last, earlier) = outages.split_last()?;
    let (from, lasted) = (zone.minute(last.opened_at), duration(last.lasted(now)));
    let shown = format!("This also happened at {from}, for {lasted}");
    Some(match earlier.len() {
        0 => format!("{shown}."),
        1 => format!("{shown}, and once before that."),
        times => format!("{shown}, and {times} times before that."),
    })
}

fn flapping(issue: &Issue, now: Timestamp) -> Option<String> {
    let entries = issue.timeline.entries().iter();
    let openings = entries.filter(|entry| {
        entry.key == TimelineKey::Opened && now.duration_since(entry.timestamp) < FLAPPING_TIME
    });
    let count = openings.count();
    (count >= FLAPPING)
        .then(|| format!("This issue has opened {count} times in the last 24 hours."))
}

/// A text as a sentence. Only an article is capitalized; a host stays as it is.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut sentence = match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => text.to_owned(),
    };
    if !text.is_empty() && !text.ends_with(['.', '!', '?', '…']) {
        sentence.push('.');
    }
    sentence
}

fn runbook(notes: &str) -> Option<String> {
    let notes = notes.trim();
    let cut: String = notes.chars().take(RUNBOOK_MAX).collect();
    (!cut.is_empty()).then(|| if cut.len() < notes.len() { format!("{cut}…") } else { cut })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::accounts::plan::Plan;
    use crate::id::{SiteId, TeamId};
    use crate::issues::Timeline;
    use crate::sites::site::Site;
    use crate::sites::site_url::SiteUrl;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn alerts_about_an_expiry_say_how_long_is_left_today() {
        let opened_at = at("2026-11-20T12:00:00Z");
        let id = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let team = TeamId::parse("7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13").expect("a team id");
        let url = SiteUrl::parse("https://example.com").expect("a URL");
        let monitor = Site::new(id, team, url, opened_at).into();
        for (fingerprint, measured) in [
            (Fingerprint::DnsDomainExpiring, json!({ "expires_at": "2026-12-20T12:00:00+00:00" })),
            (Fingerprint::SslExpiring, json!({ "valid_to": "2026-12-20 12:00:00" })),
        ] {
            let issue = Issue {
                timeline: Timeline::default(),
                summary: "it expires on 2026-12-20".to_owned(),
                context: json!({ "measured": measured }),
                ..Issue::opened(id, fingerprint, opened_at)
            };
            let (issue, monitor) = (&issue, &monitor);
            let subject = AlertSubject {
                issue,
                monitor,
                team: &Team::new(team, "Ops", Plan::Starter, opened_at),
                zone: &NamedZone::utc(),
                acknowledged_by: None,
                resolved_by: None,
                base_url: None,
                ended: None,
                channel: None,
            };
            for (now, label, value) in [
                ("2026-12-13T12:00:00Z", "Time left", "7 d"),
                ("2026-12-20T10:30:00Z", "Time left", "1 h 30 min"),
                ("2026-12-22T12:00:00Z", "Expired", "2 d ago"),
            ] {
                let alert = one(&subject, &News::StillActive { due: at(now) }, at(now));
                let fact = Fact { label, value: value.to_owned() };
                assert!(alert.facts.contains(&fact), "{now}: {:?}", alert.facts);
            }
        }
    }
}
