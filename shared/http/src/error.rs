//! Refusals and faults, and the only place that knows the status codes of refusals.
//!
//! A handler returns [`ApiError`]. A refusal contains a sentence for the client. A fault ([`ApiError::Store`],
//! [`ApiError::Unavailable`], [`ApiError::Internal`]) shows the client no details, and is logged with its causes where
//! the answer is created. The layers below have errors of their own and know nothing about HTTP: validation returns a
//! `ValidationError`, the table a `StoreError`, an action an `ActionError`. All of them turn into an `ApiError` with
//! `?`. `error/refusals.rs` maps each refusal of `domain`.

mod refusals;

use std::error::Error;

use lambda_http::http::header::{ACCEPT_ENCODING, ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use lambda_http::http::{HeaderValue, StatusCode};
use serde_json::json;
use vedette_store::{MayConflict, StoreError};

use crate::response::{Response, json as answer};
use crate::validation::ValidationError;

/// Seconds after which a client may retry a request that failed because the service was unavailable. A throttled table
/// or a busy machine needs some time to recover.
pub const UNAVAILABLE_FOR: u32 = 5;

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No token, an invalid one, or an unverified address.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The team has no active plan.
    #[error("An active team plan is required.")]
    PlanRequired,
    /// A scope or a role is missing, or the operation is not allowed on this resource.
    #[error("{0}")]
    Forbidden(String),
    /// It does not exist, or belongs to another team.
    #[error("The requested resource was not found.")]
    NotFound,
    /// The path is known, but the method is not.
    #[error("The {method} method is not supported for this resource.")]
    MethodNotAllowed {
        /// The method of the request.
        method: String,
        /// The allowed methods, as in the `Allow` header.
        allow: String,
    },
    /// The request cannot be read.
    #[error("{0}")]
    BadRequest(&'static str),
    /// The request names a host that is not ours.
    #[error(
        "This service does not serve the host in the address. Its operator can add the host to VEDETTE_HOSTS."
    )]
    Misdirected,
    /// Something else is being done that excludes it.
    #[error("{0}")]
    Conflict(&'static str),
    /// The body did not arrive in time.
    #[error("The request body took too long to arrive.")]
    RequestTimeout,
    /// The body is larger than its [`BodySender`](crate::body::BodySender) may send, before or after decoding.
    #[error("The request body is too large.")]
    PayloadTooLarge,
    /// A team's metrics would have more series than one response may have.
    #[error(
        "The metrics of this team would have {series} series, and at most {max} are served. Read the sites with GET \
         /teams/{{team}}/sites instead."
    )]
    TooManySeries {
        /// How many there would be.
        series: usize,
        /// How many are served.
        max: usize,
    },
    /// The body has an unknown encoding.
    #[error("The request body must be uncompressed or compressed with gzip.")]
    UnsupportedEncoding,
    /// The request is well-formed but invalid.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// Too many requests in this window, which is usually a minute.
    #[error("Too many requests. Please slow down.")]
    TooManyRequests {
        /// Seconds until the next window.
        retry_after: u32,
    },
    /// The table did not answer, or holds something that this version did not write.
    #[error("the table failed")]
    Store(#[from] StoreError),
    /// The service has no capacity or no time left. Trying again may help.
    #[error("the service is unavailable: {0}")]
    Unavailable(&'static str),
    /// Something is wrong with the service itself.
    #[error("internal error")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
}

impl MayConflict for ApiError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

impl ApiError {
    /// A refusal of one field.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Validation(ValidationError::new(field, message))
    }

    /// A fault of the service itself.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }

    /// Whether this is a fault of ours, which is logged and not shown to the client.
    pub fn is_fault(&self) -> bool {
        self.status().is_server_error()
    }

    /// The status code.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::PlanRequired => StatusCode::PAYMENT_REQUIRED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::PayloadTooLarge | Self::TooManySeries { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Validation(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Store(StoreError::Corrupt(_)) | Self::Internal(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Store(_) | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The message for the client. For a fault, it only says that there is one.
    pub fn message(&self) -> String {
        match self.status() {
            StatusCode::SERVICE_UNAVAILABLE => {
                "The service is unavailable. Please try again.".to_owned()
            }
            StatusCode::INTERNAL_SERVER_ERROR => "Something went wrong.".to_owned(),
            _ => self.to_string(),
        }
    }

    /// The answer for the client.
    pub fn into_response(self) -> Response {
        let status = self.status();
        let mut response = match &self {
            Self::Validation(error) => answer(status, error),
            other => answer(status, &json!({ "message": other.message() })),
        };
        let headers = response.headers_mut();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from(UNAVAILABLE_FOR));
        }
        match self {
            Self::Unauthenticated(_) => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::UnsupportedEncoding => {
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            }
            Self::TooManyRequests { retry_after } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(retry_after));
            }
            Self::MethodNotAllowed { allow, .. } => {
                if let Ok(allow) = HeaderValue::from_str(&allow) {
                    headers.insert(ALLOW, allow);
                }
            }
            _ => {}
        }
        response
    }
}
