//! Notifications about issues, by site.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use vedette_domain::alerts::notification::{NOTIFICATIONS_KEPT, NOTIFICATIONS_SHOWN, Notification};
use vedette_domain::id::{IssueId, Partition};

use crate::StoreError;
use crate::item::{Stored, expiring, item, readable, stored};
use crate::keys;
use crate::table::{Condition, Range, Sort, Store};

stored!(attributes: Notification);

/// How many notifications are written concurrently.
const AT_ONCE: usize = 16;

impl Store {
    /// Saves notifications.
    pub async fn put_notifications(
        &self,
        notifications: impl Iterator<Item = Notification>,
    ) -> Result<(), StoreError> {
        let items = notifications.map(|notification| {
            let Notification { issue, at, channel, .. } = notification;
            let expires_at = at.saturating_add(NOTIFICATIONS_KEPT).unwrap_or(at);
            let stored = item(&keys::notification(issue, at, channel), &notification)?;
            Ok(expiring(stored, expires_at))
        });
        let items: Vec<_> = items.collect::<Result<_, StoreError>>()?;
        let writes = stream::iter(items).map(|item| self.put(item, Condition::Always));
        writes.buffer_unordered(AT_ONCE).try_collect().await
    }

    /// The newest notifications of an issue, newest first.
    pub async fn notifications(&self, issue: IssueId) -> Result<Vec<Notification>, StoreError> {
        let pk = keys::notification_partition(issue.partition());
        let sort = Sort::Prefix(keys::notification_prefix(issue.fingerprint()));
        let newest =
            Range { newest_first: true, limit: Some(NOTIFICATIONS_SHOWN), ..Range::new(&pk, sort) };
        let found = self.query(newest).await?;
        Ok(found.into_iter().filter_map(|item| readable(item, Stored::read)).collect())
    }

    /// Deletes notifications about the issues of a site; returns whether there may be more.
    pub(crate) async fn purge_notifications(&self, site: Partition) -> Result<bool, StoreError> {
        const PAGE: usize = 500;
        let pk = keys::notification_partition(site);
        let page = Range { limit: Some(PAGE), ..Range::new(&pk, Sort::All) };
        Ok(self.delete_range(page).await? == PAGE)
    }
}
