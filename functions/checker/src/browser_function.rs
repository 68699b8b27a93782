//! The browser of a deployment on AWS: a function that may only write its log. It is called like an engine, with one
//! crawl or audit, and returns what the engine would have returned.
//!
//! Lambda is called without its SDK client, which would take minutes to compile for this one request.

#[cfg(test)]
mod tests;

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
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::timeout;
use tracing::{info, warn};
use vedette_domain::ErrorChain;
use vedette_domain::checks::browser_job::BrowserJob;
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_probe::browser::BROWSER_UNAVAILABLE;
use vedette_runtime::signed::{Unsigned, endpoint};

/// The status with which Lambda says that a function has reached its concurrency limit.
const TOO_MANY_REQUESTS: u16 = 429;

/// How many bytes of a function's error the log keeps.
const MAX_KIND: usize = 100;

/// Why the outcome of a check is unknown, so that it must run again.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// The maximum number of browsers is running.
    #[error("the browser function is busy")]
    Busy,
    /// The request was refused, or its answer was lost.
    #[error("the browser function does not answer: {0}")]
    Unanswered(String),
}

/// Lambda's error for a call that the function has not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Lambda: {status} {code}")]
struct Refusal {
    status: u16,
    code: String,
}

/// How a call ended.
#[derive(Debug)]
struct Called {
    /// The request id in the function's log.
    request_id: String,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    /// What the function returned.
    Answer(Vec<u8>),
    /// The function crashed, ran out of time, or returned more than Lambda passes on; this is Lambda's name for it.
    Crash(String),
}

/// The function with the browser.
#[derive(Debug, Clone)]
pub struct BrowserFunction {
    sdk: SdkConfig,
    name: String,
}

impl BrowserFunction {
    /// The function with this name.
    pub fn new(sdk: &SdkConfig, name: String) -> Self {
        Self { sdk: sdk.clone(), name }
    }

    /// Runs a job in the browser function and waits for it. If something goes wrong in the browser, the check ends as
    /// `failed`, because the same page would cause it again. If the call itself fails, the page is not to blame.
    ///
    /// # Errors
    ///
    /// When the check must run again.
    pub(crate) async fn run(&self, job: &BrowserJob, now: Timestamp) -> Result<Finish, NotRun> {
        let body = serde_json::to_string(job).map_err(|error| unanswered(&error))?;
        let limit = job.tool().limits().answer();
        let Ok(called) = timeout(limit, self.call(body, now.into())).await else {
            warn!(?limit, "the browser function does not answer in time");
            return Ok(failed("the browser did not answer in time"));
        };
        let Called { request_id, outcome } = match called {
            Ok(called) => called,
            Err(SdkError::ServiceError(refused)) => {
                let refusal = refused.into_err();
                return Err(match refusal.status {
                    TOO_MANY_REQUESTS => NotRun::Busy,
                    _ => unanswered(&refusal),
                });
            }
            Err(silence) => return Err(unanswered(&silence)),
        };
        let answer = match outcome {
            Outcome::Answer(answer) => answer,
            Outcome::Crash(error) => {
                warn!(browser_request_id = request_id, error, "the browser function failed");
                return Ok(failed("the browser ended without an answer"));
            }
        };
        info!(browser_request_id = request_id, bytes = answer.len(), "the browser has answered");
        Ok(job.finish(&answer).unwrap_or_else(|error| {
            let error = ErrorChain(&error);
            warn!(browser_request_id = request_id, %error, "the browser's answer was refused");
            failed("the browser gave an impossible answer")
        }))
    }

    async fn call(
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
            // Lambda cannot recognize a repeated call: after a retry, the browser would do its work twice.
            .standard_retry(&RetryConfig::disabled())
            // An answer takes minutes, and nothing is sent in either direction before.
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

fn unanswered(error: &(dyn std::error::Error + 'static)) -> NotRun {
    NotRun::Unanswered(ErrorChain(error).to_string())
}

/// A check that the browser could not run.
fn failed(message: &str) -> Finish {
    let data = serde_json::json!({});
    Finish::Failed(CheckError {
        message: message.to_owned(),
        code: BROWSER_UNAVAILABLE.to_owned(),
        data,
    })
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
