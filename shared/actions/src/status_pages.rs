//! Creates, changes and deletes status pages, and writes about incidents.

use std::collections::BTreeSet;

use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By, IncidentChange, PageChange};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::MonitorId;
use vedette_domain::status_pages::{
    IncidentEdit, IncidentRefusal, NewIncident, NewPage, PageEdit, PageIncident, PageRefusal,
    StatusPage,
};
use vedette_runs::enqueue_publications;
use vedette_runtime::App;
use vedette_store::{Audit, PageConflict, is_taken_slug, page_conflict};

use crate::error::{IncidentError, PageError};
use crate::sites::refuse_unknown_sites;

/// Creates a status page, and has it published.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness.
pub async fn create_status_page(
    app: &App,
    team: &Team,
    new: NewPage,
    by: By,
) -> Result<StatusPage, PageError> {
    let now = by.now;
    let entropy = &app.entropy;
    let new_id = || Ok::<_, PageError>(entropy.component_id()?);
    let (id, link) = (entropy.status_page_id()?, entropy.link_key()?);
    let page = new.into_page(id, team.id, link, new_id, now)?;
    add_status_page(app, &page, by).await?;
    Ok(page)
}

/// The same for a page that is complete.
pub(crate) async fn add_status_page(app: &App, page: &StatusPage, by: By) -> Result<(), PageError> {
    refuse_unknown(app, page, None).await?;
    let event = AuditEvent::status_page(page, PageChange::Added);
    let entry = AuditEntry::new(page.team, by, event);
    if let Err(error) = app.store.create_status_page(page, Audit::Entry(&entry)).await {
        return Err(match page_conflict(&error) {
            Some(PageConflict::TooMany) => PageRefusal::TooMany.into(),
            Some(PageConflict::SlugTaken) => PageRefusal::SlugTaken.into(),
            None => error.into(),
        });
    }
    enqueue_publications(app, page.team, &[page.id]).await;
    Ok(())
}

/// Changes a status page, and has it published. If nothing differs, nothing is written.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness; a conflict when the page has changed since it was
/// read.
pub async fn edit_status_page(
    app: &App,
    before: &StatusPage,
    edit: PageEdit,
    by: By,
) -> Result<StatusPage, PageError> {
    let now = by.now;
    let entropy = &app.entropy;
    let new_id = || Ok::<_, PageError>(entropy.component_id()?);
    let page = edit.apply_to(before, entropy.link_key()?, new_id, now)?;
    let (rev, updated_at) = (before.rev, before.updated_at);
    if (StatusPage { rev, updated_at, ..page.clone() }) == *before {
        return Ok(before.clone());
    }
    save_status_page(app, before, &page, by).await?;
    Ok(page)
}

/// The same for a page that was already changed.
pub(crate) async fn save_status_page(
    app: &App,
    before: &StatusPage,
    page: &StatusPage,
    by: By,
) -> Result<(), PageError> {
    refuse_unknown(app, page, Some(before)).await?;
    let event = AuditEvent::status_page(before, PageChange::Edited);
    let entry = AuditEntry::new(page.team, by, event);
    if let Err(error) = app.store.save_status_page(before, page, Audit::Entry(&entry)).await {
        let is_taken = page.slug != before.slug && is_taken_slug(&error);
        return Err(if is_taken { PageRefusal::SlugTaken.into() } else { error.into() });
    }
    enqueue_publications(app, page.team, &[page.id]).await;
    Ok(())
}

/// Refuses a page that newly shows what the team does not have.
async fn refuse_unknown(
    app: &App,
    page: &StatusPage,
    before: Option<&StatusPage>,
) -> Result<(), PageError> {
    let shown = |of: fn(&StatusPage) -> BTreeSet<MonitorId>| {
        &of(page) - &before.map(of).unwrap_or_default()
    };
    let refusal = PageError::from(PageRefusal::UnknownSite);
    refuse_unknown_sites(app, page.team, shown(StatusPage::sites), refusal).await?;
    let heartbeats = shown(StatusPage::heartbeats);
    let known = app.store.heartbeats_of_team(page.team, &heartbeats).await?;
    if known.len() < heartbeats.len() {
        return Err(PageRefusal::UnknownHeartbeat.into());
    }
    Ok(())
}

/// Deletes a status page. Readers no longer find it.
///
/// # Errors
///
/// A fault of the table; a conflict when the page or the list of the team's pages has changed since it was read.
pub async fn delete_status_page(
    app: &App,
    team: &Team,
    page: &StatusPage,
    by: By,
) -> Result<(), PageError> {
    let now = by.now;
    let event = AuditEvent::status_page(page, PageChange::Removed);
    let entry = AuditEntry::new(team.id, by, event);
    app.store.delete_status_page(team, page, now, Audit::Entry(&entry)).await?;
    enqueue_publications(app, page.team, &[page.id]).await;
    Ok(())
}

/// Writes an incident on a status page.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness.
pub async fn create_incident(
    app: &App,
    page: &StatusPage,
    new: NewIncident,
    by: By,
) -> Result<PageIncident, IncidentError> {
    let now = by.now;
    let incident = new.into_incident(app.entropy.incident_id(now)?, page, now)?;
    let event = AuditEvent::incident(page, &incident, IncidentChange::Added);
    let entry = AuditEntry::new(page.team, by, event);
    let created = app.store.create_incident(page, &incident, Audit::Entry(&entry)).await;
    if let Err(error) = created {
        // A page that was deleted meanwhile has no room either. After a conflict, it is no longer found.
        let is_full =
            error.has_failed(0) && app.store.status_page(page.team, page.id).await?.is_some();
        return Err(if is_full { IncidentRefusal::TooMany.into() } else { error.into() });
    }
    enqueue_publications(app, page.team, &[page.id]).await;
    Ok(incident)
}

/// Changes an incident or writes an update. If nothing differs, nothing is written.
///
/// # Errors
///
/// A refusal; a fault of the table; a conflict when the incident has changed since it was read.
pub async fn edit_incident(
    app: &App,
    page: &StatusPage,
    before: &PageIncident,
    edit: IncidentEdit,
    by: By,
) -> Result<PageIncident, IncidentError> {
    let now = by.now;
    let incident = edit.apply_to(before, page, now)?;
    let (rev, updated_at) = (before.rev, before.updated_at);
    if (PageIncident { rev, updated_at, ..incident.clone() }) == *before {
        return Ok(before.clone());
    }
    let event = AuditEvent::incident(page, &incident, IncidentChange::of(before, &incident));
    let entry = AuditEntry::new(page.team, by, event);
    app.store.save_incident(page, before, &incident, Audit::Entry(&entry)).await?;
    enqueue_publications(app, page.team, &[page.id]).await;
    Ok(incident)
}

/// Deletes an incident, as if nobody had written it.
///
/// # Errors
///
/// A fault of the table; a conflict when the incident has changed since it was read.
pub async fn delete_incident(
    app: &App,
    page: &StatusPage,
    incident: &PageIncident,
    by: By,
) -> Result<(), IncidentError> {
    let now = by.now;
    let event = AuditEvent::incident(page, incident, IncidentChange::Removed);
    let entry = AuditEntry::new(page.team, by, event);
    app.store.delete_incident(page, incident, now, Audit::Entry(&entry)).await?;
    enqueue_publications(app, page.team, &[page.id]).await;
    Ok(())
}
