//! Request headers that are lists.

use lambda_http::http::HeaderMap;
use lambda_http::http::header::HeaderName;

/// The elements of a header that is a comma-separated list, on one line or on several.
pub(crate) fn list<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|element| !element.is_empty())
}
