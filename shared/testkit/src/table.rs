use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use dynoxide::Database;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use vedette_runtime::aws;

use crate::{Faults, Meter};

/// An embedded DynamoDB, served on loopback, for one test.
#[derive(Debug)]
pub struct TestTable {
    /// Where it is served.
    pub endpoint: String,
    /// What goes wrong on the way to it.
    pub faults: Faults,
    /// What the way to it costs.
    pub meter: Meter,
    client: Client,
    _stop: oneshot::Sender<()>,
}

impl TestTable {
    /// The table's name.
    pub const NAME: &str = "vedette";

    pub(crate) async fn start(database: Database) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, async {
            // The sender is dropped with the test.
            let _ = stopped.await;
        }));
        let direct = aws_smithy_http_client::Builder::new().build_http();
        aws::local_store_through(direct.clone(), &endpoint, Self::NAME)
            .create_table()
            .await
            .expect("a table");
        let client = aws::local_client(direct, &endpoint);
        let (faults, meter) = (Faults::default(), Meter::default());
        Self { endpoint, faults, meter, client, _stop: stop }
    }

    /// Every item, by key, as JSON that shows what is stored.
    pub async fn dump(&self) -> BTreeMap<(String, String), serde_json::Value> {
        let shown =
            |item: &Item| item.iter().map(|(name, value)| (name.clone(), show(value))).collect();
        self.scan().await.iter().map(|(key, item)| (key.clone(), shown(item))).collect()
    }

    /// The bytes by which DynamoDB counts each item, by key.
    pub async fn sizes(&self) -> BTreeMap<(String, String), usize> {
        let size =
            |item: &Item| item.iter().map(|(name, value)| name.len() + bytes(value)).sum::<usize>();
        self.scan().await.iter().map(|(key, item)| (key.clone(), size(item))).collect()
    }

    /// Writes items that are nothing but their keys.
    pub async fn fill(&self, pk: &str, sort_keys: impl IntoIterator<Item = String>) {
        let put = |sk| {
            let put = PutRequest::builder().item("pk", AttributeValue::S(pk.to_owned()));
            let put = put.item("sk", AttributeValue::S(sk)).build().expect("a request");
            WriteRequest::builder().put_request(put).build()
        };
        let puts: Vec<_> = sort_keys.into_iter().map(put).collect();
        for batch in puts.chunks(25) {
            let write = self.client.batch_write_item().request_items(Self::NAME, batch.to_vec());
            write.send().await.expect("written");
        }
    }

    async fn scan(&self) -> BTreeMap<(String, String), Item> {
        let mut items = BTreeMap::new();
        let mut pages =
            self.client.scan().table_name(Self::NAME).consistent_read(true).into_paginator().send();
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

/// What DynamoDB's documentation says of item sizes: a number takes about a byte for two digits,
/// and one more; a list or map three bytes, and one more for each element.
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
