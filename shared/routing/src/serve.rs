//! The dispatcher.

use lambda_http::Body;
use lambda_http::http::request::Parts;
use tracing::Instrument as _;
use vedette_http::body::{self, BodySender};
use vedette_http::error::ApiError;
use vedette_http::request_id::RequestId;
use vedette_http::response::Response;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use crate::{Authenticated, HandlerOutcome, Request, Route, RouteMatch, Surface};

/// Serves a request to a route. `body` reads what was sent, within its sender's limit, and is called only after the
/// sender is authenticated. Refusals and faults become responses, and faults are logged.
pub async fn serve<S, F>(
    surface: &S,
    app: &App,
    RouteMatch { route, parameters }: RouteMatch<'_, S>,
    head: &Parts,
    body: impl FnOnce(BodySender) -> F + Send,
) -> Response
where
    S: Surface,
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let request = Request { app, head, parameters: &parameters };
    let answer = answer(surface, route, request, body);
    let mut response = answer.instrument(S::span(route, request)).await;
    if let Some(id) = RequestId::of(&head.extensions) {
        id.add_to_fault(&mut response);
    }
    response
}

async fn answer<S, F>(
    surface: &S,
    route: &Route<S>,
    request: Request<'_>,
    body: impl FnOnce(BodySender) -> F + Send,
) -> Response
where
    S: Surface,
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let Authenticated { client, rate } = surface.authenticate(route, request).await;
    let response = match client {
        Ok(client) => {
            let outcome = handle(surface, route, request, &client, body).await;
            outcome.unwrap_or_else(|refusal| surface.refuse(request, Some(&client), refusal))
        }
        Err(refusal) => surface.refuse(request, None, refusal),
    };
    let mut response = surface.present(request, response).await;
    if let Some(rate) = rate {
        rate.write(response.headers_mut());
    }
    response
}

/// Handles the request of an authenticated client. If a handler's write meets a conflict, the handler is called again
/// with the resource reloaded.
async fn handle<S, F>(
    surface: &S,
    route: &Route<S>,
    request: Request<'_>,
    client: &S::Client,
    body: impl FnOnce(BodySender) -> F + Send,
) -> HandlerOutcome
where
    S: Surface,
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let sender =
        S::caller(client).map_or(BodySender::Stranger, |caller| BodySender::User(caller.user.id));
    let sent = if S::takes_body(route) { body(sender).await? } else { Body::Empty };
    let body = body::decode(&request.head.headers, &sent, sender)?;
    let context = surface.context(request, client, &body);
    retry_on_conflict(budget::WRITE, || route.endpoint.handle(request, client, context)).await
}
