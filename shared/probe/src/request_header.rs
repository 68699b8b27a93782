//! How our requests identify us, and the request header in a site's settings.

use hyper::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde_json::json;
use url::Url;
use vedette_domain::checks::check::CheckError;
use vedette_domain::sites::settings::is_sendable_header;

/// [`CheckError::code`] when the request header cannot be sent.
pub const INVALID_HEADER: &str = "invalid_header";

/// Whether a request to `url` may carry the header meant for `first`: to the same host, and not in
/// clear text if `first` is encrypted.
pub(crate) fn is_at_home(first: &Url, url: &Url) -> bool {
    url.host() == first.host() && (url.scheme() == "https" || first.scheme() == "http")
}

/// Identifies us at the site's own host, where its header may replace our `User-Agent`. Not the
/// standard `From`: that is for a person's mailbox.
const MONITORED_BY: HeaderName = HeaderName::from_static("x-monitored-by");

/// Our name.
const NAME: HeaderValue = HeaderValue::from_static(crate::USER_AGENT);

/// Adds our `User-Agent` to the headers of a request to `url`, and at the host of `first` also the
/// site's own header.
pub(crate) fn introduce(
    headers: &mut HeaderMap,
    first: &Url,
    url: &Url,
    header: Option<&RequestHeader>,
) {
    headers.insert(USER_AGENT, NAME);
    if is_at_home(first, url) {
        headers.insert(MONITORED_BY, NAME);
        if let Some(RequestHeader { name, value }) = header {
            headers.insert(name, value.clone());
        }
    }
}

/// The site's own request header; it replaces ours of the same name.
pub(crate) struct RequestHeader {
    name: HeaderName,
    value: HeaderValue,
}

impl RequestHeader {
    /// Parses name and value from the settings.
    pub(crate) fn parse((name, value): (&str, &str)) -> Result<Self, CheckError> {
        let refused = |message: &str| CheckError {
            message: message.to_owned(),
            code: INVALID_HEADER.to_owned(),
            data: json!({ "name": name }),
        };
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused("the request header's name is not valid"))?;
        if !is_sendable_header(name) {
            return Err(refused("the request header would break the request"));
        }
        let mut value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| refused("the request header's value is not valid"))?;
        value.set_sensitive(true);
        Ok(Self { name: parsed, value })
    }

    /// The headers that a browser adds at the site's own host, as text: this header, and our name, because this header
    /// may replace its `User-Agent`.
    pub(crate) fn to_strings(&self) -> Vec<(String, String)> {
        let mut headers = HeaderMap::from_iter([(MONITORED_BY, NAME)]);
        headers.insert(&self.name, self.value.clone());
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_names_us_whatever_the_header_replaces() {
        let sent = |name| {
            let header = RequestHeader::parse((name, "mine")).expect("a header");
            let mut sent = header.to_strings();
            sent.sort();
            sent
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let us = pair("x-monitored-by", crate::USER_AGENT);
        assert_eq!(sent("User-Agent"), [pair("user-agent", "mine"), us]);
        assert_eq!(sent("X-Monitored-By"), [pair("x-monitored-by", "mine")]);
    }
}
