//! What each tool does: whether and how often it runs, and when its findings open an issue.

use std::collections::BTreeSet;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Deserialize, Serialize};

use super::codes::STATUS_INCIDENT_CODES;
use super::declare::{OwnSettings, own_settings};
use super::dns::DnsRecordType;
use super::setting::{
    CONFIRMATION_RETRY_MINUTES, INCIDENT_FOLLOW_UP_MINUTES, PERFORMANCE_SCORE, Rule, Setting,
};
use crate::checks::tool::Tool;

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
        incident_status_codes: BTreeSet<u16> =
            STATUS_INCIDENT_CODES.iter().map(|option| option.code).collect(), Rule::StatusCodes;
        /// Failed checks in a row before an issue opens.
        failures_to_open: NonZeroU32 = TWO, Rule::POSITIVE;
        /// Successful checks in a row before it resolves.
        successes_to_resolve: NonZeroU32 = ONE, Rule::POSITIVE;
        /// Minutes until a failure is checked again.
        confirmation_retry_minutes: u32 = 2, Rule::within(&CONFIRMATION_RETRY_MINUTES);
        /// Minutes between follow-ups of an active issue.
        incident_follow_up_minutes: u32 = 5, Rule::within(&INCIDENT_FOLLOW_UP_MINUTES);
    }
}

own_settings! {
    /// When certificate checks open an issue.
    SslSettings as "SslSettings", SslOverrides, of Ssl {
        /// How many days before its expiry the certificate is reported.
        expiry_days: NonZeroU32 = FOURTEEN, Rule::POSITIVE;
        /// Failed checks in a row before an issue opens.
        failures_to_open: NonZeroU32 = TWO, Rule::POSITIVE;
        /// Minutes until a failure is checked again.
        confirmation_retry_minutes: u32 = 2, Rule::within(&CONFIRMATION_RETRY_MINUTES);
        /// An addition to the specification: the port whose certificate is checked; null or omitted for 443.
        #[omitted_if(Option::is_none)]
        port: Option<NonZeroU16> = None, Rule::Port;
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
        hard_failures_only: bool = false, Rule::Boolean;
        /// Failed checks in a row before an issue opens.
        failures_to_open: NonZeroU32 = TWO, Rule::POSITIVE;
        /// Minutes until a failure is checked again.
        confirmation_retry_minutes: u32 = 2, Rule::within(&CONFIRMATION_RETRY_MINUTES);
        /// The record types monitored for changes.
        monitored_record_types: BTreeSet<DnsRecordType> = DnsRecordType::ALL.into(), Rule::RecordTypes;
    }
}

own_settings! {
    /// What a crawl looks at, and when broken links open an issue.
    LinksSettings as "BrokenLinksSettings", LinksOverrides, of BrokenLinks {
        /// Broken URLs in one crawl that count as a breach.
        min_broken_count: NonZeroU32 = FIVE, Rule::POSITIVE;
        /// Breaches in a row before an issue opens.
        consecutive_breaches_to_open: NonZeroU32 = ONE, Rule::POSITIVE;
        /// Path patterns left out of the crawl.
        ignore_paths: BTreeSet<String> = BTreeSet::new(), Rule::Paths;
        /// Whether links to other hosts are left out.
        ignore_external_links: bool = false, Rule::Boolean;
        /// Whether redirect responses are left out.
        ignore_redirects: bool = false, Rule::Boolean;
    }
}

own_settings! {
    /// Which page is audited, and the budget beyond which an issue opens.
    PerformanceSettings as "PerformanceSettings", PerformanceOverrides, of Performance {
        /// The page to audit, on the site's own host; null for the site's root. For a team, it is always null.
        url: Option<String> = None, Rule::Page;
        /// The lowest acceptable score.
        min_score: u32 = 50, Rule::within(&PERFORMANCE_SCORE);
        /// The longest acceptable time to first byte, in milliseconds; null for no limit.
        #[formerly("max_response_time_ms", "The older name of `max_ttfb_ms`, which takes precedence. Answers always show the same value for both.")]
        max_ttfb_ms: Option<NonZeroU32> = None, Rule::Limit;
        /// The longest acceptable Time to Interactive, in seconds; null for no limit.
        max_load_time_seconds: Option<NonZeroU32> = None, Rule::Limit;
        /// Breaches in a row before an issue opens.
        consecutive_breaches_to_open: NonZeroU32 = TWO, Rule::POSITIVE;
    }
}

/// The settings of a tool besides `enabled` and `cadence_minutes`.
pub const fn own_settings(tool: Tool) -> &'static [Setting] {
    match tool {
        Tool::Status => StatusSettings::SETTINGS,
        Tool::Ssl => SslSettings::SETTINGS,
        Tool::Dns => DnsSettings::SETTINGS,
        Tool::BrokenLinks => LinksSettings::SETTINGS,
        Tool::Performance => PerformanceSettings::SETTINGS,
    }
}
