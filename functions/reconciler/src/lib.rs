//! The reconciler: brings schedules, queues and leftovers in line with the table, the only source of truth.
//!
//! [`redeliver`] sends overdue work again. [`gauge`] tells whether recurring runs happen. [`handle`] syncs the
//! schedules of a site or a team, or purges a deleted site. [`rebuild_all`] derives timers, schedules and alerts again
//! every night. It also publishes status pages, and makes reports. [`reconcile`] and [`redeliver_all`] rebuild everything
//! else, and [`drift`] tells what that would change. [`dispatch`] sends recurring runs that have no schedules of their own. Each may be stopped at any point and
//! started again.

mod channels;
mod deadline;
mod dispatch;
mod gauge;
mod grants;
mod publication;
mod rebuild;
mod reconcile;
mod redelivery;
mod reports;
mod sync;

use vedette_domain::message::ReconcileMessage;
use vedette_runtime::{App, QueueError, SchedulerError};
use vedette_store::StoreError;

pub use dispatch::dispatch;
pub use gauge::{Gauge, Gauges, gauge, is_time_for_gauge};
pub use grants::{DISPATCH, RECONCILE, REDELIVERY};
pub use rebuild::rebuild_all;
pub use reconcile::{Drift, ReconcileProgress, Reconciled, drift, reconcile};
pub use redelivery::{Redelivered, redeliver, redeliver_all};

/// A pass that could not finish and must be repeated.
#[derive(Debug, thiserror::Error)]
pub enum ReconcilerError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The scheduler does not answer.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// A queue does not accept messages.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The body is not a message to the reconciler.
    #[error("not a message to the reconciler")]
    Unreadable(#[from] serde_json::Error),
}

/// Does the work that a message to the reconciler requests.
///
/// # Errors
///
/// When the table, the scheduler or the queue does not answer. It is safe to deliver the message again.
pub async fn handle(app: &App, message: &ReconcileMessage) -> Result<(), ReconcilerError> {
    match message {
        ReconcileMessage::Sync { site, .. } => sync::site(app, *site).await,
        ReconcileMessage::Purge { team, site } => sync::purge(app, *team, *site).await,
        ReconcileMessage::SyncTeam(team) => sync::team(app, *team).await,
        ReconcileMessage::Rebuild { team, after } => rebuild::timers(app, *team, *after).await,
        ReconcileMessage::Deadline { team, heartbeat, due } => {
            deadline::look(app, *team, *heartbeat, *due).await
        }
        ReconcileMessage::Report(team) => reports::team(app, *team).await,
        ReconcileMessage::Publish { team, page } => {
            Ok(publication::status_page(app, *team, *page).await?)
        }
    }
}

/// Does the work that a queue message's body requests.
///
/// # Errors
///
/// See [`handle`]; also when the body is not a message to the reconciler.
pub async fn handle_body(app: &App, body: &str) -> Result<(), ReconcilerError> {
    handle(app, &serde_json::from_str(body)?).await
}
