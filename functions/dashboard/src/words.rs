//! Words that several pages share.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_domain::alerts::channel::EventKind;
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::expiry::countdown;
use vedette_domain::issues::past_tense::past;
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, Severity};
use vedette_domain::monitor::Monitor;
use vedette_domain::sites::site::Site;
use vedette_domain::time::duration;

use crate::form::capitalized;

pub(crate) use vedette_domain::wording::{counted, grouped};

/// The name of a tool on pages.
pub(crate) const fn tool(tool: Tool) -> &'static str {
    match tool {
        Tool::Status => "Status",
        Tool::Ssl => "Certificate",
        Tool::Dns => "DNS",
        Tool::BrokenLinks => "Broken links",
        Tool::Performance => "Performance",
        Tool::Heartbeat => "Heartbeat",
    }
}

/// What is wrong with a site, short enough to fit next to its name.
pub(crate) const fn fingerprint(fingerprint: Fingerprint) -> &'static str {
    match fingerprint {
        Fingerprint::StatusDown => "Down",
        Fingerprint::StatusPartial => "Partly down",
        Fingerprint::StatusExpectation => "Not as expected",
        Fingerprint::StatusSlow => "Slow to answer",
        Fingerprint::SslInvalid => "Certificate not valid",
        Fingerprint::SslExpiring => "Certificate expires soon",
        Fingerprint::DnsLookupFailed => "DNS lookup fails",
        Fingerprint::DnsRecordsMissing => "DNS records missing",
        Fingerprint::DnsRecordsChanged => "DNS records changed",
        Fingerprint::DnsDomainExpiring => "Domain expires soon",
        Fingerprint::BrokenLinksThreshold => "Broken links",
        Fingerprint::PerformanceBudget => "Too slow",
        Fingerprint::HeartbeatDown => "Not reporting",
        Fingerprint::HeartbeatRunningLong => "Running long",
    }
}

pub(crate) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "Critical",
        Severity::Warning => "Warning",
        Severity::Info => "Notice",
    }
}

/// What a channel can be notified of.
pub(crate) const fn event(event: EventKind) -> &'static str {
    match event {
        EventKind::Opened => "Opened",
        EventKind::Resolved => "Resolved",
        EventKind::Reminder => "Reminders",
        EventKind::Acknowledged => "Acknowledged",
    }
}

/// What is or was wrong, with the name of the site instead of its host: `Orders API is down: HTTP 503`.
pub(crate) fn headline<'a>(issue: &Issue, of: impl Into<Named<'a>>, now: Timestamp) -> String {
    let sentence = match issue.lifecycle.is_active() {
        true => countdown(issue, now).unwrap_or_else(|| issue.summary.clone()),
        false => past(issue.id.fingerprint(), &issue.summary),
    };
    named(&sentence, of)
}

/// What a summary begins with, and the name that pages show instead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    subject: &'a str,
    name: &'a str,
}

impl<'a> From<&'a Site> for Named<'a> {
    fn from(site: &'a Site) -> Self {
        Self { subject: site.url.domain(), name: &site.name }
    }
}

impl<'a> From<&'a Monitor> for Named<'a> {
    fn from(monitor: &'a Monitor) -> Self {
        Self { subject: monitor.subject(), name: monitor.name() }
    }
}

/// A sentence that may begin with a site's host, or with the words for the job of a heartbeat, with the name instead.
pub(crate) fn named<'a>(sentence: &str, of: impl Into<Named<'a>>) -> String {
    let Named { subject, name } = of.into();
    let rest = sentence.strip_prefix(subject).filter(|rest| rest.starts_with([' ', ':']));
    rest.map_or_else(|| capitalized(sentence), |rest| format!("{name}{rest}"))
}

/// What an outage is, below tables of outages.
pub(crate) const OUTAGE: &str = "An outage lasts from the first failed check to the next good one, or until somebody \
                                 resolves it or monitoring ends. Other problems are not downtime.";

/// How long a run took, in milliseconds: `4.2 s`, or `12 min` if it took longer.
pub(crate) fn lasted(milliseconds: f64) -> String {
    match milliseconds {
        ..10_000.0 => format!("{:.1} s", milliseconds / 1_000.0),
        _ => duration(SignedDuration::from_millis(milliseconds as i64)),
    }
}

/// A small number in words.
pub(crate) fn spelled(number: usize) -> String {
    const SMALL: [&str; 10] =
        ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    SMALL.get(number).map_or_else(|| grouped(number as u64), |word| (*word).to_owned())
}

/// Parts of a sentence: `a, b and c`.
pub(crate) fn listed(parts: &[String]) -> String {
    joined(parts, "and")
}

/// Parts of a sentence: `a, b or c`.
pub(crate) fn either(parts: &[String]) -> String {
    joined(parts, "or")
}

fn joined(parts: &[String], conjunction: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// An unknown value, for eyes and screen readers.
pub(crate) fn unknown() -> Markup {
    html! { span.quiet { span aria-hidden="true" { "–" } span.hide { "Not known" } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_small_ones_spelled() {
        assert_eq!(counted(1, "site", "sites"), "1 site");
        assert_eq!(counted(10_000, "site", "sites"), "10\u{202f}000 sites");
        assert_eq!(
            [spelled(9), spelled(10), grouped(123), grouped(1_234_567)],
            ["nine", "10", "123", "1\u{202f}234\u{202f}567"]
        );
        let parts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([listed(&parts), listed(&parts[..1])], ["a, b and c", "a"]);
    }
}
