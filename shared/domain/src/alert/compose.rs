//! The words of an alert, made once for all channels from issue, site and team.

use jiff::{SignedDuration, Timestamp};

use super::due::{News, Outage};
use super::ended::EndReason;
use super::missed::{MISSED_MAX, MISSED_TIME};
use super::{Alert, AlertKind, Fact, Link, Thread, link};
use crate::issue::record::Issue;
use crate::issue::{Fingerprint, Lifecycle, TimelineKey};
use crate::site::Site;
use crate::time::{duration, instant};

/// An issue with what an alert says beside it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The issue.
    pub issue: &'a Issue,
    /// Its site.
    pub site: &'a Site,
    /// The name of the site's team.
    pub team: &'a str,
    /// The name of who acknowledged it.
    pub acknowledged_by: Option<&'a str>,
    /// Where the service's pages are, without a slash at the end; none where nobody said.
    pub base_url: Option<&'a str>,
    /// Why monitoring ended, where the issue is over for its readers because of that.
    pub ended: Option<EndReason>,
}

impl Subject<'_> {
    /// What is wrong, or why nobody looks any more.
    fn summary(&self) -> String {
        match self.ended {
            Some(reason) => format!("Monitoring stopped: {}.", reason.as_clause()),
            None => sentence(&self.issue.summary),
        }
    }
}

/// Characters of a site's notes that are shown: they are its runbook.
const RUNBOOK_MAX: usize = 300;
/// Sites that an alert about many of them names.
const NAMED_MAX: usize = 30;
/// Characters that they may take together.
const NAMED_CHARS: usize = 2_000;
/// Openings within [`FLAPPING_TIME`] from which on an alert says how many there were.
const FLAPPING: usize = 5;
const FLAPPING_TIME: SignedDuration = SignedDuration::from_hours(24);

/// What is the case while an issue of a fingerprint is active, in capitals.
const fn active(fingerprint: Fingerprint) -> &'static str {
    match fingerprint {
        Fingerprint::StatusDown => "DOWN",
        Fingerprint::SslInvalid => "CERTIFICATE INVALID",
        Fingerprint::SslExpiring => "CERTIFICATE EXPIRING",
        Fingerprint::DnsLookupFailed => "DNS FAILING",
        Fingerprint::DnsRecordsMissing => "DNS RECORDS MISSING",
        Fingerprint::DnsRecordsChanged => "DNS RECORDS CHANGED",
        Fingerprint::DnsDomainExpiring => "DOMAIN EXPIRING",
        Fingerprint::BrokenLinksThreshold => "BROKEN LINKS",
        Fingerprint::PerformanceBudget => "SLOW",
    }
}

/// An alert about one issue.
pub fn one(subject: &Subject<'_>, news: &News, now: Timestamp) -> Alert {
    let Subject { issue, site, team, acknowledged_by, base_url, ended } = *subject;
    let fingerprint = issue.id.fingerprint();
    let opened_at = issue.lifecycle.opened_at();
    let word = active(fingerprint);
    let summary = sentence(&issue.summary);
    let lasted = |to: Timestamp| duration(to.duration_since(opened_at));
    let mut facts = Vec::new();
    let mut fact = |label, value: String| facts.push(Fact { label, value });
    fact("Severity", fingerprint.severity().to_string());
    let (kind, state, mut lines, at) = match news {
        News::Opened { before } => {
            fact("Since", instant(opened_at));
            if let Some(failures) = issue.context["failures"].as_u64().filter(|count| *count > 1) {
                fact("Failed in a row", failures.to_string());
            }
            let mut lines = vec![summary];
            lines.extend(list_outages("It was so before", before));
            (AlertKind::Opened, word.to_owned(), lines, opened_at)
        }
        News::StillActive => {
            fact("Since", instant(opened_at));
            fact("Duration", lasted(now));
            let taken = acknowledged_by.map(|name| format!("Acknowledged by {name}."));
            let lines = [summary].into_iter().chain(taken).collect();
            (AlertKind::Reminder, format!("STILL {word} {}", lasted(now)), lines, now)
        }
        News::Resolved { before } => {
            let over_at = resolved_at(issue).unwrap_or(now);
            fact("Since", instant(opened_at));
            fact("Until", instant(over_at));
            fact("Duration", lasted(over_at));
            let mut lines = match ended {
                Some(_) => vec![subject.summary(), summary],
                None => vec![format!("Resolved after {}.", lasted(over_at)), summary],
            };
            lines.extend(list_outages("It was so before", before));
            let state = if ended.is_some() { "MONITORING STOPPED" } else { "RESOLVED" };
            (AlertKind::Resolved, state.to_owned(), lines, over_at)
        }
        News::Missed { outages } => {
            let over_at = resolved_at(issue).unwrap_or(now);
            fact("Duration", lasted(over_at));
            let mut lines = vec![summary];
            lines.extend(list_outages("It is over now. It was so", outages));
            (AlertKind::Missed, format!("WAS {word}"), lines, over_at)
        }
    };
    if let Some(ends_at) = issue.ends_at().filter(|_| !kind.is_over()) {
        let label = if ends_at > now { "Time left" } else { "Expired for" };
        facts.push(Fact { label, value: duration(ends_at.duration_since(now).abs()) });
    }
    lines.extend(flapping(issue, now));
    facts.push(Fact { label: "Team", value: team.to_owned() });
    Alert {
        kind,
        state,
        name: site.name.clone(),
        lines,
        facts,
        severity: (!kind.is_over()).then(|| fingerprint.severity()),
        site_url: Some(site.url.as_str().to_owned()),
        link: base_url.map(|base| Link { text: "Open issue", url: link::issue(base, issue.id) }),
        runbook: if kind.is_over() { None } else { site.notes.as_deref().and_then(runbook) },
        thread: Some(Thread { issue: issue.id, opened_at }),
        at,
    }
}

