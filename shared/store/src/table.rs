//! Every call to DynamoDB.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, KeysAndAttributes, ReturnValue, WriteRequest,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, try_join_all};

use crate::item::{Item, key_of, number, string};
use crate::keys::{self, Key, PK, SK, WORK_INDEX};
use crate::throttling::{ThrottledTransactions, retry_config};
use crate::{Backoff, StoreError, budget};

/// The table.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) client: Client,
    pub(crate) table: String,
}

/// A call to DynamoDB. It is boxed so that it is compiled once: an `async fn` is compiled in each crate that awaits it,
/// together with the SDK.
pub(crate) type Call<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// When a write may happen.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    /// The item does not exist.
    Absent,
    /// The item exists.
    Present,
    /// The item's `rev` is still this one.
    Rev(u64),
    /// Whether or not the item exists.
    Always,
    /// An expression with its values.
    When(&'static str, Vec<(&'static str, AttributeValue)>),
}

impl Condition {
    /// The item is still at this `rev`; 0 means that there is no item yet.
    pub(crate) const fn after(rev: u64) -> Self {
        if rev == 0 { Self::Absent } else { Self::Rev(rev) }
    }

    /// The placeholders for attributes whose names DynamoDB reserves.
    pub(crate) fn names(&self) -> Option<HashMap<String, String>> {
        let role = ("#role".to_owned(), "role".to_owned());
        self.expression()?.contains("#role").then(|| HashMap::from([role]))
    }

    pub(crate) fn expression(&self) -> Option<String> {
        let expression = match self {
            Self::Absent => "attribute_not_exists(pk)",
            Self::Present => "attribute_exists(pk)",
            Self::Rev(_) => "rev = :rev",
            Self::When(expression, _) => expression,
            Self::Always => return None,
        };
        Some(expression.to_owned())
    }

    pub(crate) fn values(self) -> Vec<(&'static str, AttributeValue)> {
        match self {
            Self::Absent | Self::Present | Self::Always => Vec::new(),
            Self::Rev(rev) => vec![(":rev", number(rev))],
            Self::When(_, values) => values,
        }
    }
}

/// A change of some attributes of an item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub(crate) expression: Cow<'static, str>,
    pub(crate) names: Vec<(&'static str, String)>,
    pub(crate) values: Vec<(&'static str, AttributeValue)>,
}

pub(crate) fn unavailable<E, R>(error: SdkError<E, R>) -> StoreError
where
    E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match error.code() {
        Some("ConditionalCheckFailedException") => StoreError::Conflict { failed: vec![0] },
        Some("TransactionConflictException") => StoreError::STALE,
        _ => StoreError::unavailable(error),
    }
}

impl Store {
    /// The table of this name, with a client of this configuration.
    pub fn new(config: Builder, table: String) -> Self {
        let config = config.retry_classifier(ThrottledTransactions).retry_config(retry_config());
        Self { client: Client::from_conf(config.build()), table }
    }

    /// Opens the connection to DynamoDB, so that the first request does not wait for a handshake.
    ///
    /// # Errors
    ///
    /// When DynamoDB cannot be reached.
    pub async fn warm_up(&self) -> Result<(), StoreError> {
        self.get(&keys::nothing()).await.map(drop)
    }

    pub(crate) fn get<'a>(&'a self, key: &'a Key) -> Call<'a, Option<Item>> {
        async move {
            let answer = self
                .client
                .get_item()
                .table_name(&self.table)
                .set_key(Some(HashMap::from(key.attributes())))
                .consistent_read(true)
                .send()
                .await
                .map_err(unavailable)?;
            Ok(answer.item)
        }
        .boxed()
    }

