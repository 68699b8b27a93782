//! Headers that protect our pages from pages of other sites and from unencrypted connections.

use lambda_http::http::HeaderValue;
use lambda_http::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, HeaderName, STRICT_TRANSPORT_SECURITY,
};

use crate::response::Response;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
/// A year, which starts again with each visit. This does not include subdomains, which may belong to others.
const ENCRYPTED_FOR: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Makes browsers isolate a response: no other site can keep a reference to its window or embed it in a page. After a
/// response over https, browsers use only https.
pub fn isolate(response: &mut Response, is_secure: bool) {
    let headers = response.headers_mut();
    headers.insert(OPENER_POLICY, SAME_ORIGIN);
    headers.insert(RESOURCE_POLICY, SAME_ORIGIN);
    encrypt(response, is_secure);
}

/// Lets pages of all sites read and embed a response, which everybody may read.
pub fn share(response: &mut Response, is_secure: bool) {
    let headers = response.headers_mut();
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    encrypt(response, is_secure);
}

fn encrypt(response: &mut Response, is_secure: bool) {
    if is_secure {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, ENCRYPTED_FOR);
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::Body;

    use super::*;

    #[test]
    fn only_what_came_by_https_stays_with_it() {
        for is_secure in [false, true] {
            let mut response = Response::new(Body::Empty);
            isolate(&mut response, is_secure);
            let headers = response.headers();
            assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
            assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
            assert_eq!(headers.contains_key(STRICT_TRANSPORT_SECURITY), is_secure);
        }
    }
}
