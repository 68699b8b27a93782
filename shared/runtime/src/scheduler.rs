//! Recurring runs: EventBridge Scheduler on AWS, timers in the process on one machine.

mod event_bridge;
mod local;

use std::error::Error;

use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};
use vedette_store::{PolledRun, Store};

pub use event_bridge::{EventBridgeScheduler, SLOT_PLACEHOLDER};
pub use local::LocalScheduler;

/// What starts recurring runs: EventBridge Scheduler, or this process.
#[derive(Debug, Clone)]
pub enum Scheduler {
    /// One schedule for each site and tool.
    EventBridge(EventBridgeScheduler),
    /// Rows of the table, which a function reads every minute.
    Polling(PollingScheduler),
    /// Timers of this process.
    Local(LocalScheduler),
}

/// A request that the scheduler did not carry out. The reconciler repeats it.
#[derive(Debug, thiserror::Error)]
#[error("the scheduler refused the request")]
pub struct SchedulerError(#[source] Box<dyn Error + Send + Sync>);

/// A recurring run. Its offset follows from the site and the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The site's team.
    pub team: TeamId,
    /// The site.
    pub site: SiteId,
    /// The tool.
    pub tool: Tool,
    /// Monitoring minutes between two runs.
    pub cadence_minutes: u32,
}

/// Whether a schedule exists, as far as its writer knows. A wrong guess costs a second call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It was created before.
    Present,
    /// It is new.
    Absent,
}

impl Scheduler {
    /// Creates a schedule, or updates the existing one.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub async fn put(&self, schedule: Schedule, before: Presence) -> Result<(), SchedulerError> {
        match self {
            Self::EventBridge(scheduler) => scheduler.put(schedule, before).await,
            Self::Polling(PollingScheduler { store, .. }) => {
                let Schedule { team, site, tool, cadence_minutes } = schedule;
                let is_new = before == Presence::Absent;
                let row = PolledRun { team, site };
                let put = store.put_polled_run(row, tool, cadence_minutes, is_new).await;
                put.map_err(broken)
            }
            Self::Local(scheduler) => {
                scheduler.put(schedule);
                Ok(())
            }
        }
    }

    /// Creates a schedule if the site and tool have none. Returns whether there was none. An existing schedule stays as
    /// it is, but a row with another cadence is not looked for.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub async fn create_missing(&self, schedule: Schedule) -> Result<bool, SchedulerError> {
        match self {
            Self::EventBridge(scheduler) => scheduler.create_missing(schedule).await,
            Self::Polling(PollingScheduler { store, .. }) => {
                let Schedule { team, site, tool, cadence_minutes } = schedule;
                let put =
                    store.put_missing_polled_run(PolledRun { team, site }, tool, cadence_minutes);
                put.await.map_err(broken)
            }
            Self::Local(scheduler) => Ok(scheduler.create_missing(schedule)),
        }
    }

    /// Removes a schedule, if there is one.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub async fn delete(&self, site: SiteId, tool: Tool) -> Result<(), SchedulerError> {
        match self {
            Self::EventBridge(scheduler) => scheduler.delete(site, tool).await,
            Self::Polling(PollingScheduler { store, .. }) => {
                store.remove_polled_runs(site, tool).await.map_err(broken)
            }
            Self::Local(scheduler) => {
                scheduler.delete(site, tool);
                Ok(())
            }
        }
    }

    /// All existing schedules, to find those that should not exist.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub async fn list(&self) -> Result<Vec<(SiteId, Tool)>, SchedulerError> {
        match self {
            Self::EventBridge(scheduler) => scheduler.list().await,
            Self::Polling(PollingScheduler { store, .. }) => {
                store.all_polled_runs().await.map_err(broken)
            }
            Self::Local(scheduler) => Ok(scheduler.list()),
        }
    }
}

/// Recurring runs as rows of the table. This costs almost nothing for each run and has no limit of invocations. A
/// schedule for each site and tool costs a dollar per million runs.
#[derive(Debug, Clone)]
pub struct PollingScheduler {
    /// The table.
    pub store: Store,
    /// The schedules that may be left from before polling was enabled.
    pub before: EventBridgeScheduler,
}

fn broken(cause: impl Into<Box<dyn Error + Send + Sync>>) -> SchedulerError {
    SchedulerError(cause.into())
}

#[cfg(test)]
mod samples {
    use super::*;

    pub(super) fn team() -> TeamId {
        TeamId::parse("7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13").expect("a team id")
    }

    pub(super) fn site() -> SiteId {
        SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
    }

    pub(super) fn every_five_minutes(tool: Tool) -> Schedule {
        Schedule { team: team(), site: site(), tool, cadence_minutes: 5 }
    }
}
