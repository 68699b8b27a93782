//! What an item consists of: values, and the attributes that the table itself uses.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::error;
use vedette_ops::ErrorChain;

use crate::StoreError;
use crate::keys::{Key, PK, SK, TTL, WORK_DUE, WORK_SHARD};

/// A stored item.
pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn string(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// The item for a value: the value's fields, under the key.
pub(crate) fn item<T: Serialize>(key: &Key, value: &T) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::to_item(value)?;
    item.extend(key.attributes());
    Ok(item)
}

/// What items hold. Each type has a method of its own, which is compiled once. A generic function would be compiled in
/// every crate that awaits the store.
pub(crate) trait Stored: Sized {
    /// The value that an item holds.
    fn read(item: Item) -> Result<Self, StoreError>;
}

/// Implements [`Stored`] for types read by [`attributes`] or by [`document`].
macro_rules! stored {
    ($read:ident: $($stored:ty),+) => {
        $(impl $crate::item::Stored for $stored {
            fn read(item: $crate::item::Item) -> Result<Self, $crate::StoreError> {
                $crate::item::$read(item)
            }
        })+
    };
}
pub(crate) use stored;

/// The value whose fields are the attributes of an item.
pub(crate) fn attributes<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    Ok(serde_dynamo::from_item(item)?)
}

/// Increases with every write of an item. Conditions compare it.
pub(crate) const REV: &str = "rev";

/// Holds a whole value as MessagePack.
pub(crate) const DOCUMENT: &str = "doc";

/// The item for a value that is always read and written as a whole: one attribute with all of it.
///
/// Everything that each check reads or writes is stored this way. As nested attributes, the settings of a team alone
/// would be 80 values, each parsed, allocated and converted several times. That took half of a check's processor time.
pub(crate) fn document_item<T: Serialize>(key: &Key, value: &T) -> Result<Item, StoreError> {
    let mut item = Item::from(key.attributes());
    item.insert(DOCUMENT.to_owned(), document_attribute(value)?);
    Ok(item)
}

/// The attribute with all of a value.
pub(crate) fn document_attribute<T: Serialize>(value: &T) -> Result<AttributeValue, StoreError> {
    Ok(AttributeValue::B(Blob::new(rmp_serde::to_vec_named(value)?)))
}

/// The value that a document holds. Version 0.1 stored its fields as attributes.
pub(crate) fn document<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    match item.get(DOCUMENT) {
        Some(AttributeValue::B(document)) => Ok(rmp_serde::from_slice(document.as_ref())?),
        _ => attributes(item),
    }
}

pub(crate) fn key_of(item: &Item) -> Result<Key, StoreError> {
    let part = |name: &str| match item.get(name) {
        Some(AttributeValue::S(part)) => Ok(part.clone()),
        _ => Err(StoreError::corrupt(format!("an item without `{name}`"))),
    };
    Ok(Key { pk: part(PK)?, sk: part(SK)? })
}

/// The readable part of a listing: an item that cannot be read does not hide the others.
#[derive(Debug, Clone)]
pub struct Readable<T> {
    /// What was read.
    pub items: Vec<T>,
    /// How many items are not what this version writes; the log names them.
    pub unreadable: u64,
}

impl<T> Readable<T> {
    pub(crate) fn of(items: Vec<Item>, read: impl Fn(Item) -> Result<T, StoreError>) -> Self {
        let all = items.len();
        let items: Vec<T> = items.into_iter().filter_map(|item| readable(item, &read)).collect();
        Self { unreadable: (all - items.len()) as u64, items }
    }
}

/// What an item holds. If it cannot be read, the log names the item.
pub(crate) fn readable<T>(
    item: Item,
    read: impl FnOnce(Item) -> Result<T, StoreError>,
) -> Option<T> {
    let key = [PK, SK].map(|name| item.get(name).cloned());
    let failed =
        |error| error!(?key, error = %ErrorChain(&error), "could not read an item; skipping it");
    read(item).map_err(failed).ok()
}

/// Adds the attribute that tells DynamoDB when to delete an item.
pub(crate) fn expiring(mut item: Item, at: jiff::Timestamp) -> Item {
    item.insert(TTL.to_owned(), number(at.as_second()));
    item
}

/// The size of an item with strings, numbers and bytes, as DynamoDB counts it.
///
/// For a number, DynamoDB counts one byte for two digits, and one more. This function counts at least as much, because
/// it includes leading zeros and the decimal point. See "DynamoDB item sizes and formats" in the developer guide.
pub(crate) fn size(item: &Item) -> usize {
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len().div_ceil(2) + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        // No measured item has such a value.
        _ => 0,
    };
    item.iter().map(|(name, attribute)| name.len() + value(attribute)).sum()
}

/// When an item expires.
pub(crate) fn expiry(item: &Item) -> Result<jiff::Timestamp, StoreError> {
    item.get(TTL)
        .and_then(|at| jiff::Timestamp::from_second(at.as_n().ok()?.parse().ok()?).ok())
        .ok_or_else(|| StoreError::corrupt("an item without its time to live"))
}

/// Adds the attributes with which the reconciler finds an item that has outstanding work.
pub(crate) fn outstanding(mut item: Item, shard: String, due: Option<jiff::Timestamp>) -> Item {
    if let Some(due) = due {
        item.insert(WORK_SHARD.to_owned(), string(shard));
        item.insert(WORK_DUE.to_owned(), number(due.as_millisecond()));
    }
    item
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use vedette_domain::accounts::plan::Plan;
    use vedette_domain::id::TeamId;
    use vedette_domain::sites::settings::Settings;

    use super::*;

    #[test]
    fn a_document_is_read_as_this_version_writes_it_and_as_the_one_before_did() {
        let mut settings = Settings::defaults(Plan::Growth);
        settings.request_header.name = Some("x-probe".to_owned());
        settings.tools.status.cadence_minutes = 15;
        let key = crate::keys::team_settings(TeamId(Uuid::nil()));
        let written = document_item(&key, &settings).expect("an item");
        assert_eq!(written.len(), 3, "its key and one attribute");
        assert_eq!(Settings::read(written).expect("settings"), settings);
        let before = item(&key, &settings).expect("an item");
        assert_eq!(Settings::read(before).expect("settings"), settings);
    }
}
