//! Channels of a team, and what is outstanding for each of them.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::delivery::{DeliveryState, FIRST, OutboxEntry, Queued, TEST_GROUP};
use vedette_domain::id::{ChannelId, IssueId, Partition, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;

use crate::item::{Item, Stored, item, key_of, number, outstanding, stored, string};
use crate::keys::{self, ISSUE, Key, QUEUED, WORK_DUE};
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, StoreError, unless_conflict};

mod secret;

pub use secret::UrlClaim;

stored!(attributes: ChannelState, DeliveryState, OutboxEntry, Queued);

/// A channel, by its team and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelRef {
    /// The team.
    pub team: TeamId,
    /// The channel.
    pub id: ChannelId,
}

/// What is outstanding for a channel, and what the channel knows.
#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    /// How the channel has behaved lately.
    pub state: ChannelState,
    /// What it knows about each issue.
    pub deliveries: Vec<DeliveryState>,
    /// What waits to be sent, by group, in the order of sending.
    pub queued: Vec<Queued>,
}

/// What one channel needs to learn about a change of an issue.
#[derive(Debug, Clone)]
pub struct FanOut {
    /// The channel.
    pub channel: ChannelRef,
    /// What it knows about the issue, with the time to look at it again.
    pub delivery: DeliveryState,
    /// The event itself, for a channel that is notified of every event.
    pub event: Option<Queued>,
    /// Why the channel is off, if it is. Writing depends on the channel still being off.
    pub off: Option<Off>,
}

/// Why a channel is off, and the `rev` of the item that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// The channel: somebody disabled it, or its reader unsubscribed.
    Channel(u64),
    /// Its state: the receiver no longer wants alerts.
    State(u64),
}

/// A request to derive the due times of a team's alerts again.
#[derive(Debug)]
pub struct ChannelSync {
    team: TeamId,
    due: AttributeValue,
}

impl From<&Channel> for ChannelRef {
    fn from(channel: &Channel) -> Self {
        Self { team: channel.team, id: channel.id }
    }
}

impl ChannelRef {
    fn state(self) -> Key {
        keys::channel_state(self.team, self.id)
    }

    fn delivery(self, issue: IssueId) -> Key {
        keys::delivery(self.team, self.id, issue)
    }

    fn queued(self, queued: &Queued) -> Key {
        keys::queued(self.team, self.id, &queued.group, &queued.place)
    }

    fn delivery_state_item(self, delivery: &DeliveryState) -> Result<Item, StoreError> {
        let shard = keys::site_shard(delivery.issue.partition());
        Ok(outstanding(item(&self.delivery(delivery.issue), delivery)?, shard, delivery.due))
    }

    pub(crate) fn queued_item(self, queued: &Queued) -> Result<Item, StoreError> {
        let shard = keys::team_shard(self.team);
        Ok(outstanding(item(&self.queued(queued), queued)?, shard, queued.due))
    }
}

fn outbox_key(entry: &OutboxEntry) -> Key {
    keys::outbox(entry.issue.id, entry.issue.rev, entry.site_rev)
}

/// Writes what channels have to learn about an issue. The reconciler looks at it at `due`, unless a message was faster.
pub(crate) fn put_outbox<'a>(
    transaction: Transaction<'a>,
    entry: &OutboxEntry,
    due: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let shard = keys::site_shard(entry.issue.id.partition());
    let stored = outstanding(item(&outbox_key(entry), entry)?, shard, Some(due));
    Ok(transaction.put(stored, Condition::Absent))
}

impl Store {
    /// A team's channels.
    pub async fn channels(&self, team: TeamId) -> Result<Vec<Channel>, StoreError> {
        Ok(self.channels_and_claims(team).await?.0)
    }

    /// A channel.
    pub async fn channel(&self, channel: ChannelRef) -> Result<Option<Channel>, StoreError> {
        let key = keys::channel(channel.team, channel.id);
        self.get(&key).await?.map(Stored::read).transpose()
    }

    /// Removes what is outstanding for a channel that was deleted.
    pub async fn delete_deliveries(&self, channel: ChannelRef) -> Result<(), StoreError> {
        let pk = keys::delivery_partition(channel.team, channel.id);
        self.delete_range(Range::new(&pk, Sort::All)).await.map(drop)
    }

    /// Changes of an issue that channels do not know yet, oldest first.
    pub async fn outbox(
        &self,
        partition: Partition,
        fingerprint: Fingerprint,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        let pk = keys::site_partition(partition);
        let entries = Range::new(&pk, Sort::Prefix(keys::outbox_prefix(fingerprint)));
        self.query(entries).await?.into_iter().map(Stored::read).collect()
    }

