//! The record of an outage, with which a team lists the outages of all its sites.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::record::{Issue, IssueChange};
use super::{Acknowledgement, Fingerprint, Problem};
use crate::id::{IssueId, SiteId, UserId};

/// Between the host and the reason in the summary of `status:down`.
const IS_DOWN: &str = " is down: ";

/// An outage: one opening of `status:down`. Written when it opens, and again when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutageRecord {
    /// The issue.
    #[serde(rename = "i")]
    pub issue: IssueId,
    /// The site.
    #[serde(rename = "s")]
    pub site: SiteId,
    /// When the issue opened.
    #[serde(rename = "o", with = "millisecond::required")]
    pub opened_at: Timestamp,
    /// The first of the failed checks that opened it.
    #[serde(rename = "b", with = "millisecond::required")]
    pub began_at: Timestamp,
    /// When it ended; see [`Problem::ended_at`].
    #[serde(
        rename = "e",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    pub ended_at: Option<Timestamp>,
    /// The kind of failure.
    #[serde(rename = "c")]
    pub cause: Cause,
    /// What the check that opened it found: `HTTP 503 Service Unavailable`.
    #[serde(rename = "d")]
    pub detail: String,
    /// Who acknowledged it, and when, if anybody did before it ended.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Acknowledgement>,
    /// The member who resolved it; `None` if checks did.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<UserId>,
}

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A status code that counts as failed.
    Http,
    /// No answer in time.
    Timeout,
    /// No connection, or one that broke.
    Connection,
    /// No TLS connection, for example because of the certificate.
    Tls,
    /// The name does not resolve.
    Dns,
    /// Anything else.
    #[serde(other)]
    Other,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Http, Self::Timeout, Self::Connection, Self::Tls, Self::Dns, Self::Other];

    /// The value in URLs and CSV.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::Dns => "dns",
            Self::Other => "other",
        }
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Http => "HTTP status",
            Self::Timeout => "Timeout",
            Self::Connection => "Connection",
            Self::Tls => "TLS and certificate",
            Self::Dns => "DNS",
            Self::Other => "Other",
        }
    }

    /// The cause with this value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == value)
    }

    /// The cause that a status check gave: a status code, or the words of the engine.
    fn of(code: Option<u64>, error: &str) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| error.contains(word));
        match code {
            Some(1..) => Self::Http,
            _ if error.starts_with("TLS:") => Self::Tls,
            _ if has(&[
                "name does not resolve",
                "name has no address",
                "name lookup",
                "domain name",
            ]) =>
            {
                Self::Dns
            }
            _ if has(&["no answer within", "timed out"]) => Self::Timeout,
            _ if has(&["connection", "unreachable"]) => Self::Connection,
            _ => Self::Other,
        }
    }
}

impl OutageRecord {
    /// The record of the last opening of a site's issue; `None` if the issue is not `status:down`.
    pub fn of(issue: &Issue, site: SiteId) -> Option<Self> {
        if issue.id.fingerprint() != Fingerprint::StatusDown {
            return None;
        }
        let Problem { opened_at, began_at, ended_at } = issue.problem();
        let measured = &issue.context["measured"];
        let detail = issue.summary.split_once(IS_DOWN).map_or(&*issue.summary, |(_, why)| why);
        Some(Self {
            issue: issue.id,
            site,
            opened_at,
            began_at,
            ended_at,
            cause: Cause::of(measured["code"].as_u64(), detail),
            detail: detail.to_owned(),
            acknowledged: issue.lifecycle.acknowledgement(),
            resolved_by: issue.lifecycle.resolved_by(),
        })
    }

    /// The same, if monitoring ended during it.
    #[must_use]
    pub fn or_ended(self, monitoring_ended_at: Option<Timestamp>) -> Self {
        Self { ended_at: self.ended_at.or(monitoring_ended_at), ..self }
    }

    /// When it began and ended.
    pub const fn problem(&self) -> Problem {
        Problem { opened_at: self.opened_at, began_at: self.began_at, ended_at: self.ended_at }
    }

    /// How long after its beginning it was acknowledged, if it was.
    pub fn acknowledged_after(&self) -> Option<SignedDuration> {
        self.acknowledged.map(|taken| taken.at.duration_since(self.began_at))
    }
}

/// What some outages add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutageFigures {
    /// How many there are.
    pub count: usize,
    /// How many of them go on.
    pub open: usize,
    /// How long they lasted within a period, together.
    pub down: SignedDuration,
    /// The mean time from the beginning to the acknowledgement of those that were acknowledged.
    pub mean_to_acknowledge: Option<SignedDuration>,
    /// How many of them nobody acknowledged.
    pub unacknowledged: usize,
    /// The mean length of those that are over.
    pub mean_to_resolve: Option<SignedDuration>,
    /// The median length of those that are over.
    pub median_to_resolve: Option<SignedDuration>,
}

