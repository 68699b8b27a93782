//! Status pages as a surface of the service: everybody is served the same.

use lambda_http::Body;
use lambda_http::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER, VARY};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderValue, Method, StatusCode};
use tracing::{Span, error, error_span};
use vedette_http::access::Caller;
use vedette_http::error::{ApiError, UNAVAILABLE_FOR};
use vedette_http::isolation::{isolate, share};
use vedette_http::request_id::RequestId;
use vedette_http::response::{self, Caching, Response};
use vedette_ops::ErrorChain;
use vedette_routing::{Authenticated, Request, Surface};
use vedette_runtime::App;
use vedette_store::Grant;
use vedette_store::keys::Prefix::Published;

use super::{PublicContext, canonical_path, frame};
use crate::{is_for_people, session};

/// Status pages, for their readers.
#[derive(Debug, Clone, Copy)]
pub struct StatusPages;

/// A route of status pages.
pub type PublicPage = vedette_routing::Route<StatusPages>;

/// What a route works on.
pub(super) type Endpoint = vedette_routing::Endpoint<StatusPages>;

/// How long caches may remember that there is no page. A team that has just added a page wants to see it.
const ABSENCE: HeaderValue = HeaderValue::from_static("public, max-age=5");

/// The Lambda functions that serve status pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicFunction {
    /// Shows what is published.
    Read,
}

impl PublicFunction {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Read];

    /// The `Handler` of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "public.read",
        }
    }

    /// What it may do with the table.
    pub const fn grant(self) -> &'static Grant {
        match self {
            Self::Read => &READ,
        }
    }
}

/// Readers are served published pages, and nothing is written for them.
const READ: Grant = Grant { get: &[Published], ..Grant::NONE };

impl Surface for StatusPages {
    type Audience = ();
    type Function = PublicFunction;
    type Client = ();
    type Context<'a> = PublicContext<'a>;

    /// The address of an unlisted page is secret, so the path is not logged.
    fn span(page: &PublicPage, request: Request<'_>) -> Span {
        let id = RequestId::of(&request.head.extensions);
        error_span!("public", path = page.path, request_id = id.map(display))
    }

    fn takes_body(page: &PublicPage) -> bool {
        page.method == Method::POST
    }

    async fn authenticate(&self, _: &PublicPage, _: Request<'_>) -> Authenticated<()> {
        Authenticated { client: Ok(()), rate: None }
    }

    fn caller((): &()) -> Option<&Caller> {
        None
    }

    fn context<'a>(
        &'a self,
        Request { app, head, parameters }: Request<'a>,
        (): &'a (),
        _: &'a [u8],
    ) -> PublicContext<'a> {
        PublicContext { app, head, parameters }
    }

    fn refuse(&self, request: Request<'_>, _: Option<&()>, refusal: ApiError) -> Response {
        if refusal.is_fault() {
            error!(error = %ErrorChain(&refusal), "a status page could not be served");
        }
        refused(request.head, refusal)
    }

    async fn present(
        &self,
        Request { app, head, .. }: Request<'_>,
        response: Response,
    ) -> Response {
        let presented = response::present(response, head, Caching::PUBLIC).await;
        let response = presented.unwrap_or_else(|fault| {
            error!(%fault, "a status page could not be written");
            refused(head, ApiError::internal(fault))
        });
        protected(app, head, response)
    }
}

/// The answer if nothing is at a path below `/status/`: a redirect if the path is another spelling of a canonical one.
pub fn not_published(app: &App, head: &Parts) -> Response {
    let response = redirected(head).unwrap_or_else(|| refused(head, ApiError::NotFound));
    protected(app, head, response)
}

/// The redirect to the canonical path, which the path of this request will always mean.
fn redirected(head: &Parts) -> Option<Response> {
    if ![Method::GET, Method::HEAD].contains(&head.method) {
        return None;
    }
    let path = canonical_path(head.uri.path())?;
    let query = head.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    response.headers_mut().insert(LOCATION, HeaderValue::try_from(path + &query).ok()?);
    Some(response)
}

/// The answer instead of what was asked for: a page for browsers, and JSON for programs.
fn refused(head: &Parts, refusal: ApiError) -> Response {
    let status = refusal.status();
    let mut response = if is_for_people(head) {
        let mut response = frame::refusal(status);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(UNAVAILABLE_FOR));
        }
        response
    } else {
        refusal.into_response()
    };
    if status == StatusCode::NOT_FOUND {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, ABSENCE);
        headers.insert(VARY, HeaderValue::from_static("accept"));
    }
    response
}

/// Pages of other sites may read and embed everything but the page itself.
fn protected(app: &App, head: &Parts, mut response: Response) -> Response {
    let is_secure = session::is_secure(app, &head.headers);
    let of_page = |value: &HeaderValue| value == frame::HTML;
    match response.headers().get(CONTENT_TYPE).is_some_and(of_page) {
        true => isolate(&mut response, is_secure),
        false => share(&mut response, is_secure),
    }
    response
}

#[cfg(test)]
mod tests {
    use lambda_http::http::header::ACCEPT;

    use super::*;

    #[test]
    fn a_fault_is_not_kept_and_may_be_over_soon() {
        let (mut head, ()) = lambda_http::http::Request::new(()).into_parts();
        for accepted in ["text/html", "application/json"] {
            head.headers.insert(ACCEPT, HeaderValue::from_static(accepted));
            let response = refused(&head, ApiError::Unavailable("the table is throttled"));
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()[RETRY_AFTER], "5", "{accepted}");
            assert_eq!(response.headers()[CACHE_CONTROL], "no-store", "{accepted}");
            let media_type = response.headers()[CONTENT_TYPE].to_str().expect("text");
            assert!(media_type.starts_with(accepted), "{media_type}");
        }
    }
}
