//! The account of a deployment: its credentials, and calls to services without an SDK client. For DynamoDB, SQS and
//! EventBridge Scheduler, there are clients. Those for CloudFormation and Lambda would take minutes to compile for a
//! handful of calls. This module signs and sends these calls with code that the other clients bring anyway.

#[cfg(feature = "aws")]
mod credentials;
pub(crate) mod stack;

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use serde_json::Value;
use vedette_ops::ErrorChain;
use vedette_runtime::config::environment;
use vedette_runtime::signed::{Unsigned, endpoint};
use vedette_runtime::{Clock, aws};

use crate::Failure;

/// An account and region, with credentials.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) sdk: SdkConfig,
}

/// Why a call to AWS has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", .code, if .code.is_empty() { "" } else { ": " })]
pub(crate) struct Refusal {
    /// The service's error code; empty if no service answered.
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Error codes for invalid credentials, whatever the call.
const UNKNOWN_CREDENTIALS: [&str; 6] = [
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
];
/// Error codes for missing permissions.
const DENIED: [&str; 3] = ["AccessDenied", "AccessDeniedException", "AuthorizationError"];

impl Refusal {
    /// The error for a call without an answer.
    pub(crate) fn silence(error: impl std::error::Error) -> Self {
        Self { code: String::new(), message: ErrorChain(&error).to_string() }
    }

    /// Converts an error of the SDK, which is a service's error or a missing answer.
    pub(crate) fn of(error: impl std::error::Error + ProvideErrorMetadata) -> Self {
        match (error.code(), error.message()) {
            (Some(code), message) => {
                Self { code: code.to_owned(), message: message.unwrap_or_default().to_owned() }
            }
            (None, _) => Self::silence(error),
        }
    }

    /// Whether the credentials are expired or unknown.
    pub(crate) fn is_of_credentials(&self) -> bool {
        UNKNOWN_CREDENTIALS.contains(&self.code.as_str())
    }

    /// Whether the credentials are valid but do not allow this.
    pub(crate) fn is_denial(&self) -> bool {
        DENIED.contains(&self.code.as_str())
    }
}

/// A request to a service without a client.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) service: &'static str,
    /// Path and query.
    pub(crate) path: String,
    /// The form to post. Without one, the request is a GET.
    pub(crate) form: Option<String>,
}

impl Account {
    /// The account from the SDK's environment variables and profiles.
    ///
    /// # Errors
    ///
    /// This program was built without the code that reads them.
    pub(crate) async fn load() -> Result<Self, Failure> {
        #[cfg(feature = "aws")]
        return Ok(Self { sdk: credentials::sdk().await });
        #[cfg(not(feature = "aws"))]
        Err(Failure::Usage(
            "this program was built without the feature `aws`, which --aws needs; `make run` leaves it out, \
             `cargo build` does not"
                .to_owned(),
        ))
    }

    /// The region, if one is set.
    pub(crate) fn region(&self) -> Option<&str> {
        self.sdk.region().map(AsRef::as_ref)
    }

    /// The credentials for all calls.
    ///
    /// # Errors
    ///
    /// If there are no credentials, or their provider refuses.
    pub(crate) async fn credentials(&self) -> Result<Credentials, Refusal> {
        let provider = self.sdk.credentials_provider().ok_or_else(|| Refusal {
            code: String::new(),
            message: "no provider has any".to_owned(),
        })?;
        provider.provide_credentials().await.map_err(Refusal::silence)
    }

    /// Calls a service without a client. Returns the body of its answer.
    ///
    /// # Errors
    ///
    /// If there are no credentials, the service does not answer, or it refuses.
    pub(crate) async fn call(&self, call: Call) -> Result<String, Refusal> {
        let missing = |what: &str| Refusal { code: String::new(), message: what.to_owned() };
        let region = self.region().ok_or_else(|| missing("no region is set"))?.to_owned();
        let http = self.sdk.http_client().ok_or_else(|| missing("there is no HTTP client"))?;
        let credentials = self.credentials().await?;
        let endpoint = self.endpoint(call.service, &region);
        let mut operation = Operation::builder()
            .service_name(call.service)
            .operation_name("call")
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .endpoint_url(&endpoint)
            .no_auth()
            .standard_retry(&RetryConfig::standard())
            .timeout_config(aws::timeouts());
        if let Some(sleep) = self.sdk.sleep_impl() {
            operation = operation.sleep_impl(sleep);
        }
        let request = move |call: Call| {
            let has_form = call.form.is_some();
            let unsigned = Unsigned {
                service: call.service,
                region: &region,
                endpoint: &endpoint,
                method: if has_form { "POST" } else { "GET" },
                path: &call.path,
                content_type: has_form.then_some("application/x-www-form-urlencoded"),
                body: call.form.as_deref().unwrap_or_default(),
            };
            unsigned.sign(&credentials, now())
        };
        let operation = operation.serializer(request).deserializer(read).build();
        operation.invoke(call).await.map_err(|error| match error {
            SdkError::ServiceError(answered) => answered.into_err(),
            silence => Refusal::silence(silence),
        })
    }

    /// The address of a service, or of the emulator if one is configured.
    fn endpoint(&self, service: &str, region: &str) -> String {
        let of_service = environment(&format!("AWS_ENDPOINT_URL_{}", service.to_uppercase()));
        let emulator = of_service.or_else(|| self.sdk.endpoint_url().map(str::to_owned));
        let emulator = emulator.map(|url| url.trim_end_matches('/').to_owned());
        emulator.unwrap_or_else(|| endpoint(service, region))
    }
}

fn now() -> SystemTime {
    Clock::system().now().into()
}

fn read(response: &HttpResponse) -> Result<String, OrchestratorError<Refusal>> {
    let body = response.body().bytes().unwrap_or_default();
    let body = String::from_utf8_lossy(body).into_owned();
    if response.status().is_success() {
        return Ok(body);
    }
    Err(OrchestratorError::operation(refusal(response, &body)))
}

/// Reads an error, which is XML in the query protocol and JSON in others.
fn refusal(response: &HttpResponse, body: &str) -> Refusal {
    let told: Value = serde_json::from_str(body).unwrap_or_default();
    let texts = stack::texts(body);
    let in_xml = |name: &str| {
        let text = texts.iter().find(|(path, _)| path.ends_with(name));
        text.map(|(_, text)| text.clone())
    };
    let in_json = |name: &str| told[name].as_str().map(str::to_owned);
    let code = response.headers().get("x-amzn-errortype").map(str::to_owned);
    let code = code.or_else(|| in_json("__type")).or_else(|| in_xml("/Error/Code"));
    let message = in_json("message").or_else(|| in_json("Message"));
    let status = || format!("status {}", response.status());
    let code = code.unwrap_or_else(status);
    // `namespace#Code:URL of an explanation`
    let code = code.rsplit('#').next().unwrap_or_default().split(':').next().unwrap_or_default();
    Refusal {
        code: code.to_owned(),
        message: message.or_else(|| in_xml("/Error/Message")).unwrap_or_default(),
    }
}
