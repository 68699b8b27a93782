//! The id of a request, which links the answer that a client got to the log.

use std::fmt;

use crate::response::{REQUEST_ID_HEADER, Response};
use lambda_http::RequestExt as _;
use lambda_http::http::{Extensions, HeaderValue};
use lambda_http::request::RequestContext;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub String);

impl RequestId {
    /// The id that the gateway assigned: ours as an extension, API Gateway's in its context.
    pub fn of(extensions: &Extensions) -> Option<Self> {
        if let Some(id) = extensions.get::<Self>() {
            return Some(id.clone());
        }
        match extensions.request_context_ref()? {
            RequestContext::ApiGatewayV2(context) => context.request_id.clone().map(Self),
            _ => None,
        }
    }

    /// Adds the id to a response that reports a fault.
    pub fn add_to_fault(&self, response: &mut Response) {
        if response.status().is_server_error()
            && let Ok(id) = HeaderValue::from_str(&self.0)
        {
            response.headers_mut().insert(REQUEST_ID_HEADER, id);
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
