//! Creates, changes and deletes heartbeats.

use std::time::Duration;

use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By, HeartbeatChange};
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::checks::tool_state::{ReportContext, ToolState};
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::heartbeats::input::{HeartbeatEdit, NewHeartbeat};
use vedette_domain::heartbeats::refusal::HeartbeatRefusal;
use vedette_domain::heartbeats::team_key::TeamPingKey;
use vedette_domain::id::{PingKey, TeamId, UserId};
use vedette_domain::issues::record::Issue;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::monitor::{Monitor, MonitorRef};
use vedette_runs::{enqueue_deadline, enqueue_issue, enqueue_publications};
use vedette_runtime::App;
use vedette_store::{
    Audit, HeartbeatConflict, HeartbeatDeletion, HeartbeatUpdate, StoreError, StoredHeartbeat,
    heartbeat_conflict,
};

use crate::error::{ActionError, HeartbeatError};
use crate::issues::{Decision, decide};
use crate::sites::outbox_of_deletion;

/// Creates a heartbeat. It has no slug if nobody chose one and another heartbeat has the one that follows from its name.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness.
pub async fn create_heartbeat(
    app: &App,
    team: &Team,
    new: NewHeartbeat,
    by: By,
) -> Result<StoredHeartbeat, HeartbeatError> {
    let (random, has_own_slug) = (app.entropy.site_id()?, new.slug.is_some());
    let (id, key) = match new.ping_uuid {
        Some(key) => (key.heartbeat(random), key),
        None => (random, PingKey::new(random, app.entropy.number()?)),
    };
    let heartbeat =
        new.into_heartbeat(id, key, team.id, &team.zone, by.now).map_err(HeartbeatRefusal::from)?;
    match add_heartbeat(app, team, heartbeat.clone(), Some(by)).await {
        Err(ActionError::Refused(HeartbeatRefusal::SlugTaken)) if !has_own_slug => {
            add_heartbeat(app, team, Heartbeat { slug: String::new(), ..heartbeat }, Some(by)).await
        }
        added => added,
    }
}

/// Creates the heartbeat of a slug that a job has pinged.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness.
pub async fn create_heartbeat_by_ping(
    app: &App,
    team: &Team,
    slug: &str,
) -> Result<StoredHeartbeat, HeartbeatError> {
    let (id, now) = (app.entropy.site_id()?, app.clock.now());
    let ping_key = Some(PingKey::new(id, app.entropy.number()?));
    let new = Heartbeat::new(id, team.id, slug.to_owned(), now);
    let heartbeat = Heartbeat { slug: slug.to_owned(), ping_key, ..new };
    add_heartbeat(app, team, heartbeat, None).await
}

/// Saves a new heartbeat. A job that creates one is nobody whom the audit log could name.
pub(crate) async fn add_heartbeat(
    app: &App,
    team: &Team,
    heartbeat: Heartbeat,
    by: Option<By>,
) -> Result<StoredHeartbeat, HeartbeatError> {
    let event = AuditEvent::heartbeat(&heartbeat, HeartbeatChange::Added);
    let entry = by.map(|by| AuditEntry::new(team.id, by, event));
    let audit = entry.as_ref().map_or(Audit::None, Audit::Entry);
    let created = app.store.create_heartbeat(team, &heartbeat, audit).await;
    created.map_err(|error| refused(error, true))?;
    Ok(StoredHeartbeat { heartbeat, state: ToolState::new() })
}

/// What a write that failed means.
fn refused(error: StoreError, is_new: bool) -> HeartbeatError {
    match heartbeat_conflict(&error, is_new) {
        Some(HeartbeatConflict::TooMany) => HeartbeatRefusal::TooMany.into(),
        Some(HeartbeatConflict::SlugTaken) => HeartbeatRefusal::SlugTaken.into(),
        Some(HeartbeatConflict::KeyTaken) => HeartbeatRefusal::KeyTaken.into(),
        None => error.into(),
    }
}

/// Changes a heartbeat. If nothing differs, nothing is written.
///
/// # Errors
///
/// A refusal; a fault of the table; a conflict when the heartbeat has changed since it was read.
pub async fn edit_heartbeat(
    app: &App,
    team: &Team,
    read: &StoredHeartbeat,
    edit: HeartbeatEdit,
    by: By,
) -> Result<StoredHeartbeat, HeartbeatError> {
    let wants_pause = edit.paused.unwrap_or(read.state.reports().paused);
    let wanted = edit.apply_to(&read.heartbeat, &team.zone).map_err(HeartbeatRefusal::from)?;
    save_heartbeat(app, team, read, (wanted, wants_pause), by).await
}

