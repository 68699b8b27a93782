//! The bodies of events: what webhooks are told of an issue as it was when something happened.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_domain::alert::channel::EventKind;
use vedette_domain::alert::delivery::{Content, OutboxEntry};
use vedette_domain::alert::{link, webhook};
use vedette_domain::settings::RequestHeader;
use vedette_http::resource::{IssueParts, IssueResource, Links};
use vedette_runtime::App;
use vedette_store::{IssueWithSite, TeamWithSettings};

use crate::NotifierError;

/// The event of an outbox entry, which is made once, for the first channel that asks for it.
#[derive(Debug)]
pub(crate) struct EventBody<'a> {
    app: &'a App,
    entry: &'a OutboxEntry,
    made: Option<Content>,
}

impl<'a> EventBody<'a> {
    pub(crate) const fn new(app: &'a App, entry: &'a OutboxEntry) -> Self {
        Self { app, entry, made: None }
    }

    /// The event; none where the site is gone.
    pub(crate) async fn of(
        &mut self,
        event: EventKind,
        at: Timestamp,
    ) -> Result<Option<Content>, NotifierError> {
        if self.made.is_none() {
            let app = self.app;
            let now = app.clock.now();
            let team = app.store.team(self.entry.team, now).await?;
            let found = app.store.issue_with_site(self.entry.issue.id).await?;
            let (Some(team), Some(found)) = (team, found) else { return Ok(None) };
            let found = IssueWithSite { issue: self.entry.issue.clone(), ..found };
            self.made = Some(event_of(app, &found, &team, event, at).await?);
        }
        Ok(self.made.clone())
    }
}

/// An event about an issue as it is in `found`.
pub(crate) async fn event_of(
    app: &App,
    found: &IssueWithSite,
    team: &TeamWithSettings,
    event: EventKind,
    at: Timestamp,
) -> Result<Content, NotifierError> {
    // What is sent with checks may be a password, and is none of a receiver's business.
    let (mut found, mut team) = (found.clone(), team.clone());
    found.site.overrides.request_header = None;
    team.settings.request_header = RequestHeader::default();
    let (found, team) = (&found, &team);
    let users: Vec<_> = IssueResource::users(&found.issue).collect();
    let users = app.store.users(users).await?;
    let links = Links::new(app.service.link_base().unwrap_or_default());
    let parts = IssueParts { found, team, checks: &BTreeMap::new(), users: &users };
    let mut data = serde_json::to_value(IssueResource::new(parts, &links)).unwrap_or(Value::Null);
    if let (Value::Object(fields), Some(base)) = (&mut data, app.service.pages_base()) {
        let page = link::issue(base, found.issue.id);
        fields.insert("links".to_owned(), json!({ "issue": page }));
    }
    let number = match event {
        EventKind::Opened | EventKind::Resolved => 0,
        EventKind::Reminder => at.as_millisecond().unsigned_abs(),
    };
    let opened_at = found.issue.lifecycle.opened_at();
    let id = webhook::webhook_id(found.issue.id, opened_at, event, number);
    let body = webhook::body(webhook::event_type(event), at, data);
    Ok(Content::Event { id, event, body: String::from_utf8_lossy(&body).into_owned() })
}
