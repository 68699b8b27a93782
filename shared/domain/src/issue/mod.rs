//! Issues: what can be wrong with a site, and the life of the record that says so.
//!
//! [`evaluate`] turns a check's result into evaluations, [`tracker`] turns a row of evaluations
//! into openings and resolutions. The types here are what both, and the stored issue, speak of.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::UserId;
use crate::tool::Tool;

pub mod evaluate;
pub mod record;
pub mod tracker;

/// One condition that a tool watches: the deduplication key of an issue within a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fingerprint {
    /// The site does not answer, or answers with a code that counts as failed.
    StatusDown,
    /// The certificate is not valid for the site.
    SslInvalid,
    /// The certificate is valid and expires soon.
    SslExpiring,
    /// The domain's records cannot be looked up.
    DnsLookupFailed,
    /// Expected records are missing.
    DnsRecordsMissing,
    /// Watched records differ from the baseline.
    DnsRecordsChanged,
    /// The crawl found too many broken links.
    BrokenLinksThreshold,
    /// The audit broke a limit.
    PerformanceBudget,
}

impl Fingerprint {
    /// All fingerprints, by tool in the order of the API's enumeration.
    pub const ALL: [Self; 8] = [
        Self::StatusDown,
        Self::SslInvalid,
        Self::SslExpiring,
        Self::DnsLookupFailed,
        Self::DnsRecordsMissing,
        Self::DnsRecordsChanged,
        Self::BrokenLinksThreshold,
        Self::PerformanceBudget,
    ];

    /// The value used on the wire and in keys: `<tool>:<condition>`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StatusDown => "status:down",
            Self::SslInvalid => "ssl:invalid",
            Self::SslExpiring => "ssl:expiring",
            Self::DnsLookupFailed => "dns:lookup_failed",
            Self::DnsRecordsMissing => "dns:records_missing",
            Self::DnsRecordsChanged => "dns:records_changed",
            Self::BrokenLinksThreshold => "broken-links:threshold",
            Self::PerformanceBudget => "performance:budget",
        }
    }

    /// The fingerprint with this wire value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|fingerprint| fingerprint.as_str() == value)
    }

    /// The tool whose checks decide it.
    pub const fn tool(self) -> Tool {
        match self {
            Self::StatusDown => Tool::Status,
            Self::SslInvalid | Self::SslExpiring => Tool::Ssl,
            Self::DnsLookupFailed | Self::DnsRecordsMissing | Self::DnsRecordsChanged => Tool::Dns,
            Self::BrokenLinksThreshold => Tool::BrokenLinks,
            Self::PerformanceBudget => Tool::Performance,
        }
    }

    /// How grave its issues are.
    pub const fn severity(self) -> Severity {
        match self {
            Self::StatusDown | Self::SslInvalid | Self::DnsLookupFailed => Severity::Critical,
            Self::SslExpiring
            | Self::DnsRecordsMissing
            | Self::BrokenLinksThreshold
            | Self::PerformanceBudget => Severity::Warning,
            Self::DnsRecordsChanged => Severity::Info,
        }
    }

    /// A number from 1 to 15 that fits the four bits kept for it in an issue's id. Ids are stored:
    /// a number once given is never changed and never given again.
    pub const fn code(self) -> u8 {
        match self {
            Self::StatusDown => 1,
            Self::SslInvalid => 2,
            Self::SslExpiring => 3,
            Self::DnsLookupFailed => 4,
            Self::DnsRecordsMissing => 5,
            Self::DnsRecordsChanged => 6,
            Self::BrokenLinksThreshold => 7,
            Self::PerformanceBudget => 8,
        }
    }

    /// The fingerprint with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|fingerprint| fingerprint.code() == code)
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = String::deserialize(deserializer)?;
        Self::parse(&value)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown fingerprint `{value}`")))
    }
}

/// How grave an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Visitors cannot use the site, or soon will see that.
    Critical,
    /// Something to mend before it hurts.
    Warning,
    /// Something to know.
    Info,
}

impl Severity {
    /// All severities, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Warning, Self::Info];

    /// The value used on the wire and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// The severity with this wire value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|severity| severity.as_str() == value)
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum IssueStatus {
    /// Nobody has taken it yet.
    Open,
    /// Somebody has.
    Acknowledged,
    /// It is over.
    Resolved,
}

impl IssueStatus {
    /// All states, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Open, Self::Acknowledged, Self::Resolved];

    /// The value used on the wire and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
        }
    }

    /// The state with this wire value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == value)
    }

    /// Whether the problem is still there: open or acknowledged.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Open | Self::Acknowledged)
    }
}

impl std::fmt::Display for IssueStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one evaluation says of one fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The condition does not hold.
    Up,
    /// The condition holds.
    Down(Cause),
}

