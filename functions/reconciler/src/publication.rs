//! Publishes status pages.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::{try_join, try_join4};
use jiff::SignedDuration;
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent, By};
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{SiteId, StatusPageId, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::status_pages::{
    Following, MonitorFacts, Publication, Selected, StatusPage, next_publication, publish,
};
use vedette_runtime::App;
use vedette_store::{
    Audit, SiteWithTools, StoreError, StoredHeartbeat, TeamWithSettings, budget, retry_on_conflict,
};

use crate::sync::{readable, running};

/// Publishes a status page, if that is outstanding, or removes what is left of a deleted one.
///
/// Nothing that the page shows is read before the attempt has begun. So whatever was wanted by then is in what is
/// published, and a change after that makes the end of the attempt fail.
///
/// # Errors
///
/// When the table does not answer.
pub(crate) async fn status_page(
    app: &App,
    team: TeamId,
    page: StatusPageId,
) -> Result<(), StoreError> {
    retry_on_conflict(budget::SYNC, || async {
        // After a conflict, another attempt may have published what was outstanding.
        let Some(found) = app.store.publication(team, page).await? else { return Ok(()) };
        if !found.is_outstanding(app.clock.now()) {
            return Ok(());
        }
        if found.is_deleted {
            return app.store.purge_status_page(team, page).await;
        }
        attempt(app, team, page).await
    })
    .await
}

async fn attempt(app: &App, team: TeamId, page: StatusPageId) -> Result<(), StoreError> {
    let store = &app.store;
    let Some(publication) = store.begin_publication(team, page).await? else { return Ok(()) };
    let now = app.clock.now();
    let (found_team, found_page) =
        try_join(store.team(team, now), store.status_page(team, page)).await?;
    let (Some(team), Some(page)) = (found_team, found_page) else { return Ok(()) };
    let (page, selected) = follow_selector(app, &team, page, publication.selected).await?;
    let publication = Publication { selected, ..publication };
    let page = page.as_published();
    let sites: Vec<_> = page.sites().into_iter().map(SiteId::partition).collect();
    let address = page.address();
    let heartbeats = page.heartbeats();
    let (sites, heartbeats, incidents, before) = try_join4(
        readable(app, &sites),
        store.heartbeats_of_team(page.team, &heartbeats),
        store.incidents(page.team, page.id),
        store.published(&address),
    )
    .await?;
    let facts = sites.values().filter(|stored| stored.site.team == page.team);
    let facts = facts.map(|stored| Ok((stored.site.id, facts_of(app, stored, &team)?)));
    let mut facts: BTreeMap<_, _> = facts.collect::<Result<_, StoreError>>()?;
    let heartbeats = heartbeats.into_iter();
    facts.extend(heartbeats.map(|of| (of.heartbeat.id, facts_of_heartbeat(of, &team.team))));
    let mut published = publish(&page, &team.team, &facts, &incidents, before.as_ref(), now);
    published.offers_subscriptions &= app.service.sends_mail;
    store.put_published(&page, publication.attempts, &published).await?;
    let next = next_publication(&page, &facts, &team.team, now);
    store.end_publication(&publication, next).await?;
    if page.offers_subscriptions {
        enqueue_mailings(app, &page).await?;
    }
    Ok(())
}

/// Adds the sites that the selector of a page has come to select, and removes those that it no longer selects. Saving
/// the page requests another publication, so the attempt that did it is followed by another one. Also returns what the
/// selector was applied to, if the page has one; `last` is what it was applied to before.
async fn follow_selector(
    app: &App,
    team: &TeamWithSettings,
    mut page: StatusPage,
    last: Option<Selected>,
) -> Result<(StatusPage, Option<Selected>), StoreError> {
    let (store, now) = (&app.store, app.clock.now());
    let Some(selector) = &page.selector else { return Ok((page, None)) };
    let tags = store.tags(page.team).await?;
    let selected = Some(Selected { page: page.rev, tags: tags.rev });
    // A site without tags does not change the tags of the team. A team that is being copied has no active plan yet.
    let is_applied = last == selected && !selector.matches([]);
    if is_applied || !team.team.plan_active {
        return Ok((page, selected));
    }
    let rows = store.directory(page.team, team.team.sites as usize).await?;
    let numbered = selector.numbered(&tags);
    let rows = rows.into_iter().filter(|row| numbered.matches(&row.tags));
    let mut sites: BTreeMap<SiteId, String> = rows.map(|row| (row.id, row.name)).collect();
    let selector = selector.clone();
    while let Some(changed) = page.following(&sites, now) {
        // The directory is not read at one moment, so the sites themselves decide.
        let concerned: Vec<_> = changed.components.iter().map(|(of, _)| of.monitor).collect();
        let stored =
            readable(app, &concerned.iter().map(|id| id.partition()).collect::<Vec<_>>()).await?;
        for id in concerned {
            let found = stored.get(&id.partition()).map(|stored| &stored.site);
            match found.filter(|site| site.team == page.team && selector.matches(&site.tags)) {
                Some(site) => sites.insert(id, site.name.clone()),
                None => sites.remove(&id),
            };
        }
        let Some(Following { page: next, components }) = page.following(&sites, now) else { break };
        let by = By { actor: Actor::Service, now };
        let events = components.iter();
        let events = events.map(|(of, change)| AuditEvent::component(&page, of, *change));
        let entries: Vec<_> = events.map(|event| AuditEntry::new(page.team, by, event)).collect();
        store.save_status_page(&page, &next, Audit::Entries(&entries)).await?;
        page = next;
    }
    let selected = Some(Selected { page: page.rev, tags: tags.rev });
    Ok((page, selected))
}

/// Sends subscribers what is new, now that they find it on the page.
async fn enqueue_mailings(app: &App, page: &StatusPage) -> Result<(), StoreError> {
    let (team, list) = (page.team, page.id.into());
    for topic in app.store.mailings(page.id).await? {
        let message = MailRequest::Mailing { team, list, topic };
        app.enqueue_or_leave(Message::Mail(message), Duration::ZERO).await;
    }
    Ok(())
}

fn facts_of(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
) -> Result<MonitorFacts, StoreError> {
    let cadence_minutes = team.settings_for(&stored.site).tools.cadence_minutes(Tool::Status);
    let cadence = SignedDuration::try_from(app.service.time_scale.minutes(cadence_minutes));
    Ok(MonitorFacts {
        checks: stored.tool(Tool::Status)?.clone(),
        is_monitored: running(app, stored, team).contains(&Tool::Status),
        cadence_minutes: Some(cadence_minutes),
        cadence: cadence.unwrap_or(SignedDuration::MAX),
        active: stored.tools.values().flat_map(active).collect(),
        tags: stored.site.tags.clone(),
    })
}

fn facts_of_heartbeat(
    StoredHeartbeat { heartbeat, state }: StoredHeartbeat,
    team: &Team,
) -> MonitorFacts {
    MonitorFacts {
        is_monitored: team.plan_active && state.reports().state().is_monitored(),
        cadence_minutes: None,
        cadence: SignedDuration::MAX,
        active: active(&state).collect(),
        tags: heartbeat.tags,
        checks: state,
    }
}

/// The issues that the trackers of a tool have opened.
fn active(state: &ToolState) -> impl Iterator<Item = Fingerprint> {
    let trackers = state.trackers.iter();
    let active = trackers.filter(|(_, tracked)| tracked.tracker.issue().is_some());
    active.map(|(fingerprint, _)| *fingerprint)
}
