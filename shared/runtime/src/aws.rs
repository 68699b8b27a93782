//! Clients of AWS services. TLS is rustls with ring, for the sake of cold starts.

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
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
