//! The bodies of events for webhooks. An event describes an issue as it was at the time of the event.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_domain::alerts::channel::{EventKind, webhook};
use vedette_domain::alerts::delivery::{Content, OutboxEntry};
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::alerts::link;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::issues::record::Issue;
use vedette_domain::monitor::Monitor;
use vedette_domain::sites::settings::RequestHeader;
use vedette_http::resource::{IssueParts, IssueResource, Links};
use vedette_runtime::App;
use vedette_store::{IssueWithMonitor, TeamWithSettings};

use crate::NotifierError;

/// The event of an outbox entry. It is created once, for the first channel that needs it.
#[derive(Debug)]
pub(crate) struct EventBody<'a> {
    app: &'a App,
    entry: &'a OutboxEntry,
    deleted: Option<&'a Monitor>,
    made: Option<Content>,
}

impl<'a> EventBody<'a> {
    /// The event of one of an issue's outbox entries. If the site or heartbeat was deleted, the last entry contains it.
    pub(crate) fn new(app: &'a App, entry: &'a OutboxEntry, entries: &'a [OutboxEntry]) -> Self {
        let deleted = entries.iter().find_map(|entry| entry.deleted.as_ref());
        Self { app, entry, deleted, made: None }
    }

    /// The event; `None` if the site or heartbeat is gone.
    pub(crate) async fn of(
        &mut self,
        event: EventKind,
        at: Timestamp,
    ) -> Result<Option<Content>, NotifierError> {
        if self.made.is_none() {
            let app = self.app;
            let now = app.clock.now();
            let team = app.store.team(self.entry.team, now).await?;
            let issue = self.entry.issue.clone();
            let found = match self.deleted {
                Some(monitor) => Some(without_tool(issue, monitor.clone())),
                None => {
                    let found = app.store.issue_with_monitor(issue.id).await?;
                    found.map(|found| IssueWithMonitor { issue, ..found })
                }
            };
            let (Some(team), Some(found)) = (team, found) else { return Ok(None) };
            let reason = self.entry.end_reason();
            self.made = Some(event_of(app, &found, &team, (event, reason), at).await?);
        }
        Ok(self.made.clone())
    }
}

fn without_tool(issue: Issue, monitor: Monitor) -> IssueWithMonitor {
    IssueWithMonitor { issue, monitor, state: ToolState::default() }
}

/// An event about an issue as it is in `found`, with the reason if monitoring ended.
pub(crate) async fn event_of(
    app: &App,
    found: &IssueWithMonitor,
    team: &TeamWithSettings,
    (event, reason): (EventKind, Option<EndReason>),
    at: Timestamp,
) -> Result<Content, NotifierError> {
    // The header that checks send may be a password, which receivers must not see.
    let (mut found, mut team) = (found.clone(), team.clone());
    found.monitor = found.monitor.without_secrets();
    team.settings.request_header = RequestHeader::default();
    let (found, team) = (&found, &team);
    let users: Vec<_> = IssueResource::users(&found.issue).collect();
    let users = app.store.users(users).await?;
    let links = Links::new(app.service.link_base().unwrap_or_default());
    let parts = IssueParts { found, team, checks: &BTreeMap::new(), users: &users };
    let mut data = serde_json::to_value(IssueResource::new(parts, &links)).unwrap_or(Value::Null);
    if let Value::Object(fields) = &mut data {
        if let Some(base) =
            app.service.pages_base().filter(|_| !reason.is_some_and(EndReason::is_deletion))
        {
            let page = link::issue(base, found.issue.id);
            fields.insert("links".to_owned(), json!({ "issue": page }));
        }
        if let Some(reason) = reason {
            fields.insert("reason".to_owned(), reason.as_str().into());
        }
    }
    let opened_at = found.issue.lifecycle.opened_at();
    let body = webhook::body(webhook::event_type(event), at, data);
    let id = webhook::webhook_id(found.issue.id, opened_at, event, &body);
    Ok(Content::Event { id, event, body: String::from_utf8_lossy(&body).into_owned() })
}
