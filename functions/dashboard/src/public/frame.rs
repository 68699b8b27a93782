//! The frame of a status page, and headers that allow a browser only to show it.

use lambda_http::http::StatusCode;
use lambda_http::http::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use maud::{Markup, html};
use vedette_http::response::{Response, text};

use crate::layout::document;
use crate::look::{self, TabState};

/// The media type of pages.
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// Nothing is loaded from elsewhere, nothing runs, and forms lead only to this service.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// A page, with what the browser's tab shows. `feed` is the address of its feed, if it has one.
pub(super) fn framed(
    (title, state): (&str, TabState),
    feed: Option<&str>,
    body: &Markup,
) -> Response {
    let feed = html! {
        @if let Some(feed) = feed {
            link rel="alternate" type="application/atom+xml" title=(title) href=(feed);
        }
    };
    // Of an unlisted page, a header says that it must not be indexed.
    let page = document((title, state), true, &feed, &html! { main #main { (body) } });
    let mut response = text(page.into_string(), HTML);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A page with one heading.
pub(super) fn lone(title: &str, content: &Markup) -> Response {
    let body = html! {
        div.wrap.pub.stack { (look::logo(40)) h1 { (title) } (content) }
    };
    framed((title, TabState::Unknown), None, &body)
}

/// The page instead of one that cannot be shown.
pub(super) fn refusal(status: StatusCode) -> Response {
    let (title, says) = match status {
        StatusCode::NOT_FOUND => (
            "Status page not found",
            "The link is incomplete, or the status page has been moved or deleted.",
        ),
        _ => ("Something went wrong", "This status page cannot be shown now. Please try again."),
    };
    let mut response = lone(title, &html! { p { (says) } });
    *response.status_mut() = status;
    response
}