    /// What channels know about an issue, and how the channels have behaved, in the order of `channels`.
    pub async fn channel_states(
        &self,
        channels: &[ChannelRef],
        issue: IssueId,
    ) -> Result<Vec<(ChannelState, Option<DeliveryState>)>, StoreError> {
        let wanted = channels.iter().flat_map(|channel| [channel.state(), channel.delivery(issue)]);
        let mut found = self.batch_get(wanted).await?;
        let read = |channel: &ChannelRef| {
            let state = found.remove(&channel.state()).map(Stored::read).transpose()?;
            let delivery = found.remove(&channel.delivery(issue)).map(Stored::read).transpose()?;
            Ok((state.unwrap_or_default(), delivery))
        };
        channels.iter().map(read).collect()
    }

    /// Moves a change of an issue from the outbox to the channels, once.
    ///
    /// # Errors
    ///
    /// A conflict when that was already done, when a delivery state has changed since, or when a channel that was off
    /// is on again.
    pub async fn fan_out(
        &self,
        entry: &OutboxEntry,
        fan_outs: &[FanOut],
    ) -> Result<(), StoreError> {
        let key = outbox_key(entry);
        let mut transaction = self.transaction().delete(&key, Condition::Present);
        for FanOut { channel, delivery, event, off } in fan_outs {
            match *off {
                Some(Off::Channel(rev)) => {
                    let key = keys::channel(channel.team, channel.id);
                    transaction = transaction.check(&key, Condition::Rev(rev));
                }
                Some(Off::State(rev)) => {
                    transaction = transaction.check(&channel.state(), Condition::Rev(rev));
                }
                None => {}
            }
            let unchanged = Condition::after(delivery.rev - 1);
            transaction = transaction.put(channel.delivery_state_item(delivery)?, unchanged);
            if let Some(event) = event {
                transaction = transaction.put(channel.queued_item(event)?, Condition::Absent);
            }
        }
        transaction.commit(Audit::None).await
    }

    /// What is outstanding for a channel, and what the channel knows.
    pub async fn deliveries(&self, channel: ChannelRef) -> Result<Deliveries, StoreError> {
        let pk = keys::delivery_partition(channel.team, channel.id);
        let mut deliveries = Deliveries::default();
        for item in self.query(Range::new(&pk, Sort::All)).await? {
            let key = key_of(&item)?;
            if key.sk.starts_with(ISSUE) {
                deliveries.deliveries.push(Stored::read(item)?);
            } else if key.sk.starts_with(QUEUED) {
                deliveries.queued.push(Stored::read(item)?);
            } else {
                deliveries.state = Stored::read(item)?;
            }
        }
        Ok(deliveries)
    }

    /// How a channel has behaved lately.
    pub async fn channel_state(&self, channel: ChannelRef) -> Result<ChannelState, StoreError> {
        Ok(self.get(&channel.state()).await?.map(Stored::read).transpose()?.unwrap_or_default())
    }

    /// How channels have behaved lately, in the given order.
    pub async fn states_of_channels(
        &self,
        channels: &[ChannelRef],
    ) -> Result<Vec<ChannelState>, StoreError> {
        let mut found = self.batch_get(channels.iter().map(|channel| channel.state())).await?;
        let state = |channel: &ChannelRef| {
            Ok(found.remove(&channel.state()).map(Stored::read).transpose()?.unwrap_or_default())
        };
        channels.iter().map(state).collect()
    }

    /// How channels have behaved lately, in the given order, and whether a test of each is running.
    pub async fn states_and_tests_of_channels(
        &self,
        channels: &[ChannelRef],
    ) -> Result<Vec<(ChannelState, bool)>, StoreError> {
        let test = |channel: &ChannelRef| keys::queued(channel.team, channel.id, TEST_GROUP, FIRST);
        let wanted = channels.iter().flat_map(|channel| [channel.state(), test(channel)]);
        let mut found = self.batch_get(wanted).await?;
        let read = |channel: &ChannelRef| {
            let state = found.remove(&channel.state()).map(Stored::read).transpose()?;
            Ok((state.unwrap_or_default(), found.contains_key(&test(channel))))
        };
        channels.iter().map(read).collect()
    }

    /// Saves how a channel behaves. Its `rev` is one above the `rev` that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since.
    pub async fn put_channel_state(
        &self,
        channel: ChannelRef,
        state: &ChannelState,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let unchanged = Condition::after(state.rev - 1);
        self.transaction().put(item(&channel.state(), state)?, unchanged).commit(audit).await
    }

