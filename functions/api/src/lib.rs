//! Every HTTP route of the API.
//!
//! [`ROUTES`] is the table of routes; `src/<resource>/<verb>.rs` holds one of them whole: request,
//! handler, response. A Lambda function serves one route, one machine's process all of them.

mod checks;
mod fallback;
mod history;
mod issues;
mod me;
mod monitoring;
mod reports;
mod sites;
mod teams;

use std::future::ready;

use futures::future::BoxFuture;
use lambda_http::http::header::HOST;
use lambda_http::http::request::Parts;
use lambda_http::{Body, Request, RequestExt as _};
use tokio::task::spawn_blocking;
use tracing::error;
use vedette_domain::account::Scope;
use vedette_domain::id::UserId;
use vedette_http::access::{self, Caller, Throttle};
use vedette_http::body;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::resource::Links;
use vedette_http::response::{Response, negotiate};
use vedette_runtime::App;

pub use reports::performance::DAYS_DEFAULT as PERFORMANCE_DAYS;
pub use reports::uptime::DAYS_DEFAULT as UPTIME_DAYS;
pub use sites::{SITES_MAX, site_sorts};
pub use vedette_http::body::BODY_MAX;

/// What a handler gives back.
type Answer<'a> = BoxFuture<'a, Result<Response, ApiError>>;

/// One route.
#[derive(Debug)]
pub struct Route {
    /// Its name: the `Handler` of its Lambda function, `<resource>.<verb>` of its file.
    pub name: &'static str,
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    work: Work,
}

#[derive(Debug)]
enum Work {
    /// For a caller whose token has the scope.
    Authorized { scope: Scope, kind: Kind, handler: Handler },
    /// The same refusal for everybody.
    Refuse(fn(&Parts) -> ApiError),
}

type Handler = for<'a> fn(Context<'a>) -> Answer<'a>;

/// Which throttle a route is under.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Default,
    CheckRun,
}

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
struct Context<'a> {
    app: &'a App,
    caller: &'a Caller,
    head: &'a Parts,
    /// Empty where the route takes none.
    body: &'a [u8],
    links: &'a Links,
}

macro_rules! route {
    ($name:literal, $method:literal $path:literal, $scope:ident, $kind:ident, $handler:path) => {
        Route {
            name: $name,
            method: $method,
            path: concat!("/api/v1", $path),
            work: Work::Authorized {
                scope: Scope::$scope,
                kind: Kind::$kind,
                handler: |context| Box::pin($handler(context)),
            },
        }
    };
}

impl Route {
    /// Whether the route looks into the table: all do that know their callers.
    pub const fn reads_table(&self) -> bool {
        matches!(self.work, Work::Authorized { .. })
    }

    /// The scope that a token must have.
    pub const fn scope(&self) -> Option<Scope> {
        match self.work {
            Work::Authorized { scope, .. } => Some(scope),
            Work::Refuse(_) => None,
        }
    }

    /// Whether a request may say something in its body; any other's is not read.
    pub fn takes_body(&self) -> bool {
        matches!(self.method, "PATCH" | "POST")
    }
}

/// All routes, in the order of the specification.
pub const ROUTES: &[Route] = &[
    route!("me.get", "GET" "/me", TeamsRead, Default, me::get::handle),
    route!("teams.list", "GET" "/teams", TeamsRead, Default, teams::list::handle),
    route!("teams.get", "GET" "/teams/{team}", TeamsRead, Default, teams::get::handle),
    route!("monitoring.get", "GET" "/teams/{team}/monitoring", TeamsRead, Default, monitoring::get::handle),
    route!("monitoring.update", "PATCH" "/teams/{team}/monitoring", TeamsWrite, Default, monitoring::update::handle),
    route!("sites.list", "GET" "/teams/{team}/sites", SitesRead, Default, sites::list::handle),
    route!("sites.create", "POST" "/teams/{team}/sites", SitesWrite, Default, sites::create::handle),
    route!("sites.bulk", "POST" "/teams/{team}/sites/bulk", SitesWrite, Default, sites::bulk::handle),
    route!("sites.get", "GET" "/sites/{site}", SitesRead, Default, sites::get::handle),
    route!("sites.update", "PATCH" "/sites/{site}", SitesWrite, Default, sites::update::handle),
    route!("sites.delete", "DELETE" "/sites/{site}", SitesDelete, Default, sites::delete::handle),
    route!("checks.list", "GET" "/sites/{site}/checks", ChecksRead, Default, checks::list::handle),
    route!("checks.create", "POST" "/sites/{site}/checks", ChecksRun, CheckRun, checks::create::handle),
    route!("checks.get", "GET" "/checks/{check}", ChecksRead, Default, checks::get::handle),
    route!("checks.delete", "DELETE" "/checks/{check}", ChecksDelete, Default, checks::delete::handle),
    route!("reports.uptime", "GET" "/sites/{site}/reports/uptime", SitesRead, Default, reports::uptime::handle),
    route!("reports.performance", "GET" "/sites/{site}/reports/performance", SitesRead, Default, reports::performance::handle),
    route!("issues.list", "GET" "/issues", IssuesRead, Default, issues::list::handle),
    route!("issues.get", "GET" "/issues/{issue}", IssuesRead, Default, issues::get::handle),
];

