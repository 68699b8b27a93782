//! Every HTTP route of the API.
//!
//! [`ROUTES`] is the table of routes. Each file `src/<resource>/<verb>.rs` contains one route: request, handler,
//! response. A Lambda function serves one route; on one machine, the process serves all of them. [`answer_ping`] serves
//! the addresses that jobs ping.

mod audit_log;
mod channels;
mod checks;
mod configuration;
mod events;
mod expectations;
mod grants;
mod heartbeats;
mod incidents;
mod invitations;
mod issues;
mod maintenance_calendar;
mod maintenance_windows;
mod me;
mod members;
mod metrics;
mod monitoring;
mod operator;
mod outages;
mod ping_key;
mod pings;
mod reports;
mod router;
mod routes;
mod site_groups;
mod sites;
mod status_pages;
mod surface;
mod team_reports;
mod teams;
mod time_zone;
mod tokens;
mod user_time_zone;

use std::future::ready;
use std::time::Duration;

use lambda_http::{Body, Request, RequestExt as _};
use tokio::time::timeout;
use tracing::error;
use tracing::field::display;
use vedette_http::error::ApiError;
use vedette_http::request_id::RequestId;
use vedette_http::response::Response;
use vedette_routing::{RouteMatch, serve};
use vedette_runtime::App;

use self::surface::Context;

pub use grants::{EVERY_ROUTE, PING};
pub use operator::Operator;
pub use pings::{BELOW_PING, PING_FUNCTION, answer_ping};
pub use reports::performance::DAYS_DEFAULT as PERFORMANCE_DAYS;
pub use reports::uptime::DAYS_DEFAULT as UPTIME_DAYS;
pub use router::{FALLBACK, dispatch, named};
pub use routes::ROUTES;
pub use sites::site_sorts;
pub use surface::{Api, ApiAudience, Route, grants_of};
pub use vedette_http::body::BODY_MAX;

/// Serves a request that has arrived completely, with the values in its path as read by API Gateway.
pub async fn answer(app: &App, route: &Route, request: Request) -> Response {
    let parameters = request.path_parameters();
    let parameters = parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let found = RouteMatch { route, parameters: parameters.collect() };
    let (head, body) = request.into_parts();
    serve(&Api::Public, app, found, &head, |_| ready(Ok(body))).await
}

/// Serves a request of the operator. The audit log names the operator.
pub async fn answer_operator(
    app: &App,
    operator: Operator,
    request: lambda_http::http::Request<Vec<u8>>,
) -> Response {
    let (head, body) = request.into_parts();
    let (found, head) = dispatch(head);
    serve(&Api::Operator(operator), app, found, &head, |_| ready(Ok(Body::from(body)))).await
}

/// The time that is left of an invocation to report that its time is over.
const MARGIN: Duration = Duration::from_millis(500);

/// Like [`answer`], but says so if the invocation is about to end before there is an answer.
pub async fn answer_within(app: &App, route: &Route, request: Request, left: Duration) -> Response {
    let id = RequestId::of(request.extensions());
    let answer = timeout(left.saturating_sub(MARGIN), answer(app, route, request));
    answer.await.unwrap_or_else(|_| {
        let request_id = id.as_ref().map(display);
        error!(route = route.name, request_id, "the invocation ran out of time");
        let mut response = ApiError::Unavailable("no time is left").into_response();
        if let Some(id) = id {
            id.add_to_fault(&mut response);
        }
        response
    })
}
