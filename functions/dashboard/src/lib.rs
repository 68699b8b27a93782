//! The service's pages for browsers, each of them rendered here whole: no script, and nothing from
//! elsewhere.
//!
//! [`PAGES`] is the table of pages. One Lambda function serves all of them, and one machine's process
//! serves them beside the API's routes.

mod channels;
mod grants;
mod issues;
mod layout;

use std::collections::HashMap;

use futures::future::BoxFuture;
use lambda_http::http::request::Parts;
use tracing::{Instrument as _, error, error_span};
use vedette_domain::ErrorChain;
use vedette_domain::alert::link;
use vedette_http::error::ApiError;
use vedette_http::path::parameters;
use vedette_http::request_id::RequestId;
use vedette_http::response::Response;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

pub use grants::PAGES_GRANT;

/// The `Handler` of the Lambda function that serves all pages.
pub const HANDLER: &str = "pages";

/// All pages. GET shows one and changes nothing, since mail scanners follow links; POST acts.
pub const PAGES: &[Page] = &[
    page("GET", link::CONFIRM, |visit| Box::pin(channels::ask_to_confirm(visit))),
    page("POST", link::CONFIRM, |visit| Box::pin(channels::confirm(visit))),
    page("GET", link::UNSUBSCRIBE, |visit| Box::pin(channels::ask_to_unsubscribe(visit))),
    page("POST", link::UNSUBSCRIBE, |visit| Box::pin(channels::unsubscribe(visit))),
    page("GET", link::ISSUE, |visit| Box::pin(issues::show(visit))),
];

/// A page, or what its form does.
#[derive(Debug)]
pub struct Page {
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    handler: Handler,
}

type Handler = for<'a> fn(Visit<'a>) -> BoxFuture<'a, Result<Response, ApiError>>;

const fn page(method: &'static str, path: &'static str, handler: Handler) -> Page {
    Page { method, path, handler }
}

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
struct Visit<'a> {
    app: &'a App,
    head: &'a Parts,
    /// The values in the path.
    values: &'a HashMap<String, String>,
}

impl Visit<'_> {
    fn value(&self, name: &str) -> &str {
        self.values.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// The page that a request is for, by its method and path; none where it is for no page.
pub fn find(head: &Parts) -> Option<&'static Page> {
    let path = head.uri.path();
    let mut pages = PAGES.iter().filter(|page| page.method == head.method.as_str());
    pages.find(|page| parameters(page.path, path).is_some())
}

/// Serves a page. Its request's body is not looked at: whatever it says, the link alone counts.
pub async fn serve(app: &App, page: &Page, head: &Parts) -> Response {
    let id = RequestId::of(&head.extensions);
    let span = error_span!("page", path = page.path, request_id = id.as_ref().map(display));
    let mut response = answer(app, page, head).instrument(span).await;
    if let Some(id) = id {
        id.add_to_fault(&mut response);
    }
    response
}

async fn answer(app: &App, page: &Page, head: &Parts) -> Response {
    let values = parameters(page.path, head.uri.path()).unwrap_or_default();
    let visit = Visit { app, head, values: &values };
    let answered = retry_on_conflict(budget::WRITE, || (page.handler)(visit)).await;
    answered.unwrap_or_else(|refusal| {
        if refusal.is_fault() {
            error!(error = %ErrorChain(&refusal), "a page could not be served");
        }
        layout::refusal(refusal)
    })
}

/// What is said where there is no page.
pub fn not_found() -> Response {
    layout::refusal(ApiError::NotFound)
}

#[cfg(test)]
mod tests {
    use lambda_http::http::{Method, Request, Uri};

    use super::*;

    fn head(method: &str, path: &str) -> Parts {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::from_bytes(method.as_bytes()).expect("a method");
        head.uri = Uri::builder().path_and_query(path).build().expect("a path");
        head
    }

    #[test]
    fn a_page_is_found_by_its_method_and_path_alone() {
        for page in PAGES {
            let path = page.path.replace(['{', '}'], "");
            let found = find(&head(page.method, &format!("{path}?key=x"))).expect("a page");
            assert_eq!((found.method, found.path), (page.method, page.path));
            for (method, path) in [(page.method, format!("{path}/")), ("PUT", path)] {
                assert!(find(&head(method, &path)).is_none(), "{method} {path}");
            }
        }
        for path in ["/", "/channels/a/b", "/issues/", "/api/v1/issues/a"] {
            assert!(find(&head("GET", path)).is_none(), "{path}");
        }
    }
}