/// The `$default` route: unknown paths and methods.
pub const FALLBACK: Route = Route {
    name: "fallback",
    method: "ANY",
    path: "$default",
    work: Work::Refuse(fallback::refuse),
};

/// The route with this name.
pub fn route(name: &str) -> Option<&'static Route> {
    const DEFAULT: &Route = &FALLBACK;
    ROUTES.iter().chain([DEFAULT]).find(|route| route.name == name)
}

/// Serves a request that is there as a whole.
pub async fn answer(app: &App, route: &Route, request: Request) -> Response {
    let (head, body) = request.into_parts();
    serve(app, route, &head, |_| ready(Ok(body))).await
}

/// Serves a request whose body is asked for when its sender is let in, and not before. Refusals are
/// answers, and so are faults, which are logged.
pub async fn serve<F>(
    app: &App,
    route: &Route,
    head: &Parts,
    body: impl FnOnce(UserId) -> F + Send,
) -> Response
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let (outcome, rate) = match &route.work {
        Work::Refuse(refuse) => (Err(refuse(head)), None),
        Work::Authorized { scope, kind, handler } => {
            let throttle = match kind {
                Kind::Default => Throttle::PerToken(app.service.throttle),
                Kind::CheckRun => Throttle::CheckRuns(app.service.throttle),
            };
            let now = app.clock.now();
            match access::admit(&app.store, &head.headers, *scope, throttle, now).await {
                Err((refusal, rate)) => (Err(refusal), rate),
                Ok((caller, rate)) => {
                    (work(app, route, head, body, &caller, *handler).await, Some(rate))
                }
            }
        }
    };
    let response = outcome.unwrap_or_else(|refusal| {
        if refusal.is_fault() {
            error!(route = route.name, %refusal, "request failed");
        }
        refusal.into_response()
    });
    let mut response = present(response, head).await;
    if let Some(rate) = rate {
        rate.write(response.headers_mut());
    }
    response
}

/// Above this, in bytes, an answer is hashed and compressed on a thread for such work: on the
/// runtime's, everybody else would wait for it, and checks would take the wait for their sites'.
const BRIEF_MAX: usize = 64 * 1024;

/// The answer in the form that suits the client.
async fn present(response: Response, head: &Parts) -> Response {
    if response.body().len() <= BRIEF_MAX {
        return negotiate(response, &head.method, &head.headers);
    }
    let (method, asked) = (head.method.clone(), head.headers.clone());
    let presented = spawn_blocking(move || negotiate(response, &method, &asked)).await;
    presented.unwrap_or_else(|fault| {
        error!(%fault, "an answer could not be written");
        ApiError::internal(fault).into_response()
    })
}

/// What there is to do for a caller who is let in.
async fn work<F>(
    app: &App,
    route: &Route,
    head: &Parts,
    body: impl FnOnce(UserId) -> F + Send,
    caller: &Caller,
    handler: Handler,
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let sent = if route.takes_body() { body(caller.user.id).await? } else { Body::Empty };
    let body = body::decode(&head.headers, &sent)?;
    let links = links(app, head);
    handler(Context { app, caller, head, body: &body, links: &links }).await
}

/// Links under the configured base address, or under the host that the client asked.
fn links(app: &App, head: &Parts) -> Links {
    if let Some(base_url) = &app.service.base_url {
        return Links::new(base_url.as_str());
    }
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let host = header(HOST.as_str()).unwrap_or("localhost");
    let scheme = header("x-forwarded-proto").unwrap_or("http");
    Links::new(format!("{scheme}://{host}/api/v1"))
}

impl<'a> Context<'a> {
    /// A path parameter as a UUID in its hyphenated form.
    fn id<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, ApiError> {
        let parameters = self.head.path_parameters();
        parameters.first(name).and_then(parse).ok_or(ApiError::NotFound)
    }

    /// The query parameters.
    fn query(&self) -> Query {
        Query::parse(self.head.uri.query())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use lambda_http::http::StatusCode;
    use vedette_http::response::json;

    use super::*;

    #[tokio::test]
    async fn the_runtime_does_not_wait_for_a_long_answer_to_be_written() {
        let (head, ()) = lambda_http::http::Request::new(()).into_parts();
        let answer = |length| json(StatusCode::OK, &"x".repeat(length));
        let long = present(answer(BRIEF_MAX), &head);
        futures::pin_mut!(long);
        assert!(long.as_mut().now_or_never().is_none(), "written in place");
        let (long, short) = (long.await, present(answer(1), &head).now_or_never());
        for (response, length) in [(long, BRIEF_MAX), (short.expect("written in place"), 1)] {
            assert_eq!(response.body().len(), length + 2);
            assert!(response.headers().contains_key("etag"));
        }
    }
}
