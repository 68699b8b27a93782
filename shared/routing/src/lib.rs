//! One model for routes and one dispatcher, for the API and for the dashboard.
//!
//! A [`Route`] is a row of a table. It has the requests that it is for, its audience, the resource and the permission
//! that it needs (its [`Endpoint`]), and the Lambda function that serves it, with its grant. [`serve`] takes the same
//! steps for every route: authenticate, read the body, load the resource, authorize, call the handler, and call it
//! again after a conflict.
//!
//! A [`Surface`] is a set of routes with its own way to authenticate its clients and to show refusals: the API
//! (`vedette_api`) with tokens and JSON, the dashboard (`vedette_dashboard`) with sessions and HTML, and the public
//! status pages (in `vedette_dashboard`, too), whose readers are unknown.

use std::fmt::Debug;

use lambda_http::http::Method;
use lambda_http::http::request::Parts;
use tracing::Span;
use vedette_domain::accounts::account::Permission;
use vedette_http::access::{Caller, Rate};
use vedette_http::error::ApiError;
use vedette_http::path::PathParameters;
use vedette_http::response::Response;
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

mod endpoint;
mod handler;
mod resource;
mod serve;

pub use endpoint::Endpoint;
pub use handler::{AsyncFunction, Handler, HandlerOutcome};
pub use resource::{
    ChannelAccess, HeartbeatAccess, IncidentAccess, InvitationAccess, MemberAccess,
    StatusPageAccess, TeamsAccess, WindowAccess,
};
pub use serve::serve;

/// A route.
#[derive(Debug)]
pub struct Route<S: Surface> {
    /// Its name, `<resource>.<verb>`, in lowercase with hyphens.
    pub name: &'static str,
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    /// Its audience.
    pub audience: S::Audience,
    /// The resource, the permission that it needs, and the handler.
    pub endpoint: Endpoint<S>,
    /// The Lambda function that serves it, with its grant.
    pub function: S::Function,
}

impl<S: Surface> Route<S> {
    /// The permission that the caller needs in the team that the resource belongs to.
    pub const fn permission(&self) -> Option<Permission> {
        self.endpoint.permission()
    }
}

/// The route that a request is for, with the values in its path.
#[derive(Debug)]
pub struct RouteMatch<'t, S: Surface> {
    /// The row of a table.
    pub route: &'t Route<S>,
    /// The values of its `{parameters}`.
    pub parameters: PathParameters,
}

/// The row of a table that a request is for, by its method and path.
pub fn find<'t, S: Surface>(table: &'t [Route<S>], head: &Parts) -> Option<RouteMatch<'t, S>> {
    find_as(table, &head.method, head)
}

/// Like [`find`], but HEAD finds the row for GET. The handler still returns a body, because the server needs its
/// length.
pub fn find_with_head<'t, S: Surface>(
    table: &'t [Route<S>],
    head: &Parts,
) -> Option<RouteMatch<'t, S>> {
    let method = if head.method == Method::HEAD { &Method::GET } else { &head.method };
    find_as(table, method, head)
}

fn find_as<'t, S: Surface>(
    table: &'t [Route<S>],
    method: &Method,
    head: &Parts,
) -> Option<RouteMatch<'t, S>> {
    let path = head.uri.path();
    let mut routes = table.iter().filter(|route| route.method == method.as_str());
    routes.find_map(|route| {
        let parameters = PathParameters::read(route.path, path)?;
        Some(RouteMatch { route, parameters })
    })
}

/// A set of routes, with its own way to authenticate clients and to answer them.
pub trait Surface: Sized + Send + Sync + 'static {
    /// The audience of a route.
    type Audience: Debug + Copy + Send + Sync + 'static;
    /// The Lambda function of a route, with its grant.
    type Function: Debug + Copy + Send + Sync + 'static;
    /// The client, once it is authenticated.
    type Client: Send + Sync;
    /// What a handler works with in addition to its resource.
    type Context<'a>: Copy + Send + Sync
    where
        Self: 'a;

    /// The span of a request in the log, around each event.
    fn span(route: &Route<Self>, request: Request<'_>) -> Span;

    /// Whether the body of a request is read.
    fn takes_body(route: &Route<Self>) -> bool;

    /// Authenticates the client, or refuses the request before its body is read.
    fn authenticate(
        &self,
        route: &Route<Self>,
        request: Request<'_>,
    ) -> impl Future<Output = Authenticated<Self::Client>> + Send;

    /// The user behind a client, if they are known.
    fn caller(client: &Self::Client) -> Option<&Caller>;

    /// The team that a route shows, if it was read together with the client.
    fn team(_client: &Self::Client) -> Option<&TeamWithSettings> {
        None
    }

    /// What the handler works with.
    fn context<'a>(
        &'a self,
        request: Request<'a>,
        client: &'a Self::Client,
        body: &'a [u8],
    ) -> Self::Context<'a>;

    /// The answer to a request that is refused or has failed. A failure is logged.
    fn refuse(
        &self,
        request: Request<'_>,
        client: Option<&Self::Client>,
        refusal: ApiError,
    ) -> Response;

    /// A response in the form that the client prefers.
    fn present(
        &self,
        request: Request<'_>,
        response: Response,
    ) -> impl Future<Output = Response> + Send;
}

/// The client or the refusal, and the usage of this minute's requests, if clients see it.
#[derive(Debug)]
pub struct Authenticated<C> {
    /// The client.
    pub client: Result<C, ApiError>,
    /// The usage of this minute's requests.
    pub rate: Option<Rate>,
}

/// A request, without its body.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The service.
    pub app: &'a App,
    /// Method, URL and headers.
    pub head: &'a Parts,
    /// The values in the path.
    pub parameters: &'a PathParameters,
}
