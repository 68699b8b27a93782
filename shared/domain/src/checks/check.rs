//! A check: one run of a tool, and its result or the reason why it failed.

mod dns;
mod heartbeat;
mod links;
mod list_form;
mod performance;
mod ssl;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::evidence::Timing;
use crate::checks::history::Sample;
use crate::checks::tool::{CheckStatus, Tool};
use crate::expectations::{Expectations, Unmet};
use crate::id::CheckId;

pub use self::dns::{
    AddressHashes, Conclusion, DnsAnswer, DnsBaseline, DnsRecord, DnsRecords, DnsResult,
    ExpectedValue, ExpectedValueError, FILTERING_RESOLVER, HostingProvider, IpEnrichment,
    KnownRecords, Lookup, LookupObservation, Rcode, RecordData, RecordHash, RecordHashes,
    Registration, Reputation, ReputationStatus, ResolverAnswers, ResolverObservation, conclude,
};
pub(crate) use self::dns::{DOMAIN_EXPIRY_DAYS, is_met};
pub use self::heartbeat::{HeartbeatResult, RunOutcome};
pub use self::links::{
    BrokenLink, Crawl, CrawlLimits, FinishReason, LinksResult, MAX_URL_BYTES, MAX_URLS,
    SkippedLinks,
};
pub use self::list_form::{LISTED_MAX, list_form, list_form_within};
pub use self::performance::{
    CoreWebVitals, Distribution, FieldData, FieldMetric, LabMetric, Opportunity, PerformanceResult,
    Savings, SpeedMetrics, lighthouse,
};
pub use self::ssl::{
    AlternativeNames, CertificateExtension, CertificateFingerprints, CertificateInfo,
    CertificateKey, CertificateSummary, FirstToExpire, NameAttribute, SslFailure, SslResult,
    certificate_instant, certificate_time, days_left,
};

/// Why a check could not run. The check is then `failed` and never counts as an observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckError {
    /// The error, for people.
    pub message: String,
    /// The error, for programs: one of a small set for each tool, such as `target_forbidden`.
    pub code: String,
    /// Details of the error, such as the refused address.
    #[serde(default)]
    pub data: Value,
}

/// The result of a `status` check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusResult {
    /// True if the HTTP status of the final answer is 2xx or 3xx.
    pub up: bool,
    /// HTTP status of the final answer; 0 if no answer came.
    pub code: u16,
    /// The monitored URL.
    pub url: String,
    /// The URL that gave the final answer, after redirects.
    pub effective_url: String,
    /// The time from the start of the first request to the head of the final answer, in milliseconds.
    pub response_time: f64,
    /// Whether any redirect was followed.
    pub redirected: bool,
    /// Redirects followed.
    pub redirect_count: u32,
    /// The URLs after the first; the last one is `effective_url`. Absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// Why no answer came; present only if `code` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub error: Option<String>,
    /// An addition to the specification: how long each phase took. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Phases"))]
    pub phases: Option<Phases>,
    /// The expectations that the answer did not meet; `None` if none were judged. The specification's result has no
    /// place for them: a check stores them beside it.
    #[serde(skip)]
    pub judged: Option<Vec<Unmet>>,
}

/// How long the phases of a status check took, in whole milliseconds, summed over redirects. A phase is absent if it did
/// not happen, such as TLS over plain HTTP. A redirect may use its connection again, and then adds nothing to them. The
/// rest of the response time is the wait for the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phases {
    /// The lookup of the host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub lookup: Option<u32>,
    /// The TCP connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub connect: Option<u32>,
    /// The TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub tls: Option<u32>,
}

impl Phases {
    /// The phases of a check, if any is known.
    pub fn of(timing: Timing) -> Option<Self> {
        let Timing { lookup, connect, tls, .. } = timing;
        let [lookup, connect, tls] = [lookup, connect, tls].map(|phase| Some((phase? + 50) / 100));
        let phases = Self { lookup, connect, tls };
        (phases != Self::default()).then_some(phases)
    }

    /// The phases in the order in which they happen.
    pub const fn in_order(self) -> [Option<u32>; 3] {
        [self.lookup, self.connect, self.tls]
    }
}

impl StatusResult {
    /// How long lookup, connection, TLS and the rest, the wait for the first byte, took, in milliseconds; `None` if the
    /// phases are not known. Phases are rounded, so the rest may be a little too long or short, but not below 0.
    pub fn phases_with_rest(&self) -> Option<[Option<f64>; 4]> {
        let phases = self.phases?.in_order();
        let [lookup, connect, tls] = phases.map(|phase| phase.map(f64::from));
        let rest = self.response_time - phases.into_iter().flatten().map(f64::from).sum::<f64>();
        Some([lookup, connect, tls, Some(rest.max(0.0))])
    }

