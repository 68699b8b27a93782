//! The reconciler: brings schedules, queues and leftovers in line with the table, the only source of truth.
//!
//! [`redeliver`] sends overdue work again. [`gauge`] tells whether recurring runs happen. [`maintain`] syncs the
//! schedules of a site or a team, or purges a deleted site. [`rebuild_all`] derives timers, schedules and alerts again
//! every night. It also publishes status pages. [`reconcile`] and [`redeliver_all`] rebuild everything else, and [`drift`] tells what that would
//! change. [`dispatch`] sends recurring runs that have no schedules of their own. Each may be stopped at any point and
//! started again.

mod channels;
mod dispatch;
mod gauge;
mod grants;
mod publication;
mod rebuild;
mod reconcile;
mod redelivery;
mod sync;

use vedette_domain::message::Maintenance;
use vedette_runtime::{App, QueueError, SchedulerError};
use vedette_store::StoreError;

pub use dispatch::dispatch;
pub use gauge::{Gauge, Gauges, gauge, is_time_for_gauge};
pub use grants::{DISPATCH, MAINTENANCE, REDELIVERY};
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
    /// The body is not a maintenance message.
    #[error("not a maintenance message")]
    Unreadable(#[from] serde_json::Error),
}

/// Does the work that a maintenance message requests.
///
/// # Errors
///
/// When the table, the scheduler or the queue does not answer. It is safe to deliver the message again.
pub async fn maintain(app: &App, message: &Maintenance) -> Result<(), ReconcilerError> {
    match message {
        Maintenance::Sync { site, .. } => sync::site(app, *site).await,
        Maintenance::Purge { team, site } => sync::purge(app, *team, *site).await,
        Maintenance::Resync(team) => sync::team(app, *team).await,
        Maintenance::Rebuild { team, after } => rebuild::timers(app, *team, *after).await,
        Maintenance::Publish { team, page } => {
            Ok(publication::status_page(app, *team, *page).await?)
        }
    }
}

/// Does the work that a queue message's body requests.
///
/// # Errors
///
/// See [`maintain`]; also when the body is not a maintenance message.
pub async fn maintain_body(app: &App, body: &str) -> Result<(), ReconcilerError> {
    maintain(app, &serde_json::from_str(body)?).await
}
