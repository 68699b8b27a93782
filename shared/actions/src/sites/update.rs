//! Changing a site.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent};
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::checks::tool::Tool;
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::sites::settings::SiteOverrides;
use vedette_domain::sites::site::Site;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::validation::{Errors, Fields, ValidationError};
use vedette_runs::enqueue_issue;
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, TeamWithSettings, is_taken_url};

use super::input::SiteInput;
use super::{check_texts, duplicate_url};

/// What somebody wants changed of a site.
#[derive(Debug)]
pub struct SiteUpdate {
    input: SiteInput,
    pinned: Option<bool>,
}

impl SiteUpdate {
    /// Reads the fields of `PATCH /sites/{site}`.
    ///
    /// # Errors
    ///
    /// All that is wrong with them.
    pub fn parse(
        body: &Map<String, Value>,
        team: &TeamWithSettings,
    ) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let input = SiteInput::read(body, team, &mut errors);
        let pinned = Fields::body(body).field("pinned").boolean(&mut errors);
        errors.finish(input.map(|input| Self { input, pinned }))
    }

    /// The same from somebody who read the settings in force and writes them back: what is sent as it
    /// was read stays what it is, be it inherited.
    #[must_use]
    pub fn as_written_back(self, access: &SiteAccess) -> Self {
        self.with_overrides(|sent| {
            access.stored.site.overrides.replaced_by(sent, &access.settings())
        })
    }

    /// The same from somebody who saw what is inherited and what is the site's own: what is sent is
    /// its own.
    #[must_use]
    pub fn as_chosen(self, access: &SiteAccess) -> Self {
        self.with_overrides(|sent| {
            access.stored.site.overrides.keeping_cadences(sent, &access.settings())
        })
    }

    fn with_overrides(mut self, next: impl FnOnce(SiteOverrides) -> SiteOverrides) -> Self {
        self.input.overrides = self.input.overrides.map(next);
        self
    }

    /// The site as it is wanted. A generated name stays when the URL changes: by now it is how the team
    /// knows the site. Clearing the expected records also forgets those that were learnt.
    ///
    /// # Errors
    ///
    /// A fault of the table: a tool of the site is missing.
    pub fn apply_to(self, access: &SiteAccess) -> Result<Site, StoreError> {
        let (site, Self { input, pinned }) = (&access.stored.site, self);
        let has_learnt = access.stored.tool(Tool::Dns)?.learnt.is_some();
        let clears = input.expected_records.as_ref().is_some_and(BTreeMap::is_empty);
        Ok(Site {
            overrides: input
                .overrides
                .unwrap_or_else(|| site.overrides.clone().moved_to(input.url.domain())),
            name: input.name.unwrap_or_else(|| site.name.clone()),
            notes: input.notes.unwrap_or_else(|| site.notes.clone()),
            js_rendered: input.js_rendered.unwrap_or(site.js_rendered),
            pinned: pinned.unwrap_or(site.pinned),
            expected_records: input
                .expected_records
                .unwrap_or_else(|| site.expected_records.clone()),
            records: site.records + u64::from(clears && has_learnt),
            url: input.url,
            ..site.clone()
        })
    }
}

/// Disables every tool of a site.
///
/// # Errors
///
/// A fault of the table, or a conflict.
pub async fn pause_site(
    app: &App,
    access: &mut SiteAccess,
    by: Actor,
    now: Timestamp,
) -> Result<(), ApiError> {
    save_overrides(app, access, SiteOverrides::paused, by, now).await
}

/// Has a site checked by the tools that its team enables.
///
/// # Errors
///
/// A fault of the table, or a conflict.
pub async fn resume_site(
    app: &App,
    access: &mut SiteAccess,
    by: Actor,
    now: Timestamp,
) -> Result<(), ApiError> {
    save_overrides(app, access, SiteOverrides::resumed, by, now).await
}

async fn save_overrides(
    app: &App,
    access: &mut SiteAccess,
    next: fn(&SiteOverrides) -> SiteOverrides,
    by: Actor,
    now: Timestamp,
) -> Result<(), ApiError> {
    let site = access.stored.site.clone();
    let wanted = Site { overrides: next(&site.overrides), ..site };
    save_site(app, access, wanted, by, now).await
}

/// Saves a site as it is `wanted`, if that changes anything, and has its schedules follow.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when it was written meanwhile.
pub async fn save_site(
    app: &App,
    access: &mut SiteAccess,
    wanted: Site,
    by: Actor,
    now: Timestamp,
) -> Result<(), ApiError> {
    let site = &access.stored.site;
    let Some(next) = site.change_to(wanted, now) else { return Ok(()) };
    // What is too long already may be shortened and changed otherwise.
    if next.listed_texts() > site.listed_texts() {
        check_texts(&next)?;
    }
    let outbox = outbox(app, access, &next, now).await?;
    let entry = AuditEntry::new(site.team, by, AuditEvent::site(site, &next), now);
    let audit = Audit::Entry(&entry);
    let updated = app.store.update_site(&access.stored, &next, &outbox, now, audit).await;
    if let Err(error) = updated {
        let is_duplicate = next.url != site.url && is_taken_url(&error);
        return Err(if is_duplicate { duplicate_url().into() } else { error.into() });
    }
    if next.cfg != site.cfg {
        let sync = Message::Maintenance(Maintenance::Sync { team: next.team, site: next.id });
        app.enqueue_or_leave(sync, Duration::ZERO).await;
    }
    for entry in &outbox {
        enqueue_issue(app, next.team, entry.issue.id).await;
    }
    access.stored.site = next;
    Ok(())
}

/// Has channels look at the active issues of tools that run on the site from now on, or do not any more.
async fn outbox(
    app: &App,
    access: &SiteAccess,
    next: &Site,
    now: Timestamp,
) -> Result<Vec<OutboxEntry>, StoreError> {
    let team = &access.team;
    let [before, after] = [access.settings(), team.settings_for(next)];
    let ended = |tool| [&before, &after].map(|settings| EndReason::of(tool, &team.team, settings));
    let is_changed = |tool: Tool| {
        let [before, after] = ended(tool);
        before.is_some() != after.is_some()
    };
    if !Tool::ALL.into_iter().any(is_changed) {
        return Ok(Vec::new());
    }
    // Read after the tools' states: an issue that opens in between has raised their `rev`.
    let issues = app.store.issues_of_site(next.id.partition()).await?;
    let concerned = issues
        .into_iter()
        .filter(|issue| issue.lifecycle.is_active() && is_changed(issue.id.fingerprint().tool()));
    Ok(concerned.map(|issue| OutboxEntry::of_settings(next, issue, now)).collect())
}
