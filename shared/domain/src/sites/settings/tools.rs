//! What each tool does: whether and how often it runs, and when its findings open an issue.

use std::collections::BTreeSet;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Deserialize, Serialize};

use super::codes::STATUS_INCIDENT_CODES;
use super::declare::{OwnSettings, own_settings};
use super::dns::DnsRecordType;
use super::setting::{
    CHOICES_MAX, CONFIRMATION_RETRY_MINUTES, INCIDENT_FOLLOW_UP_MINUTES, PAGE, PERFORMANCE_SCORE,
    POSITIVE, PathsRule, PortRule,
};
use crate::checks::tool::Tool;
use crate::input::{FlagRule, Input as _, InputField, ListRule, NumberRule};

/// The port of the certificate that is checked, if no other is set: that of `https`.
pub const HTTPS_PORT: u16 = 443;

const ONE: NonZeroU32 = NonZeroU32::MIN;
const TWO: NonZeroU32 = ONE.saturating_add(1);
const FIVE: NonZeroU32 = ONE.saturating_add(4);
const FOURTEEN: NonZeroU32 = ONE.saturating_add(13);

/// The settings of each tool.
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

/// A field of a tool's settings, by the tool.
macro_rules! of_tool {
    ([$($by:tt)+] $tools:ident.$field:ident, $tool:expr) => {
        match $tool {
            // Heartbeats have no such settings, and nobody asks for them.
            Tool::Status | Tool::Heartbeat => $($by)+ $tools.status.$field,
            Tool::Ssl => $($by)+ $tools.ssl.$field,
            Tool::Dns => $($by)+ $tools.dns.$field,
            Tool::BrokenLinks => $($by)+ $tools.broken_links.$field,
            Tool::Performance => $($by)+ $tools.performance.$field,
        }
    };
}
pub(super) use of_tool;

impl Tools {
    /// Whether the tool runs automatically and may open issues.
    pub const fn is_enabled(&self, tool: Tool) -> bool {
        // A heartbeat always runs.
        matches!(tool, Tool::Heartbeat) || *of_tool!([&] self.enabled, tool)
    }

    /// Minutes between two automatic checks of the tool.
    pub const fn cadence_minutes(&self, tool: Tool) -> u32 {
        *of_tool!([&] self.cadence_minutes, tool)
    }

    pub(super) const fn cadence_minutes_mut(&mut self, tool: Tool) -> &mut u32 {
        of_tool!([&mut] self.cadence_minutes, tool)
    }
}

