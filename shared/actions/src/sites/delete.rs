//! Taking a site away.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::audit::{Actor, AuditEvent};
use vedette_domain::cooldown::outlive_their_site;
use vedette_domain::message::{Maintenance, Message};
use vedette_runtime::App;
use vedette_store::{SiteWithTools, StoreError};

use crate::audit::recording;

/// Deletes a site as it was read: it is gone at once, with its schedules, checks and issues.
///
/// # Errors
///
/// A fault of the table; a conflict when anything of it was written meanwhile.
pub async fn delete_site(
    app: &App,
    stored: &SiteWithTools,
    by: Actor,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (store, SiteWithTools { site, tools }) = (&app.store, stored);
    // Read after the tools' states: an issue that opens in between has raised their `rev`.
    let issues = store.issues_of_site(site.id.partition()).await?;
    let cooldowns = if outlive_their_site(tools, now) {
        store.cooldowns(site.team).await?.after_deletion(&site.url, tools, now)
    } else {
        None
    };
    let event = AuditEvent::SiteDeleted { site: site.id, name: site.name.clone() };
    let store = recording(app, site.team, by, event, now);
    store.delete_site(stored, &issues, cooldowns.as_ref(), now).await?;
    let purge = Message::Maintenance(Maintenance::Purge { team: site.team, site: site.id });
    app.enqueue_or_leave(purge, Duration::ZERO).await;
    Ok(())
}
