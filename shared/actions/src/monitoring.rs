//! Changes the monitoring settings of a team, which its sites start from.

use std::time::Duration;

use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::checks::tool::Tool;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::settings::Settings;
use vedette_runs::enqueue_publications;
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, TeamWithSettings};

use crate::channel_sync::{enqueue_channel_sync, request_channel_sync};

/// Saves a team's monitoring settings, and makes schedules and alerts follow. If nothing has changed, nothing is saved.
///
/// # Errors
///
/// A fault of the table; a conflict when the plan or the settings have changed since the team was read.
pub async fn change_monitoring(
    app: &App,
    team: TeamWithSettings,
    settings: Settings,
    by: By,
) -> Result<TeamWithSettings, StoreError> {
    let now = by.now;
    if settings == team.settings {
        return Ok(team);
    }
    let schedules_change = !settings.runs_like(&team.settings);
    let next = team.team.reconfigured(schedules_change, now);
    let is_enabled = |settings: &Settings| Tool::ALL.map(|tool| settings.tools.is_enabled(tool));
    let alerts_change = settings.quiet_time != team.settings.quiet_time
        || settings.escalation != team.settings.escalation
        || is_enabled(&settings) != is_enabled(&team.settings);
    if alerts_change {
        request_channel_sync(app, next.id, now).await?;
    }
    let event = AuditEvent::settings(&team.settings, &settings);
    let entry = AuditEntry::new(next.id, by, event);
    app.store.save_settings(&team.team, &next, &settings, Audit::Entry(&entry)).await?;
    enqueue_publications(app, next.id, &next.status_pages).await;
    if next.work_due().is_some() {
        let sync = Message::Reconcile(ReconcileMessage::SyncTeam(next.id));
        app.enqueue_or_leave(sync, Duration::ZERO).await;
    }
    if alerts_change {
        enqueue_channel_sync(app, next.id).await;
    }
    Ok(TeamWithSettings { team: next, settings, ..team })
}
