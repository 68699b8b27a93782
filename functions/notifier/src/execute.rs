//! Executes the steps of a delivery run: reads, writes and messages.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tracing::{info, warn};
use vedette_domain::alerts::channel::{Channel, EventKind, Target};
use vedette_domain::alerts::delivery::Queued;
use vedette_domain::alerts::delivery_run::{
    Delivery, DeliveryRun, DeliveryStep, EventPlan, NotifiedIssue, Write,
};
use vedette_domain::alerts::host_limit::{ReceivingHost, next_try};
use vedette_domain::alerts::notification::Notification;
use vedette_domain::alerts::send_outcome::SendOutcome;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::IssueId;
use vedette_ops::ErrorChain;
use vedette_runtime::App;
use vedette_store::{
    ChannelRef, IssueWithMonitor, StoreError, TeamWithSettings, budget, retry_on_conflict,
    unless_conflict,
};

use crate::NotifierError;
use crate::events::event_of;
use crate::owner::notify_owner;
use crate::transport::{Recipient, Transport};

/// Executes the steps of a run for a channel. No other process sends to the channel at the same time.
pub(crate) struct Executor<'a, T> {
    pub(crate) app: &'a App,
    pub(crate) transport: &'a T,
    pub(crate) channel: &'a Channel,
    /// Where it leads.
    pub(crate) target: Target,
    pub(crate) team: &'a TeamWithSettings,
}

