//! Changes a team's plan.

use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_runtime::App;
use vedette_store::StoreError;

use crate::channel_sync::{enqueue_channel_sync, request_channel_sync};

/// Changes or deactivates a team's plan, and makes schedules and alerts follow.
///
/// # Errors
///
/// A fault of the table; a conflict when there is no such team.
pub async fn change_plan(
    app: &App,
    team: TeamId,
    plan: Plan,
    is_active: bool,
) -> Result<Team, StoreError> {
    let now = app.clock.now();
    request_channel_sync(app, team, now).await?;
    let changed = app.store.set_plan(team, plan, is_active, now).await?;
    enqueue_channel_sync(app, team).await;
    Ok(changed)
}
