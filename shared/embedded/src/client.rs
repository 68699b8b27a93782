//! The SDK's client of an embedded table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryPartition;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Builder, Region, SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use vedette_store::Store;

use crate::layout::TABLE;
use crate::{Database, Priority};

/// The table behind an HTTP client: [`Database::http_client`], or a client that wraps it.
pub fn store(http: SharedHttpClient) -> Store {
    Store::new(sdk_config(http), TABLE.to_owned())
}

/// The SDK's client behind an HTTP client.
pub fn sdk_client(http: SharedHttpClient) -> Client {
    Client::from_conf(sdk_config(http).build())
}

/// Requests are not signed, since nothing would check the signature. They have no timeouts either: a request that waits
/// in this process is not lost, and a retry would only make the queue longer.
fn sdk_config(http: SharedHttpClient) -> Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("local"))
        // Where requests would go if they left the process.
        .endpoint_url("http://embedded")
        .allow_no_auth()
        .http_client(http)
        // All clients of a region share a budget of retries by default, also those of other tables.
        .retry_partition(RetryPartition::custom("embedded").build())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// An HTTP client that sends everything through one connector.
pub(crate) fn http_client(connector: impl HttpConnector + 'static) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(connector);
    http_client_fn(move |_, _| connector.clone())
}

/// The header with the operation in DynamoDB's protocol, such as `DynamoDB_20120810.GetItem`.
pub(crate) const TARGET: &str = "x-amz-target";

/// The operation's name in the header's value.
pub(crate) fn operation(target: &str) -> &str {
    target.rsplit('.').next().unwrap_or_default()
}

/// An answer in DynamoDB's protocol.
pub(crate) fn answer(
    status: u16,
    body: impl Into<SdkBody>,
) -> Result<HttpResponse, ConnectorError> {
    let status = status.try_into().map_err(|error| ConnectorError::other(Box::new(error), None))?;
    let mut response = HttpResponse::new(status, body.into());
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}

/// Passes requests to the database's threads.
#[derive(Debug)]
struct Embedded {
    database: Database,
    priority: Priority,
}

impl Database {
    /// An HTTP client that passes each request to this database.
    pub fn http_client(&self) -> SharedHttpClient {
        self.http_client_for(Priority::Background)
    }

    fn http_client_for(&self, priority: Priority) -> SharedHttpClient {
        http_client(Embedded { database: self.clone(), priority })
    }

    /// The table in it, for checks and other work that no person waits for.
    pub fn store(&self) -> Store {
        self.store_for(Priority::Background)
    }

    /// The table in it, for requests of this priority.
    pub fn store_for(&self, priority: Priority) -> Store {
        store(self.http_client_for(priority))
    }
}

impl HttpConnector for Embedded {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (database, priority) = (self.database.clone(), self.priority);
        HttpConnectorFuture::new(async move {
            let operation = operation(request.headers().get(TARGET).unwrap_or_default());
            let body = request.body().bytes().unwrap_or_default();
            let answered = database.answer_for(priority, operation.to_owned(), body.to_vec()).await;
            let (status, body) =
                answered.ok_or_else(|| ConnectorError::io("the table is closed".into()))?;
            answer(status, body)
        })
    }
}