impl Outcome {
    /// Whether the condition holds.
    pub const fn is_down(&self) -> bool {
        matches!(self, Self::Down(_))
    }
}

/// Why a condition holds, as a phrase that can follow a colon: `HTTP 503 Service Unavailable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause(pub String);

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who took an issue, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// When it was taken.
    #[serde(with = "millisecond::required")]
    pub at: Timestamp,
    /// The member who took it.
    pub by: UserId,
}

/// Where an issue stands in its life. Stored as it is, instants in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Lifecycle {
    /// The problem is there and nobody has taken it.
    Open {
        /// When the threshold was breached.
        #[serde(with = "millisecond::required")]
        opened_at: Timestamp,
    },
    /// The problem is there and somebody has taken it.
    Acknowledged {
        /// When the threshold was breached.
        #[serde(with = "millisecond::required")]
        opened_at: Timestamp,
        /// When it was taken.
        #[serde(with = "millisecond::required")]
        at: Timestamp,
        /// The member who took it.
        by: UserId,
    },
    /// The problem is over.
    Resolved {
        /// When the threshold was breached.
        #[serde(with = "millisecond::required")]
        opened_at: Timestamp,
        /// Who had taken it, if anybody had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acknowledged: Option<Acknowledgement>,
        /// When it was resolved.
        #[serde(with = "millisecond::required")]
        at: Timestamp,
        /// The member who resolved it; none when the checks did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
    },
}

/// A move between the states of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// A member takes the issue.
    Acknowledge,
    /// The problem clears, or a member says so.
    Resolve,
    /// The problem returns after its resolution.
    Reopen,
}

impl std::fmt::Display for Transition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Acknowledge => "acknowledged",
            Self::Resolve => "resolved",
            Self::Reopen => "reopened",
        })
    }
}

/// A move that the issue's state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an issue that is {from} cannot be {transition}")]
pub struct InvalidTransition {
    /// The state of the issue.
    pub from: IssueStatus,
    /// The move that was tried.
    pub transition: Transition,
}

impl Lifecycle {
    /// A new issue.
    pub const fn open(opened_at: Timestamp) -> Self {
        Self::Open { opened_at }
    }

    /// A member takes the issue.
    ///
    /// # Errors
    ///
    /// When the issue is not open.
    pub const fn acknowledge(self, at: Timestamp, by: UserId) -> Result<Self, InvalidTransition> {
        match self {
            Self::Open { opened_at } => Ok(Self::Acknowledged { opened_at, at, by }),
            Self::Acknowledged { .. } | Self::Resolved { .. } => {
                Err(self.refuse(Transition::Acknowledge))
            }
        }
    }

