use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_scheduler::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode,
    RetryPolicy, Target,
};
use jiff::Timestamp;
use tokio::sync::Notify;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_domain::schedule::{Pace, cron};
use vedette_domain::tool::{RunReason, Tool};

use crate::Clock;
use crate::config::Deployment;

/// Who fires recurring runs: EventBridge Scheduler, or this process.
#[derive(Debug, Clone)]
pub enum Scheduler {
    /// One schedule for each site and tool.
    EventBridge(EventBridgeScheduler),
    /// Timers of this process.
    Local(LocalScheduler),
}

/// A scheduler that does not do as asked; the keeper asks again.
#[derive(Debug, thiserror::Error)]
#[error("the scheduler does not answer: {0}")]
pub struct SchedulerError(String);

/// A recurring run. Its phase follows from site and tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The site.
    pub site: SiteId,
    /// The tool.
    pub tool: Tool,
    /// Monitoring minutes between two runs.
    pub cadence_minutes: u32,
}

/// The text that EventBridge replaces by the instant for which a run was scheduled.
pub const SLOT_PLACEHOLDER: &str = "<aws.scheduler.scheduled-time>";

impl Scheduler {
    /// Makes a schedule as it is said, whatever it was before.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub async fn put(&self, schedule: Schedule) -> Result<(), SchedulerError> {
        match self {
            Self::EventBridge(scheduler) => scheduler.put(schedule).await,
            Self::Local(scheduler) => {
                scheduler.put(schedule);
                Ok(())
            }
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
            Self::Local(scheduler) => {
                scheduler.delete(site, tool);
                Ok(())
            }
        }
    }

    /// All schedules there are, to find those that should not be.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub async fn list(&self) -> Result<Vec<(SiteId, Tool)>, SchedulerError> {
        match self {
            Self::EventBridge(scheduler) => scheduler.list().await,
            Self::Local(scheduler) => Ok(scheduler.list()),
        }
    }
}

/// Schedules in one EventBridge Scheduler group.
#[derive(Debug, Clone)]
pub struct EventBridgeScheduler {
    client: aws_sdk_scheduler::Client,
    deployment: Arc<Deployment>,
}

impl EventBridgeScheduler {
    /// The deployment's schedules.
    pub const fn new(client: aws_sdk_scheduler::Client, deployment: Arc<Deployment>) -> Self {
        Self { client, deployment }
    }

    async fn put(&self, schedule: Schedule) -> Result<(), SchedulerError> {
        let Schedule { site, tool, cadence_minutes } = schedule;
        let expression = cron(site, tool, cadence_minutes).ok_or_else(|| {
            SchedulerError(format!("{cadence_minutes} minutes are no cadence preset"))
        })?;
        let expression = &expression;
        let target = self.target(schedule)?;
        let window = FlexibleTimeWindow::builder()
            .mode(FlexibleTimeWindowMode::Off)
            .build()
            .map_err(broken)?;
        let created = self
            .client
            .create_schedule()
            .name(name(site, tool))
            .group_name(&self.deployment.schedule_group)
            .schedule_expression(expression)
            .flexible_time_window(window.clone())
            .target(target.clone())
            .action_after_completion(ActionAfterCompletion::None)
            .send()
            .await;
        match created {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("ConflictException") => self
                .client
                .update_schedule()
                .name(name(site, tool))
                .group_name(&self.deployment.schedule_group)
                .schedule_expression(expression)
                .flexible_time_window(window)
                .target(target)
                .action_after_completion(ActionAfterCompletion::None)
                .send()
                .await
                .map(drop)
                .map_err(broken),
            Err(error) => Err(broken(error)),
        }
    }

    fn target(&self, schedule: Schedule) -> Result<Target, SchedulerError> {
        let Schedule { site, tool, cadence_minutes } = schedule;
        let input = serde_json::json!({
            "site": site,
            "tool": tool,
            "reason": RunReason::Scheduled,
            "slot": SLOT_PLACEHOLDER,
        });
        // An event older than its cadence has a younger one behind it.
        let age = (cadence_minutes.saturating_mul(60)).clamp(60, 3_600);
        Target::builder()
            .arn(format!("{}{tool}", self.deployment.queue_arn_prefix))
            .role_arn(&self.deployment.schedule_role)
            .input(input.to_string())
            .retry_policy(
                RetryPolicy::builder()
                    .maximum_event_age_in_seconds(i32::try_from(age).unwrap_or(3_600))
                    .build(),
            )
            .dead_letter_config(
                DeadLetterConfig::builder().arn(&self.deployment.schedule_dlq).build(),
            )
            .build()
            .map_err(broken)
    }

    async fn delete(&self, site: SiteId, tool: Tool) -> Result<(), SchedulerError> {
        let deleted = self
            .client
            .delete_schedule()
            .name(name(site, tool))
            .group_name(&self.deployment.schedule_group)
            .send()
            .await;
        match deleted {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("ResourceNotFoundException") => Ok(()),
            Err(error) => Err(broken(error)),
        }
    }

    async fn list(&self) -> Result<Vec<(SiteId, Tool)>, SchedulerError> {
        let mut found = Vec::new();
        let mut pages = self
            .client
            .list_schedules()
            .group_name(&self.deployment.schedule_group)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(broken)?;
            found.extend(page.schedules.iter().filter_map(|listed| parse_name(listed.name()?)));
        }
        Ok(found)
    }
}

