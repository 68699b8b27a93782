//! The request header of a site's settings, and where it may be sent.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use url::Url;
use vedette_domain::check::CheckError;
use vedette_domain::settings::is_sendable_header;

/// [`CheckError::code`] when the request header cannot be sent.
pub const INVALID_HEADER: &str = "invalid_header";

/// Whether a request to `url` may carry the header meant for `first`: to the same host, and not in
/// clear text where `first` is encrypted.
pub(crate) fn is_at_home(first: &Url, url: &Url) -> bool {
    url.host() == first.host() && (url.scheme() == "https" || first.scheme() == "http")
}

/// The site's own request header; in place of ours where the names are equal.
pub(crate) struct RequestHeader {
    name: HeaderName,
    value: HeaderValue,
}

impl RequestHeader {
    /// Reads name and value as they are in the settings.
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
    /// Name and value as text, for a browser.
    pub(crate) fn to_strings(&self) -> (String, String) {
        let value = String::from_utf8_lossy(self.value.as_bytes()).into_owned();
        (self.name.to_string(), value)
    }

    /// Adds it to the headers of a request, in place of one of the same name.
    pub(crate) fn insert_into(&self, headers: &mut HeaderMap) {
        headers.insert(&self.name, self.value.clone());
    }
}
