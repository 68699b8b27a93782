//! A POST: what a status check sends instead of a request without a body.

use std::fmt;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::shared_limit::SharedLimit;

/// The longest body, in bytes. This is our own limit, which keeps a site's item small: every run reads it.
pub const POST_BODY_MAX: usize = 4 * 1024;
/// The longest content type, in bytes.
pub const CONTENT_TYPE_MAX: usize = 100;
/// The content type of a body for which none is given.
pub const CONTENT_TYPE_DEFAULT: &str = "application/json";
/// POSTs to one address, which is an IPv4 address or an IPv6 network of 64 bits.
pub const POSTS_TO_ADDRESS: SharedLimit =
    SharedLimit { of_team: 60, divided: 60, window: SignedDuration::from_mins(1) };

/// What a status check posts. The body may contain secrets, so neither `Debug` nor a resource of the API shows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostRequest {
    /// The value of `Content-Type`.
    pub content_type: String,
    /// The body.
    pub body: String,
}

impl fmt::Debug for PostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PostRequest");
        shown.field("content_type", &self.content_type).finish_non_exhaustive()
    }
}

/// Whether a text can be the value of `Content-Type`: a type and a subtype (RFC 9110, section 8.3.1), and perhaps
/// parameters.
pub fn is_content_type(text: &str) -> bool {
    let is_token = |token: &str| {
        !token.is_empty()
            && token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let media_type = text.split(';').next().unwrap_or_default().trim_end();
    let is_media_type = media_type
        .split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    is_media_type
        && text.len() <= CONTENT_TYPE_MAX
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_has_two_parts_and_perhaps_parameters() {
        let long = format!("text/{}", "x".repeat(CONTENT_TYPE_MAX));
        for (text, is_one) in [
            (CONTENT_TYPE_DEFAULT, true),
            ("application/vnd.api+json", true),
            ("text/plain; charset=utf-8", true),
            ("text/plain ; charset=\"utf-8\"", true),
            ("", false),
            ("json", false),
            ("/json", false),
            ("text/", false),
            ("text/a b", false),
            ("text/plain\r\nX-Other: 1", false),
            ("text/plain; name=\u{e9}", false),
            (&*long, false),
        ] {
            assert_eq!(is_content_type(text), is_one, "{text:?}");
        }
    }

    #[test]
    fn the_body_is_not_shown() {
        let post = PostRequest { content_type: "text/plain".to_owned(), body: "s3cret".to_owned() };
        let shown = format!("{post:?}");
        assert!(shown.contains("text/plain") && !shown.contains("s3cret"), "{shown}");
    }
}
