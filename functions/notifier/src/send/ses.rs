//! Amazon SES, version 2, without its SDK client. The client would take minutes to compile for this one request, which
//! is signed and sent here with the parts that the other clients use.

use std::time::{Duration, SystemTime};

use aws_credential_types::provider::ProvideCredentials;
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use data_encoding::BASE64;
use serde_json::{Value, json};
use vedette_ops::ErrorChain;
use vedette_runtime::signed::{Unsigned, endpoint};

use super::SendOutcome;
use super::hold::{Failure, SenderFailure};

const PATH: &str = "/v2/email/outbound-emails";

/// SES asks clients to wait up to ten minutes when they reach a limit.
const LIMITED: Duration = Duration::from_mins(10);

/// The beginning of a rejection that says nothing about the message. Either the sender is not verified, or the account
/// is still in the sandbox and the recipient is not verified.
const NOT_VERIFIED: &str = "Email address is not verified";

/// An answer of SES that does not accept the email.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("SES: {code}: {message}")]
struct Refusal {
    status: u16,
    code: String,
    message: String,
}

/// The sender and the recipient.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
}

/// Sends a whole message to one recipient.
pub(super) async fn send(
    sdk: &SdkConfig,
    addresses: Addresses<'_>,
    mail: &[u8],
    now: SystemTime,
) -> Result<(), Failure> {
    let body = json!({
        "Destination": { "ToAddresses": [addresses.to] },
        "Content": { "Raw": { "Data": BASE64.encode(mail) } },
    });
    match call(sdk, body.to_string(), now).await {
        Ok(()) => Ok(()),
        Err(SdkError::ServiceError(answered)) => Err(failure(&answered.into_err(), addresses)),
        Err(silence) => {
            let why = format!("SES: {}", ErrorChain(&silence));
            Err(SenderFailure::unavailable(why).into())
        }
    }
}

/// What a refusal means. Most concern the account: sending is paused, the sender is not verified, the role lacks the
/// permission, or a limit is reached.
fn failure(refusal: &Refusal, addresses: Addresses<'_>) -> Failure {
    let why = refusal.to_string();
    let names = |address: &str| refusal.message.to_lowercase().contains(&address.to_lowercase());
    match refusal.code.as_str() {
        "MessageRejected" if refusal.message.starts_with(NOT_VERIFIED) => {
            let is_of_all = names(addresses.from);
            SenderFailure { is_of_all, ..SenderFailure::refused(why) }.into()
        }
        "MessageRejected" | "BadRequestException" if names(addresses.to) => {
            Failure::Mail(SendOutcome::Refused { why })
        }
        "MessageRejected" | "BadRequestException" => Failure::Mail(SendOutcome::retry(why)),
        "TooManyRequestsException" => SenderFailure::unavailable(why).into(),
        "LimitExceededException" => {
            SenderFailure { after: Some(LIMITED), ..SenderFailure::unavailable(why) }.into()
        }
        _ if refusal.status >= 500 => SenderFailure::unavailable(why).into(),
        _ => SenderFailure::refused(why).into(),
    }
}

async fn call(
    sdk: &SdkConfig,
    body: String,
    now: SystemTime,
) -> Result<(), SdkError<Refusal, HttpResponse>> {
    let missing = |what: &str| SdkError::construction_failure(what.to_owned());
    let region = sdk.region().ok_or_else(|| missing("no region is set"))?.to_string();
    let http = sdk.http_client().ok_or_else(|| missing("there is no HTTP client"))?;
    let provider = sdk.credentials_provider().ok_or_else(|| missing("there are no credentials"))?;
    let credentials =
        provider.provide_credentials().await.map_err(SdkError::construction_failure)?;
    let emulator = sdk.endpoint_url().map(|url| url.trim_end_matches('/').to_owned());
    let endpoint = emulator.unwrap_or_else(|| endpoint("email", &region));
    let mut operation = Operation::builder()
        .service_name("ses")
        .operation_name("SendEmail")
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .endpoint_url(&endpoint)
        .no_auth()
        // SES has no token with which it could recognize a repeated email.
        .standard_retry(&RetryConfig::disabled())
        .timeout_config(
            TimeoutConfig::builder()
                .connect_timeout(Duration::from_secs(3))
                .operation_timeout(Duration::from_secs(20))
                .build(),
        );
    if let Some(sleep) = sdk.sleep_impl() {
        operation = operation.sleep_impl(sleep);
    }
    let request = move |body: String| {
        let unsigned = Unsigned {
            service: "ses",
            region: &region,
            endpoint: &endpoint,
            method: "POST",
            path: PATH,
            content_type: Some("application/json"),
            body: &body,
        };
        unsigned.sign(&credentials, now)
    };
    operation.serializer(request).deserializer(read).build().invoke(body).await
}

fn read(response: &HttpResponse) -> Result<(), OrchestratorError<Refusal>> {
    if response.status().is_success() {
        return Ok(());
    }
    let body = response.body().bytes().unwrap_or_default();
    let notified: Value = serde_json::from_slice(body).unwrap_or_default();
    // `Code:URL of its documentation`
    let code = response.headers().get("x-amzn-errortype").or_else(|| notified["__type"].as_str());
    let code = code.unwrap_or_default().rsplit('#').next().unwrap_or_default();
    let message = notified["message"].as_str().or_else(|| notified["Message"].as_str());
    Err(OrchestratorError::operation(Refusal {
        status: response.status().as_u16(),
        code: code.split(':').next().unwrap_or_default().to_owned(),
        message: message.unwrap_or_default().to_owned(),
    }))
}
