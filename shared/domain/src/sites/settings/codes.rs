//! The response codes that can count as an incident.

use serde::Serialize;

/// Which side a status code blames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CodeGroup {
    /// 4xx.
    Client,
    /// 5xx.
    Server,
}

/// A selectable status code in the API's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusCodeOption {
    /// The HTTP status.
    pub code: u16,
    /// The reason phrase.
    pub label: &'static str,
    /// Which side the code blames.
    pub group: CodeGroup,
}

const fn client(code: u16, label: &'static str) -> StatusCodeOption {
    StatusCodeOption { code, label, group: CodeGroup::Client }
}

const fn server(code: u16, label: &'static str) -> StatusCodeOption {
    StatusCodeOption { code, label, group: CodeGroup::Server }
}

/// The codes that `incident_status_codes` may name, ascending; the default is all of them.
///
/// Reason phrases are those of RFC 9110 and RFC 6585 (429). 521 to 524 are not registered: proxies answer with them if
/// their origin does not answer.
pub const STATUS_INCIDENT_CODES: [StatusCodeOption; 17] = [
    client(400, "Bad Request"),
    client(401, "Unauthorized"),
    client(403, "Forbidden"),
    client(404, "Not Found"),
    client(405, "Method Not Allowed"),
    client(408, "Request Timeout"),
    client(410, "Gone"),
    client(429, "Too Many Requests"),
    server(500, "Internal Server Error"),
    server(501, "Not Implemented"),
    server(502, "Bad Gateway"),
    server(503, "Service Unavailable"),
    server(504, "Gateway Timeout"),
    server(521, "Web Server Is Down"),
    server(522, "Connection Timed Out"),
    server(523, "Origin Is Unreachable"),
    server(524, "A Timeout Occurred"),
];
