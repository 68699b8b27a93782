//! Changing what all of a team's sites start from.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::audit::{Actor, AuditEvent};
use vedette_domain::limits::ALERT_GRACE;
use vedette_domain::message::{AlertMessage, Maintenance, Message};
use vedette_domain::settings::Settings;
use vedette_runtime::App;
use vedette_store::{StoreError, TeamWithSettings};

use crate::audit::recording;

/// Saves a team's monitoring settings, and has schedules and alerts follow them; settings that are the
/// team's already change nothing.
///
/// # Errors
///
/// A fault of the table; a conflict when plan or settings were changed since the team was read.
pub async fn change_monitoring(
    app: &App,
    team: TeamWithSettings,
    settings: Settings,
    by: Actor,
    now: Timestamp,
) -> Result<TeamWithSettings, StoreError> {
    if settings == team.settings {
        return Ok(team);
    }
    let schedules_change = !settings.runs_like(&team.settings);
    let next = team.team.reconfigured(schedules_change, now);
    let alerts_change = settings.quiet_time != team.settings.quiet_time
        || settings.escalation != team.settings.escalation;
    if alerts_change {
        let due = now.saturating_add(ALERT_GRACE).unwrap_or(Timestamp::MAX);
        app.store.request_rederivation(next.id, due).await?;
    }
    let event = AuditEvent::settings(&team.settings, &settings);
    recording(app, next.id, by, event, now).save_settings(&team.team, &next, &settings).await?;
    if next.work_due().is_some() {
        let resync = Message::Maintenance(Maintenance::Resync(next.id));
        app.enqueue_or_leave(resync, Duration::ZERO).await;
    }
    if alerts_change {
        let rederive = Message::Alert(AlertMessage::Team(next.id));
        app.enqueue_or_leave(rederive, Duration::ZERO).await;
    }
    Ok(TeamWithSettings { team: next, settings, ..team })
}