/// The name of a schedule: `<site>-<tool>`.
fn name(site: SiteId, tool: Tool) -> String {
    format!("{site}-{tool}")
}

fn parse_name(name: &str) -> Option<(SiteId, Tool)> {
    let (site, tool) = name.split_at_checked(36)?;
    Some((SiteId::parse(site)?, Tool::parse(tool.strip_prefix('-')?)?))
}

fn broken<E: std::error::Error>(error: E) -> SchedulerError {
    SchedulerError(DisplayErrorContext(error).to_string())
}

/// Schedules within this process, rebuilt from the table at every start.
#[derive(Debug, Clone)]
pub struct LocalScheduler(Arc<Local>);

#[derive(Debug)]
struct Local {
    agenda: Mutex<Agenda>,
    changed: Notify,
    clock: Clock,
    pace: Pace,
}

#[derive(Debug, Default)]
struct Agenda {
    schedules: HashMap<(SiteId, Tool), (u32, Timestamp)>,
    by_time: BTreeSet<(Timestamp, SiteId, Tool)>,
}

impl LocalScheduler {
    /// No schedules yet.
    pub fn new(clock: Clock, pace: Pace) -> Self {
        let (agenda, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(Local { agenda, changed, clock, pace }))
    }

    fn put(&self, schedule: Schedule) {
        let Schedule { site, tool, cadence_minutes } = schedule;
        let next = self.0.pace.next_after(site, tool, cadence_minutes, self.0.clock.now());
        let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        // A run that is due this moment must not be passed over because its schedule is confirmed.
        let is_same = |&(cadence, _): &(u32, Timestamp)| cadence == cadence_minutes;
        if agenda.schedules.get(&(site, tool)).is_some_and(is_same) {
            return;
        }
        agenda.set(site, tool, cadence_minutes, next);
        drop(agenda);
        self.0.changed.notify_one();
    }

    fn delete(&self, site: SiteId, tool: Tool) {
        self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner).remove(site, tool);
    }

    fn list(&self) -> Vec<(SiteId, Tool)> {
        let agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        agenda.schedules.keys().copied().collect()
    }

    /// The next run whose time has come; waits for it. A run that was missed, because the machine
    /// slept, comes once.
    pub async fn next(&self) -> CheckMessage {
        loop {
            let now = self.0.clock.now();
            let first = {
                let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
                match agenda.by_time.first().copied() {
                    Some((slot, site, tool)) if slot <= now => {
                        if let Some((cadence, _)) = agenda.schedules.get(&(site, tool)).copied() {
                            let next = self.0.pace.next_after(site, tool, cadence, now);
                            agenda.set(site, tool, cadence, next);
                        }
                        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
                        return CheckMessage { site, tool, order };
                    }
                    first => first,
                }
            };
            match first {
                Some((slot, ..)) => {
                    // Timers stand still while a machine sleeps, its clock does not.
                    let wait = slot.duration_since(now).unsigned_abs().min(Duration::from_mins(1));
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = self.0.changed.notified() => {}
                    }
                }
                None => self.0.changed.notified().await,
            }
        }
    }
}

impl Agenda {
    fn set(&mut self, site: SiteId, tool: Tool, cadence: u32, next: Timestamp) {
        self.remove(site, tool);
        self.schedules.insert((site, tool), (cadence, next));
        self.by_time.insert((next, site, tool));
    }

    fn remove(&mut self, site: SiteId, tool: Tool) {
        if let Some((_, next)) = self.schedules.remove(&(site, tool)) {
            self.by_time.remove(&(next, site, tool));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    fn site() -> SiteId {
        SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
    }

    #[test]
    fn names_are_read_back() {
        for tool in Tool::ALL {
            assert_eq!(parse_name(&name(site(), tool)), Some((site(), tool)));
        }
        for other in ["", "sweep", "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01"] {
            assert_eq!(parse_name(other), None);
        }
    }

    #[tokio::test]
    async fn runs_come_at_their_phase_and_a_missed_one_comes_once() {
        let now = Arc::new(AtomicI64::new(1_763_632_440));
        let clock = Clock::from_fn({
            let now = Arc::clone(&now);
            move || Timestamp::from_second(now.load(Ordering::Relaxed)).unwrap_or_default()
        });
        let scheduler = LocalScheduler::new(clock.clone(), Pace::default());
        let cadence_minutes = 5;
        scheduler.put(Schedule { site: site(), tool: Tool::Status, cadence_minutes });
        scheduler.put(Schedule { site: site(), tool: Tool::Status, cadence_minutes });
        scheduler.put(Schedule { site: site(), tool: Tool::Dns, cadence_minutes });
        scheduler.delete(site(), Tool::Dns);
        assert_eq!(scheduler.list(), [(site(), Tool::Status)]);
        let expected =
            Pace::default().next_after(site(), Tool::Status, cadence_minutes, clock.now());
        now.fetch_add(3_600, Ordering::Relaxed);
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot: expected };
        let first = scheduler.next().await;
        assert_eq!(first, CheckMessage { site: site(), tool: Tool::Status, order });
        let agenda = scheduler.0.agenda.lock().expect("agenda");
        assert!(agenda.by_time.first().is_some_and(|(next, ..)| *next > clock.now()));
    }
}
