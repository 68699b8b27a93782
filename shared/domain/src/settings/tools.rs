//! What each tool does: whether and how often it runs, and when its findings open an issue.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::codes::STATUS_INCIDENT_CODES;
use super::dns::DnsRecordType;
use crate::tool::Tool;

const DAY: u32 = 1_440;
const WEEK: u32 = 10_080;
const ONE: NonZeroU32 = NonZeroU32::MIN;
const TWO: NonZeroU32 = ONE.saturating_add(1);
const FIVE: NonZeroU32 = ONE.saturating_add(4);
const FOURTEEN: NonZeroU32 = ONE.saturating_add(13);

/// The five tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolsSettings"))]
#[serde(default)]
pub struct Tools {
    /// HTTP reachability.
    pub status: ToolSettings<StatusSettings>,
    /// TLS certificate.
    pub ssl: ToolSettings<SslSettings>,
    /// DNS records.
    pub dns: ToolSettings<DnsSettings>,
    /// Site crawl.
    #[serde(rename = "broken-links")]
    pub broken_links: ToolSettings<LinksSettings>,
    /// Lab performance audit.
    pub performance: ToolSettings<PerformanceSettings>,
}

impl Tools {
    /// Whether the tool runs automatically and may open issues.
    pub const fn is_enabled(&self, tool: Tool) -> bool {
        match tool {
            Tool::Status => self.status.enabled,
            Tool::Ssl => self.ssl.enabled,
            Tool::Dns => self.dns.enabled,
            Tool::BrokenLinks => self.broken_links.enabled,
            Tool::Performance => self.performance.enabled,
        }
    }

    /// Minutes between two automatic checks of the tool.
    pub const fn cadence_minutes(&self, tool: Tool) -> u32 {
        match tool {
            Tool::Status => self.status.cadence_minutes,
            Tool::Ssl => self.ssl.cadence_minutes,
            Tool::Dns => self.dns.cadence_minutes,
            Tool::BrokenLinks => self.broken_links.cadence_minutes,
            Tool::Performance => self.performance.cadence_minutes,
        }
    }

    pub(super) const fn cadence_minutes_mut(&mut self, tool: Tool) -> &mut u32 {
        match tool {
            Tool::Status => &mut self.status.cadence_minutes,
            Tool::Ssl => &mut self.ssl.cadence_minutes,
            Tool::Dns => &mut self.dns.cadence_minutes,
            Tool::BrokenLinks => &mut self.broken_links.cadence_minutes,
            Tool::Performance => &mut self.performance.cadence_minutes,
        }
    }
}

/// One tool: whether and how often it runs, and its own settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(inline, bound = "S: ToolDefaults + Serialize + schemars::JsonSchema")
)]
#[serde(default)]
#[serde(bound(deserialize = "S: ToolDefaults + Deserialize<'de>"))]
pub struct ToolSettings<S> {
    /// Whether the tool runs automatically and may open issues.
    pub enabled: bool,
    /// Minutes between two automatic checks; one of
    /// [`CADENCE_MINUTES`](crate::plan::CADENCE_MINUTES).
    #[cfg_attr(
        feature = "schema",
        schemars(
            description = "Minutes between two automatic checks.",
            schema_with = "crate::schema::cadence"
        )
    )]
    pub cadence_minutes: u32,
    /// The tool's own settings.
    pub settings: S,
}

/// A tool's own settings, whose defaults a new team starts from.
pub trait ToolDefaults: Default {
    /// Minutes between two automatic checks, before the plan's minimum.
    const CADENCE_MINUTES: u32;
}

impl<S: ToolDefaults> Default for ToolSettings<S> {
    fn default() -> Self {
        Self { enabled: true, cadence_minutes: S::CADENCE_MINUTES, settings: S::default() }
    }
}

/// When status checks open and resolve an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StatusSettings {
    /// Response codes that count as failed, each one of [`STATUS_INCIDENT_CODES`]; no response
    /// always counts.
    #[cfg_attr(
        feature = "schema",
        schemars(
            description = "Response codes that count as failed; no response always counts.",
            schema_with = "crate::schema::incident_codes"
        )
    )]
    pub incident_status_codes: BTreeSet<u16>,
    /// Failed checks in a row before an issue opens.
    pub failures_to_open: NonZeroU32,
    /// Successful checks in a row before it resolves.
    pub successes_to_resolve: NonZeroU32,
    /// Minutes until a failure is looked at again, 1 to 5.
    pub confirmation_retry_minutes: u32,
    /// Minutes between follow-ups of an active issue, 1 to 60.
    pub incident_follow_up_minutes: u32,
}

impl Default for StatusSettings {
    fn default() -> Self {
        Self {
            incident_status_codes: STATUS_INCIDENT_CODES.iter().map(|option| option.code).collect(),
            failures_to_open: TWO,
            successes_to_resolve: ONE,
            confirmation_retry_minutes: 2,
            incident_follow_up_minutes: 5,
        }
    }
}

