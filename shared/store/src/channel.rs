//! Channels of a team, and what is outstanding for each.

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

/// What is outstanding for a channel, and what it knows.
#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    /// How it has behaved lately.
    pub state: ChannelState,
    /// What it knows, by issue.
    pub deliveries: Vec<DeliveryState>,
    /// What waits to be sent, by group and in the order of sending.
    pub queued: Vec<Queued>,
}

/// What one channel is to learn of a change of an issue.
#[derive(Debug, Clone)]
pub struct FanOut {
    /// The channel.
    pub channel: ChannelRef,
    /// What it knows of the issue, to be looked at.
    pub delivery: Option<DeliveryState>,
    /// The event itself, for a channel that is notified of every event.
    pub event: Option<Queued>,
    /// What says that the channel is off, where it is: it holds as long as it says so.
    pub off: Option<Off>,
}

/// What says that a channel is off, and its `rev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// The channel itself: somebody disabled it, or its reader unsubscribed.
    Channel(u64),
    /// Its state: the receiver does not want anything more.
    State(u64),
}

/// A request to derive the due times of a team's alerts anew.
#[derive(Debug)]
pub struct Rederivation {
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

    fn queued_item(self, queued: &Queued) -> Result<Item, StoreError> {
        let shard = keys::team_shard(self.team);
        Ok(outstanding(item(&self.queued(queued), queued)?, shard, queued.due))
    }
}

fn outbox_key(entry: &OutboxEntry) -> Key {
    keys::outbox(entry.issue.id, entry.issue.rev, entry.cfg)
}

/// Writes what channels have to learn of an issue, which is looked for at `due` unless a message was sooner.
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

    /// Removes what is outstanding for a channel that is gone.
    pub async fn delete_deliveries(&self, channel: ChannelRef) -> Result<(), StoreError> {
        let pk = keys::delivery_partition(channel.team, channel.id);
        let left = self.query(Range { keys_only: true, ..Range::new(&pk, Sort::All) }).await?;
        let left: Vec<Key> = left.iter().map(key_of).collect::<Result<_, _>>()?;
        self.batch_delete(&left).await
    }

    /// Changes of an issue that channels have yet to learn of, in their order.
    pub async fn outbox(
        &self,
        partition: Partition,
        fingerprint: Fingerprint,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        let pk = keys::site_partition(partition);
        let entries = Range::new(&pk, Sort::Prefix(keys::outbox_prefix(fingerprint)));
        self.query(entries).await?.into_iter().map(Stored::read).collect()
    }

    /// What channels know of an issue, and how they have behaved, in their order.
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

    /// Has channels learn of a change of an issue, once.
    ///
    /// # Errors
    ///
    /// A conflict when they have, when a delivery state was written meanwhile, or a channel that was off is not.
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
            if let Some(delivery) = delivery {
                let unchanged = Condition::after(delivery.rev - 1);
                transaction = transaction.put(channel.delivery_state_item(delivery)?, unchanged);
            }
            if let Some(event) = event {
                transaction = transaction.put(channel.queued_item(event)?, Condition::Absent);
            }
        }
        transaction.commit(Audit::None).await
    }

    /// What is outstanding for a channel, and what it knows.
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

    /// How channels have behaved lately, in their order.
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

    /// How channels have behaved lately, in their order, and whether a test of them is under way.
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

    /// Writes how a channel behaves, whose `rev` is one above the one that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it was written meanwhile.
    pub async fn put_channel_state(
        &self,
        channel: ChannelRef,
        state: &ChannelState,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let unchanged = Condition::after(state.rev - 1);
        self.transaction().put(item(&channel.state(), state)?, unchanged).commit(audit).await
    }

    /// Writes what a channel knows of an issue; `rev` is one above the one that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it was written meanwhile.
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

    /// Forgets what a channel knows of an issue.
    ///
    /// # Errors
    ///
    /// A conflict when it was written meanwhile.
    pub async fn delete_delivery_state(
        &self,
        channel: ChannelRef,
        delivery: &DeliveryState,
    ) -> Result<(), StoreError> {
        let key = channel.delivery(delivery.issue);
        self.transaction().delete(&key, Condition::Rev(delivery.rev)).commit(Audit::None).await
    }

    /// What a channel knows of an issue.
    pub async fn delivery(
        &self,
        channel: ChannelRef,
        issue: IssueId,
    ) -> Result<Option<DeliveryState>, StoreError> {
        self.get(&channel.delivery(issue)).await?.map(Stored::read).transpose()
    }

    /// Has a channel know of an issue that it knew nothing of.
    ///
    /// # Errors
    ///
    /// A conflict when it has learnt of it meanwhile, or when the issue was written.
    pub async fn teach(
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

    /// Queues events, 99 at most, and notes that they were.
    ///
    /// # Errors
    ///
    /// A conflict when the delivery state was written meanwhile.
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

    /// Writes something that waits to be sent; `rev` is one above the one that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it was written meanwhile, or is there already.
    pub async fn put_queued(&self, channel: ChannelRef, queued: &Queued) -> Result<(), StoreError> {
        let unchanged = Condition::after(queued.rev - 1);
        self.transaction().put(channel.queued_item(queued)?, unchanged).commit(Audit::None).await
    }

    /// Something that waits to be sent, as it is now.
    pub async fn queued(
        &self,
        channel: ChannelRef,
        queued: &Queued,
    ) -> Result<Option<Queued>, StoreError> {
        self.get(&channel.queued(queued)).await?.map(Stored::read).transpose()
    }

    /// Removes what was sent, or need not be any more.
    ///
    /// # Errors
    ///
    /// A conflict when it was written meanwhile.
    pub async fn delete_queued(
        &self,
        channel: ChannelRef,
        queued: &Queued,
    ) -> Result<(), StoreError> {
        let key = channel.queued(queued);
        self.transaction().delete(&key, Condition::Rev(queued.rev)).commit(Audit::None).await
    }

    /// Has the due times of a team's alerts derived again, at `due` at the latest.
    pub async fn request_rederivation(
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

    /// Whether the due times of a team's alerts must be derived again: since which request.
    pub async fn rederivation(&self, team: TeamId) -> Result<Option<Rederivation>, StoreError> {
        let found = self.get(&keys::team_alerts(team)).await?;
        Ok(found.and_then(|mut item| item.remove(WORK_DUE)).map(|due| Rederivation { team, due }))
    }

    /// Says that they have been, unless it was requested again.
    pub async fn finish_rederivation(&self, request: Rederivation) -> Result<(), StoreError> {
        let unchanged = Condition::When("due = :seen", vec![(":seen", request.due)]);
        let key = keys::team_alerts(request.team);
        unless_conflict(self.transaction().delete(&key, unchanged).commit(Audit::None).await)
            .map(drop)
    }
}
