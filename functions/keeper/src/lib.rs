//! The keeper: brings schedules, queues and leftovers in line with the table, which alone is true.
//!
//! [`sweep`] sends again what is overdue; [`upkeep`] syncs a site's schedules, a team's, or purges
//! a deleted site; [`reconcile`] and [`resend_all`] rebuild everything. Each may be stopped
//! anywhere and begun again.

mod reconcile;
mod sweep;
mod sync;

use vedette_domain::message::Upkeep;
use vedette_runtime::{App, QueueError, SchedulerError};
use vedette_store::StoreError;

pub use reconcile::{Progress, Reconciled, reconcile};
pub use sweep::{Swept, resend_all, sweep};

/// A pass that could not finish; it is to be done again.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The scheduler does not answer.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// A queue does not take messages.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The body is not an upkeep message.
    #[error("not an upkeep message: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Does what one upkeep message asks for.
///
/// # Errors
///
/// When table, scheduler or queue do not answer; delivering the message again is safe.
pub async fn upkeep(app: &App, message: &Upkeep) -> Result<(), KeeperError> {
    match message {
        Upkeep::Sync { site, .. } => sync::site(app, *site).await,
        Upkeep::Purge { team, site } => sync::purge(app, *team, *site).await,
        Upkeep::Resync(team) => sync::team(app, *team).await,
    }
}

/// Does what a queue message's body asks for.
///
/// # Errors
///
/// As [`upkeep`], and when the body is not an upkeep message.
pub async fn upkeep_body(app: &App, body: &str) -> Result<(), KeeperError> {
    upkeep(app, &serde_json::from_str(body)?).await
}
