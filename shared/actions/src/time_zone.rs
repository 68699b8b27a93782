//! Changes the time zone of a team or of a user.

use vedette_domain::accounts::account::User;
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::accounts::team::Team;
use vedette_domain::time_zone::NamedZone;
use vedette_runs::enqueue_publications;
use vedette_runtime::App;
use vedette_store::{Audit, StoreError};

use crate::channel_sync::{enqueue_channel_sync, request_channel_sync};

/// Saves a team's time zone, and makes its alerts follow, because the quiet time changes. If the team already has this
/// zone, nothing changes.
///
/// # Errors
///
/// A fault of the table; a conflict when the zone has changed since the team was read.
pub async fn change_time_zone(
    app: &App,
    team: Team,
    zone: NamedZone,
    by: By,
) -> Result<Team, StoreError> {
    let now = by.now;
    if zone == team.zone {
        return Ok(team);
    }
    request_channel_sync(app, team.id, now).await?;
    let event = AuditEvent::time_zone(&team.zone, &zone);
    let entry = AuditEntry::new(team.id, by, event);
    app.store.save_time_zone(&team, &zone, now, Audit::Entry(&entry)).await?;
    enqueue_channel_sync(app, team.id).await;
    enqueue_publications(app, team.id, &team.status_pages).await;
    Ok(Team { zone, updated_at: now, ..team })
}

/// Saves a user's time zone, or removes it. It affects nobody else, so it does not appear in the audit log of any team.
///
/// # Errors
///
/// A fault of the table.
pub async fn change_user_time_zone(
    app: &App,
    user: &User,
    zone: Option<&NamedZone>,
) -> Result<(), StoreError> {
    if zone == user.zone.as_ref() {
        return Ok(());
    }
    app.store.save_user_zone(user, zone).await
}
