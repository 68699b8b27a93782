//! Comparing what a team's channels know with the current state.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::checks::limits::ALERT_GRACE;
use vedette_domain::id::TeamId;
use vedette_domain::message::{AlertMessage, Message};
use vedette_runtime::App;
use vedette_store::StoreError;

/// Requests that a team's alerts are derived again, before a write that changes them.
///
/// # Errors
///
/// When the table does not answer.
pub(crate) async fn request_channel_sync(
    app: &App,
    team: TeamId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let due = now.saturating_add(ALERT_GRACE).unwrap_or(now);
    app.store.request_channel_sync(team, due).await
}

/// Starts it right away, after that write.
pub(crate) async fn enqueue_channel_sync(app: &App, team: TeamId) {
    let message = Message::Alert(AlertMessage::Team(team));
    app.enqueue_or_leave(message, Duration::ZERO).await;
}