    /// The problem clears (`by` none), or a member says so. An acknowledgement is kept.
    ///
    /// # Errors
    ///
    /// When the issue is resolved already.
    pub const fn resolve(
        self,
        at: Timestamp,
        by: Option<UserId>,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::Open { .. } | Self::Acknowledged { .. } => Ok(Self::Resolved {
                opened_at: self.opened_at(),
                acknowledged: self.acknowledgement(),
                at,
                by,
            }),
            Self::Resolved { .. } => Err(self.refuse(Transition::Resolve)),
        }
    }

    /// The problem is back: the same record opens again, without its acknowledgement and
    /// resolution, which remain in its timeline.
    ///
    /// # Errors
    ///
    /// When the issue is not resolved.
    pub const fn reopen(self, at: Timestamp) -> Result<Self, InvalidTransition> {
        match self {
            Self::Resolved { .. } => Ok(Self::Open { opened_at: at }),
            Self::Open { .. } | Self::Acknowledged { .. } => Err(self.refuse(Transition::Reopen)),
        }
    }

    const fn refuse(self, transition: Transition) -> InvalidTransition {
        InvalidTransition {
            from: self.status(),
            transition,
        }
    }

    /// The state's name.
    pub const fn status(self) -> IssueStatus {
        match self {
            Self::Open { .. } => IssueStatus::Open,
            Self::Acknowledged { .. } => IssueStatus::Acknowledged,
            Self::Resolved { .. } => IssueStatus::Resolved,
        }
    }

    /// Whether the problem is still there: open or acknowledged.
    pub const fn is_active(self) -> bool {
        self.status().is_active()
    }

    /// When the threshold was breached, the last time.
    pub const fn opened_at(self) -> Timestamp {
        match self {
            Self::Open { opened_at }
            | Self::Acknowledged { opened_at, .. }
            | Self::Resolved { opened_at, .. } => opened_at,
        }
    }

    /// Who took the issue, if anybody has.
    pub const fn acknowledgement(self) -> Option<Acknowledgement> {
        match self {
            Self::Open { .. } => None,
            Self::Acknowledged { at, by, .. } => Some(Acknowledgement { at, by }),
            Self::Resolved { acknowledged, .. } => acknowledged,
        }
    }

    /// When the issue was resolved, if it is.
    pub const fn resolved_at(self) -> Option<Timestamp> {
        match self {
            Self::Open { .. } | Self::Acknowledged { .. } => None,
            Self::Resolved { at, .. } => Some(at),
        }
    }

    /// The member who resolved the issue, if one did.
    pub const fn resolved_by(self) -> Option<UserId> {
        match self {
            Self::Open { .. } | Self::Acknowledged { .. } => None,
            Self::Resolved { by, .. } => by,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn fingerprints_are_what_clients_and_ids_know() {
        // Wire value, tool, severity, number: each of them is stored or seen outside.
        let known = [
            ("status:down", Tool::Status, Severity::Critical, 1),
            ("ssl:invalid", Tool::Ssl, Severity::Critical, 2),
            ("ssl:expiring", Tool::Ssl, Severity::Warning, 3),
            ("dns:lookup_failed", Tool::Dns, Severity::Critical, 4),
            ("dns:records_missing", Tool::Dns, Severity::Warning, 5),
            ("dns:records_changed", Tool::Dns, Severity::Info, 6),
            (
                "broken-links:threshold",
                Tool::BrokenLinks,
                Severity::Warning,
                7,
            ),
            (
                "performance:budget",
                Tool::Performance,
                Severity::Warning,
                8,
            ),
        ];
        assert_eq!(known.len(), Fingerprint::ALL.len());
        for (fingerprint, (value, tool, severity, code)) in Fingerprint::ALL.into_iter().zip(known)
        {
            assert_eq!(fingerprint.as_str(), value);
            assert_eq!(fingerprint.tool(), tool);
            assert_eq!(fingerprint.severity(), severity);
            assert_eq!(fingerprint.code(), code);
        }
    }

    #[test]
    fn fingerprints_read_back() {
        for fingerprint in Fingerprint::ALL {
            assert_eq!(Fingerprint::parse(fingerprint.as_str()), Some(fingerprint));
            assert_eq!(
                Fingerprint::from_code(fingerprint.code()),
                Some(fingerprint)
            );
            assert!(
                (1..=15).contains(&fingerprint.code()),
                "four bits, and never zero"
            );
            let (tool, condition) = fingerprint.as_str().split_once(':').expect("two parts");
            assert_eq!(tool, fingerprint.tool().as_str());
            assert!(!condition.is_empty());
            let json = serde_json::to_value(fingerprint).expect("a string");
            assert_eq!(json, json!(fingerprint.as_str()));
            assert_eq!(
                serde_json::from_value::<Fingerprint>(json).expect("known"),
                fingerprint
            );
        }
        let codes: HashSet<u8> = Fingerprint::ALL
            .into_iter()
            .map(Fingerprint::code)
            .collect();
        assert_eq!(codes.len(), Fingerprint::ALL.len());
        for unknown in [
            "",
            "status",
            "status:",
            "Status:down",
            "status:up",
            "links:threshold",
        ] {
            assert_eq!(Fingerprint::parse(unknown), None, "{unknown}");
        }
        for unknown in [0, 9, 15, 16, 255] {
            assert_eq!(Fingerprint::from_code(unknown), None, "{unknown}");
        }
        let error = serde_json::from_value::<Fingerprint>(json!("status:up")).expect_err("unknown");
        assert_eq!(error.to_string(), "unknown fingerprint `status:up`");
    }

    #[test]
    fn the_other_enumerations_read_back() {
        for severity in Severity::ALL {
            assert_eq!(Severity::parse(severity.as_str()), Some(severity));
            assert_eq!(
                serde_json::to_value(severity).expect("json"),
                json!(severity.to_string())
            );
        }
        for status in IssueStatus::ALL {
            assert_eq!(IssueStatus::parse(status.as_str()), Some(status));
            assert_eq!(
                serde_json::to_value(status).expect("json"),
                json!(status.to_string())
            );
        }
        assert_eq!(
            (Severity::parse("fatal"), IssueStatus::parse("active")),
            (None, None)
        );
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    /// One issue in each state.
    fn one_of_each() -> [Lifecycle; 4] {
        let open = Lifecycle::open(at(10));
        let taken = open.acknowledge(at(20), user(1)).expect("open");
        [
            open,
            taken,
            open.resolve(at(30), None).expect("active"),
            taken.resolve(at(30), Some(user(2))).expect("active"),
        ]
    }

    #[test]
    fn an_issue_is_opened_taken_resolved_and_reopened() {
        let issue = Lifecycle::open(at(10));
        assert_eq!(
            (issue.status(), issue.is_active()),
            (IssueStatus::Open, true)
        );
        assert_eq!((issue.acknowledgement(), issue.resolved_at()), (None, None));

        let issue = issue.acknowledge(at(20), user(1)).expect("open");
        assert_eq!(
            (issue.status(), issue.is_active()),
            (IssueStatus::Acknowledged, true)
        );
        assert_eq!(
            issue.acknowledgement(),
            Some(Acknowledgement {
                at: at(20),
                by: user(1)
            })
        );
        assert_eq!(issue.opened_at(), at(10));

        let issue = issue.resolve(at(30), Some(user(2))).expect("active");
        assert_eq!(
            (issue.status(), issue.is_active()),
            (IssueStatus::Resolved, false)
        );
        assert_eq!(
            (issue.resolved_at(), issue.resolved_by()),
            (Some(at(30)), Some(user(2)))
        );
        assert_eq!(
            issue.acknowledgement(),
            Some(Acknowledgement {
                at: at(20),
                by: user(1)
            })
        );
        assert_eq!(issue.opened_at(), at(10));

        let issue = issue.reopen(at(40)).expect("resolved");
        assert_eq!(
            issue,
            Lifecycle::open(at(40)),
            "acknowledgement and resolution are cleared"
        );
    }

    #[test]
    fn only_the_moves_of_the_api_exist() {
        let [open, taken, resolved, taken_and_resolved] = one_of_each();
        let refused = |from, transition| Err(InvalidTransition { from, transition });

        for issue in [taken, resolved, taken_and_resolved] {
            let result = issue.acknowledge(at(50), user(3));
            assert_eq!(result, refused(issue.status(), Transition::Acknowledge));
        }
        for issue in [resolved, taken_and_resolved] {
            let result = issue.resolve(at(50), None);
            assert_eq!(result, refused(IssueStatus::Resolved, Transition::Resolve));
        }
        for issue in [open, taken] {
            assert_eq!(
                issue.reopen(at(50)),
                refused(issue.status(), Transition::Reopen)
            );
        }

        let error = taken
            .acknowledge(at(50), user(3))
            .expect_err("taken already");
        assert_eq!(
            error.to_string(),
            "an issue that is acknowledged cannot be acknowledged"
        );
        let error = open.reopen(at(50)).expect_err("open");
        assert_eq!(
            error.to_string(),
            "an issue that is open cannot be reopened"
        );
    }

    #[test]
    fn the_stored_form_is_plain() {
        let [open, taken, resolved, taken_and_resolved] = one_of_each();
        let one = "00000000-0000-0000-0000-000000000001";
        let two = "00000000-0000-0000-0000-000000000002";
        let stored = [
            (open, json!({"status": "open", "opened_at": 10_000})),
            (
                taken,
                json!({"status": "acknowledged", "opened_at": 10_000, "at": 20_000, "by": one}),
            ),
            (
                resolved,
                json!({"status": "resolved", "opened_at": 10_000, "at": 30_000}),
            ),
            (
                taken_and_resolved,
                json!({
                    "status": "resolved", "opened_at": 10_000, "at": 30_000, "by": two,
                    "acknowledged": {"at": 20_000, "by": one},
                }),
            ),
        ];
        for (issue, json) in stored {
            assert_eq!(serde_json::to_value(issue).expect("json"), json);
            assert_eq!(
                serde_json::from_value::<Lifecycle>(json).expect("readable"),
                issue
            );
        }
    }

    proptest! {
        /// Whatever is tried in whatever order: a move succeeds exactly where it should, a refused
        /// one names the state, and the opening is kept until the issue is reopened.
        #[test]
        fn any_row_of_moves_keeps_the_rules(moves in prop::collection::vec(0_u8..4, 0..40)) {
            let mut issue = Lifecycle::open(at(0));
            for (step, which) in moves.into_iter().enumerate() {
                let now = at(i64::try_from(step).expect("small") + 1);
                let before = issue.status();
                let result = match which {
                    0 => issue.acknowledge(now, user(7)),
                    1 => issue.resolve(now, None),
                    2 => issue.resolve(now, Some(user(8))),
                    _ => issue.reopen(now),
                };
                let allowed = match which {
                    0 => before == IssueStatus::Open,
                    1 | 2 => before.is_active(),
                    _ => before == IssueStatus::Resolved,
                };
                prop_assert_eq!(result.is_ok(), allowed);
                match result {
                    Ok(next) => {
                        let opened = if which == 3 { now } else { issue.opened_at() };
                        prop_assert_eq!(next.opened_at(), opened);
                        prop_assert_eq!(next.is_active(), next.resolved_at().is_none());
                        issue = next;
                    }
                    Err(error) => prop_assert_eq!(error.from, before),
                }
            }
        }
    }
}
