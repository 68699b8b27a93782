//! The fields of a form, as browsers send them.

use std::borrow::Cow;

use url::form_urlencoded;

/// A field's text; empty where it was not sent.
pub(crate) fn field<'a>(body: &'a [u8], name: &str) -> Cow<'a, str> {
    let mut fields = form_urlencoded::parse(body);
    fields.find(|(sent, _)| sent == name).map(|(_, text)| text).unwrap_or_default()
}
