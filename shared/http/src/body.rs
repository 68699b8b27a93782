//! Bodies of requests: how large they may be, and how encoded.

use std::borrow::Cow;

use lambda_http::http::HeaderMap;
use lambda_http::http::header::{CONTENT_ENCODING, HeaderName};

use crate::error::ApiError;
use crate::gzip;

/// The largest request body, in bytes, as it is sent and decoded.
pub const BODY_MAX: usize = 1024 * 1024;

/// The body as the handlers read it: within the limit, without its encoding.
///
/// # Errors
///
/// 413 where it is too large, before or after decoding; 415 where it is encoded otherwise than with
/// gzip; 400 where it is not what it is said to be.
pub fn decode<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Cow<'a, [u8]>, ApiError> {
    if body.len() > BODY_MAX {
        return Err(ApiError::PayloadTooLarge);
    }
    // Nothing is nothing in every encoding.
    if body.is_empty() {
        return Ok(Cow::Borrowed(body));
    }
    let mut encodings = list(headers, &CONTENT_ENCODING)
        .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(Cow::Borrowed(body)),
        (Some(encoding), None) if gzip::is(encoding) => gzip::unpack(body).map(Cow::Owned),
        _ => Err(ApiError::UnsupportedEncoding),
    }
}

/// The elements of a header that is a list separated by commas, sent in one line or in many.
pub(crate) fn list<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|element| !element.is_empty())
}
