//! Issues: what can be wrong with a site, and the life cycle of the record that says so.
//!
//! Start with [`Fingerprint`], the kinds of issues, then follow a check:
//!
//! 1. [`evaluate`] turns a check's result into one [`Evaluation`](evaluate::Evaluation) per kind of issue of its tool.
//! 2. [`tracker::observe`] turns sequences of evaluations into openings and resolutions, according to the thresholds.
//! 3. [`confirmation`] lets outages wait for what other locations see.
//! 4. [`record::Issue`] is the stored issue, with its [`Lifecycle`] and its timeline.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::checks::tool::Tool;

pub mod act;
pub mod confirmation;
pub mod evaluate;
pub mod expiry;
pub mod input;
mod lifecycle;
pub mod mass_outage;
pub mod note;
pub mod opening;
pub mod outage;
mod past;
pub mod past_tense;
mod problem;
pub mod record;
mod responder;
mod timeline;
pub mod tracker;

pub use lifecycle::{Acknowledgement, InvalidTransition, Lifecycle, Transition};
pub use past::PastIssue;
pub use problem::{Problem, SeenTimes};
pub use responder::Responder;
pub(crate) use timeline::TIMELINE_MAX;
pub use timeline::{Outage, Timeline, TimelineEntry, TimelineKey};

/// Declares the fingerprints, one per row: its number, its value in the API, its tool and its severity. The list of all
/// fingerprints comes from the rows, so none can be missing.
macro_rules! fingerprints {
    ($($(#[$doc:meta])+ $name:ident = $code:literal, $value:literal, of $tool:ident, $severity:ident;)+) => {
        /// One condition that a tool watches: the deduplication key of an issue within a site.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fingerprint {
            $($(#[$doc])+ $name,)+
        }

        impl Fingerprint {
            /// All fingerprints, by tool in the order of the API's enumeration.
            pub const ALL: [Self; [$(Self::$name),+].len()] = [$(Self::$name),+];

            /// The value in the API and in keys: `<tool>:<condition>`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $value,)+
                }
            }

            /// The tool whose checks decide it.
            pub const fn tool(self) -> Tool {
                match self {
                    $(Self::$name => Tool::$tool,)+
                }
            }

            /// The severity of its issues, unless a site's expectations choose another.
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)+
                }
            }

            /// A number from 1 to 15 that fits into the four bits for it in an issue's id. Ids are stored, so a number
            /// never changes and is never reused.
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }
        }
    };
}

fingerprints! {
    /// The site does not answer, or answers with a code that counts as failed.
    StatusDown = 1, "status:down", of Status, Critical;
    /// The site fails from home and answers elsewhere.
    StatusPartial = 10, "status:partial", of Status, Warning;
    /// The response is not as the site's expectations say.
    StatusExpectation = 11, "status:expectation", of Status, Critical;
    /// The response takes longer than expected.
    StatusSlow = 12, "status:slow", of Status, Warning;
    /// The certificate is not valid for the site.
    SslInvalid = 2, "ssl:invalid", of Ssl, Critical;
    /// The certificate is valid and expires soon.
    SslExpiring = 3, "ssl:expiring", of Ssl, Warning;
    /// The domain's records cannot be looked up.
    DnsLookupFailed = 4, "dns:lookup_failed", of Dns, Critical;
    /// Expected records are missing.
    DnsRecordsMissing = 5, "dns:records_missing", of Dns, Warning;
    /// Watched records differ from the baseline.
    DnsRecordsChanged = 6, "dns:records_changed", of Dns, Info;
    /// The registration of the site's domain ends soon.
    DnsDomainExpiring = 9, "dns:domain_expiring", of Dns, Warning;
    /// The crawl found too many broken links.
    BrokenLinksThreshold = 7, "broken-links:threshold", of BrokenLinks, Warning;
    /// The audit broke a limit.
    PerformanceBudget = 8, "performance:budget", of Performance, Warning;
    /// No ping came in time, or the job reported that it failed.
    HeartbeatDown = 13, "heartbeat:down", of Heartbeat, Critical;
    /// A run of the job takes longer than its owner allows.
    HeartbeatRunningLong = 14, "heartbeat:running_long", of Heartbeat, Warning;
}

impl Fingerprint {
    /// The fingerprint with this value in the API.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fingerprint| fingerprint.as_str() == value)
    }

    /// Whether expectations of a site decide about it.
    pub const fn is_of_expectations(self) -> bool {
        matches!(self, Self::StatusExpectation | Self::StatusSlow)
    }

    /// The fingerprint with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|fingerprint| fingerprint.code() == code)
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

