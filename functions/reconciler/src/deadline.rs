//! Looks at heartbeats whose deadline has passed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::id::{HeartbeatId, TeamId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_runs::record_deadline;
use vedette_runtime::App;

use crate::ReconcilerError;

/// How long to wait before the next look at a deadline that the process may have slept through.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_millis(500);

/// Looks at a heartbeat, unless it is too early: then the message comes again.
pub(crate) async fn look(
    app: &App,
    team: TeamId,
    heartbeat: HeartbeatId,
    due: Timestamp,
) -> Result<(), ReconcilerError> {
    let now = app.clock.now();
    let left = due.duration_since(now);
    let wait = match app.health.listening_until() >= due {
        _ if left.is_positive() => Some(left),
        // If the machine has just woken up, it is not known yet that pings could not arrive.
        false => Some(AGAIN_AFTER),
        true => None,
    };
    if let Some(wait) = wait {
        let again = Message::Reconcile(ReconcileMessage::Deadline { team, heartbeat, due });
        let delay: Duration = wait.unsigned_abs();
        app.queue.send(&again, delay).await?;
        return Ok(());
    }
    record_deadline(app, heartbeat).await?;
    Ok(())
}
