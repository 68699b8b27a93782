//! Deletes a site.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::alerts::missed::MISSED_TIME;
use vedette_domain::checks::cooldown::outlive_their_site;
use vedette_domain::issues::record::Issue;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::monitor::Monitor;
use vedette_runs::{enqueue_issue, enqueue_publications};
use vedette_runtime::App;
use vedette_store::{Audit, SiteDeletion, SiteWithTools, StoreError};

/// Deletes a site of a team that was read. It is gone at once, with its schedules, checks and issues.
///
/// # Errors
///
/// A fault of the table; a conflict when any part of the site has changed since.
pub async fn delete_site(
    app: &App,
    team: &Team,
    stored: &SiteWithTools,
    by: By,
) -> Result<(), StoreError> {
    let now = by.now;
    let (store, SiteWithTools { site, tools }) = (&app.store, stored);
    // Read this after the tools' states: an issue that opens in between raises their `rev`.
    let issues = store.issues_of_site(site.id.partition()).await?;
    let cooldowns = if outlive_their_site(tools, now) {
        store.cooldowns(site.team).await?.after_deletion(&site.url, tools, now)
    } else {
        None
    };
    let tags = match site.tags.is_empty() {
        true => None,
        false => Some(store.tags(site.team).await?.without(&site.tags)),
    };
    let outbox = outbox_of_deletion(&site.clone().into(), &issues, by);
    let event = AuditEvent::SiteDeleted { site: site.id, name: site.name.clone() };
    let entry = AuditEntry::new(site.team, by, event);
    let audit = Audit::Entry(&entry);
    let deletion = SiteDeletion {
        issues: &issues,
        outbox: &outbox,
        pages: &team.status_pages,
        cooldowns: cooldowns.as_ref(),
        tags: tags.as_ref(),
    };
    store.delete_site(stored, deletion, now, audit).await?;
    for entry in &outbox {
        enqueue_issue(app, site.team, entry.issue.id).await;
    }
    let purge = Message::Reconcile(ReconcileMessage::Purge { team: site.team, site: site.id });
    app.enqueue_or_leave(purge, Duration::ZERO).await;
    enqueue_publications(app, team.id, &team.status_pages).await;
    Ok(())
}

/// What channels have to learn about the issues of a deleted site or heartbeat.
pub(crate) fn outbox_of_deletion(monitor: &Monitor, issues: &[Issue], by: By) -> Vec<OutboxEntry> {
    issues
        .iter()
        .filter(|issue| may_be_unnotified(issue, by.now))
        .map(|issue| OutboxEntry::of_deletion(monitor, issue.clone(), by.actor.user(), by.now))
        .collect()
}

/// Whether a channel may not know yet that an issue is over: the issue is still active, or was resolved recently.
fn may_be_unnotified(issue: &Issue, now: Timestamp) -> bool {
    let resolved_at = issue.lifecycle.resolved_at();
    resolved_at.is_none_or(|at| now.duration_since(at) <= MISSED_TIME)
}
