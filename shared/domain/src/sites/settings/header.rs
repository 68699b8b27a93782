//! The header that checks send.

use serde::{Deserialize, Serialize};

/// The longest `request_header.name`, in characters.
pub const HEADER_NAME_MAX: usize = 255;
/// The longest `request_header.value`, in characters.
pub const HEADER_VALUE_MAX: usize = 2_000;
/// Headers that describe the connection or a body. A site may not set them, because they would break every request, or
/// be lost on the way.
pub const UNSENDABLE_HEADERS: [&str; 8] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The prefix of headers that are meant for a proxy and do not reach the site.
pub const PROXY_HEADERS: &str = "proxy-";

/// Whether checks can send a header with this valid name.
pub fn is_sendable_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.starts_with(PROXY_HEADERS) && !UNSENDABLE_HEADERS.contains(&&*name)
}

/// A header sent with checks: both parts or neither.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RequestHeader {
    /// A valid header name of at most [`HEADER_NAME_MAX`] characters.
    #[cfg_attr(
        feature = "schema",
        schemars(description = "A valid header name.", length(max = HEADER_NAME_MAX))
    )]
    pub name: Option<String>,
    /// A valid header value of at most [`HEADER_VALUE_MAX`] characters, without CR or LF.
    #[cfg_attr(
        feature = "schema",
        schemars(description = "A valid header value.", length(max = HEADER_VALUE_MAX))
    )]
    pub value: Option<String>,
}

impl RequestHeader {
    /// Name and value, when there is a header to send.
    pub fn pair(&self) -> Option<(&str, &str)> {
        self.name.as_deref().zip(self.value.as_deref())
    }

    /// Name and value, when there is a header to send.
    pub fn into_pair(self) -> Option<(String, String)> {
        self.name.zip(self.value)
    }
}

/// A header that replaces the team's: always both parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderOverride {
    /// A valid header name.
    pub name: String,
    /// A valid header value.
    pub value: String,
}

impl HeaderOverride {
    pub(super) fn to_request_header(&self) -> RequestHeader {
        RequestHeader { name: Some(self.name.clone()), value: Some(self.value.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_connections_and_bodies_is_not_sent() {
        for name in ["Host", "Authorization", "X-Keep-Alive", "Te-", "Expect-CT", "Proxy"] {
            assert!(is_sendable_header(name), "{name}");
        }
        for name in ["Content-Length", "TE", "uPGRADE", "Proxy-Authorization", "proxy-connection"] {
            assert!(!is_sendable_header(name), "{name}");
        }
    }
}