/// One tool: whether and how often it runs, and its own settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(inline, bound = "S: OwnSettings + Serialize + schemars::JsonSchema")
)]
#[serde(default)]
#[serde(bound(deserialize = "S: OwnSettings + Deserialize<'de>"))]
pub struct ToolSettings<S> {
    /// Whether the tool runs automatically and may open issues.
    pub enabled: bool,
    /// Minutes between two automatic checks; one of
    /// [`CADENCE_MINUTES`](crate::accounts::plan::CADENCE_MINUTES).
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

impl<S: OwnSettings> Default for ToolSettings<S> {
    fn default() -> Self {
        let cadence_minutes = S::TOOL.definition().default_cadence_minutes;
        Self { enabled: true, cadence_minutes, settings: S::default() }
    }
}

own_settings! {
    /// When status checks open and resolve an issue.
    StatusSettings as "StatusSettings", StatusOverrides, of Status {
        /// Response codes that count as failed; a missing response always counts. Codes that cannot be listed count like
        /// 400 (4xx) or 500 (all higher ones).
        #[form("Failure status codes", "Responses that count as a failure. A missing response always counts. A code that is not listed counts like 400 if it is a 4xx code, and like 500 if it is 5xx or higher.")]
        incident_status_codes: Optional<BTreeSet<u16>> = ListRule::new(0, CHOICES_MAX, NumberRule(STATUS_INCIDENT_CODES.map(|option| option.code.into()))), or STATUS_INCIDENT_CODES.iter().map(|option| option.code).collect();
        /// Failed checks in a row before an issue opens.
        #[form("Failures to open an issue", "Failed checks in a row.")]
        failures_to_open: Optional<NonZeroU32> = POSITIVE, or TWO;
        /// Successful checks in a row before it resolves.
        #[form("Successes to resolve it", "Successful checks in a row.")]
        successes_to_resolve: Optional<NonZeroU32> = POSITIVE, or ONE;
        /// Minutes until a failure is checked again.
        #[form("Retry after a failure (minutes)", "Checks again sooner than the check interval, to confirm a failure.")]
        confirmation_retry_minutes: Optional<u32> = CONFIRMATION_RETRY_MINUTES, or 2;
        /// Minutes between follow-ups of an active issue.
        #[form("Check while an issue is open (minutes)", "Checks again sooner than the check interval, to see when it is over.")]
        incident_follow_up_minutes: Optional<u32> = INCIDENT_FOLLOW_UP_MINUTES, or 5;
    }
}

own_settings! {
    /// When certificate checks open an issue.
    SslSettings as "SslSettings", SslOverrides, of Ssl {
        /// How many days before its expiry the certificate is reported.
        #[form("Warn before expiry (days)")]
        expiry_days: Optional<NonZeroU32> = POSITIVE, or FOURTEEN;
        /// Failed checks in a row before an issue opens.
        #[form("Failures to open an issue", "Failed checks in a row.")]
        failures_to_open: Optional<NonZeroU32> = POSITIVE, or TWO;
        /// Minutes until a failure is checked again.
        #[form("Retry after a failure (minutes)", "Checks again sooner than the check interval, to confirm a failure.")]
        confirmation_retry_minutes: Optional<u32> = CONFIRMATION_RETRY_MINUTES, or 2;
        /// An addition to the specification: the port whose certificate is checked; null or omitted for 443.
        #[form("Port", "Leave empty for 443.")]
        #[omitted_if(Option::is_none)]
        port: Clearable<NonZeroU16> = PortRule;
    }
}

impl SslSettings {
    /// The port whose certificate is checked.
    pub fn port(&self) -> u16 {
        self.port.map_or(HTTPS_PORT, NonZeroU16::get)
    }
}

own_settings! {
    /// When DNS checks open an issue.
    DnsSettings as "DnsSettings", DnsOverrides, of Dns {
        /// Whether only failed lookups open an issue, and changed records do not.
        #[form("Only failed lookups open issues", "Changed or missing records don’t.")]
        hard_failures_only: Optional<bool> = FlagRule, or false;
        /// Failed checks in a row before an issue opens.
        #[form("Failures to open an issue", "Failed checks in a row.")]
        failures_to_open: Optional<NonZeroU32> = POSITIVE, or TWO;
        /// Minutes until a failure is checked again.
        #[form("Retry after a failure (minutes)", "Checks again sooner than the check interval, to confirm a failure.")]
        confirmation_retry_minutes: Optional<u32> = CONFIRMATION_RETRY_MINUTES, or 2;
        /// The record types monitored for changes.
        #[form("Record types to monitor")]
        monitored_record_types: Optional<BTreeSet<DnsRecordType>> = ListRule::new(0, CHOICES_MAX, DnsRecordType::ALL), or DnsRecordType::ALL.into();
    }
}

own_settings! {
    /// What a crawl looks at, and when broken links open an issue.
    LinksSettings as "BrokenLinksSettings", LinksOverrides, of BrokenLinks {
        /// Broken URLs in one crawl that count as a breach.
        #[form("Broken links that count as a failure", "In one crawl.")]
        min_broken_count: Optional<NonZeroU32> = POSITIVE, or FIVE;
        /// Breaches in a row before an issue opens.
        #[form("Failures to open an issue", "Failed checks in a row.")]
        consecutive_breaches_to_open: Optional<NonZeroU32> = POSITIVE, or ONE;
        /// Path patterns left out of the crawl.
        #[form("Paths to ignore", "One per line. * matches any text.")]
        ignore_paths: Optional<BTreeSet<String>> = PathsRule, or BTreeSet::new();
        /// Whether links to other hosts are left out.
        #[form("Ignore links to other hosts")]
        ignore_external_links: Optional<bool> = FlagRule, or false;
        /// Whether redirect responses are left out.
        #[form("Ignore redirects")]
        ignore_redirects: Optional<bool> = FlagRule, or false;
    }
}

own_settings! {
    /// Which page is audited, and the budget beyond which an issue opens.
    PerformanceSettings as "PerformanceSettings", PerformanceOverrides, of Performance {
        /// The page to audit, on the site's own host; null for the site's root. For a team, it is always null.
        #[form("Page to audit", "On the site’s own host. Leave empty for its root.")]
        url: Clearable<String> = PAGE;
        /// The lowest acceptable score.
        #[form("Minimum score", "From 0 to 100.")]
        min_score: Optional<u32> = PERFORMANCE_SCORE, or 50;
        /// The longest acceptable time to first byte, in milliseconds; null for no limit.
        #[form("Maximum Time to First Byte (ms)", "Leave empty for no limit.")]
        #[formerly("max_response_time_ms", "The older name of `max_ttfb_ms`, which takes precedence. Answers always show the same value for both.")]
        max_ttfb_ms: Clearable<NonZeroU32> = POSITIVE;
        /// The longest acceptable Time to Interactive, in seconds; null for no limit.
        #[form("Maximum Time to Interactive (s)", "Leave empty for no limit.")]
        max_load_time_seconds: Clearable<NonZeroU32> = POSITIVE;
        /// Breaches in a row before an issue opens.
        #[form("Failures to open an issue", "Failed checks in a row.")]
        consecutive_breaches_to_open: Optional<NonZeroU32> = POSITIVE, or TWO;
    }
}

/// The settings of a tool besides `enabled` and `cadence_minutes`.
pub const fn own_settings(tool: Tool) -> &'static [InputField] {
    match tool {
        Tool::Status => StatusOverrides::FIELDS,
        Tool::Ssl => SslOverrides::FIELDS,
        Tool::Dns => DnsOverrides::FIELDS,
        Tool::BrokenLinks => LinksOverrides::FIELDS,
        Tool::Performance => PerformanceOverrides::FIELDS,
        Tool::Heartbeat => &[],
    }
}