    /// Reads many items at once, 100 in a call, strongly consistent. Missing items are left out.
    pub(crate) async fn batch_get(
        &self,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<HashMap<Key, Item>, StoreError> {
        self.batches(unique(keys), true).await
    }

    /// Like [`Store::batch_get`] at half the price, for what is shown and decides nothing: an item may be as of a
    /// moment ago. A missing item is read again, strongly consistent, because it may be new.
    pub(crate) async fn batch_get_relaxed(
        &self,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<HashMap<Key, Item>, StoreError> {
        let keys = unique(keys);
        let mut found = self.batches(keys.clone(), false).await?;
        let missing = keys.into_iter().filter(|key| !found.contains_key(key)).collect();
        found.extend(self.batches(missing, true).await?);
        Ok(found)
    }

    /// All batches at once, for keys without duplicates.
    pub(crate) async fn batches(
        &self,
        keys: Vec<Key>,
        consistent: bool,
    ) -> Result<HashMap<Key, Item>, StoreError> {
        let batches = keys.chunks(100).map(|batch| self.batch(batch, consistent));
        Ok(try_join_all(batches).await?.into_iter().flatten().collect())
    }

    /// One call. Keys that DynamoDB leaves unprocessed are requested again.
    fn batch<'a>(&'a self, keys: &'a [Key], consistent: bool) -> Call<'a, HashMap<Key, Item>> {
        async move {
            let mut found = HashMap::with_capacity(keys.len());
            let mut backoff = Backoff::new(budget::BATCH);
            let mut waiting: Vec<Item> =
                keys.iter().map(|key| HashMap::from(key.attributes())).collect();
            while !waiting.is_empty() {
                let wanted = KeysAndAttributes::builder()
                    .set_keys(Some(std::mem::take(&mut waiting)))
                    .consistent_read(consistent)
                    .build()?;
                let answer = self
                    .client
                    .batch_get_item()
                    .request_items(&self.table, wanted)
                    .send()
                    .await
                    .map_err(unavailable)?;
                for item in answer.responses.unwrap_or_default().into_values().flatten() {
                    found.insert(key_of(&item)?, item);
                }
                waiting = answer
                    .unprocessed_keys
                    .unwrap_or_default()
                    .into_values()
                    .flat_map(|left| left.keys)
                    .collect();
                if !waiting.is_empty() {
                    backoff.wait(StoreError::STALE).await.map_err(unprocessed)?;
                }
            }
            Ok(found)
        }
        .boxed()
    }

    /// Reads a range of a partition, all pages of it.
    pub(crate) async fn query(&self, range: Range<'_>) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::new();
        let mut start = None;
        loop {
            let left = range.limit.map(|limit| limit.saturating_sub(items.len()));
            let (page, last) = self.query_page(&range, left, start).await?;
            items.extend(page);
            start = last;
            if start.is_none() || range.limit.is_some_and(|limit| items.len() >= limit) {
                return Ok(items);
            }
        }
    }

    /// Reads a page of a range, at most a megabyte. If it is not the last page, returns the key that it ends at.
    pub(crate) fn query_page<'a>(
        &'a self,
        range: &'a Range<'_>,
        limit: Option<usize>,
        start: Option<Item>,
    ) -> Call<'a, (Vec<Item>, Option<Item>)> {
        async move {
            let (condition, values) = range.sort.condition();
            let asked = self
                .client
                .query()
                .table_name(&self.table)
                .consistent_read(!range.relaxed)
                .scan_index_forward(!range.newest_first)
                .key_condition_expression(condition)
                .expression_attribute_values(":pk", string(range.pk))
                .set_limit(limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)))
                .set_exclusive_start_key(start);
            let answer = values
                .into_iter()
                .fold(asked, |query, (name, value)| query.expression_attribute_values(name, value))
                .set_projection_expression(range.keys_only.then(|| format!("{PK}, {SK}")))
                .send()
                .await
                .map_err(unavailable)?;
            Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
        }
        .boxed()
    }

    /// The oldest entries of a shard of the work index that are due. The index follows the table with a short delay.
    pub(crate) fn query_work(&self, shard: String, due: i64, limit: usize) -> Call<'_, Vec<Item>> {
        async move {
            let answer = self
                .client
                .query()
                .table_name(&self.table)
                .index_name(WORK_INDEX)
                .key_condition_expression("w = :w AND due <= :due")
                .expression_attribute_values(":w", string(shard))
                .expression_attribute_values(":due", number(due))
                .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                .send()
                .await
                .map_err(unavailable)?;
            Ok(answer.items.unwrap_or_default())
        }
        .boxed()
    }

    /// Writes one item.
    pub(crate) fn put(&self, item: Item, condition: Condition) -> Call<'_, ()> {
        async move {
            let mut request = self
                .client
                .put_item()
                .table_name(&self.table)
                .set_item(Some(item))
                .set_condition_expression(condition.expression());
            for (name, value) in condition.values() {
                request = request.expression_attribute_values(name, value);
            }
            request.send().await.map(drop).map_err(unavailable)
        }
        .boxed()
    }

    /// Changes attributes of an item and returns the item after the change.
    pub(crate) fn update<'a>(
        &'a self,
        key: &'a Key,
        change: Change,
        condition: Option<Condition>,
    ) -> Call<'a, Item> {
        async move {
            let mut request = self
                .client
                .update_item()
                .table_name(&self.table)
                .set_key(Some(HashMap::from(key.attributes())))
                .update_expression(change.expression)
                .return_values(ReturnValue::AllNew);
            for (name, attribute) in change.names {
                request = request.expression_attribute_names(name, attribute);
            }
            for (name, value) in change.values {
                request = request.expression_attribute_values(name, value);
            }
            if let Some(condition) = condition {
                request = request.set_condition_expression(condition.expression());
                for (name, value) in condition.values() {
                    request = request.expression_attribute_values(name, value);
                }
            }
            let answer = request.send().await.map_err(unavailable)?;
            Ok(answer.attributes.unwrap_or_default())
        }
        .boxed()
    }

    /// Deletes items without a condition, 25 a call.
    pub(crate) fn batch_delete<'a>(&'a self, keys: &'a [Key]) -> Call<'a, ()> {
        async move {
            for chunk in keys.chunks(25) {
                let deletes = chunk.iter().map(|key| {
                    let delete =
                        DeleteRequest::builder().set_key(Some(HashMap::from(key.attributes())));
                    Ok(WriteRequest::builder().delete_request(delete.build()?).build())
                });
                self.batch_write(deletes.collect::<Result<_, StoreError>>()?).await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// Deletes the items of a range without a condition. Returns how many there were.
    pub(crate) async fn delete_range(&self, range: Range<'_>) -> Result<usize, StoreError> {
        let found = self.query(Range { keys_only: true, ..range }).await?;
        let keys: Vec<Key> = found.iter().map(key_of).collect::<Result<_, _>>()?;
        self.batch_delete(&keys).await?;
        Ok(keys.len())
    }

    /// Makes at most 25 writes without a condition. Writes that DynamoDB leaves unprocessed are requested again.
    pub(crate) fn batch_write(&self, mut waiting: Vec<WriteRequest>) -> Call<'_, ()> {
        async move {
            let mut backoff = Backoff::new(budget::BATCH);
            while !waiting.is_empty() {
                let answer = self
                    .client
                    .batch_write_item()
                    .request_items(&self.table, waiting)
                    .send()
                    .await
                    .map_err(unavailable)?;
                waiting =
                    answer.unprocessed_items.unwrap_or_default().into_values().flatten().collect();
                if !waiting.is_empty() {
                    backoff.wait(StoreError::STALE).await.map_err(unprocessed)?;
                }
            }
            Ok(())
        }
        .boxed()
    }
}

/// Which part of a partition to read.
#[derive(Debug)]
pub(crate) struct Range<'a> {
    pub(crate) pk: &'a str,
    pub(crate) sort: Sort,
    pub(crate) newest_first: bool,
    pub(crate) limit: Option<usize>,
    pub(crate) keys_only: bool,
    /// Reads for half the price, perhaps as of a moment ago. Otherwise the read is strongly consistent.
    pub(crate) relaxed: bool,
}

