//! The header that checks send.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::input::{FieldRule as _, InputField, TextKind, TextRule, field};
use crate::validation::{Errors, Field};

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

/// The characters of a header's name.
pub(crate) const HEADER_NAME_KIND: TextKind = TextKind::Pattern("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$");

/// Whether a header can have this name: a token of RFC 9110, section 5.6.2.
pub(crate) fn is_header_name(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=HEADER_NAME_MAX).contains(&text.len()) && text.bytes().all(is_token)
}

/// Whether checks can send a header with this valid name.
pub fn is_sendable_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.starts_with(PROXY_HEADERS) && !UNSENDABLE_HEADERS.contains(&&*name)
}

/// The parts of a header, of which a request sends both or none.
pub const HEADER_FIELDS: [InputField; 2] = [
    field!(
        /// A valid header name.
        #[form("Header name")]
        name: Required<String> = HEADER_NAME
    ),
    field!(
        /// A valid header value.
        #[form("Header value")]
        value: Required<String> = HEADER_VALUE
    ),
];

const HEADER_NAME: TextRule<String> = TextRule {
    min: 0,
    max: HEADER_NAME_MAX,
    kind: HEADER_NAME_KIND,
    parse: |name| {
        match (is_header_name(name), is_sendable_header(name)) {
        (true, true) => Ok(name.to_owned()),
        (true, false) => Err("must not be a header that belongs to the connection or the body, such as Content-Length".to_owned()),
        (false, _) => Err("must be a valid HTTP header name".to_owned()),
    }
    },
};

/// The value of a header: visible characters, possibly with blanks in between, but not only blanks.
const HEADER_VALUE: TextRule<String> = TextRule {
    min: 0,
    max: HEADER_VALUE_MAX,
    kind: TextKind::Pattern(r"^[\t\x20-\x7e]*[\x21-\x7e][\t\x20-\x7e]*$"),
    parse: |value| match value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        true => Err("must be a valid HTTP header value".to_owned()),
        false => Ok(value.to_owned()),
    },
};

/// Reads a header: both parts, or neither if they are null. `None` if neither is sent (`{}`).
pub fn read_header(field: &Field<'_>, errors: &mut Errors) -> Option<RequestHeader> {
    let fields = field.object(errors)?;
    let [name, value] = HEADER_FIELDS.map(|part| fields.field(part.name));
    let mut read = |part: &Field<'_>, other: &Field<'_>, rule: TextRule<String>| {
        let text = part.value().and_then(Value::as_str).filter(|_| !part.is_absent());
        if part.is_absent() && !other.is_absent() {
            part.refuse(errors, format_args!("is required with {}", other.path()));
        } else if text.is_some_and(|text| text.contains(['\r', '\n'])) {
            // They are refused before trimming, because they are never there by accident.
            part.refuse(errors, "must not contain line breaks");
            return None;
        }
        part.nullable(|part| rule.read(part, errors)).flatten()
    };
    let header = RequestHeader {
        name: read(&name, &value, HEADER_NAME),
        value: read(&value, &name, HEADER_VALUE),
    };
    fields.only(&HEADER_FIELDS.map(|part| part.name), errors);
    (name.is_sent() || value.is_sent()).then_some(header)
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
        for name in [
            "Connection",
            "Content-Length",
            "Expect",
            "keep-alive",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "uPGRADE",
            "Proxy-Authorization",
            "proxy-connection",
        ] {
            assert!(!is_sendable_header(name), "{name}");
        }
    }
}
