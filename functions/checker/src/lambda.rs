//! Calls of Lambda functions, in this region or in another one.
//!
//! Lambda is called without its SDK client, which would take minutes to compile for this one request.

use std::time::SystemTime;

use aws_credential_types::provider::ProvideCredentials;
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use serde_json::Value;
use vedette_runtime::signed::{Unsigned, endpoint};

/// The status with which Lambda says that a function has reached its concurrency limit.
pub(crate) const TOO_MANY_REQUESTS: u16 = 429;

/// How many bytes of a function's error the log keeps.
const MAX_KIND: usize = 100;

/// Lambda's error for a call that the function has not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Lambda: {status} {code}")]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    code: String,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Called {
    /// The request id in the function's log.
    pub(crate) request_id: String,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// What the function returned.
    Answer(Vec<u8>),
    /// The function crashed, ran out of time, or returned more than Lambda passes on; this is Lambda's name for it.
    Crash(String),
}

/// A Lambda function.
#[derive(Debug, Clone)]
pub(crate) struct LambdaFunction {
    /// With the function's region.
    sdk: SdkConfig,
    name: String,
}

impl LambdaFunction {
    /// The function with this name in this process's own region.
    pub(crate) fn new(sdk: &SdkConfig, name: String) -> Self {
        Self { sdk: sdk.clone(), name }
    }

    /// The function with this name in another region.
    pub(crate) fn in_region(sdk: &SdkConfig, region: &str, name: &str) -> Self {
        let sdk = sdk.to_builder().region(Region::new(region.to_owned())).build();
        Self { sdk, name: name.to_owned() }
    }

    /// Calls the function once, and waits for its answer.
    pub(crate) async fn call(
        &self,
        body: String,
        now: SystemTime,
    ) -> Result<Called, SdkError<Refusal, HttpResponse>> {
        let missing = |what: &str| SdkError::construction_failure(what.to_owned());
        let sdk = &self.sdk;
        let region = sdk.region().ok_or_else(|| missing("no region is set"))?.to_string();
        let http = sdk.http_client().ok_or_else(|| missing("there is no HTTP client"))?;
        let provider =
            sdk.credentials_provider().ok_or_else(|| missing("there are no credentials"))?;
        let credentials =
            provider.provide_credentials().await.map_err(SdkError::construction_failure)?;
        let emulator = sdk.endpoint_url().map(|url| url.trim_end_matches('/').to_owned());
        let endpoint = emulator.unwrap_or_else(|| endpoint("lambda", &region));
        let operation = Operation::builder()
            .service_name("lambda")
            .operation_name("Invoke")
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .endpoint_url(&endpoint)
            .no_auth()
            // Lambda cannot recognize a repeated call: after a retry, the function would do its work twice.
            .standard_retry(&RetryConfig::disabled())
            // The browser takes minutes to answer, and nothing is sent in either direction before.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .timeout_config(TimeoutConfig::disabled());
        let path = format!("/2015-03-31/functions/{}/invocations", self.name);
        let request = move |body: String| {
            let unsigned = Unsigned {
                service: "lambda",
                region: &region,
                endpoint: &endpoint,
                method: "POST",
                path: &path,
                content_type: Some("application/json"),
                body: &body,
            };
            unsigned.sign(&credentials, now)
        };
        operation.serializer(request).deserializer(read).build().invoke(body).await
    }
}

fn read(response: &HttpResponse) -> Result<Called, OrchestratorError<Refusal>> {
    let body = response.body().bytes().unwrap_or_default();
    let header = |name: &str| response.headers().get(name).unwrap_or_default();
    if !response.status().is_success() {
        // `Code:URL of its documentation`
        let code = header("x-amzn-errortype").split(':').next().unwrap_or_default();
        let status = response.status().as_u16();
        return Err(OrchestratorError::operation(Refusal { status, code: code.to_owned() }));
    }
    let outcome = if header("x-amz-function-error").is_empty() {
        Outcome::Answer(body.to_vec())
    } else {
        // The message is left out, because it may repeat the function's input.
        let told: Value = serde_json::from_slice(body).unwrap_or_default();
        let kind = told["errorType"].as_str().unwrap_or_default();
        Outcome::Crash(kind[..kind.floor_char_boundary(MAX_KIND)].to_owned())
    };
    Ok(Called { request_id: header("x-amzn-requestid").to_owned(), outcome })
}