impl<T: Transport> Executor<'_, T> {
    /// Executes a run to its end.
    pub(crate) async fn execute(&self, run: &mut DeliveryRun<'_>) -> Result<(), NotifierError> {
        // The states of the tools that found the issues, which events include.
        let mut tools: BTreeMap<IssueId, ToolState> = BTreeMap::new();
        while let Some(step) = run.next(self.now()) {
            match step {
                DeliveryStep::LoadIssues(deliveries) => {
                    let ids: Vec<_> = deliveries.iter().map(|delivery| delivery.issue).collect();
                    let mut issues = BTreeMap::new();
                    for (id, found) in self.app.store.current_issues(ids).await? {
                        issues.insert(id, (found.issue, found.monitor));
                        tools.insert(id, found.state);
                    }
                    run.loaded(deliveries, issues);
                }
                DeliveryStep::LoadUsers(ids) => run.loaded_users(self.app.store.users(ids).await?),
                DeliveryStep::CheckOutbox(check) => {
                    let issue = check.issue();
                    let outbox =
                        self.app.store.outbox(issue.partition(), issue.fingerprint()).await?;
                    run.checked_outbox(check, !outbox.is_empty());
                }
                DeliveryStep::QueueEvents(plan) => {
                    let events = self.queue_events(&plan, tools.get(&plan.next.issue)).await?;
                    run.queued(&plan, events, self.now());
                }
                DeliveryStep::Write(write) => {
                    let is_written = self.write(&write).await?;
                    run.wrote(&write, is_written, self.now());
                }
                DeliveryStep::Send(delivery) => self.send(run, *delivery).await?,
                DeliveryStep::NotifyOwner { why } => {
                    notify_owner(self.app, self.channel, &why).await?;
                }
            }
        }
        Ok(())
    }

    fn place(&self) -> ChannelRef {
        self.channel.into()
    }

    fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    /// Sends a message, unless all teams together have sent enough to its host for now.
    async fn send(
        &self,
        run: &mut DeliveryRun<'_>,
        delivery: Delivery,
    ) -> Result<(), NotifierError> {
        let now = self.now();
        if let Some(host) = ReceivingHost::of(&self.target)
            && !self.app.store.count_send(&host, self.channel.team, now).await?
        {
            info!(channel = %self.channel.id, team = %self.channel.team, "the host has reached its limit for this minute");
            run.reached_host_limit(delivery, next_try(self.channel.id, now));
            return Ok(());
        }
        let Delivery { message, reason, .. } = &delivery;
        let to = Recipient::Channel { channel: self.channel, target: &self.target };
        let outcome = self.transport.send(to, message, *reason, self.now()).await;
        if outcome.was_tried() {
            self.keep(delivery.recorded(&outcome), &outcome).await;
        }
        run.sent(delivery, outcome, self.now());
        Ok(())
    }

    /// Saves the outcome of a message for each issue that it is about. If that fails, the message is not sent again.
    async fn keep(&self, about: &[(IssueId, EventKind)], outcome: &SendOutcome) {
        let now = self.now();
        let notifications =
            about.iter().map(|about| Notification::new(*about, self.channel, outcome, now));
        if let Err(error) = self.app.store.put_notifications(notifications).await {
            warn!(channel = %self.channel.id, error = %ErrorChain(&error), "could not record a notification in the timeline of its issue");
        }
    }

    /// Creates events and queues them. Queues none if the channel has learned something else about the issue meanwhile.
    async fn queue_events(
        &self,
        plan: &EventPlan,
        tool: Option<&ToolState>,
    ) -> Result<Option<Vec<Queued>>, NotifierError> {
        let state = tool.cloned().unwrap_or_default();
        let mut events = Vec::new();
        for planned in &plan.events {
            let (issue, monitor, state) =
                (planned.issue.clone(), plan.monitor.clone(), state.clone());
            let found = IssueWithMonitor { issue, monitor, state };
            let event = (planned.event, planned.reason);
            let content = event_of(self.app, &found, self.team, event, planned.at).await?;
            let (issue, place) = (plan.next.issue, planned.place.clone());
            events.push(Queued::event(issue, place, content, plan.due));
        }
        let saved = self.app.store.queue_events(self.place(), &plan.next, &events).await;
        Ok(unless_conflict(saved)?.then_some(events))
    }

    /// Makes a write. Returns whether the item was still as it was read.
    async fn write(&self, write: &Write) -> Result<bool, StoreError> {
        let (store, place) = (&self.app.store, self.place());
        match write {
            Write::PutState(delivery) => {
                unless_conflict(store.put_delivery_state(place, delivery).await)
            }
            Write::DeleteState(delivery) => {
                unless_conflict(store.delete_delivery_state(place, delivery).await)
            }
            Write::PutQueued(queued) | Write::AddQueued(queued) => {
                unless_conflict(store.put_queued(place, queued).await)
            }
            Write::PutNotified(notified) => self.save_notified(notified).await,
            Write::DeleteQueued(queued) => self.delete_queued(queued).await.map(|()| true),
        }
    }

    /// Saves what people know by now. Changes that happened meanwhile are sent next.
    async fn save_notified(&self, saved: &NotifiedIssue) -> Result<bool, StoreError> {
        let NotifiedIssue { before, next, issue, notified, handle } = saved;
        let (store, place) = (&self.app.store, self.place());
        let written = match next {
            Some(next) => store.put_delivery_state(place, next).await,
            None => store.delete_delivery_state(place, before).await,
        };
        if unless_conflict(written)? {
            return Ok(true);
        }
        retry_on_conflict(budget::WRITE, || async {
            let Some(current) = store.delivery(place, before.issue).await? else { return Ok(()) };
            let next = current.notified_meanwhile(issue, (*notified, handle), self.now());
            store.put_delivery_state(place, &next).await
        })
        .await?;
        Ok(false)
    }

    /// Removes what was sent, even if it has changed meanwhile.
    async fn delete_queued(&self, queued: &Queued) -> Result<(), StoreError> {
        let (store, place) = (&self.app.store, self.place());
        let mut read = Some(queued.clone());
        retry_on_conflict(budget::WRITE, || {
            let read = read.take();
            async move {
                let current = match read {
                    Some(read) => Some(read),
                    None => store.queued(place, queued).await?,
                };
                match current {
                    Some(current) => store.delete_queued(place, &current).await,
                    None => Ok(()),
                }
            }
        })
        .await
    }
}
