//! Every HTTP route of the API.
//!
//! [`ROUTES`] is the table of routes; `src/<resource>/<verb>.rs` holds one of them whole: request,
//! handler, response. A Lambda function serves one route, one machine's process all of them.

mod checks;
mod grants;
mod issues;
mod me;
mod monitoring;
mod reports;
mod route;
mod router;
mod sites;
mod teams;

use std::future::ready;
use std::time::Duration;

use lambda_http::http::header::HOST;
use lambda_http::http::request::Parts;
use lambda_http::{Body, Request, RequestExt as _};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::field::display;
use tracing::{Instrument as _, Span, error, error_span};
use uuid::Uuid;
use vedette_domain::ErrorChain;
use vedette_domain::accounts::account::{Permission, Scope};
use vedette_http::access::{self, Caller};
use vedette_http::body::{self, Sender};
use vedette_http::error::ApiError;
use vedette_http::request_id::RequestId;
use vedette_http::resource::Links;
use vedette_http::response::{Response, negotiate};
use vedette_runtime::App;
use vedette_store::{Grant, budget, retry_on_conflict};

use self::route::{Context, Handler, Work, route};

pub use grants::EVERY_ROUTE;
pub use reports::performance::DAYS_DEFAULT as PERFORMANCE_DAYS;
pub use reports::uptime::DAYS_DEFAULT as UPTIME_DAYS;
pub use route::Route;
pub use router::{FALLBACK, dispatch, named};
pub use sites::site_sorts;
pub use vedette_http::body::BODY_MAX;

/// All routes, in the order of the specification: name, method and path, the scope of the token,
/// what the route works on with the permission that it takes there, the handler, and what that may
/// write.
pub const ROUTES: &[Route] = &[
    route!("me.get", "GET" "/me", TeamsRead, Caller, me::get::handle),
    route!("teams.list", "GET" "/teams", TeamsRead, Caller, teams::list::handle),
    route!("teams.get", "GET" "/teams/{team}", TeamsRead, Team(View), teams::get::handle),
    route!("monitoring.get", "GET" "/teams/{team}/monitoring", TeamsRead, Team(View), monitoring::get::handle),
    route!("monitoring.update", "PATCH" "/teams/{team}/monitoring", TeamsWrite, Team(UpdateMonitoring), monitoring::update::handle, SAVE_MONITORING),
    route!("sites.list", "GET" "/teams/{team}/sites", SitesRead, Team(View), sites::list::handle),
    route!("sites.create", "POST" "/teams/{team}/sites", SitesWrite, Team(ManageSites), sites::create::handle, CREATE_SITE),
    route!("sites.bulk", "POST" "/teams/{team}/sites/bulk", SitesWrite, Team(ManageSites), sites::bulk::handle, CREATE_SITE),
    route!("sites.get", "GET" "/sites/{site}", SitesRead, Site(View), sites::get::handle),
    route!("sites.update", "PATCH" "/sites/{site}", SitesWrite, Site(ManageSites), sites::update::handle, UPDATE_SITE),
    route!("sites.delete", "DELETE" "/sites/{site}", SitesDelete, Site(ManageSites), sites::delete::handle, DELETE_SITE),
    route!("checks.list", "GET" "/sites/{site}/checks", ChecksRead, Site(View), checks::list::handle),
    route!("checks.create", "POST" "/sites/{site}/checks", ChecksRun, Site(RunChecks), checks::create::handle, ORDER_CHECKS),
    route!("checks.get", "GET" "/checks/{check}", ChecksRead, Check(View), checks::get::handle),
    route!("checks.delete", "DELETE" "/checks/{check}", ChecksDelete, Check(RunChecks), checks::delete::handle, DELETE_CHECK),
    route!("reports.uptime", "GET" "/sites/{site}/reports/uptime", SitesRead, Site(View), reports::uptime::handle),
    route!("reports.performance", "GET" "/sites/{site}/reports/performance", SitesRead, Site(View), reports::performance::handle),
    route!("issues.list", "GET" "/issues", IssuesRead, Teams(View), issues::list::handle),
    route!("issues.get", "GET" "/issues/{issue}", IssuesRead, Issue(View), issues::get::handle),
];

/// Serves a request that is there as a whole.
pub async fn answer(app: &App, route: &Route, request: Request) -> Response {
    let (head, body) = request.into_parts();
    serve(app, route, &head, |_| ready(Ok(body))).await
}

