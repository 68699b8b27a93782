//! The table of a test: DynamoDB in memory, which can be read and written without the store.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::history::block::Block;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::Partition;
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::tag_dictionary::TagDictionary;
use vedette_embedded::{Database, TABLE, sdk_client};
use vedette_store::{DirectoryRow, keys};

use crate::{Faults, Meter};

/// An embedded DynamoDB for one test.
#[derive(Debug)]
pub struct TestTable {
    /// The database that contains the table.
    pub database: Database,
    /// Faults on the way to the table.
    pub faults: Faults,
    /// The cost of requests to the table.
    pub meter: Meter,
    client: Client,
}

impl TestTable {
    pub(crate) async fn start(database: Database) -> Self {
        database.store().create_table().await.expect("a table");
        let client = sdk_client(database.http_client());
        Self { database, faults: Faults::default(), meter: Meter::default(), client }
    }

    /// Every item by key, as JSON that shows what is stored; packed checks appear as rows.
    pub async fn dump(&self) -> BTreeMap<(String, String), Value> {
        let items = self.scan().await;
        let is_block = |(_, sort_key): &&(String, String)| sort_key.starts_with(CLOSED_BLOCKS);
        let kept = items.iter().filter(|(key, _)| !is_block(key));
        let kept = kept.map(|(key, item)| (key.clone(), shown(key, item)));
        kept.chain(unpacked(&items)).collect()
    }

    /// How many checks each block contains, by the key of its item, including open blocks.
    pub async fn blocks(&self) -> BTreeMap<(String, String), usize> {
        let items = self.scan().await;
        let blocks = items.iter().filter_map(|(key, item)| {
            let (block, _) = block(item)?;
            Some((key.clone(), block.checks().count()))
        });
        blocks.collect()
    }

    /// The size of each item in bytes, as DynamoDB counts them, by key.
    pub async fn sizes(&self) -> BTreeMap<(String, String), usize> {
        let size =
            |item: &Item| item.iter().map(|(name, value)| name.len() + bytes(value)).sum::<usize>();
        self.scan().await.iter().map(|(key, item)| (key.clone(), size(item))).collect()
    }

    /// When items expire, by key, for those that do.
    pub async fn expiries(&self) -> BTreeMap<(String, String), Timestamp> {
        let items = self.scan().await.into_iter().filter_map(|(key, item)| {
            let at = item.get("ttl")?.as_n().ok()?.parse().expect("seconds");
            Some((key, Timestamp::from_second(at).expect("an instant")))
        });
        items.collect()
    }

    /// Writes items that consist only of their keys.
    pub async fn fill(&self, pk: &str, sort_keys: impl IntoIterator<Item = String>) {
        let put = |sk| {
            let put = PutRequest::builder().item("pk", AttributeValue::S(pk.to_owned()));
            let put = put.item("sk", AttributeValue::S(sk)).build().expect("a request");
            WriteRequest::builder().put_request(put).build()
        };
        let puts: Vec<_> = sort_keys.into_iter().map(put).collect();
        for batch in puts.chunks(25) {
            let write = self.client.batch_write_item().request_items(TABLE, batch.to_vec());
            write.send().await.expect("written");
        }
    }

    /// Sets an attribute of an item, and creates the item if necessary. A text of digits becomes a number.
    pub async fn set(&self, pk: &str, sk: &str, attribute: &str, value: &str) {
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        let kind = if is_number { AttributeValue::N } else { AttributeValue::S };
        let update = self.client.update_item().table_name(TABLE);
        let update = update.key("pk", AttributeValue::S(pk.to_owned()));
        let update = update.key("sk", AttributeValue::S(sk.to_owned()));
        let update = update.update_expression("SET #attribute = :value");
        let update = update.expression_attribute_names("#attribute", attribute);
        let update = update.expression_attribute_values(":value", kind(value.to_owned()));
        update.send().await.expect("set");
    }

    /// Removes an item.
    pub async fn remove(&self, pk: &str, sk: &str) {
        let delete = self.client.delete_item().table_name(TABLE);
        let delete = delete.key("pk", AttributeValue::S(pk.to_owned()));
        delete.key("sk", AttributeValue::S(sk.to_owned())).send().await.expect("removed");
    }

    /// Stores the URL of a Slack channel with the channel, as earlier versions did.
    pub async fn store_url_with_channel(&self, channel: &Channel, url: &str) {
        let key = |pk: String| {
            let (pk, sk) = (AttributeValue::S(pk), AttributeValue::S(channel.id.to_string()));
            HashMap::from([("pk".to_owned(), pk), ("sk".to_owned(), sk)])
        };
        let [secret, stored] = ["Z#", "C#"].map(|prefix| key(format!("{prefix}{}", channel.team)));
        let delete = self.client.delete_item().table_name(TABLE).set_key(Some(secret));
        delete.send().await.expect("deleted");
        let target = [("kind", "slack"), ("url", url)]
            .map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
        let update = self.client.update_item().table_name(TABLE).set_key(Some(stored));
        let update = update.update_expression("SET target = :target");
        let target = AttributeValue::M(target.into());
        update.expression_attribute_values(":target", target).send().await.expect("set");
    }

