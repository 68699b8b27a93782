//! Issues as the API shows them, with site, checks and people.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use vedette_domain::accounts::account::User;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::pointer::{CheckPointer, Latest};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::CheckSource;
use vedette_domain::id::{ChannelId, CheckId, IssueId, TeamId, UserId};
use vedette_domain::issues::note::Note;
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{
    Fingerprint, IssueStatus, Lifecycle, Responder, Severity, TimelineEntry, TimelineKey,
};
use vedette_store::{IssueWithMonitor, TeamWithSettings};

use super::{
    CheckResource, HeartbeatSummary, Links, SiteResource, UserResource, wire_time,
    wire_time_or_null,
};

/// An issue.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Issue"))]
pub struct IssueResource {
    /// The issue's id, which stays the same when the issue opens again.
    uuid: IssueId,
    /// The team of the site.
    team_uuid: TeamId,
    /// The tool that found the problem; `heartbeat` for the issue of a heartbeat.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "any_tool"))]
    tool: Tool,
    /// The state of the issue.
    status: IssueStatus,
    /// How severe the problem is.
    severity: Severity,
    /// The condition that was found: `<tool>:<condition>`. A site has at most one issue for each.
    fingerprint: Fingerprint,
    /// What is wrong, for people.
    summary: String,
    /// What was measured when the issue opened.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, Value>>"))]
    context: Value,
    /// The site, without its latest checks; null if the issue is about a heartbeat.
    site: Option<SiteResource>,
    /// An addition to the specification: the heartbeat that the issue is about. Omitted for the issue of a site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "HeartbeatSummary", default))]
    heartbeat: Option<HeartbeatSummary>,
    /// The last automatic check that was evaluated; null after it has expired.
    check: Option<CheckResource>,
    /// The check before it.
    previous_check: Option<CheckResource>,
    /// Who acknowledged the issue.
    acknowledged_by: Option<UserResource>,
    /// Who resolved it; null if checks did.
    resolved_by: Option<UserResource>,
    /// What happened to the issue, oldest first.
    timeline: Vec<TimelineResource>,
    /// An addition to the specification: what members wrote about the issue, oldest first. Omitted if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteResource>,
    /// An addition to the specification: until when nobody is reminded of the issue. Omitted if it is not snoozed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "wire_time_or_null")]
    snoozed_until: Option<Timestamp>,
    /// Whether the issue is open or acknowledged.
    is_active: bool,
    /// When the issue last opened.
    #[serde(serialize_with = "wire_time")]
    opened_at: Timestamp,
    /// When it was acknowledged.
    #[serde(serialize_with = "wire_time_or_null")]
    acknowledged_at: Option<Timestamp>,
    /// When the issue was resolved.
    #[serde(serialize_with = "wire_time_or_null")]
    resolved_at: Option<Timestamp>,
    /// When `check` was evaluated.
    #[serde(serialize_with = "wire_time_or_null")]
    last_evaluated_at: Option<Timestamp>,
    /// When the issue first opened.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// When the issue last changed.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

/// All tools, with that of heartbeats.
#[cfg(feature = "schema")]
pub(super) fn any_tool(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": Tool::WITH_HEARTBEAT })
}

/// Something that happened to an issue.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimelineEntry"))]
struct TimelineResource {
    /// What happened.
    key: TimelineKey,
    /// When it happened.
    #[serde(serialize_with = "wire_time")]
    timestamp: Timestamp,
    /// Who did it; null if a check did, or a reader of a message.
    user: Option<UserResource>,
    /// An addition to the specification: the channel with the message, if one of its readers used the link in it to
    /// acknowledge the issue. Omitted otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ChannelId", default))]
    channel_uuid: Option<ChannelId>,
}

/// What a member wrote about an issue.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Note"))]
struct NoteResource {
    /// The text.
    note: String,
    /// When it was written.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Who wrote it; null if the account was deleted.
    user: Option<UserResource>,
}

/// Everything that is needed to show an issue.
#[derive(Debug, Clone, Copy)]
pub struct IssueParts<'a> {
    /// The issue with its site or heartbeat, and its tool.
    pub found: &'a IssueWithMonitor,
    /// Its team.
    pub team: &'a TeamWithSettings,
    /// Checks that [`IssueResource::checks`] names; purged ones are missing.
    pub checks: &'a BTreeMap<CheckId, Check>,
    /// Users that [`IssueResource::users`] names.
    pub users: &'a BTreeMap<UserId, User>,
}

