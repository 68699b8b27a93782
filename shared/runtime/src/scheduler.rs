//! Recurring runs: EventBridge Scheduler on AWS, timers in the process on one machine.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_scheduler::error::ProvideErrorMetadata;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode,
    RetryPolicy, Target,
};
use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use vedette_domain::checks::schedule::{TimeScale, cron};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::clock::is_ahead;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_store::{PolledRun, Store};

use crate::Clock;
use crate::config::Deployment;
use crate::on_demand::{OnDemand, on_demand};

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

/// The calls to EventBridge Scheduler that this process may have in progress. At 20 ms each, they are 1,600 a second.
const CALLS: usize = 32;

/// The text that EventBridge replaces with the instant for which a run was scheduled.
pub const SLOT_PLACEHOLDER: &str = "<aws.scheduler.scheduled-time>";

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

/// Schedules in one group of EventBridge Scheduler.
#[derive(Debug, Clone)]
pub struct EventBridgeScheduler {
    client: OnDemand<aws_sdk_scheduler::Client>,
    deployment: Arc<Deployment>,
    places: Arc<Semaphore>,
}

/// The arguments that creating and updating a schedule share.
struct Written {
    name: String,
    expression: String,
    window: FlexibleTimeWindow,
    target: Target,
}

impl EventBridgeScheduler {
    /// The deployment's schedules, and the function that creates a client.
    pub fn new(
        client: impl FnOnce() -> aws_sdk_scheduler::Client + Send + 'static,
        deployment: Arc<Deployment>,
    ) -> Self {
        Self { client: on_demand(client), deployment, places: Arc::new(Semaphore::new(CALLS)) }
    }

    /// Waits until another call may start.
    async fn place(&self) -> Result<SemaphorePermit<'_>, SchedulerError> {
        self.places.acquire().await.map_err(broken)
    }

    async fn put(&self, schedule: Schedule, before: Presence) -> Result<(), SchedulerError> {
        let written = self.written(schedule)?;
        let _place = self.place().await?;
        match before {
            Presence::Present if !self.update(&written).await? => self.create(&written).await?,
            Presence::Absent if !self.create(&written).await? => self.update(&written).await?,
            _ => true,
        };
        Ok(())
    }

    async fn create_missing(&self, schedule: Schedule) -> Result<bool, SchedulerError> {
        let written = self.written(schedule)?;
        let _place = self.place().await?;
        self.create(&written).await
    }

    fn written(&self, schedule: Schedule) -> Result<Written, SchedulerError> {
        let Schedule { site, tool, cadence_minutes, .. } = schedule;
        let expression = cron(site, tool, cadence_minutes)
            .ok_or_else(|| broken(format!("{cadence_minutes} minutes is not a cadence preset")))?;
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build();
        Ok(Written {
            name: name(site, tool),
            expression,
            window: window.map_err(broken)?,
            target: self.target(schedule)?,
        })
    }

    /// Returns `false` if the schedule already exists.
    async fn create(&self, written: &Written) -> Result<bool, SchedulerError> {
        let created = self
            .client
            .create_schedule()
            .name(&written.name)
            .group_name(&self.deployment.schedule_group)
            .schedule_expression(&written.expression)
            .flexible_time_window(written.window.clone())
            .target(written.target.clone())
            .action_after_completion(ActionAfterCompletion::None)
            .send()
            .await;
        unless(created, "ConflictException")
    }

    /// Returns `false` if the schedule does not exist.
    async fn update(&self, written: &Written) -> Result<bool, SchedulerError> {
        let updated = self
            .client
            .update_schedule()
            .name(&written.name)
            .group_name(&self.deployment.schedule_group)
            .schedule_expression(&written.expression)
            .flexible_time_window(written.window.clone())
            .target(written.target.clone())
            .action_after_completion(ActionAfterCompletion::None)
            .send()
            .await;
        unless(updated, NOT_FOUND)
    }

    fn target(&self, schedule: Schedule) -> Result<Target, SchedulerError> {
        let Schedule { team, site, tool, cadence_minutes } = schedule;
        let body = serde_json::json!({
            "team": team,
            "site": site,
            "tool": tool,
            "reason": RunReason::Scheduled,
            "slot": SLOT_PLACEHOLDER,
        });
        // The parameters of `SendMessage`. If the target were the queue itself, a message could have a group only in a
        // FIFO queue.
        let input = serde_json::json!({
            "QueueUrl": format!("{}{tool}", self.deployment.queue_url_prefix),
            "MessageBody": body.to_string(),
            "MessageGroupId": team,
        });
        // An event older than its cadence is followed by a newer one.
        let age = (cadence_minutes.saturating_mul(60)).clamp(60, 3_600);
        Target::builder()
            .arn(&self.deployment.schedule_target)
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
        let _place = self.place().await?;
        let deleted = self
            .client
            .delete_schedule()
            .name(name(site, tool))
            .group_name(&self.deployment.schedule_group)
            .send()
            .await;
        unless(deleted, NOT_FOUND).map(drop)
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

const NOT_FOUND: &str = "ResourceNotFoundException";

/// Whether a call succeeded; `false` if it was refused with this code.
fn unless<T, E>(answer: Result<T, E>, code: &str) -> Result<bool, SchedulerError>
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    match answer {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some(code) => Ok(false),
        Err(error) => Err(broken(error)),
    }
}

