//! The API as a surface of the service: its clients, and how it answers them.

use lambda_http::http::header::HOST;
use lambda_http::http::request::Parts;
use tracing::{Span, error, error_span};
use uuid::Uuid;
use vedette_domain::accounts::account::{Scope, Token};
use vedette_http::access::{self, Authentication, Caller, Throttle};
use vedette_http::error::ApiError;
use vedette_http::path::PathParameters;
use vedette_http::query::Query;
use vedette_http::request_id::RequestId;
use vedette_http::resource::Links;
use vedette_http::response::{self, Caching, Response};
use vedette_ops::ErrorChain;
use vedette_routing::{Authenticated, Request, Surface};
use vedette_runtime::App;
use vedette_store::Grant;

use crate::grants::EVERY_ROUTE;
use crate::operator::Operator;

/// The API, and who calls it.
#[derive(Debug, Clone, Copy)]
pub enum Api {
    /// Clients with tokens.
    Public,
    /// The operator of the service, who needs no token and has no limits.
    Operator(Operator),
}

/// A route of the API.
pub type Route = vedette_routing::Route<Api>;

/// What a route of the API works on.
pub(crate) type Endpoint = vedette_routing::Endpoint<Api>;

/// The audience of a route.
#[derive(Debug, Clone, Copy)]
pub enum ApiAudience {
    /// A client whose token has the scope.
    Token(Scope),
    /// Nobody: every client gets this refusal.
    Nobody(fn(&Parts) -> ApiError),
}

impl ApiAudience {
    /// The scope that a token must have.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::Token(scope) => Some(scope),
            Self::Nobody(_) => None,
        }
    }
}

/// What a route may do with the table.
pub fn grants_of(route: &Route) -> [&'static Grant; 2] {
    match route.audience {
        ApiAudience::Token(_) => [&EVERY_ROUTE, route.function],
        ApiAudience::Nobody(_) => [&Grant::NONE; 2],
    }
}

/// A client with a valid token, or the operator.
#[derive(Debug)]
pub struct Client {
    caller: Caller,
    /// `None` for the operator.
    token: Option<Token>,
    links: Links,
}

/// What a handler works with in addition to its resource.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub(crate) app: &'a App,
    pub(crate) caller: &'a Caller,
    /// The caller's token; `None` for the operator.
    pub(crate) token: Option<&'a Token>,
    /// The values in the path.
    pub(crate) parameters: &'a PathParameters,
    pub(crate) head: &'a Parts,
    /// Empty if the route takes no body.
    pub(crate) body: &'a [u8],
    pub(crate) links: &'a Links,
}

impl Context<'_> {
    /// The query parameters.
    pub(crate) fn query(&self) -> Query {
        Query::parse(self.head.uri.query())
    }

    /// The base address of links to pages: the service's own, or else that of the request.
    pub(crate) fn pages(&self) -> &str {
        self.app.service.pages_base().unwrap_or_else(|| self.links.pages())
    }

    /// The address below which jobs ping.
    pub(crate) fn pings(&self) -> String {
        format!("{}/ping", self.app.service.pings_base().unwrap_or_else(|| self.links.pages()))
    }
}

impl Surface for Api {
    type Audience = ApiAudience;
    /// What the function of the route may write. Each route has a function of its own.
    type Function = &'static Grant;
    type Client = Client;
    type Context<'a> = Context<'a>;

    /// Its level is the highest, so that a filter that lets an error through also lets this through.
    fn span(route: &Route, request: Request<'_>) -> Span {
        let uuid = |name| Uuid::try_parse(request.parameters.value(name)).ok();
        error_span!(
            "request",
            route = route.name,
            request_id = RequestId::of(&request.head.extensions).map(display),
            team = uuid("team").map(display),
            site = uuid("site").map(display),
            check = uuid("check").map(display),
            issue = uuid("issue").map(display),
        )
    }

    fn takes_body(route: &Route) -> bool {
        matches!(route.method, "PATCH" | "POST" | "PUT")
    }

    async fn authenticate(&self, route: &Route, request: Request<'_>) -> Authenticated<Client> {
        let Request { app, head, .. } = request;
        let scope = match route.audience {
            ApiAudience::Token(scope) => scope,
            ApiAudience::Nobody(refusal) => {
                return Authenticated { client: Err(refusal(head)), rate: None };
            }
        };
        if let Self::Operator(operator) = self {
            let caller = operator.caller(request).await;
            let links = links(request);
            let client = caller.map(|caller| Client { caller, token: None, links });
            return Authenticated { client, rate: None };
        }
        let per_token = app.service.throttle;
        let throttle = match scope {
            Scope::ChecksRun => Throttle::CheckRuns(per_token),
            _ => Throttle::PerToken(per_token),
        };
        let now = app.clock.now();
        match access::authenticate(&app.store, &head.headers, scope, throttle, now).await {
            Ok(Authentication { caller, token, rate }) => {
                let client = Client { caller, token: Some(token), links: links(request) };
                Authenticated { client: Ok(client), rate: Some(rate) }
            }
            Err((refusal, rate)) => Authenticated { client: Err(refusal), rate },
        }
    }

    fn caller(client: &Client) -> Option<&Caller> {
        Some(&client.caller)
    }

    fn context<'a>(
        &'a self,
        Request { app, head, parameters }: Request<'a>,
        Client { caller, token, links }: &'a Client,
        body: &'a [u8],
    ) -> Context<'a> {
        Context { app, caller, token: token.as_ref(), parameters, head, body, links }
    }

    fn refuse(&self, _: Request<'_>, _: Option<&Client>, refusal: ApiError) -> Response {
        if refusal.is_fault() {
            error!(error = %ErrorChain(&refusal), "request failed");
        }
        refusal.into_response()
    }

    async fn present(&self, request: Request<'_>, response: Response) -> Response {
        present(response, request.head).await
    }
}

/// Links below the configured base URL, or else below the host of the request.
fn links(Request { app, head, .. }: Request<'_>) -> Links {
    if let Some(base_url) = &app.service.base_url {
        return Links::new(base_url.as_str());
    }
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let host = header(HOST.as_str()).unwrap_or("localhost");
    let scheme = header("x-forwarded-proto").unwrap_or("http");
    Links::new(format!("{scheme}://{host}/api/v1"))
}

/// The response in the form that the client prefers.
async fn present(response: Response, head: &Parts) -> Response {
    response::present(response, head, Caching::PRIVATE).await.unwrap_or_else(|fault| {
        error!(%fault, "could not write a response");
        ApiError::internal(fault).into_response()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::FutureExt as _;
    use lambda_http::http::StatusCode;
    use tokio::runtime::Builder;
    use tokio::task::spawn_blocking;
    use vedette_http::response::{BRIEF_MAX, json};

    use super::*;

    #[test]
    fn the_runtime_does_not_wait_for_a_long_answer_to_be_written() {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).build();
        runtime.expect("a runtime").block_on(async {
            let (head, ()) = lambda_http::http::Request::new(()).into_parts();
            let answer = |length| json(StatusCode::OK, &"x".repeat(length));
            // The only thread that writes long responses is busy.
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