impl IssueResource {
    /// The check that the issue was last evaluated with, and the previous one. While an issue is active they change
    /// with its tool; the last transition freezes them.
    fn pointers(found: &IssueWithMonitor) -> [Option<CheckPointer>; 2] {
        let IssueWithMonitor { issue, state, .. } = found;
        match issue.lifecycle.is_active() {
            true => state.compared(issue.id.fingerprint()),
            false => [issue.check, issue.previous_check],
        }
    }

    /// Where to read the checks that are shown with the issue.
    pub fn checks(found: &IssueWithMonitor) -> impl Iterator<Item = CheckSource> {
        // Only completed checks are evaluated.
        let completed = Self::pointers(found).into_iter().flatten().map(Latest::completed);
        completed.map(|check| found.state.source(check))
    }

    /// The check that the issue was last evaluated with.
    pub fn judged_by(found: &IssueWithMonitor) -> Option<CheckId> {
        let [judged_by, _] = Self::pointers(found);
        judged_by.map(|check| check.id)
    }

    /// The people who are shown with an issue.
    pub fn users(issue: &Issue) -> impl Iterator<Item = UserId> {
        let acknowledged = issue.lifecycle.acknowledgement().and_then(|taken| taken.by.member());
        let timeline = issue.timeline.entries().iter().filter_map(|entry| entry.by?.member());
        let notes = issue.notes.iter().map(|note| note.by);
        timeline.chain(acknowledged).chain(resolution(issue).and_then(|(_, by)| by)).chain(notes)
    }

    /// Builds the issue with everything that is shown with it.
    pub fn new(parts: IssueParts<'_>, links: &Links) -> Self {
        let IssueParts { found, team, .. } = parts;
        let IssueWithMonitor { issue, monitor, .. } = found;
        let fingerprint = issue.id.fingerprint();
        let [check, previous] = Self::pointers(found).map(|pointer| {
            let check = parts.checks.get(&pointer?.id)?;
            Some(CheckResource::new(check, monitor.site()))
        });
        let user = |id: UserId| parts.users.get(&id).map(UserResource::from);
        let acknowledged = issue.lifecycle.acknowledgement();
        let resolved = resolution(issue);
        let entry = |entry: &TimelineEntry| TimelineResource {
            key: entry.key,
            timestamp: entry.timestamp,
            user: entry.by.and_then(|by| user(by.member()?)),
            channel_uuid: entry.by.and_then(Responder::channel),
        };
        let note = |note: &Note| NoteResource {
            note: note.text.clone(),
            created_at: note.at,
            user: user(note.by),
        };
        let [judged_by, _] = Self::pointers(found);
        let evaluated_at =
            judged_by.and_then(|pointer| parts.checks.get(&pointer.id)?.completed_at);
        Self {
            uuid: issue.id,
            team_uuid: monitor.team(),
            tool: fingerprint.tool(),
            status: issue.status(),
            severity: issue.severity(),
            fingerprint,
            summary: issue.summary.clone(),
            context: issue.context.clone(),
            site: monitor.site().map(|site| SiteResource::new(site, team, links)),
            heartbeat: monitor.heartbeat().map(HeartbeatSummary::from),
            check,
            previous_check: previous,
            acknowledged_by: acknowledged.and_then(|taken| user(taken.by.member()?)),
            resolved_by: resolved.and_then(|(_, by)| user(by?)),
            timeline: issue.timeline.entries().iter().map(entry).collect(),
            notes: issue.notes.iter().map(note).collect(),
            snoozed_until: issue.snoozed_until,
            is_active: issue.lifecycle.is_active(),
            opened_at: issue.lifecycle.opened_at(),
            acknowledged_at: acknowledged.map(|taken| taken.at),
            resolved_at: resolved.map(|(at, _)| at),
            last_evaluated_at: evaluated_at.or(issue.last_evaluated_at),
            created_at: issue.created_at,
            updated_at: issue.updated_at,
        }
    }
}

const fn resolution(issue: &Issue) -> Option<(Timestamp, Option<UserId>)> {
    match issue.lifecycle {
        Lifecycle::Resolved { at, by, .. } => Some((at, by)),
        Lifecycle::Open { .. } | Lifecycle::Acknowledged { .. } => None,
    }
}