    async fn scan(&self) -> BTreeMap<(String, String), Item> {
        let mut items = BTreeMap::new();
        let mut pages =
            self.client.scan().table_name(TABLE).consistent_read(true).into_paginator().send();
        while let Some(page) = pages.next().await {
            for item in page.expect("a page").items.unwrap_or_default() {
                let part = |name: &str| item[name].as_s().expect("a key").clone();
                items.insert((part("pk"), part("sk")), item);
            }
        }
        items
    }
}

type Item = HashMap<String, AttributeValue>;

/// The size of a value according to DynamoDB's documentation: a number takes about a byte per two digits, and one more;
/// a list or map three bytes, and one more for each element.
fn bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len().div_ceil(2) + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + bytes(value)).sum::<usize>(),
        AttributeValue::M(map) => {
            3 + map.iter().map(|(name, value)| 1 + name.len() + bytes(value)).sum::<usize>()
        }
        _ => 1,
    }
}

/// The prefix of the sort keys of closed blocks.
const CLOSED_BLOCKS: &str = "H#status#b#";

/// The block that an item is or contains, if it can be read, and when its checks expire.
fn block(item: &Item) -> Option<(Block, Value)> {
    if let (Some(AttributeValue::B(bytes)), Some(ttl)) = (item.get("b"), item.get("ttl")) {
        return Some((Block::read(bytes.as_ref()).ok()?, show(ttl)));
    }
    let Some(AttributeValue::B(document)) = item.get("doc") else { return None };
    let state: ToolState = rmp_serde::from_slice(document.as_ref()).ok()?;
    let expires_at = state.day.as_ref()?.rows_expire_at();
    Some((state.open_block()?.ok()?, expires_at.as_second().into()))
}

/// The packed checks, each in the form of a row.
fn unpacked(
    items: &BTreeMap<(String, String), Item>,
) -> impl Iterator<Item = ((String, String), Value)> {
    let site = |(pk, sk): &&(String, String)| pk.starts_with("S#") && sk.contains("#status");
    let blocks = items.iter().filter(move |(key, _)| site(key));
    let blocks = blocks.filter_map(|((pk, _), item)| Some((pk, block(item)?)));
    blocks.flat_map(|(pk, (block, ttl))| {
        let partition = u64::from_str_radix(&pk[2..], 16).expect("a partition");
        let row = move |check: Check| {
            let keys::Key { pk, sk } = keys::check(check.id, check.status);
            let fields = json!({
                "pk": pk,
                "sk": sk,
                "ttl": ttl,
                "id": check.id,
                "s": check.status,
                "r": check.result.map(|result| result.to_string()),
                "u": check.updated_at,
                "c": check.completed_at,
            });
            ((pk, sk), fields)
        };
        block.checks_of(Partition(partition), Tool::Status).into_iter().map(row)
    })
}

/// An item as JSON; a document by its fields.
fn shown((partition, sort_key): &(String, String), item: &Item) -> Value {
    let mut fields: Map<String, Value> =
        item.iter().map(|(name, value)| (name.clone(), show(value))).collect();
    // A published page is compressed.
    let is_published = partition.starts_with("Q#");
    if let Some(AttributeValue::B(document)) = item.get("doc").filter(|_| !is_published) {
        let mut document = match sort_key.as_str() {
            "tags" => fields_of::<TagDictionary>(document.as_ref()),
            _ if partition.starts_with("L#") => fields_of::<DirectoryRow>(document.as_ref()),
            "M" => fields_of::<Settings>(document.as_ref()),
            _ => fields_of::<ToolState>(document.as_ref()),
        };
        document.remove("bl");
        fields.remove("doc");
        fields.extend(document);
    }
    Value::Object(fields)
}

fn fields_of<T: DeserializeOwned + Serialize>(document: &[u8]) -> Map<String, Value> {
    let value: T = rmp_serde::from_slice(document).expect("a document");
    match serde_json::to_value(value).expect("JSON") {
        Value::Object(fields) => fields,
        other => panic!("not an object: {other}"),
    }
}

fn show(value: &AttributeValue) -> serde_json::Value {
    match value {
        AttributeValue::S(text) => text.as_str().into(),
        AttributeValue::N(number) => serde_json::from_str(number).expect("a number"),
        AttributeValue::Bool(bool) => (*bool).into(),
        AttributeValue::B(bytes) => bytes.as_ref().to_vec().into(),
        AttributeValue::L(list) => list.iter().map(show).collect(),
        AttributeValue::M(map) => {
            map.iter().map(|(name, value)| (name.clone(), show(value))).collect()
        }
        _ => serde_json::Value::Null,
    }
}