/// Makes a heartbeat what it should be, and pauses or resumes it.
pub(crate) async fn save_heartbeat(
    app: &App,
    team: &Team,
    read: &StoredHeartbeat,
    (wanted, wants_pause): (Heartbeat, bool),
    by: By,
) -> Result<StoredHeartbeat, HeartbeatError> {
    let (before, now) = (&read.heartbeat, by.now);
    let reports = read.state.reports();
    let changed = before.change_to(wanted, now);
    let change = match (reports.paused, wants_pause) {
        (false, true) => HeartbeatChange::Paused,
        (true, false) => HeartbeatChange::Resumed,
        // A pause that broke off may have left issues open.
        (true, true) if changed.is_none() => {
            return match by.actor.user() {
                Some(user) => resolve_issues(app, team, read.clone(), user, by).await,
                None => Ok(read.clone()),
            };
        }
        _ if changed.is_none() => return Ok(read.clone()),
        _ => HeartbeatChange::Edited,
    };
    let next = changed.unwrap_or_else(|| Heartbeat {
        rev: before.rev + 1,
        updated_at: now,
        ..before.clone()
    });
    let reports = match change {
        HeartbeatChange::Paused => reports.paused(),
        HeartbeatChange::Resumed => reports.resumed(now),
        _ => reports.clone(),
    };
    let time_scale = app.service.time_scale;
    let context = ReportContext { heartbeat: &next, team, time_scale, now, attempts: 0 };
    let is_expected_alike = next.cfg == before.cfg && change == HeartbeatChange::Edited;
    let state = (!is_expected_alike).then(|| read.state.rescheduled(&context, reports));
    let outbox = match next.tags == before.tags {
        true => Vec::new(),
        false => look_again(app, &next, by).await?,
    };
    let entry = AuditEntry::new(team.id, by, AuditEvent::heartbeat(before, change));
    // A page shows whether a ping is expected, and maintenance that may be chosen by tags.
    let is_published = state.is_some() || next.tags != before.tags;
    let pages = if is_published { team.status_pages.as_slice() } else { &[] };
    let outbox = &outbox[..];
    let update = HeartbeatUpdate { read, next: &next, state: state.as_ref(), outbox, pages };
    let saved = app.store.update_heartbeat(update, now, Audit::Entry(&entry)).await;
    saved.map_err(|error| match next.slug == before.slug {
        true => error.into(),
        false => refused(error, false),
    })?;
    let state = state.unwrap_or_else(|| read.state.clone());
    if let Some(timer) = state.timer.filter(|timer| !timer.is_far(now)) {
        enqueue_deadline(app, MonitorRef::from(&next), timer).await;
    }
    for entry in outbox {
        enqueue_issue(app, team.id, entry.issue.id).await;
    }
    enqueue_publications(app, team.id, pages).await;
    let saved = StoredHeartbeat { heartbeat: next, state };
    match (change, by.actor.user()) {
        (HeartbeatChange::Paused, Some(user)) => resolve_issues(app, team, saved, user, by).await,
        _ => Ok(saved),
    }
}

/// Resolves the issues of a heartbeat that a member has paused: no ping is awaited that could do it.
async fn resolve_issues(
    app: &App,
    team: &Team,
    paused: StoredHeartbeat,
    user: UserId,
    by: By,
) -> Result<StoredHeartbeat, HeartbeatError> {
    let partition = paused.heartbeat.id.partition();
    for issue in app.store.issues_of_site(partition).await? {
        let found = app.store.issue_with_monitor(issue.id).await?;
        let active = found.filter(|found| found.issue.lifecycle.is_active());
        let Some(active) = active else { continue };
        match decide(app, team, &active, Decision::Resolve(user), by).await {
            // Somebody else has resolved it meanwhile.
            Ok(_) | Err(ActionError::Refused(_)) => {}
            Err(ActionError::Failed(fault)) => return Err(ActionError::Failed(fault)),
        }
    }
    Ok(app.store.heartbeat(partition).await?.unwrap_or(paused))
}

/// Makes channels look at the active issues of a heartbeat whose tags change.
async fn look_again(app: &App, next: &Heartbeat, by: By) -> Result<Vec<OutboxEntry>, StoreError> {
    let issues = app.store.issues_of_site(next.id.partition()).await?.into_iter();
    let active = issues.filter(|issue: &Issue| issue.lifecycle.is_active());
    Ok(active.map(|issue| OutboxEntry::of_settings(next.team, next.rev, issue, by.now)).collect())
}

/// Deletes a heartbeat with its runs and issues. Its address is unknown from then on.
///
/// # Errors
///
/// A fault of the table; a conflict when the heartbeat has changed since it was read.
pub async fn delete_heartbeat(
    app: &App,
    team: &Team,
    stored: &StoredHeartbeat,
    by: By,
) -> Result<(), HeartbeatError> {
    let (heartbeat, id) = (&stored.heartbeat, stored.heartbeat.id);
    // Read this after the state: an issue that opens in between raises its `rev`.
    let issues = app.store.issues_of_site(id.partition()).await?;
    let outbox = outbox_of_deletion(&Monitor::from(heartbeat.clone()), &issues, by);
    let event = AuditEvent::heartbeat(heartbeat, HeartbeatChange::Removed);
    let entry = AuditEntry::new(team.id, by, event);
    let (audit, pages) = (Audit::Entry(&entry), &team.status_pages);
    let deletion = HeartbeatDeletion { stored, issues: &issues, outbox: &outbox, pages };
    app.store.delete_heartbeat(deletion, by.now, audit).await?;
    for entry in &outbox {
        enqueue_issue(app, team.id, entry.issue.id).await;
    }
    enqueue_publications(app, team.id, &team.status_pages).await;
    let purge = Message::Reconcile(ReconcileMessage::Purge { team: team.id, site: id });
    app.enqueue_or_leave(purge, Duration::ZERO).await;
    Ok(())
}

/// Gives a team another ping key: the chosen one, or a random one. The addresses with the one before no longer work.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness; a conflict when the key has just changed.
pub async fn replace_ping_key(
    app: &App,
    team: TeamId,
    chosen: Option<TeamPingKey>,
    by: By,
) -> Result<TeamPingKey, HeartbeatError> {
    let before = app.store.team_ping_key(team).await?;
    let key = match chosen {
        Some(key) if before.as_ref() == Some(&key) => return Ok(key),
        Some(key) => key,
        None => app.entropy.ping_key()?,
    };
    if app.store.team_by_ping_key(&key).await?.is_some() {
        return Err(HeartbeatRefusal::TeamKeyTaken.into());
    }
    let entry = AuditEntry::new(team, by, AuditEvent::PingKeyReplaced);
    let audit = Audit::Entry(&entry);
    app.store.put_team_ping_key(team, before.as_ref(), Some(&key), audit).await?;
    Ok(key)
}
