//! Whether a form was sent from one of our pages, with the algorithm of `http.CrossOriginProtection` in Go. It needs no
//! token in the form. Go accepts requests that no browser sends; they are refused here.

use lambda_http::http::HeaderMap;
use lambda_http::http::header::{HOST, HeaderName, ORIGIN};
use vedette_http::error::ApiError;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what the page of another site may have sent. Most browsers say where a form comes from. Over plain HTTP to
/// another machine they do not; then the host of the page must be ours.
pub(crate) fn check(headers: &HeaderMap, base_url: Option<&str>) -> Result<(), ApiError> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let is_ours = match text(&SEC_FETCH_SITE) {
        Some(site) => site == "same-origin" || site == "none",
        None => text(&ORIGIN)
            .and_then(host)
            .is_some_and(|origin| [text(&HOST), base_url.and_then(host)].contains(&Some(origin))),
    };
    if is_ours {
        return Ok(());
    }
    let message = "This form was not sent from a page of this service, so nothing was changed.";
    Err(ApiError::Forbidden(message.to_owned()))
}

/// The host and port of a URL.
fn host(address: &str) -> Option<&str> {
    address.split_once("://")?.1.split('/').next()
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;

    use super::*;

    #[test]
    fn only_our_own_pages_send_forms() {
        let site = "sec-fetch-site";
        for (sent, is_ours) in [
            (&[(site, "same-origin")][..], true),
            (&[(site, "none")], true),
            (&[(site, "same-site")], false),
            (&[(site, "cross-site")], false),
            // The browser's own statement counts, whatever the addresses look like.
            (&[(site, "cross-site"), ("origin", "https://a.test")], false),
            (&[(site, "same-origin"), ("origin", "https://b.test")], true),
            (&[("origin", "https://a.test")], true),
            (&[("origin", "http://a.test")], true),
            (&[("origin", "https://public.test")], true),
            (&[("origin", "https://a.test:8443")], false),
            (&[("origin", "https://b.test")], false),
            (&[("origin", "https://a.test.b.test")], false),
            (&[("origin", "null")], false),
            (&[("origin", "")], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("a.test"));
            for (name, value) in sent {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            let checked = check(&headers, Some("https://public.test/api/v1"));
            assert_eq!(checked.is_ok(), is_ours, "{sent:?}");
        }
    }
}
