//! Removes expired items, as DynamoDB does by itself.
//!
//! DynamoDB may take days, so nothing can rely on it. Here the whole table is scanned, a few items at a time and with
//! pauses in between, so that neither a long table nor many expired items keep others waiting: 10 million items take
//! about an hour at 2 % of a processor.

use std::collections::HashMap;
use std::time::Duration;

use dynoxide::actions::scan::ScanRequest;
use dynoxide::actions::transact_write_items::{
    TransactDelete, TransactWriteItem, TransactWriteItemsRequest,
};
use dynoxide::types::{AttributeValue, Item};
use jiff::Timestamp;
use vedette_store::keys::{PK, SK, TTL};

use crate::lookup::Opened;
use crate::operation::Access;
use crate::{Database, DatabaseError, Priority, TABLE};

/// A scan of the table.
#[derive(Debug)]
pub struct Expiry {
    database: Database,
    after: Option<Item>,
}

/// The result of a step of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Items removed.
    pub removed: usize,
    /// Whether the end of the table is reached; the next step starts over.
    pub is_last: bool,
}

impl Expiry {
    /// Items per step, for which other requests have to wait. The expired items are removed in one transaction, and a
    /// transaction cannot contain more.
    pub const PAGE: usize = 100;
    /// The pause between two steps.
    pub const PAUSE: Duration = Duration::from_millis(40);

    /// Starts a scan at the table's beginning.
    pub const fn new(database: Database) -> Self {
        Self { database, after: None }
    }

    /// Reads the next items and removes those that have expired.
    ///
    /// # Errors
    ///
    /// When the table does not answer; the next step tries again.
    pub async fn step(&mut self, now: Timestamp) -> Result<Swept, DatabaseError> {
        let after = self.after.clone();
        let work = move |opened: &Opened| step(&opened.dynoxide, after, now);
        let swept = self.database.run(Access::Write, Priority::Background, work).await;
        let (removed, last) = swept.ok_or(DatabaseError::Closed)??;
        self.after = last;
        Ok(Swept { removed, is_last: self.after.is_none() })
    }
}

/// How many items were removed, and the last item that was read, unless it was the last in the table.
///
/// No other request runs in between, so no item is removed that was extended in the meantime.
fn step(
    database: &dynoxide::Database,
    after: Option<Item>,
    now: Timestamp,
) -> dynoxide::Result<(usize, Option<Item>)> {
    let page = database.scan(ScanRequest {
        table_name: TABLE.to_owned(),
        limit: Some(Expiry::PAGE),
        exclusive_start_key: after,
        ..ScanRequest::default()
    })?;
    let is_over = |item: &Item| match item.get(TTL) {
        Some(AttributeValue::N(at)) => at.parse().is_ok_and(|at: i64| at <= now.as_second()),
        _ => false,
    };
    let expired = page.items.unwrap_or_default().into_iter().filter(is_over);
    let deletes: Vec<_> = expired.map(delete).collect();
    let removed = deletes.len();
    if removed > 0 {
        database.transact_write_items(TransactWriteItemsRequest {
            transact_items: deletes,
            ..TransactWriteItemsRequest::default()
        })?;
    }
    Ok((removed, page.last_evaluated_key))
}

fn delete(mut item: Item) -> TransactWriteItem {
    let key: HashMap<_, _> =
        [PK, SK].into_iter().filter_map(|part| item.remove_entry(part)).collect();
    let delete = TransactDelete { table_name: TABLE.to_owned(), key, ..TransactDelete::default() };
    TransactWriteItem { delete: Some(delete), ..TransactWriteItem::default() }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;
    use crate::sdk_client;

    #[tokio::test]
    async fn only_expired_items_are_deleted() {
        let database = Database::memory().expect("a database");
        database.store().create_table().await.expect("a table");
        let client = sdk_client(database.http_client());
        for number in 0..250_u32 {
            let put = client.put_item().table_name(TABLE).item(PK, AttributeValue::S("R#1".into()));
            let put = put.item(SK, AttributeValue::S(format!("{number:03}")));
            let put = match number % 5 {
                0 => put,
                1 => put.item(TTL, AttributeValue::S("soon".into())),
                rest => put.item(TTL, AttributeValue::N((1_000 + rest).to_string())),
            };
            put.send().await.expect("written");
        }
        let mut expiry = Expiry::new(database);
        let now = Timestamp::from_second(1_003).expect("an instant");
        let mut removed = Vec::new();
        loop {
            let swept = expiry.step(now).await.expect("swept");
            removed.push(swept.removed);
            if swept.is_last {
                break;
            }
        }
        assert_eq!(removed, [40, 40, 20], "2 of 5, a page at a time");
        let left = client.scan().table_name(TABLE).send().await.expect("an answer");
        assert_eq!(left.count(), 150);
        assert_eq!(expiry.step(now).await.expect("swept").removed, 0, "it starts again");
    }
}