impl ToolDefaults for StatusSettings {
    const CADENCE_MINUTES: u32 = 5;
}

/// When certificate checks open an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SslSettings {
    /// Days before expiry from which the certificate is reported.
    pub expiry_days: NonZeroU32,
    /// Failed checks in a row before an issue opens.
    pub failures_to_open: NonZeroU32,
    /// Minutes until a failure is looked at again, 1 to 5.
    pub confirmation_retry_minutes: u32,
}

impl Default for SslSettings {
    fn default() -> Self {
        Self { expiry_days: FOURTEEN, failures_to_open: TWO, confirmation_retry_minutes: 2 }
    }
}

impl ToolDefaults for SslSettings {
    const CADENCE_MINUTES: u32 = DAY;
}

/// When DNS checks open an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DnsSettings {
    /// Whether only failed lookups open an issue, and changed records do not.
    pub hard_failures_only: bool,
    /// Failed checks in a row before an issue opens.
    pub failures_to_open: NonZeroU32,
    /// Minutes until a failure is looked at again, 1 to 5.
    pub confirmation_retry_minutes: u32,
    /// The record types watched for changes.
    pub monitored_record_types: BTreeSet<DnsRecordType>,
}

impl Default for DnsSettings {
    fn default() -> Self {
        Self {
            hard_failures_only: false,
            failures_to_open: TWO,
            confirmation_retry_minutes: 2,
            monitored_record_types: DnsRecordType::ALL.into(),
        }
    }
}

impl ToolDefaults for DnsSettings {
    const CADENCE_MINUTES: u32 = 60;
}

/// What a crawl looks at, and when broken links open an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "BrokenLinksSettings")
)]
#[serde(default)]
pub struct LinksSettings {
    /// Broken URLs in one crawl that make a breach.
    pub min_broken_count: NonZeroU32,
    /// Breaches in a row before an issue opens.
    pub consecutive_breaches_to_open: NonZeroU32,
    /// Path patterns left out of the crawl, each at most 255 characters.
    pub ignore_paths: BTreeSet<String>,
    /// Whether links outside the site's host are left out.
    pub ignore_external_links: bool,
    /// Whether redirect responses are left out.
    pub ignore_redirects: bool,
}

impl Default for LinksSettings {
    fn default() -> Self {
        Self {
            min_broken_count: FIVE,
            consecutive_breaches_to_open: ONE,
            ignore_paths: BTreeSet::new(),
            ignore_external_links: false,
            ignore_redirects: false,
        }
    }
}

impl ToolDefaults for LinksSettings {
    const CADENCE_MINUTES: u32 = WEEK;
}

/// Which page is audited, and the budget beyond which an issue opens.
///
/// The legacy `max_response_time_ms` is shown beside `max_ttfb_ms`, always equal to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, into = "PerformanceShape")]
pub struct PerformanceSettings {
    /// The page audited, on the site's own domain; `None` is the site's root. A team has none.
    pub url: Option<String>,
    /// The lowest acceptable score, 1 to 100.
    pub min_score: u32,
    /// The longest acceptable time to first byte, in milliseconds.
    pub max_ttfb_ms: Option<NonZeroU32>,
    /// The longest acceptable Time to Interactive, in seconds.
    pub max_load_time_seconds: Option<NonZeroU32>,
    /// Breaches in a row before an issue opens.
    pub consecutive_breaches_to_open: NonZeroU32,
}

impl Default for PerformanceSettings {
    fn default() -> Self {
        Self {
            url: None,
            min_score: 50,
            max_ttfb_ms: None,
            max_load_time_seconds: None,
            consecutive_breaches_to_open: TWO,
        }
    }
}

impl ToolDefaults for PerformanceSettings {
    const CADENCE_MINUTES: u32 = DAY;
}

/// [`PerformanceSettings`] as the API shows it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct PerformanceShape {
    /// The page audited, on the site's own host; null is the site's root. A team has none.
    url: Option<String>,
    /// The lowest acceptable score, 1 to 100.
    min_score: u32,
    /// The older name of `max_ttfb_ms`, always equal to it.
    max_response_time_ms: Option<NonZeroU32>,
    /// The longest acceptable time to first byte, in milliseconds; null is no limit.
    max_ttfb_ms: Option<NonZeroU32>,
    /// The longest acceptable Time to Interactive, in seconds; null is no limit.
    max_load_time_seconds: Option<NonZeroU32>,
    /// Breaches in a row before an issue opens.
    consecutive_breaches_to_open: NonZeroU32,
}

impl From<PerformanceSettings> for PerformanceShape {
    fn from(settings: PerformanceSettings) -> Self {
        Self {
            url: settings.url,
            min_score: settings.min_score,
            max_response_time_ms: settings.max_ttfb_ms,
            max_ttfb_ms: settings.max_ttfb_ms,
            max_load_time_seconds: settings.max_load_time_seconds,
            consecutive_breaches_to_open: settings.consecutive_breaches_to_open,
        }
    }
}
