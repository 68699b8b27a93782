//! Writes that happen together or not at all.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, TransactWriteItem, Update,
};
use futures::FutureExt as _;

use crate::StoreError;
use crate::audit::{self, Audit};
use crate::item::Item;
use crate::keys::Key;
use crate::table::{Call, Change, Condition, Store, unavailable};

/// Writes to be made in one call.
#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    store: &'a Store,
    items: Vec<TransactWriteItem>,
    failure: Option<StoreError>,
}

impl Store {
    /// An empty transaction.
    pub(crate) const fn transaction(&self) -> Transaction<'_> {
        Transaction { store: self, items: Vec::new(), failure: None }
    }
}

impl<'a> Transaction<'a> {
    pub(crate) fn put(self, item: Item, condition: Condition) -> Self {
        let put = Put::builder()
            .table_name(&self.store.table)
            .set_item(Some(item))
            .set_condition_expression(condition.expression())
            .set_expression_attribute_values(values(condition.values()));
        self.push(put.build().map(|put| TransactWriteItem::builder().put(put).build()))
    }

    pub(crate) fn update(self, key: &Key, change: Change, condition: Condition) -> Self {
        let expression = condition.expression();
        let all_values = change.values.into_iter().chain(condition.values()).collect();
        let names: HashMap<_, _> =
            change.names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let update = Update::builder()
            .table_name(&self.store.table)
            .set_key(Some(HashMap::from(key.attributes())))
            .update_expression(change.expression)
            .set_condition_expression(expression)
            .set_expression_attribute_names((!names.is_empty()).then_some(names))
            .set_expression_attribute_values(values(all_values));
        self.push(update.build().map(|update| TransactWriteItem::builder().update(update).build()))
    }

    pub(crate) fn delete(self, key: &Key, condition: Condition) -> Self {
        let delete = Delete::builder()
            .table_name(&self.store.table)
            .set_key(Some(HashMap::from(key.attributes())))
            .set_condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(values(condition.values()));
        self.push(delete.build().map(|delete| TransactWriteItem::builder().delete(delete).build()))
    }

    /// Makes the other writes depend on a condition of an item that stays as it is.
    pub(crate) fn check(self, key: &Key, condition: Condition) -> Self {
        let check = ConditionCheck::builder()
            .table_name(&self.store.table)
            .set_key(Some(HashMap::from(key.attributes())))
            .set_condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(values(condition.values()));
        let check = check.build();
        self.push(check.map(|check| TransactWriteItem::builder().condition_check(check).build()))
    }

    fn push(mut self, item: Result<TransactWriteItem, BuildError>) -> Self {
        match item {
            Ok(item) => self.items.push(item),
            Err(error) => self.failure = Some(error.into()),
        }
        self
    }

    /// Makes the writes, and writes the audit entries that record them.
    pub(crate) fn commit(mut self, audit: Audit<'_>) -> Call<'a, ()> {
        // Entries come last, because the places of the other writes say what a conflict means.
        for entry in audit.entries() {
            match audit::stored(entry) {
                Ok(stored) => self = self.put(stored, Condition::Always),
                Err(error) => self.failure = Some(error),
            }
        }
        async move {
            if let Some(failure) = self.failure {
                return Err(failure);
            }
            let request =
                self.store.client.transact_write_items().set_transact_items(Some(self.items));
            request.send().await.map(drop).map_err(transaction_error)
        }
        .boxed()
    }
}

fn transaction_error<R>(error: SdkError<TransactWriteItemsError, R>) -> StoreError
where
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let reasons = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
            canceled.cancellation_reasons()
        }
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            return StoreError::STALE;
        }
        _ => return unavailable(error),
    };
    let coded = |code: &'static str| {
        move |(place, reason): (usize, &CancellationReason)| {
            (reason.code() == Some(code)).then_some(place)
        }
    };
    let failed: Vec<usize> =
        reasons.iter().enumerate().filter_map(coded("ConditionalCheckFailed")).collect();
    let met = reasons.iter().enumerate().filter_map(coded("TransactionConflict")).next().is_some();
    if failed.is_empty() && !met { unavailable(error) } else { StoreError::Conflict { failed } }
}

fn values(values: Vec<(&'static str, AttributeValue)>) -> Option<HashMap<String, AttributeValue>> {
    let values: HashMap<_, _> =
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    (!values.is_empty()).then_some(values)
}
