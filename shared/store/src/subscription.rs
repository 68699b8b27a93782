//! Subscriptions to status pages and reports, and what subscribers still have to be sent.

use jiff::Timestamp;
use vedette_domain::id::{ListId, StatusPageId, SubscriptionId};
use vedette_domain::status_pages::{Mailing, MailingTopic, PUBLICATION_GRACE, Subscription};

use crate::item::{Item, Stored, expiring, item, number, outstanding, stored, string};
use crate::keys;
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, StoreError};

stored!(attributes: Subscription, Mailing, Counter);

/// The place, in the transaction that confirms a subscription, of the condition that there is room for it.
const ROOM: usize = 0;

/// How many readers have confirmed.
#[derive(serde::Deserialize)]
struct Counter {
    n: u32,
}

impl Store {
    /// A subscription, pending or confirmed.
    pub async fn subscription(
        &self,
        list: impl Into<ListId>,
        subscription: SubscriptionId,
    ) -> Result<Option<Subscription>, StoreError> {
        self.get(&keys::subscription(list.into(), subscription))
            .await?
            .map(Stored::read)
            .transpose()
    }

    /// How many readers have subscribed to a page.
    pub async fn subscriptions(&self, page: StatusPageId) -> Result<u32, StoreError> {
        let Some(found) = self.get(&keys::subscription_count(page.into(), None)).await? else {
            return Ok(0);
        };
        Ok(Counter::read(found)?.n)
    }

    /// Saves a requested subscription: one that waits for its reader to confirm it, or a confirmed one as it was.
    /// `read` is what was there before.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was read.
    pub async fn put_requested_subscription(
        &self,
        read: Option<&Subscription>,
        next: &Subscription,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let mut stored = item(&keys::subscription(next.list, next.id), next)?;
        if next.confirmed_at.is_none() {
            stored = expiring(stored, next.expires_at());
        }
        let condition = read.map_or(Condition::Absent, unchanged);
        self.transaction().put(stored, condition).commit(audit).await
    }

    /// Saves that the reader of a pending subscription has confirmed it.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was read, or the page is gone. If there is no room for another
    /// subscription, see [`is_full`].
    pub async fn confirm_subscription(
        &self,
        read: &Subscription,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let room = Condition::When(
            "attribute_not_exists(n) OR n < :most",
            vec![(":most", number(read.room()))],
        );
        let confirmed = Subscription { confirmed_at: Some(now), ..read.clone() };
        let stored = item(&keys::subscription(read.list, read.id), &confirmed)?;
        let count = keys::subscription_count(read.list, read.reports.as_ref());
        let transaction =
            self.transaction().update(&count, counted(1), room).put(stored, unchanged(read));
        let transaction = match read.page() {
            Some(page) => {
                transaction.check(&keys::status_page(read.team, page), Condition::Present)
            }
            None => transaction,
        };
        transaction.commit(audit).await
    }

    /// Removes a subscription.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was read.
    pub async fn delete_subscription(
        &self,
        read: &Subscription,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let place = keys::subscription(read.list, read.id);
        let transaction = self.transaction().delete(&place, unchanged(read));
        let count = keys::subscription_count(read.list, read.reports.as_ref());
        let transaction = match read.confirmed_at {
            Some(_) => transaction.update(&count, counted(-1), Condition::Present),
            None => transaction,
        };
        transaction.commit(audit).await
    }

    /// The subscriptions of a list after one of them, in the order of their ids, pending ones included.
    pub async fn subscriptions_after(
        &self,
        list: impl Into<ListId>,
        after: Option<SubscriptionId>,
        limit: usize,
    ) -> Result<Vec<Subscription>, StoreError> {
        let pk = keys::subscription_partition(list.into());
        let (from, to) = keys::subscriptions_after(after);
        let next = Range { limit: Some(limit), ..Range::new(&pk, Sort::Between(from, to)) };
        self.query(next).await?.into_iter().map(Stored::read).collect()
    }

    /// What subscribers of a page still have to be sent something about.
    pub async fn mailings(&self, page: StatusPageId) -> Result<Vec<MailingTopic>, StoreError> {
        let pk = keys::subscription_partition(page.into());
        let mailings = self.query(Range::new(&pk, Sort::Prefix(keys::MAILING.to_owned()))).await?;
        mailings.into_iter().map(|found| Ok(Mailing::read(found)?.topic)).collect()
    }

    /// What subscribers still have to be sent about an incident or a period.
    pub async fn mailing(
        &self,
        list: ListId,
        topic: MailingTopic,
    ) -> Result<Option<Mailing>, StoreError> {
        self.get(&keys::mailing(list, topic)).await?.map(Stored::read).transpose()
    }

    /// Saves how far a mailing has come; it is looked at again at `due`. Returns it as it is stored.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was read.
    pub async fn save_mailing(
        &self,
        read: &Mailing,
        next: Mailing,
        due: Timestamp,
    ) -> Result<Mailing, StoreError> {
        let next = Mailing { rev: read.rev + 1, ..next };
        self.put(mailing_item(&next, due)?, same_mailing(read)).await?;
        Ok(next)
    }

    /// Removes a mailing that is complete.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was read: there is a newer update.
    pub async fn delete_mailing(&self, read: &Mailing) -> Result<(), StoreError> {
        let place = keys::mailing(read.list, read.topic);
        self.transaction().delete(&place, same_mailing(read)).commit(Audit::None).await
    }
}

/// Whether a subscription was not confirmed because there is no room for another.
pub fn is_full(error: &StoreError) -> bool {
    error.has_failed(ROOM)
}

/// Requests a mailing, in the transaction that saves at this instant what it is about.
pub(crate) fn request_mailing<'a>(
    transaction: Transaction<'a>,
    mailing: &Mailing,
    at: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let due = at.saturating_add(PUBLICATION_GRACE).unwrap_or(at);
    let is_newer = Condition::When(
        "attribute_not_exists(nth) OR nth < :nth",
        vec![(":nth", number(mailing.update))],
    );
    Ok(transaction.put(mailing_item(mailing, due)?, is_newer))
}

fn mailing_item(mailing: &Mailing, due: Timestamp) -> Result<Item, StoreError> {
    let stored = item(&keys::mailing(mailing.list, mailing.topic), mailing)?;
    Ok(outstanding(stored, keys::team_shard(mailing.team), Some(due)))
}

fn same_mailing(read: &Mailing) -> Condition {
    Condition::When(
        "nth = :nth AND rev = :rev",
        vec![(":nth", number(read.update)), (":rev", number(read.rev))],
    )
}

/// The change of the number of subscribers by so many.
fn counted(by: i32) -> Change {
    let values = vec![(":by", number(by))];
    Change { expression: "ADD n :by".into(), values, ..Change::default() }
}

/// That a subscription is as it was read.
fn unchanged(read: &Subscription) -> Condition {
    let state = match read.confirmed_at {
        None => "requested_at = :at AND attribute_not_exists(confirmed_at)",
        Some(_) => "requested_at = :at AND attribute_exists(confirmed_at)",
    };
    Condition::When(state, vec![(":at", string(read.requested_at.to_string()))])
}
