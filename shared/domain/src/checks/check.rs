//! A check: one run of a tool, what it produced, or why it could not.

mod dns;
mod links;
mod list_form;
mod performance;
mod ssl;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::history::Sample;
use crate::checks::tool::CheckStatus;
use crate::id::CheckId;

pub use self::dns::{
    Conclusion, DnsAnswer, DnsBaseline, DnsRecord, DnsRecords, DnsResult, ExpectedValue,
    ExpectedValueError, FILTERING_RESOLVER, HostingProvider, IpEnrichment, Lookup,
    LookupObservation, Rcode, RecordData, RecordHash, RecordHashes, Registration, Reputation,
    ReputationStatus, ResolverAnswers, ResolverObservation, conclude,
};
pub(crate) use self::dns::{DOMAIN_EXPIRY_DAYS, is_met};
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
    CertificateKey, CertificateSummary, NameAttribute, SslFailure, SslResult, certificate_time,
    days_left,
};

/// Why an engine could not run; the check is then `failed` and never an observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckError {
    /// For people.
    pub message: String,
    /// For programs, one of a small set per tool, such as `target_forbidden`.
    pub code: String,
    /// Facts behind the message, such as the refused address.
    #[serde(default)]
    pub data: Value,
}

/// The result of a `status` check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusResult {
    /// True when the final answer's HTTP status is 2xx or 3xx.
    pub up: bool,
    /// HTTP status of the final answer; 0 when no answer came.
    pub code: u16,
    /// The monitored URL.
    pub url: String,
    /// The URL that gave the final answer, after redirects.
    pub effective_url: String,
    /// From the start of the first request to the head of the final answer, in milliseconds.
    pub response_time: f64,
    /// Whether any redirect was followed.
    pub redirected: bool,
    /// Redirects followed.
    pub redirect_count: u32,
    /// The URLs after the first, the last being `effective_url`; absent when there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// Why no answer came; only with `code` 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub error: Option<String>,
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CheckResult"))]
#[serde(untagged)]
pub enum ToolResult {
    /// Of a status check.
    Status(StatusResult),
    /// Of an ssl check.
    Ssl(Box<SslResult>),
    /// Of a dns check.
    Dns(Box<DnsResult>),
    /// Of a broken-links check.
    BrokenLinks(LinksResult),
    /// Of a performance check.
    Performance(Box<PerformanceResult>),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Finish {
    /// The engine did its work, whatever it found.
    Completed(ToolResult),
    /// The engine could not run.
    Failed(CheckError),
    /// The run was not executed: plan or configuration forbids it by now.
    Skipped,
}

impl Finish {
    /// What the run adds to the reports.
    pub fn sample(&self) -> Option<Sample> {
        match self {
            Self::Completed(ToolResult::Status(result)) => {
                Some(Sample::Status { up: result.up, response_ms: result.response_time })
            }
            Self::Completed(ToolResult::Performance(result)) => Some(Sample::Performance {
                score: result.speed_metrics.performance_score,
                response_ms: result.response_time,
                speed_index_s: result.speed_index_seconds(),
            }),
            Self::Completed(
                ToolResult::Ssl(_) | ToolResult::Dns(_) | ToolResult::BrokenLinks(_),
            )
            | Self::Failed(_)
            | Self::Skipped => None,
        }
    }
}

/// A check as it is kept: one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Identity; says site, tool, trigger and creation.
    pub id: CheckId,
    /// Its state.
    pub status: CheckStatus,
    /// The tool's result; only when completed.
    pub result: Option<Value>,
    /// Why it failed; only when failed.
    pub error: Option<CheckError>,
    /// The last write.
    pub updated_at: Timestamp,
    /// When it reached a terminal state.
    pub completed_at: Option<Timestamp>,
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
        }
    }

    /// A check whose run has ended.
    pub fn finished(id: CheckId, finish: Finish, now: Timestamp) -> Self {
        let (status, result, error) = match finish {
            // A result is made of strings, numbers and maps with string keys: it has a JSON form.
            Finish::Completed(result) => {
                (CheckStatus::Completed, serde_json::to_value(result).ok(), None)
            }
            Finish::Failed(error) => (CheckStatus::Failed, None, Some(error)),
            Finish::Skipped => (CheckStatus::Skipped, None, None),
        };
        Self { id, status, result, error, updated_at: now, completed_at: Some(now) }
    }
}