impl OutageFigures {
    /// The figures of outages for a period.
    pub fn of<'a>(
        outages: impl Iterator<Item = &'a OutageRecord>,
        (from, to): (Timestamp, Timestamp),
        now: Timestamp,
    ) -> Self {
        let (mut figures, mut reactions, mut lengths) = (Self::default(), Vec::new(), Vec::new());
        for outage in outages {
            let problem = outage.problem();
            figures.count += 1;
            figures.open += usize::from(outage.ended_at.is_none());
            figures.down = figures.down.saturating_add(problem.within(from, to, now));
            figures.unacknowledged += usize::from(outage.acknowledged.is_none());
            reactions.extend(outage.acknowledged_after());
            lengths.extend(outage.ended_at.map(|_| problem.lasted(now)));
        }
        lengths.sort_unstable();
        Self {
            mean_to_acknowledge: mean(&reactions),
            mean_to_resolve: mean(&lengths),
            median_to_resolve: lengths.get(lengths.len() / 2).copied(),
            ..figures
        }
    }
}

/// In whole seconds, rounded down.
fn mean(durations: &[SignedDuration]) -> Option<SignedDuration> {
    let sum: i64 = durations.iter().map(SignedDuration::as_secs).sum();
    sum.checked_div(durations.len() as i64).map(SignedDuration::from_secs)
}

impl IssueChange {
    /// The record to write: a change of a site's `status:down` that begins or ends an outage has one.
    pub fn outage(&self, site: SiteId) -> Option<OutageRecord> {
        let was_active = self.before.as_ref().is_some_and(|issue| issue.lifecycle.is_active());
        let is_changed = was_active != self.after.lifecycle.is_active();
        OutageRecord::of(&self.after, site).filter(|_| is_changed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_795_168_440 + minute * 60).expect("a timestamp")
    }

    fn outage(began: i64, acknowledged: Option<i64>, ended: Option<i64>) -> OutageRecord {
        let site = SiteId(uuid::Uuid::from_u128(1));
        let by = UserId(uuid::Uuid::from_u128(7));
        OutageRecord {
            issue: IssueId::new(site, Fingerprint::StatusDown, at(0)),
            site,
            opened_at: at(began + 1),
            began_at: at(began),
            ended_at: ended.map(at),
            cause: Cause::Http,
            detail: "HTTP 503".to_owned(),
            acknowledged: acknowledged
                .map(|minute| Acknowledgement { at: at(minute), by: by.into() }),
            resolved_by: None,
        }
    }

    #[test]
    fn figures_count_the_downtime_of_the_period_and_the_means_of_what_is_known() {
        let minutes = SignedDuration::from_mins;
        let outages = [
            outage(-30, None, Some(10)),
            outage(20, Some(22), Some(25)),
            outage(40, Some(46), Some(49)),
            outage(50, None, None),
        ];
        let figures = OutageFigures::of(outages.iter(), (at(0), at(60)), at(70));
        let expected = OutageFigures {
            count: 4,
            open: 1,
            down: minutes(10 + 5 + 9 + 10),
            mean_to_acknowledge: Some(minutes(4)),
            unacknowledged: 2,
            mean_to_resolve: Some(minutes(18)),
            median_to_resolve: Some(minutes(9)),
        };
        assert_eq!(figures, expected);
        assert_eq!(OutageFigures::of([].iter(), (at(0), at(60)), at(70)), OutageFigures::default());
    }

    #[test]
    fn a_record_is_stored_in_a_few_bytes_and_read_again() {
        for record in [outage(0, None, None), outage(0, Some(2), Some(9))] {
            let stored = serde_json::to_value(&record).expect("json");
            assert_eq!(serde_json::from_value::<OutageRecord>(stored).expect("readable"), record);
        }
        let stored = serde_json::to_value(outage(0, None, None)).expect("json");
        let names: Vec<_> = stored.as_object().expect("an object").keys().cloned().collect();
        assert_eq!(names, ["b", "c", "d", "i", "o", "s"]);
    }

    #[test]
    fn the_words_of_the_engine_say_the_cause() {
        for (code, error, cause) in [
            (Some(503), "HTTP 503 Service Unavailable", Cause::Http),
            (Some(0), "no answer within 30 s", Cause::Timeout),
            (Some(0), "connection timed out", Cause::Timeout),
            (Some(0), "TLS: connection timed out", Cause::Tls),
            (Some(0), "TLS: certificate expired", Cause::Tls),
            (Some(0), "connection refused", Cause::Connection),
            (Some(0), "host unreachable", Cause::Connection),
            (Some(0), "name does not resolve", Cause::Dns),
            (Some(0), "name lookup timed out", Cause::Dns),
            (None, "more than 10 redirects", Cause::Other),
        ] {
            assert_eq!(Cause::of(code, error), cause, "{error}");
        }
        for cause in Cause::ALL {
            assert_eq!(Cause::parse(cause.as_str()), Some(cause));
            assert_eq!(serde_json::to_value(cause).expect("json"), json!(cause.as_str()));
        }
        let later =
            serde_json::from_value::<Cause>(json!("heartbeat")).expect("of a later version");
        assert_eq!(later, Cause::Other);
    }
}