fn broken(cause: impl Into<Box<dyn Error + Send + Sync>>) -> SchedulerError {
    SchedulerError(cause.into())
}

/// Schedules within this process, rebuilt from the table at every start.
#[derive(Debug, Clone)]
pub struct LocalScheduler(Arc<Local>);

#[derive(Debug)]
struct Local {
    agenda: Mutex<Agenda>,
    changed: Notify,
    clock: Clock,
    time_scale: TimeScale,
}

#[derive(Debug, Default)]
struct Agenda {
    next: HashMap<(SiteId, Tool), Timestamp>,
    by_time: BTreeMap<(Timestamp, SiteId, Tool), Schedule>,
    /// The clock's time at the last check.
    looked_at: Option<Timestamp>,
}

impl LocalScheduler {
    /// No schedules yet.
    pub fn new(clock: Clock, time_scale: TimeScale) -> Self {
        let (agenda, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(Local { agenda, changed, clock, time_scale }))
    }

    fn put(&self, schedule: Schedule) {
        let Schedule { site, tool, cadence_minutes, .. } = schedule;
        let next = self.0.time_scale.next_after(site, tool, cadence_minutes, self.0.clock.now());
        let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        // Confirming a schedule must not skip a run that is due at this moment.
        if agenda.get(site, tool) == Some(&schedule) {
            return;
        }
        agenda.set(schedule, next);
        drop(agenda);
        self.0.changed.notify_one();
    }

    fn create_missing(&self, schedule: Schedule) -> bool {
        let Schedule { site, tool, .. } = schedule;
        let agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        let is_missing = agenda.get(site, tool).is_none();
        drop(agenda);
        if is_missing {
            self.put(schedule);
        }
        is_missing
    }

