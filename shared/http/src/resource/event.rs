//! Events as the API shows them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::User;
use vedette_domain::id::{IssueId, UserId};
use vedette_domain::issues::Severity;
use vedette_store::IssueWithMonitor;

use super::{HeartbeatSummary, SiteSummary, UserResource, wire_time};
use crate::events::{TeamEvent, TeamEventKind};

/// An issue that opened, or that was resolved.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamEvent"))]
pub struct TeamEventResource<'a> {
    /// When it happened.
    #[serde(serialize_with = "wire_time")]
    timestamp: Timestamp,
    /// What happened.
    event: TeamEventKind,
    /// The issue.
    issue_uuid: IssueId,
    /// The site of the issue; null if it is about a heartbeat.
    site: Option<SiteSummary>,
    /// The heartbeat of the issue. Omitted for the issue of a site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "HeartbeatSummary", default))]
    heartbeat: Option<HeartbeatSummary>,
    /// How severe the issue is.
    severity: Severity,
    /// What is wrong, or what was wrong, for people.
    summary: &'a str,
    /// How long the problem lasted, in seconds; null if it opened.
    seconds: Option<i64>,
    /// Who resolved the issue; null if checks did, and if it opened.
    resolved_by: Option<UserResource>,
}

impl<'a> TeamEventResource<'a> {
    /// An event with its issue.
    pub fn new(
        event: &'a TeamEvent,
        IssueWithMonitor { issue, monitor, .. }: &IssueWithMonitor,
        users: &BTreeMap<UserId, User>,
    ) -> Self {
        Self {
            timestamp: event.at,
            event: event.kind,
            issue_uuid: event.issue,
            site: monitor.site().map(SiteSummary::from),
            heartbeat: monitor.heartbeat().map(HeartbeatSummary::from),
            severity: issue.severity(),
            summary: &event.summary,
            seconds: event.lasted.map(|lasted| lasted.as_secs()),
            resolved_by: event.by.and_then(|by| users.get(&by)).map(UserResource::from),
        }
    }
}
