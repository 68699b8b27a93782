//! Monitoring settings: a team's defaults, a site's overrides, and what the two resolve to.
//!
//! [`Settings`] is always complete: every value is present, and it serializes to exactly the `settings` object of the
//! API. Changes are partial: [`SiteOverrides`] is applied to a team's settings whenever they are read, and
//! [`TeamUpdate`] is merged into them once. Requests are validated before they become either, so nothing here fails.
//!
//! Stored settings are read leniently: a missing value gets its default, so that a later version may add fields.

mod codes;
mod declare;
mod dns;
mod header;
mod issue;
mod overrides;
mod page;
mod parse;
mod records;
mod setting;
mod time_of_day;
mod tools;
mod update;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use codes::{CodeGroup, STATUS_INCIDENT_CODES, StatusCodeOption};
pub use declare::{Overrides, OwnSettings};
pub use dns::{DnsRecordType, ExpectedRecords};
pub use header::{
    HEADER_FIELDS, HEADER_NAME_MAX, HEADER_VALUE_MAX, HeaderOverride, PROXY_HEADERS, RequestHeader,
    UNSENDABLE_HEADERS, is_sendable_header, read_header,
};
pub(crate) use header::{HEADER_NAME_KIND, is_header_name};
pub use issue::{DnsIssueSettings, IssueSettings};
pub use overrides::{SiteOverrides, ToolOverride, ToolsOverrides};
pub use page::{PAGE_URL_MAX, PageUrlError, check_page_url};
pub use parse::{TEAM_PATH, parse_site, parse_site_overrides, parse_team_update};
pub(in crate::sites) use records::ExpectedRecordsRule;
pub use setting::{CHOICES_MAX, IGNORE_PATHS_BYTES_MAX, IGNORE_PATHS_MAX, INTEGER_MAX};
pub use time_of_day::{TIME_OF_DAY, TimeOfDay};
pub use tools::{
    DnsOverrides, DnsSettings, HTTPS_PORT, LinksOverrides, LinksSettings, PerformanceOverrides,
    PerformanceSettings, SslOverrides, SslSettings, StatusOverrides, StatusSettings, ToolSettings,
    Tools, own_settings,
};
pub use update::{EscalationUpdate, QuietTimeUpdate, TeamUpdate};

use crate::accounts::plan::Plan;
use crate::checks::tool::Tool;

/// A team's monitoring settings, or a site's once resolved: the API's `settings`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "MonitoringSettings")
)]
#[serde(default)]
pub struct Settings {
    /// What each tool does.
    pub tools: Tools,
    /// A header sent with status, broken-links and performance checks.
    pub request_header: RequestHeader,
    /// The daily window in which alerts are held back.
    pub quiet_time: QuietTime,
    /// Reminders of active issues.
    pub escalation: Escalation,
}

/// A daily window, in the time zone of the team, in which issue alerts are held back. It may include midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QuietTime {
    /// Whether alerts are held back at all.
    pub enabled: bool,
    /// The first quiet minute.
    pub starts_at: TimeOfDay,
    /// The first minute that is no longer quiet; differs from `starts_at`.
    pub ends_at: TimeOfDay,
}

impl Default for QuietTime {
    fn default() -> Self {
        Self {
            enabled: false,
            starts_at: TimeOfDay::from_hour(22),
            ends_at: TimeOfDay::from_hour(7),
        }
    }
}

/// Reminders of active issues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Escalation {
    /// Whether reminders are sent.
    pub enabled: bool,
    /// Minutes since the issue opened at which a reminder is sent; each is one of
    /// [`ESCALATION_PRESETS`](crate::accounts::plan::ESCALATION_PRESETS).
    #[cfg_attr(
        feature = "schema",
        schemars(
            description = "Minutes since the issue opened at which a reminder is sent.",
            schema_with = "crate::schema::intervals"
        )
    )]
    pub intervals: BTreeSet<u32>,
}

impl Settings {
    /// The settings of a new team on this plan.
    pub fn defaults(plan: Plan) -> Self {
        Self::default().on_plan(plan)
    }

    /// The same settings as the plan allows them: cadences below the minimum of the plan and the tool are raised to it.
    /// Teams keep their own cadences through a downgrade, so all code that reads a team's settings reads them through
    /// this.
    #[must_use]
    pub fn on_plan(mut self, plan: Plan) -> Self {
        for tool in Tool::ALL {
            let cadence = self.tools.cadence_minutes_mut(tool);
            *cadence = (*cadence).max(plan.minimum_cadence_minutes(tool));
        }
        self
    }

    /// A site's settings: the team's, with the site's overrides, as far as the plan allows.
    #[must_use]
    pub fn resolve(team: &Self, site: &SiteOverrides, plan: Plan) -> Self {
        let mut resolved = team.clone();
        site.tools.apply(&mut resolved.tools);
        if let Some(header) = &site.request_header {
            resolved.request_header = header.to_request_header();
        }
        resolved.on_plan(plan)
    }

    /// The settings after a team's update. Anything that the update leaves out stays.
    #[must_use]
    pub fn merge(&self, update: &TeamUpdate) -> Self {
        let mut merged = self.clone();
        update.tools.apply(&mut merged.tools);
        if let Some(header) = &update.request_header {
            merged.request_header = header.clone();
        }
        if let Some(quiet_time) = &update.quiet_time {
            merged.quiet_time = quiet_time.merged_into(merged.quiet_time);
        }
        if let Some(escalation) = &update.escalation {
            escalation.apply(&mut merged.escalation);
        }
        merged
    }

    /// Whether the same tools run with the same cadences, so that both lead to the same schedules.
    pub fn runs_like(&self, other: &Self) -> bool {
        Tool::ALL.into_iter().all(|tool| {
            self.tools.is_enabled(tool) == other.tools.is_enabled(tool)
                && self.tools.cadence_minutes(tool) == other.tools.cadence_minutes(tool)
        })
    }

    /// The tools that run automatically: enabled and part of the plan, in enumeration order.
    pub fn enabled_tools(&self, plan: Plan) -> Vec<Tool> {
        Tool::ALL
            .into_iter()
            .filter(|&tool| self.tools.is_enabled(tool) && plan.allows(tool))
            .collect()
    }
}

#[cfg(test)]
mod tests;
