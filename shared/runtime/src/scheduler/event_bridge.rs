//! EventBridge Scheduler: one schedule for each site and tool.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_scheduler::error::ProvideErrorMetadata;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode,
    RetryPolicy, Target,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use vedette_domain::checks::schedule::cron;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::SiteId;

use super::{Presence, Schedule, SchedulerError, broken};
use crate::config::Deployment;
use crate::on_demand::{OnDemand, on_demand};

/// The calls to EventBridge Scheduler that this process may have in progress. At 20 ms each, they are 1,600 a second.
const CALLS: usize = 32;

/// The text that EventBridge replaces with the instant for which a run was scheduled.
pub const SLOT_PLACEHOLDER: &str = "<aws.scheduler.scheduled-time>";

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

    pub(super) async fn put(
        &self,
        schedule: Schedule,
        before: Presence,
    ) -> Result<(), SchedulerError> {
        let written = self.written(schedule)?;
        let _place = self.place().await?;
        match before {
            Presence::Present if !self.update(&written).await? => self.create(&written).await?,
            Presence::Absent if !self.create(&written).await? => self.update(&written).await?,
            _ => true,
        };
        Ok(())
    }

    pub(super) async fn create_missing(&self, schedule: Schedule) -> Result<bool, SchedulerError> {
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

    pub(super) async fn delete(&self, site: SiteId, tool: Tool) -> Result<(), SchedulerError> {
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

    pub(super) async fn list(&self) -> Result<Vec<(SiteId, Tool)>, SchedulerError> {
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

#[cfg(test)]
mod tests {
    use vedette_domain::message::{CheckMessage, RunOrder};

    use super::super::samples::{every_five_minutes, site, team};
    use super::*;
    use crate::config::Schedules;

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
}
