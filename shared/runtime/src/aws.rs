//! Clients of AWS services. TLS is rustls with ring, for the sake of cold starts.

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, Region, SharedHttpClient};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use vedette_store::Store;

use crate::config::{Config, ConfigError, Deployment, environment};
use crate::{App, Clock, Entropy, EventBridgeScheduler, Queue, Scheduler, SqsQueue};

/// The app of a Lambda function or of the command line against a deployment.
///
/// # Errors
///
/// When the environment does not say where the deployment's parts are.
pub async fn app(config: &Config) -> Result<App, ConfigError> {
    let deployment = Arc::new(Deployment::read(&environment)?);
    let sdk = sdk_config().await;
    let queues = aws_sdk_sqs::Client::new(&sdk);
    let schedules = aws_sdk_scheduler::Client::new(&sdk);
    Ok(App {
        store: Store::new(aws_sdk_dynamodb::Client::new(&sdk), deployment.table.clone()),
        queue: Queue::Sqs(SqsQueue::new(queues, deployment.queue_url_prefix.clone())),
        scheduler: Scheduler::EventBridge(EventBridgeScheduler::new(schedules, deployment)),
        clock: Clock::system(),
        entropy: Entropy::system(),
        service: config.service.clone(),
    })
}

async fn sdk_config() -> SdkConfig {
    let client = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(client)
        .timeout_config(timeouts())
        .retry_config(RetryConfig::standard().with_max_attempts(4))
        .load()
        .await
}

/// DynamoDB answers in milliseconds; what takes longer is better tried again.
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(4))
        .operation_timeout(Duration::from_secs(15))
        .build()
}

/// The table's name in the DynamoDB of a process on this machine: that process and the command line
/// both say it.
pub const LOCAL_TABLE: &str = "vedette";

/// The table of this name in a DynamoDB on this machine.
pub fn local_store(endpoint: &str, table: &str) -> Store {
    let client = aws_smithy_http_client::Builder::new().build_http();
    local_store_through(client, endpoint, table)
}

/// As [`local_store`], through an HTTP client of one's own.
pub fn local_store_through(client: SharedHttpClient, endpoint: &str, table: &str) -> Store {
    Store::new(local_client(client, endpoint), table.to_owned())
}

/// A client of a DynamoDB on this machine.
pub fn local_client(client: SharedHttpClient, endpoint: &str) -> aws_sdk_dynamodb::Client {
    // The emulator takes any credentials; these stand for none.
    let credentials = Credentials::new("local", "local", None, None, "local");
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("local"))
        .endpoint_url(endpoint)
        .credentials_provider(credentials)
        .http_client(client)
        .timeout_config(timeouts())
        .retry_config(RetryConfig::standard().with_max_attempts(4))
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}