/// One alert about many issues of which there is the same kind of news, two at least.
pub fn many(subjects: &[Subject<'_>], kind: AlertKind, now: Timestamp) -> Alert {
    let mut sites: Vec<_> = subjects.iter().map(|subject| subject.site.id).collect();
    sites.sort_unstable();
    sites.dedup();
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let mut fingerprints = subjects.iter().map(|subject| subject.issue.id.fingerprint());
    let first = fingerprints.next();
    let word = first.filter(|first| fingerprints.all(|other| other == *first)).map(active);
    let state = match (kind, word) {
        (AlertKind::Resolved, _) => "RESOLVED".to_owned(),
        (AlertKind::Reminder, Some(word)) => format!("STILL {word}"),
        (AlertKind::Reminder, None) => "STILL ACTIVE".to_owned(),
        (AlertKind::Missed, Some(word)) => format!("WAS {word}"),
        (AlertKind::Missed, None) => "OPENED AND OVER".to_owned(),
        (_, Some(word)) => word.to_owned(),
        (_, None) => "ISSUES OPENED".to_owned(),
    };
    let name = if word.is_some() && sites.len() == subjects.len() {
        counted(sites.len(), "site")
    } else {
        format!("{} on {}", counted(subjects.len(), "issue"), counted(sites.len(), "site"))
    };
    let mut room = NAMED_CHARS;
    let named = subjects
        .iter()
        .take(NAMED_MAX)
        .map(|subject| format!("{}: {}", subject.site.name, subject.summary()));
    let mut lines: Vec<String> = named
        .take_while(|line| {
            let length = line.chars().count();
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        })
        .collect();
    let more = subjects.len() - lines.len();
    if more > 0 {
        lines.push(format!("And {more} more."));
    }
    let severity = subjects.iter().map(|subject| subject.issue.id.fingerprint().severity()).min();
    let team = subjects.first().map_or("", |subject| subject.team);
    Alert {
        kind,
        state,
        name,
        lines,
        facts: vec![Fact { label: "Team", value: team.to_owned() }],
        severity: severity.filter(|_| !kind.is_over()),
        site_url: None,
        link: None,
        runbook: None,
        thread: None,
        at: now,
    }
}

/// An alert by which somebody tries a channel.
pub fn test(channel: &str, team: &str, now: Timestamp) -> Alert {
    Alert {
        kind: AlertKind::Test,
        state: "TEST".to_owned(),
        name: channel.to_owned(),
        lines: vec![
            "This channel works. Alerts about your sites will look like this one.".to_owned(),
        ],
        facts: vec![Fact { label: "Team", value: team.to_owned() }],
        severity: None,
        site_url: None,
        link: None,
        runbook: None,
        thread: None,
        at: now,
    }
}

/// An alert by which a team learns that one of its other channels does not work.
pub fn broken_channel(channel: &str, reason: &str, team: &str, now: Timestamp) -> Alert {
    Alert {
        kind: AlertKind::Notice,
        state: "CHANNEL BROKEN".to_owned(),
        name: channel.to_owned(),
        lines: vec![
            format!("Alerts do not arrive there: {}", sentence(reason)),
            "Mend it, then enable it again.".to_owned(),
        ],
        facts: vec![Fact { label: "Team", value: team.to_owned() }],
        ..test(channel, team, now)
    }
}

/// An alert by which the readers of a channel that was off learn that they are not told all that happened.
pub fn missed(
    channel: &str,
    (since, until): (Timestamp, Timestamp),
    events_url: Option<String>,
    team: &str,
) -> Alert {
    Alert {
        kind: AlertKind::Notice,
        state: "MESSAGES MISSING".to_owned(),
        lines: vec![
            format!(
                "This channel was off. Alerts from {} to {} were not sent, because they are more than \
                 {MISSED_MAX} or older than {} days.",
                instant(since),
                instant(until),
                MISSED_TIME.as_hours() / 24
            ),
            "You still get alerts for issues that are open.".to_owned(),
        ],
        link: events_url.map(|url| Link { text: "Show events", url }),
        ..test(channel, team, until)
    }
}

const fn resolved_at(issue: &Issue) -> Option<Timestamp> {
    match issue.lifecycle {
        Lifecycle::Resolved { at, .. } => Some(at),
        Lifecycle::Open { .. } | Lifecycle::Acknowledged { .. } => None,
    }
}

/// `It was so before: 2026-11-21 12:01 UTC for 19 min, and 3 times earlier.`
fn list_outages(lead: &str, outages: &[Outage]) -> Option<String> {
    let (last, earlier) = outages.split_last()?;
    let shown = format!("{lead}: {} for {}", instant(last.from), duration(last.duration()));
    Some(match earlier.len() {
        0 => format!("{shown}."),
        1 => format!("{shown}, and once earlier."),
        times => format!("{shown}, and {times} times earlier."),
    })
}

fn flapping(issue: &Issue, now: Timestamp) -> Option<String> {
    let entries = issue.timeline.entries().iter();
    let openings = entries.filter(|entry| {
        entry.key == TimelineKey::Opened && now.duration_since(entry.timestamp) < FLAPPING_TIME
    });
    let count = openings.count();
    (count >= FLAPPING).then(|| format!("It opened {count} times in 24 hours."))
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?', '…']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
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
    use crate::id::{IssueId, SiteId, TeamId};
    use crate::issue::Timeline;
    use crate::site_url::SiteUrl;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn what_ends_says_how_long_there_is_left_today() {
        let opened_at = at("2026-11-20T12:00:00Z");
        let id = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let team = TeamId::parse("7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13").expect("a team id");
        let url = SiteUrl::parse("https://example.com").expect("a URL");
        let site = Site::new(id, team, url, opened_at);
        for (fingerprint, measured) in [
            (Fingerprint::DnsDomainExpiring, json!({ "expires_at": "2026-12-20T12:00:00+00:00" })),
            (Fingerprint::SslExpiring, json!({ "valid_to": "2026-12-20 12:00:00" })),
        ] {
            let issue = Issue {
                id: IssueId::new(id, fingerprint, opened_at),
                rev: 1,
                lifecycle: Lifecycle::open(opened_at),
                timeline: Timeline::default(),
                summary: "it expires on 2026-12-20".to_owned(),
                context: json!({ "measured": measured }),
                check: None,
                previous_check: None,
                last_evaluated_at: None,
                snoozed_until: None,
                notes: Vec::new(),
                created_at: opened_at,
                updated_at: opened_at,
            };
            let (issue, site) = (&issue, &site);
            let subject = Subject {
                issue,
                site,
                team: "Ops",
                acknowledged_by: None,
                base_url: None,
                ended: None,
            };
            for (now, label, value) in [
                ("2026-12-13T12:00:00Z", "Time left", "7 d"),
                ("2026-12-20T10:30:00Z", "Time left", "1 h 30 min"),
                ("2026-12-22T12:00:00Z", "Expired for", "2 d"),
            ] {
                let alert = one(&subject, &News::StillActive, at(now));
                let fact = Fact { label, value: value.to_owned() };
                assert!(alert.facts.contains(&fact), "{now}: {:?}", alert.facts);
            }
        }
    }
}