    /// Saves what a channel knows about an issue. Its `rev` is one above the `rev` that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since.
    pub async fn put_delivery_state(
        &self,
        channel: ChannelRef,
        delivery: &DeliveryState,
    ) -> Result<(), StoreError> {
        let unchanged = Condition::after(delivery.rev - 1);
        self.transaction()
            .put(channel.delivery_state_item(delivery)?, unchanged)
            .commit(Audit::None)
            .await
    }

    /// Forgets what a channel knows about an issue.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since.
    pub async fn delete_delivery_state(
        &self,
        channel: ChannelRef,
        delivery: &DeliveryState,
    ) -> Result<(), StoreError> {
        let key = channel.delivery(delivery.issue);
        self.transaction().delete(&key, Condition::Rev(delivery.rev)).commit(Audit::None).await
    }

    /// What a channel knows about an issue.
    pub async fn delivery(
        &self,
        channel: ChannelRef,
        issue: IssueId,
    ) -> Result<Option<DeliveryState>, StoreError> {
        self.get(&channel.delivery(issue)).await?.map(Stored::read).transpose()
    }

    /// Adds an issue that a channel does not know yet.
    ///
    /// # Errors
    ///
    /// A conflict when the channel knows the issue by now, or when the issue has changed since.
    pub async fn add_missing_delivery(
        &self,
        channel: ChannelRef,
        delivery: &DeliveryState,
        issue: &Issue,
    ) -> Result<(), StoreError> {
        let key = keys::issue(issue.id.partition(), issue.id.fingerprint());
        self.transaction()
            .put(channel.delivery_state_item(delivery)?, Condition::Absent)
            .check(&key, Condition::Rev(issue.rev))
            .commit(Audit::None)
            .await
    }

    /// Queues at most 99 events, and records that they were queued.
    ///
    /// # Errors
    ///
    /// A conflict when the delivery state has changed since.
    pub async fn queue_events(
        &self,
        channel: ChannelRef,
        delivery: &DeliveryState,
        events: &[Queued],
    ) -> Result<(), StoreError> {
        let unchanged = Condition::after(delivery.rev - 1);
        let mut transaction =
            self.transaction().put(channel.delivery_state_item(delivery)?, unchanged);
        for event in events {
            transaction = transaction.put(channel.queued_item(event)?, Condition::Absent);
        }
        transaction.commit(Audit::None).await
    }

    /// Saves something that waits to be sent. Its `rev` is one above the `rev` that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since, or already exists.
    pub async fn put_queued(&self, channel: ChannelRef, queued: &Queued) -> Result<(), StoreError> {
        let unchanged = Condition::after(queued.rev - 1);
        self.transaction().put(channel.queued_item(queued)?, unchanged).commit(Audit::None).await
    }

    /// Something that waits to be sent, in its current state.
    pub async fn queued(
        &self,
        channel: ChannelRef,
        queued: &Queued,
    ) -> Result<Option<Queued>, StoreError> {
        self.get(&channel.queued(queued)).await?.map(Stored::read).transpose()
    }

    /// Removes something that was sent or no longer needs to be sent.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since.
    pub async fn delete_queued(
        &self,
        channel: ChannelRef,
        queued: &Queued,
    ) -> Result<(), StoreError> {
        let key = channel.queued(queued);
        self.transaction().delete(&key, Condition::Rev(queued.rev)).commit(Audit::None).await
    }

    /// Requests that the due times of a team's alerts are derived again, at `due` at the latest.
    pub async fn request_channel_sync(
        &self,
        team: TeamId,
        due: Timestamp,
    ) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET w = :w, due = :due".into(),
            values: vec![
                (":w", string(keys::team_shard(team))),
                (":due", number(due.as_millisecond())),
            ],
            ..Change::default()
        };
        self.update(&keys::team_alerts(team), change, None).await.map(drop)
    }

    /// The request to derive the due times of a team's alerts again, if there is one.
    pub async fn channel_sync(&self, team: TeamId) -> Result<Option<ChannelSync>, StoreError> {
        let found = self.get(&keys::team_alerts(team)).await?;
        Ok(found.and_then(|mut item| item.remove(WORK_DUE)).map(|due| ChannelSync { team, due }))
    }

    /// Removes the request after the due times were derived, unless there is a newer request.
    pub async fn finish_channel_sync(&self, request: ChannelSync) -> Result<(), StoreError> {
        let unchanged = Condition::When("due = :seen", vec![(":seen", request.due)]);
        let key = keys::team_alerts(request.team);
        unless_conflict(self.transaction().delete(&key, unchanged).commit(Audit::None).await)
            .map(drop)
    }
}