/// What is left of an invocation for saying that its time is over.
const MARGIN: Duration = Duration::from_millis(500);

/// As [`answer`], and says so if the invocation is about to end before there is an answer.
pub async fn answer_within(app: &App, route: &Route, request: Request, left: Duration) -> Response {
    let id = RequestId::of(request.extensions());
    let answer = timeout(left.saturating_sub(MARGIN), answer(app, route, request));
    answer.await.unwrap_or_else(|_| {
        let request_id = id.as_ref().map(display);
        error!(route = route.name, request_id, "the invocation's time is over");
        let mut response = ApiError::Unavailable("no time is left").into_response();
        if let Some(id) = id {
            id.add_to_fault(&mut response);
        }
        response
    })
}

/// Serves a request, whose body is read only once its sender is authenticated. Refusals are
/// answers, and so are faults, which are logged.
pub async fn serve<F>(
    app: &App,
    route: &Route,
    head: &Parts,
    body: impl FnOnce(Sender) -> F + Send,
) -> Response
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let id = RequestId::of(&head.extensions);
    let mut response = outcome(app, route, head, body).instrument(span(route, head, &id)).await;
    if let Some(id) = id {
        id.add_to_fault(&mut response);
    }
    response
}

/// What the log says of a request beside each event. Its level is the highest, so that a filter which
/// lets an error pass lets this pass, too.
fn span(route: &Route, head: &Parts, id: &Option<RequestId>) -> Span {
    let parameters = head.path_parameters();
    let uuid = |name| parameters.first(name).and_then(|text| Uuid::try_parse(text).ok());
    error_span!(
        "request",
        route = route.name,
        request_id = id.as_ref().map(display),
        team = uuid("team").map(display),
        site = uuid("site").map(display),
        check = uuid("check").map(display),
        issue = uuid("issue").map(display),
    )
}

async fn outcome<F>(
    app: &App,
    route: &Route,
    head: &Parts,
    body: impl FnOnce(Sender) -> F + Send,
) -> Response
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let (outcome, rate) = match &route.work {
        Work::Refuse(refuse) => (Err(refuse(head)), None),
        Work::Authorized { scope, handler } => {
            let (throttle, now) = (route.throttle(app.service.throttle), app.clock.now());
            match access::authenticate(&app.store, &head.headers, *scope, throttle, now).await {
                Err((refusal, rate)) => (Err(refusal), rate),
                Ok((caller, rate)) => {
                    (work(app, route, head, body, &caller, handler).await, Some(rate))
                }
            }
        }
    };
    let response = outcome.unwrap_or_else(|refusal| {
        if refusal.is_fault() {
            error!(error = %ErrorChain(&refusal), "request failed");
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

/// Handles the request of an authenticated caller. A handler whose write meets a conflict is called
/// again, with the resource reloaded.
async fn work<F>(
    app: &App,
    route: &Route,
    head: &Parts,
    body: impl FnOnce(Sender) -> F + Send,
    caller: &Caller,
    handler: &Handler,
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let sender = Sender::User(caller.user.id);
    let sent = if route.takes_body() { body(sender).await? } else { Body::Empty };
    let body = body::decode(&head.headers, &sent, sender)?;
    let links = links(app, head);
    let context = Context { app, caller, head, body: &body, links: &links };
    retry_on_conflict(budget::WRITE, || handler.call(context)).await
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::FutureExt as _;
    use lambda_http::http::StatusCode;
    use tokio::runtime::Builder;
    use vedette_http::response::json;

    use super::*;

    #[test]
    fn the_runtime_does_not_wait_for_a_long_answer_to_be_written() {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).build();
        runtime.expect("a runtime").block_on(async {
            let (head, ()) = lambda_http::http::Request::new(()).into_parts();
            let answer = |length| json(StatusCode::OK, &"x".repeat(length));
            // The only thread that long answers are written on is busy.
            let (release, released) = mpsc::channel::<()>();
            let busy = spawn_blocking(move || released.recv());
            let long = present(answer(BRIEF_MAX), &head);
            futures::pin_mut!(long);
            assert!(long.as_mut().now_or_never().is_none(), "written in place");
            let short = present(answer(1), &head).now_or_never().expect("written in place");
            release.send(()).expect("it waits");
            busy.await.expect("no panic").expect("released");
            for (response, length) in [(long.await, BRIEF_MAX), (short, 1)] {
                assert_eq!(response.body().len(), length + 2);
                assert!(response.headers().contains_key("etag"));
            }
        });
    }
}