/// A range of sort keys.
#[derive(Debug)]
pub(crate) enum Sort {
    All,
    Prefix(String),
    Before(String),
    /// Both ends included.
    Between(String, String),
}

impl Sort {
    fn condition(&self) -> (&'static str, Vec<(&'static str, AttributeValue)>) {
        match self {
            Self::All => ("pk = :pk", Vec::new()),
            Self::Prefix(prefix) => {
                ("pk = :pk AND begins_with(sk, :sk)", vec![(":sk", string(prefix.as_str()))])
            }
            Self::Before(next) => ("pk = :pk AND sk < :sk", vec![(":sk", string(next.as_str()))]),
            Self::Between(from, to) => (
                "pk = :pk AND sk BETWEEN :from AND :to",
                vec![(":from", string(from.as_str())), (":to", string(to.as_str()))],
            ),
        }
    }
}

impl<'a> Range<'a> {
    pub(crate) const fn new(pk: &'a str, sort: Sort) -> Self {
        Self { pk, sort, newest_first: false, limit: None, keys_only: false, relaxed: false }
    }
}

/// DynamoDB left a part of a batch unprocessed until the budget was spent, so it throttles. This is not a conflict:
/// reading and deciding again would only ask it for more.
fn unprocessed(_: StoreError) -> StoreError {
    StoreError::unavailable("a batch stays unprocessed")
}

pub(crate) fn unique(keys: impl IntoIterator<Item = Key>) -> Vec<Key> {
    let mut keys: Vec<Key> = keys.into_iter().collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
