//! IAM between the SDK and the table: work that runs with grants fails at the first request that needs more.

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use serde_json::Value;
use tokio::task_local;
use vedette_store::keys::Prefix;
use vedette_store::{Action, Grant};

use crate::faults::operation;

task_local! {
    static GRANTED: [&'static Grant; 2];
}

/// Runs work as a process with these grants. Work without grants may do everything.
///
/// # Panics
///
/// When the work asks the table for anything else.
pub async fn granted<T>(grants: [&'static Grant; 2], work: impl Future<Output = T>) -> T {
    GRANTED.scope(grants, work).await
}

/// A client that forwards granted requests.
pub(crate) fn client(inner: SharedHttpClient) -> SharedHttpClient {
    SharedHttpClient::new(GrantedClient(inner))
}

#[derive(Debug)]
struct GrantedClient(SharedHttpClient);

impl HttpClient for GrantedClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(GrantedConnector(self.0.http_connector(settings, components)))
    }
}

#[derive(Debug)]
struct GrantedConnector(SharedHttpConnector);

impl HttpConnector for GrantedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let denied = GRANTED.try_with(|grants| {
            let mut asked = asked(&request).into_iter();
            asked.find(|(action, pk)| !grants.iter().any(|grant| allows(grant, *action, pk)))
        });
        if let Ok(Some((action, pk))) = denied {
            panic!("{action:?} of {pk} is not granted");
        }
        self.0.call(request)
    }
}

fn allows(grant: &Grant, action: Action, pk: &str) -> bool {
    Prefix::of(pk).is_some_and(|prefix| grant.prefixes(action).contains(&prefix))
}

/// The actions of a request in IAM's terms, each with the partition key.
fn asked(request: &HttpRequest) -> Vec<(Action, String)> {
    let name = operation(request).unwrap_or_default();
    let body = request.body().bytes().unwrap_or_default();
    let body: Value = serde_json::from_slice(body).expect("a request to DynamoDB is JSON");
    let tables = || body["RequestItems"].as_object().into_iter().flatten().map(|(_, asked)| asked);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let single = Action::parse(name);
    match (name, single) {
        ("TransactWriteItems", _) => {
            let items = list(&body["TransactItems"]).into_iter();
            let parts = items.flat_map(|item| item.as_object().cloned().unwrap_or_default());
            let named = parts.map(|(verb, part)| {
                let action = Action::parse(&format!("{verb}Item"));
                (action.unwrap_or_else(|| panic!("{verb} has no grant")), pk(&part))
            });
            named.collect()
        }
        (_, Some(action @ Action::BatchGetItem)) => tables()
            .flat_map(|asked| list(&asked["Keys"]))
            .map(|key| (action, text(&key)))
            .collect(),
        (_, Some(action @ Action::BatchWriteItem)) => {
            let requests = tables().flat_map(list);
            requests.map(|request| (action, pk(&request["DeleteRequest"]))).collect()
        }
        (_, Some(action @ Action::Query)) => {
            let values = &body["ExpressionAttributeValues"];
            let key = if body["IndexName"].is_string() { &values[":w"] } else { &values[":pk"] };
            vec![(action, key["S"].as_str().unwrap_or_default().to_owned())]
        }
        (_, Some(action)) => vec![(action, pk(&body))],
        (other, None) => panic!("{other} has no grant"),
    }
}

/// The partition key of a request that names its item by key or contains the whole item.
fn pk(request: &Value) -> String {
    text(if request["Key"].is_object() { &request["Key"] } else { &request["Item"] })
}

fn text(key: &Value) -> String {
    key["pk"]["S"].as_str().unwrap_or_default().to_owned()
}