/// How severe an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Visitors cannot use the site, or will soon be affected.
    Critical,
    /// Something to fix before it affects visitors.
    Warning,
    /// Something to know.
    Info,
}

impl Severity {
    /// All severities, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Warning, Self::Info];

    /// The value in the API and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// The severity with this value in the API.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == value)
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
    /// Nobody has acknowledged it yet.
    Open,
    /// A member has acknowledged it.
    Acknowledged,
    /// It is over.
    Resolved,
}

impl IssueStatus {
    /// All states, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Open, Self::Acknowledged, Self::Resolved];

    /// The value in the API and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
        }
    }

    /// The state with this value in the API.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == value)
    }

    /// Whether the issue is active: open or acknowledged.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Open | Self::Acknowledged)
    }
}

impl std::fmt::Display for IssueStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one evaluation says about one fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The condition does not hold.
    Up,
    /// The condition holds.
    Down,
}

impl Outcome {
    /// The outcome for a condition that holds, or that does not.
    pub(crate) const fn of(is_down: bool) -> Self {
        if is_down { Self::Down } else { Self::Up }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn fingerprints_are_what_clients_and_ids_know() {
        // Value in the API, tool, severity, number: each of them is stored or visible to clients.
        let known = [
            ("status:down", Tool::Status, Severity::Critical, 1),
            ("status:partial", Tool::Status, Severity::Warning, 10),
            ("status:expectation", Tool::Status, Severity::Critical, 11),
            ("status:slow", Tool::Status, Severity::Warning, 12),
            ("ssl:invalid", Tool::Ssl, Severity::Critical, 2),
            ("ssl:expiring", Tool::Ssl, Severity::Warning, 3),
            ("dns:lookup_failed", Tool::Dns, Severity::Critical, 4),
            ("dns:records_missing", Tool::Dns, Severity::Warning, 5),
            ("dns:records_changed", Tool::Dns, Severity::Info, 6),
            ("dns:domain_expiring", Tool::Dns, Severity::Warning, 9),
            ("broken-links:threshold", Tool::BrokenLinks, Severity::Warning, 7),
            ("performance:budget", Tool::Performance, Severity::Warning, 8),
            ("heartbeat:down", Tool::Heartbeat, Severity::Critical, 13),
            ("heartbeat:running_long", Tool::Heartbeat, Severity::Warning, 14),
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
            assert_eq!(Fingerprint::from_code(fingerprint.code()), Some(fingerprint));
            assert!((1..=15).contains(&fingerprint.code()), "four bits, and never zero");
            let (tool, condition) = fingerprint.as_str().split_once(':').expect("two parts");
            assert_eq!(tool, fingerprint.tool().as_str());
            assert!(!condition.is_empty());
            let json = serde_json::to_value(fingerprint).expect("a string");
            assert_eq!(json, json!(fingerprint.as_str()));
            assert_eq!(serde_json::from_value::<Fingerprint>(json).expect("known"), fingerprint);
        }
        let codes: HashSet<u8> = Fingerprint::ALL.into_iter().map(Fingerprint::code).collect();
        assert_eq!(codes.len(), Fingerprint::ALL.len());
        for unknown in ["", "status", "status:", "Status:down", "status:up", "links:threshold"] {
            assert_eq!(Fingerprint::parse(unknown), None, "{unknown}");
        }
        for unknown in [0, 15, 16, 255] {
            assert_eq!(Fingerprint::from_code(unknown), None, "{unknown}");
        }
        let error = serde_json::from_value::<Fingerprint>(json!("status:up")).expect_err("unknown");
        assert_eq!(error.to_string(), "unknown fingerprint `status:up`");
    }

    #[test]
    fn every_tool_decides_an_issue() {
        for tool in Tool::WITH_HEARTBEAT {
            let own = Fingerprint::ALL.into_iter().filter(|fingerprint| fingerprint.tool() == tool);
            assert_ne!(own.count(), 0, "{tool}");
        }
    }

    #[test]
    fn the_other_enumerations_read_back() {
        for severity in Severity::ALL {
            assert_eq!(Severity::parse(severity.as_str()), Some(severity));
            assert_eq!(serde_json::to_value(severity).expect("json"), json!(severity.to_string()));
        }
        for status in IssueStatus::ALL {
            assert_eq!(IssueStatus::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).expect("json"), json!(status.to_string()));
        }
        assert_eq!((Severity::parse("fatal"), IssueStatus::parse("active")), (None, None));
    }
}