    /// The expectations that the answer did not meet.
    pub fn unmet(&self) -> &[Unmet] {
        self.judged.as_deref().unwrap_or_default()
    }
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CheckResult"))]
#[serde(untagged)]
pub enum ToolResult {
    /// The result of a status check.
    Status(StatusResult),
    /// The result of an ssl check.
    Ssl(Box<SslResult>),
    /// The result of a dns check.
    Dns(Box<DnsResult>),
    /// The result of a broken-links check.
    BrokenLinks(LinksResult),
    /// The result of a performance check.
    Performance(Box<PerformanceResult>),
    /// The result of a heartbeat's check.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Heartbeat(Box<HeartbeatResult>),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Finish {
    /// The engine did its work, whatever it found.
    Completed(ToolResult),
    /// The engine could not run.
    Failed(CheckError),
    /// The run was not executed: the plan or the configuration no longer allows it.
    Skipped,
}

impl Finish {
    /// What the run adds to the reports of a site with these expectations.
    pub fn sample(&self, expectations: &Expectations) -> Option<Sample> {
        match self {
            Self::Completed(ToolResult::Status(result)) => {
                // If the answer was not judged, the site is down.
                let met = || result.judged.as_ref().is_some_and(Vec::is_empty);
                let met = (!expectations.is_empty()).then(met);
                Some(Sample::Status { up: result.up, met, response_ms: result.response_time })
            }
            Self::Completed(ToolResult::Performance(result)) => Some(Sample::Performance {
                score: result.speed_metrics.performance_score,
                response_ms: result.response_time,
                speed_index_s: result.speed_index_seconds(),
            }),
            Self::Completed(ToolResult::Heartbeat(result)) => match result.outcome {
                RunOutcome::Success | RunOutcome::Failure | RunOutcome::Missed => {
                    Some(Sample::Status {
                        up: result.outcome == RunOutcome::Success,
                        met: None,
                        response_ms: result.duration.unwrap_or_default(),
                    })
                }
                RunOutcome::RunningLong | RunOutcome::Log => None,
            },
            Self::Completed(
                ToolResult::Ssl(_) | ToolResult::Dns(_) | ToolResult::BrokenLinks(_),
            )
            | Self::Failed(_)
            | Self::Skipped => None,
        }
    }
}

/// A check as it is stored: one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The check's id, which contains its site, tool, trigger and creation.
    pub id: CheckId,
    /// Its state.
    pub status: CheckStatus,
    /// The tool's result; only if completed.
    pub result: Option<Value>,
    /// Why it failed; only if failed.
    pub error: Option<CheckError>,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Whether the site was not as it should be, by the settings of that time; `None` if the check did not complete or
    /// is from a version that did not store it.
    pub has_failed: Option<bool>,
    /// Whether it began or ended in a maintenance window.
    pub in_maintenance: bool,
    /// The expectations that the answer did not meet; only of status checks.
    pub unmet: Vec<Unmet>,
}

impl Check {
    /// An on-demand check that waits for its run.
    pub fn pending(id: CheckId, now: Timestamp) -> Self {
        Self {
            id,
            status: CheckStatus::Pending,
            result: None,
            error: None,
            updated_at: now,
            completed_at: None,
            has_failed: None,
            in_maintenance: false,
            unmet: Vec::new(),
        }
    }

    /// Whether a status check found its site up, or the run of a job succeeded; `None` if the check does not say.
    pub fn found_up(&self) -> Option<bool> {
        let result = self.result.as_ref()?;
        match self.id.tool() {
            Tool::Status => result["up"].as_bool(),
            Tool::Heartbeat => match RunOutcome::deserialize(&result["outcome"]).ok()? {
                RunOutcome::Success => Some(true),
                RunOutcome::Failure | RunOutcome::Missed => Some(false),
                RunOutcome::RunningLong | RunOutcome::Log => None,
            },
            Tool::Ssl | Tool::Dns | Tool::BrokenLinks | Tool::Performance => None,
        }
    }

    /// A check whose run has ended.
    pub fn finished(id: CheckId, finish: Finish, now: Timestamp) -> Self {
        let unmet = match &finish {
            Finish::Completed(ToolResult::Status(result)) => result.unmet().to_vec(),
            _ => Vec::new(),
        };
        let (status, result, error) = match finish {
            // A result consists of strings, numbers and maps with string keys, so it can be written as JSON.
            Finish::Completed(result) => {
                (CheckStatus::Completed, serde_json::to_value(result).ok(), None)
            }
            Finish::Failed(error) => (CheckStatus::Failed, None, Some(error)),
            Finish::Skipped => (CheckStatus::Skipped, None, None),
        };
        Self {
            id,
            status,
            result,
            error,
            updated_at: now,
            completed_at: Some(now),
            has_failed: None,
            in_maintenance: false,
            unmet,
        }
    }
}
