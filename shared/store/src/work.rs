//! The work index: items with outstanding work.

use futures::future::try_join_all;
use jiff::Timestamp;

use crate::item::{key_of, number};
use crate::keys::{self, Key, Owner, WORK_DUE, WORK_SHARDS};
use crate::table::{Change, Condition, Store};
use crate::{StoreError, unless_conflict};

/// An item that is due.
#[derive(Debug, Clone)]
pub struct Outstanding {
    /// What it is; `None` if this version does not write such an item.
    pub owner: Option<Owner>,
    key: Key,
    due: i64,
}

impl Store {
    /// What is due at an instant, oldest first in each shard, at most `limit` from each shard.
    pub async fn overdue(
        &self,
        by: Timestamp,
        limit: usize,
    ) -> Result<Vec<Outstanding>, StoreError> {
        let shards = (0..WORK_SHARDS)
            .map(|number| self.query_work(keys::shard(number), by.as_millisecond(), limit));
        let mut overdue = Vec::new();
        for item in try_join_all(shards).await?.into_iter().flatten() {
            let key = key_of(&item)?;
            let due = item.get(WORK_DUE).and_then(|due| due.as_n().ok()?.parse().ok());
            // The index contains no item without it.
            let Some(due) = due else {
                return Err(StoreError::corrupt(format!("work at {}/{}", key.pk, key.sk)));
            };
            overdue.push(Outstanding { owner: keys::owner(&key), key, due });
        }
        Ok(overdue)
    }

    /// Moves the due time of an item, unless the item has changed since.
    pub async fn postpone(
        &self,
        outstanding: &Outstanding,
        due: Timestamp,
    ) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET due = :due".into(),
            values: vec![(":due", number(due.as_millisecond()))],
            ..Change::default()
        };
        let unchanged = Condition::When("due = :seen", vec![(":seen", number(outstanding.due))]);
        let postponed = self.update(&outstanding.key, change, Some(unchanged)).await;
        unless_conflict(postponed.map(drop)).map(drop)
    }
}