    fn delete(&self, site: SiteId, tool: Tool) {
        self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner).remove(site, tool);
    }

    fn list(&self) -> Vec<(SiteId, Tool)> {
        let agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        agenda.next.keys().copied().collect()
    }

    /// After the clock was set back, makes sure that no schedule waits for a slot too far ahead. [`Self::next`] would
    /// notice it within a minute.
    pub fn rebuild(&self) {
        let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        agenda.look(self.0.time_scale, self.0.clock.now());
        drop(agenda);
        self.0.changed.notify_one();
    }

    /// Waits for the next run that is due. If runs of a schedule were missed because the machine slept, one of them
    /// takes place.
    pub async fn next(&self) -> CheckMessage {
        loop {
            let now = self.0.clock.now();
            let first = {
                let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
                agenda.look(self.0.time_scale, now);
                match agenda.first() {
                    Some((slot, schedule)) if slot <= now => {
                        let Schedule { team, site, tool, cadence_minutes } = schedule;
                        let next = self.0.time_scale.next_after(site, tool, cadence_minutes, now);
                        agenda.set(schedule, next);
                        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
                        return CheckMessage { team, site, tool, order };
                    }
                    first => first,
                }
            };
            match first {
                Some((slot, ..)) => {
                    // Timers stop while a machine sleeps, but its clock does not.
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
    fn get(&self, site: SiteId, tool: Tool) -> Option<&Schedule> {
        self.by_time.get(&(*self.next.get(&(site, tool))?, site, tool))
    }

    fn first(&self) -> Option<(Timestamp, Schedule)> {
        self.by_time.first_key_value().map(|((slot, ..), schedule)| (*slot, *schedule))
    }

    /// If the clock was set back since the last check, makes every schedule wait for its next slot after `now`, because
    /// the old slots are too far ahead.
    fn look(&mut self, time_scale: TimeScale, now: Timestamp) {
        let was_set_back = self.looked_at.replace(now).is_some_and(|last| is_ahead(last, now));
        if !was_set_back {
            return;
        }
        for schedule in std::mem::take(&mut self.by_time).into_values() {
            let Schedule { site, tool, cadence_minutes, .. } = schedule;
            let next = time_scale.next_after(site, tool, cadence_minutes, now);
            self.next.insert((site, tool), next);
            self.by_time.insert((next, site, tool), schedule);
        }
    }

    fn set(&mut self, schedule: Schedule, next: Timestamp) {
        let Schedule { site, tool, .. } = schedule;
        self.remove(site, tool);
        self.next.insert((site, tool), next);
        self.by_time.insert((next, site, tool), schedule);
    }

    fn remove(&mut self, site: SiteId, tool: Tool) {
        if let Some(next) = self.next.remove(&(site, tool)) {
            self.by_time.remove(&(next, site, tool));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::config::Schedules;

    fn team() -> TeamId {
        TeamId::parse("7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13").expect("a team id")
    }

    fn site() -> SiteId {
        SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
    }

    fn every_five_minutes(tool: Tool) -> Schedule {
        Schedule { team: team(), site: site(), tool, cadence_minutes: 5 }
    }

    #[test]
    fn a_schedule_sends_a_message_in_the_name_of_its_team() {
        let deployment = Deployment {
            table: "vedette".to_owned(),
            queue_url_prefix: "https://sqs.eu-central-1.amazonaws.com/123456789012/vedette-".into(),
            schedule_group: "vedette".to_owned(),
            schedule_target: "arn:aws:scheduler:::aws-sdk:sqs:sendMessage".to_owned(),
            schedule_role: "arn:aws:iam::123456789012:role/vedette-schedules".to_owned(),
            schedule_dlq: "arn:aws:sqs:eu-central-1:123456789012:vedette-schedules-dlq".to_owned(),
            schedules: Schedules::Each,
        };
        let config = aws_sdk_scheduler::Config::builder()
            .behavior_version(aws_sdk_scheduler::config::BehaviorVersion::latest())
            .build();
        let client = aws_sdk_scheduler::Client::from_conf(config);
        let scheduler = EventBridgeScheduler::new(|| client, Arc::new(deployment));
        let target = scheduler.target(every_five_minutes(Tool::BrokenLinks)).expect("a target");
        assert_eq!(target.arn(), "arn:aws:scheduler:::aws-sdk:sqs:sendMessage");
        let retry = target.retry_policy().expect("a policy");
        assert_eq!(retry.maximum_event_age_in_seconds(), Some(300));
        let input: serde_json::Value =
            serde_json::from_str(target.input().expect("parameters")).expect("json");
        let queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/vedette-broken-links";
        assert_eq!(input["QueueUrl"], queue);
        assert_eq!(input["MessageGroupId"], team().to_string());
        // The message that arrives is an ordinary one.
        let slot = "2026-11-20T09:54:00Z";
        let body = input["MessageBody"].as_str().expect("a body").replace(SLOT_PLACEHOLDER, slot);
        let message: CheckMessage = serde_json::from_str(&body).expect("a message");
        let slot = slot.parse().expect("a timestamp");
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
        let expected = CheckMessage { team: team(), site: site(), tool: Tool::BrokenLinks, order };
        assert_eq!(message, expected);
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
        let scheduler = LocalScheduler::new(clock.clone(), TimeScale::default());
        let status = every_five_minutes(Tool::Status);
        scheduler.put(status);
        scheduler.put(status);
        scheduler.put(every_five_minutes(Tool::Dns));
        scheduler.delete(site(), Tool::Dns);
        assert_eq!(scheduler.list(), [(site(), Tool::Status)]);
        let expected = TimeScale::default().next_after(
            site(),
            Tool::Status,
            status.cadence_minutes,
            clock.now(),
        );
        now.fetch_add(3_600, Ordering::Relaxed);
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot: expected };
        let first = scheduler.next().await;
        let expected = CheckMessage { team: team(), site: site(), tool: Tool::Status, order };
        assert_eq!(first, expected);
        let agenda = scheduler.0.agenda.lock().expect("agenda");
        assert!(agenda.first().is_some_and(|(next, _)| next > clock.now()));
    }

    #[tokio::test]
    async fn no_schedule_waits_for_a_clock_that_was_set_back() {
        const NOW: i64 = 1_763_632_440;
        for ahead in [3_600, 365 * 86_400] {
            let now = Arc::new(AtomicI64::new(NOW + ahead));
            let clock = Clock::from_fn({
                let now = Arc::clone(&now);
                move || Timestamp::from_second(now.load(Ordering::Relaxed)).unwrap_or_default()
            });
            let scheduler = LocalScheduler::new(clock.clone(), TimeScale::default());
            let (often, daily) = (every_five_minutes(Tool::Status), Tool::Dns);
            let daily = Schedule { cadence_minutes: 1_440, ..every_five_minutes(daily) };
            scheduler.put(often);
            scheduler.put(daily);
            now.fetch_add(300, Ordering::Relaxed);
            assert_eq!(scheduler.next().await.tool, Tool::Status, "by the fast clock");
            now.store(NOW, Ordering::Relaxed);
            let next = |of: Schedule| {
                let Schedule { site, tool, cadence_minutes, .. } = of;
                TimeScale::default().next_after(site, tool, cadence_minutes, clock.now())
            };
            let expected = [next(often), next(daily)];
            scheduler.rebuild();
            let agenda = scheduler.0.agenda.lock().expect("agenda");
            let found = [often, daily].map(|schedule| agenda.next[&(schedule.site, schedule.tool)]);
            assert_eq!(found, expected, "{ahead}");
        }
    }
}
