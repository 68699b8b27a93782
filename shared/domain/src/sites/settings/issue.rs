//! The `issue_settings` of a site, which say what opens an issue.

use serde::Serialize;

use super::dns::ExpectedRecords;
use super::tools::{
    DnsSettings, LinksSettings, PerformanceSettings, SslSettings, StatusSettings, Tools,
};
use super::{Escalation, QuietTime, Settings};
use crate::accounts::plan::Plan;
use crate::checks::tool::Tool;

/// A site's resolved settings in the form that the API calls `issue_settings`. Only here, broken links are called
/// `links`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssueSettings<'a> {
    /// Enabled tools that the plan includes, in enumeration order.
    pub enabled_tools: Vec<Tool>,
    /// The status tool.
    pub status: &'a StatusSettings,
    /// The certificate tool.
    pub ssl: &'a SslSettings,
    /// The broken-links tool.
    pub links: &'a LinksSettings,
    /// The performance tool.
    pub performance: &'a PerformanceSettings,
    /// The DNS tool, with the records it expects.
    pub dns: DnsIssueSettings<'a>,
    /// When alerts are held back.
    pub quiet_time: &'a QuietTime,
    /// When reminders are sent.
    pub escalation: &'a Escalation,
}

/// The DNS part of [`IssueSettings`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct DnsIssueSettings<'a> {
    /// The tool's own settings.
    #[serde(flatten)]
    pub settings: &'a DnsSettings,
    /// Records that were set for the site, never learned ones; empty if none were set.
    pub expected_records: &'a ExpectedRecords,
}

impl<'a> IssueSettings<'a> {
    /// The `issue_settings` for a site's `resolved` settings and its explicitly expected records.
    pub fn new(resolved: &'a Settings, expected_records: &'a ExpectedRecords, plan: Plan) -> Self {
        let Settings { tools, request_header: _, quiet_time, escalation } = resolved;
        // Destructured, so that a new tool does not compile until it is here.
        let Tools { status, ssl, dns, broken_links, performance } = tools;
        Self {
            enabled_tools: resolved.enabled_tools(plan),
            status: &status.settings,
            ssl: &ssl.settings,
            links: &broken_links.settings,
            performance: &performance.settings,
            dns: DnsIssueSettings { settings: &dns.settings, expected_records },
            quiet_time,
            escalation,
        }
    }
}
