//! Adds, changes, ends and deletes maintenance windows.

use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By, WindowChange};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::SiteId;
use vedette_domain::maintenance::{
    MaintenanceWindow, NewWindow, WindowEdit, WindowRefusal, Windows,
};
use vedette_runs::enqueue_publications;
use vedette_runtime::App;
use vedette_store::Audit;

use crate::channel_sync::{enqueue_channel_sync, request_channel_sync};
use crate::error::{Fault, WindowError};
use crate::sites::refuse_unknown_sites;

/// Adds a window.
///
/// # Errors
///
/// A refusal; a fault of the table or of the source of randomness; a conflict when the team's windows have changed since
/// it was read.
pub async fn add_window(
    app: &App,
    team: &Team,
    new: NewWindow,
    by: By,
) -> Result<MaintenanceWindow, WindowError> {
    let now = by.now;
    let change = match new.starts_at {
        Some(_) => WindowChange::Added,
        None => WindowChange::Started,
    };
    let window = new.into_window(app.entropy.window_id()?, &team.zone, now);
    put_window(app, team, (None, &window), change, by).await?;
    Ok(window)
}

/// Changes a window. If nothing differs, nothing is written.
///
/// # Errors
///
/// Like [`add_window`].
pub async fn edit_window(
    app: &App,
    team: &Team,
    before: &MaintenanceWindow,
    edit: WindowEdit,
    by: By,
) -> Result<MaintenanceWindow, WindowError> {
    let window = edit.apply_to(before);
    if window != *before {
        put_window(app, team, (Some(before), &window), WindowChange::Edited, by).await?;
    }
    Ok(window)
}

/// Saves a window, new or changed.
pub(crate) async fn put_window(
    app: &App,
    team: &Team,
    (before, after): (Option<&MaintenanceWindow>, &MaintenanceWindow),
    change: WindowChange,
    by: By,
) -> Result<(), WindowError> {
    let known = before.and_then(|before| before.sites.as_ref());
    let was_named = |site: &SiteId| known.is_some_and(|known| known.contains(site));
    let new = after.sites.iter().flatten().copied().filter(|site| !was_named(site));
    refuse_unknown_sites(app, team.id, new, WindowError::from(WindowRefusal::UnknownSite)).await?;
    let next = team.windows.with(after.clone(), by.now)?;
    save(app, team, &next, (before.unwrap_or(after), change), by).await
}

/// Ends the active instance of a window. A window that takes place once is gone after that.
///
/// # Errors
///
/// The window is not active; otherwise like [`add_window`].
pub async fn end_window(
    app: &App,
    team: &Team,
    window: &MaintenanceWindow,
    by: By,
) -> Result<MaintenanceWindow, WindowError> {
    let now = by.now;
    let next = team.windows.with_ended(window.id, now)?;
    save(app, team, &next, (window, WindowChange::Ended), by).await?;
    Ok(MaintenanceWindow { ended_at: Some(now), ..window.clone() })
}

/// Deletes a window. If it is active, it ends.
///
/// # Errors
///
/// A fault of the table; a conflict when the team's windows have changed since it was read.
pub async fn delete_window(
    app: &App,
    team: &Team,
    window: &MaintenanceWindow,
    by: By,
) -> Result<(), WindowError> {
    let now = by.now;
    let next = team.windows.without(window.id, now);
    save(app, team, &next, (window, WindowChange::Removed), by).await
}

/// Gives the calendar feed of a team a new address, and returns the team with it. The previous address no longer works.
///
/// # Errors
///
/// A fault of the table or of the source of randomness.
pub async fn share_calendar(app: &App, team: Team, by: By) -> Result<Team, Fault> {
    let key = app.entropy.link_key()?;
    let entry = AuditEntry::new(team.id, by, AuditEvent::CalendarShared);
    app.store.save_calendar(team.id, Some(&key), Audit::Entry(&entry)).await?;
    Ok(Team { calendar: Some(key), ..team })
}

/// Withdraws the address of a team's calendar feed, if it has one.
///
/// # Errors
///
/// A fault of the table.
pub async fn unshare_calendar(app: &App, team: &Team, by: By) -> Result<(), Fault> {
    if team.calendar.is_none() {
        return Ok(());
    }
    let entry = AuditEntry::new(team.id, by, AuditEvent::CalendarUnshared);
    Ok(app.store.save_calendar(team.id, None, Audit::Entry(&entry)).await?)
}

/// Saves the windows. `window` is the changed one as it was before. If it was active, reminders that waited for its end
/// may be due sooner.
async fn save(
    app: &App,
    team: &Team,
    next: &Windows,
    (window, change): (&MaintenanceWindow, WindowChange),
    by: By,
) -> Result<(), WindowError> {
    let now = by.now;
    let was_active =
        team.windows.get(window.id).is_some_and(|before| before.active_at(now).is_some());
    if was_active {
        request_channel_sync(app, team.id, now).await?;
    }
    let event = AuditEvent::window(window, change);
    let entry = AuditEntry::new(team.id, by, event);
    app.store.save_windows(team, next, now, Audit::Entry(&entry)).await?;
    enqueue_publications(app, team.id, &team.status_pages).await;
    if was_active {
        enqueue_channel_sync(app, team.id).await;
    }
    Ok(())
}
