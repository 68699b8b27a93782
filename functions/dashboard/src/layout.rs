//! What all pages have: their frame, their style, and headers that let a browser do no more with them
//! than show them and send their form.

use std::sync::LazyLock;

use data_encoding::BASE64;
use lambda_http::Body;
use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};
use vedette_http::error::{ApiError, UNAVAILABLE_FOR};
use vedette_http::response::Response;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:0 auto;padding:1.5rem 1rem;overflow-wrap:anywhere}\
h1{font-size:1.4rem;line-height:1.25}\
button{font:inherit;padding:.6rem 1.2rem;cursor:pointer}";

/// Only this style counts, forms lead back here, and nothing else is loaded or run.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let hash = BASE64.encode(&Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).ok()
});

/// A page with one heading.
pub(crate) fn page(status: StatusCode, title: &str, content: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) " · Vedette" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { h1 { (title) } (content) } }
        }
    };
    let mut response = Response::new(Body::Text(page.into_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, fixed("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    // Links to pages carry keys.
    headers.insert(REFERRER_POLICY, fixed("no-referrer"));
    headers.extend(POLICY.clone().map(|policy| (CONTENT_SECURITY_POLICY, policy)));
    response
}

/// A page that asks a question, with the one button that says yes to it.
pub(crate) fn form(title: &str, question: &Markup, button: &str) -> Response {
    let content = html! {
        p { (question) }
        // Without an address a form is sent to where it was read from, key included.
        form method="post" { button { (button) } }
    };
    page(StatusCode::OK, title, &content)
}

/// What is said instead of a page.
pub(crate) fn refusal(refusal: ApiError) -> Response {
    let status = refusal.status();
    let (title, text) = if status == StatusCode::NOT_FOUND {
        ("There is nothing here", "The link is not complete, or what it led to is gone.".to_owned())
    } else {
        ("This did not work", refusal.message())
    };
    let mut response = page(status, title, &html! { p { (text) } });
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(UNAVAILABLE_FOR));
    }
    response
}
