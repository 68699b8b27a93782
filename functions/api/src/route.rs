//! What a row of the route table says, and how its handler gets what it works on.

use futures::future::BoxFuture;
use lambda_http::RequestExt as _;
use lambda_http::http::request::Parts;
use vedette_domain::accounts::account::{Permission, Scope};
use vedette_domain::id::{CheckId, IssueId, SiteId, TeamId};
use vedette_http::access::{Caller, CheckAccess, IssueAccess, SiteAccess, Throttle};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::resource::Links;
use vedette_http::response::Response;
use vedette_runtime::App;
use vedette_store::{Grant, TeamWithSettings};

use crate::grants;

/// One route.
#[derive(Debug)]
pub struct Route {
    /// Its name: the `Handler` of its Lambda function, `<resource>.<verb>` of its file.
    pub name: &'static str,
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    pub(crate) work: Work,
    /// What its handler may do with the table beside what every route does.
    pub(crate) writes: &'static Grant,
}

#[derive(Debug)]
pub(crate) enum Work {
    /// For a caller whose token has the scope.
    Authorized { scope: Scope, handler: Handler },
    /// The same refusal for everybody.
    Refuse(fn(&Parts) -> ApiError),
}

/// A handler by what it works on. The resource that the path names is loaded, and the caller
/// authorized for it, before the handler is called.
#[derive(Debug)]
pub(crate) enum Handler {
    /// The caller alone.
    Caller(for<'a> fn(Context<'a>) -> Outcome<'a>),
    /// The caller's teams, as far as the query narrows them down; the handler authorizes.
    Teams(Permission, for<'a> fn(Context<'a>) -> Outcome<'a>),
    /// `{team}`.
    Team(Permission, for<'a> fn(Context<'a>, TeamWithSettings) -> Outcome<'a>),
    /// `{site}`.
    Site(Permission, for<'a> fn(Context<'a>, SiteAccess) -> Outcome<'a>),
    /// `{check}`.
    Check(Permission, for<'a> fn(Context<'a>, CheckAccess) -> Outcome<'a>),
    /// `{issue}`.
    Issue(Permission, for<'a> fn(Context<'a>, IssueAccess) -> Outcome<'a>),
}

/// What a handler returns.
pub(crate) type Outcome<'a> = BoxFuture<'a, Result<Response, ApiError>>;

/// What a handler works with beside its resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) app: &'a App,
    pub(crate) caller: &'a Caller,
    pub(crate) head: &'a Parts,
    /// Empty if the route takes none.
    pub(crate) body: &'a [u8],
    pub(crate) links: &'a Links,
}

/// A row of the table.
macro_rules! route {
    (@handler Caller, $handler:path) => {
        Handler::Caller(|context| Box::pin($handler(context)))
    };
    (@handler Teams($permission:ident), $handler:path) => {
        Handler::Teams(Permission::$permission, |context| Box::pin($handler(context)))
    };
    (@handler $resource:ident($permission:ident), $handler:path) => {
        Handler::$resource(Permission::$permission, |context, resource| {
            Box::pin($handler(context, resource))
        })
    };
    ($name:literal, $method:literal $path:literal, $scope:ident, $resource:ident$(($permission:ident))?, $handler:path $(, $writes:ident)?) => {
        Route {
            name: $name,
            method: $method,
            path: concat!("/api/v1", $path),
            work: Work::Authorized {
                scope: Scope::$scope,
                handler: route!(@handler $resource$(($permission))?, $handler),
            },
            writes: route!(@writes $($writes)?),
        }
    };
    (@writes) => { &Grant::NONE };
    (@writes $writes:ident) => { &grants::$writes };
}
pub(crate) use route;

impl Route {
    /// Whether the route reads the table: all do that know their callers.
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

    /// What the route may do with the table.
    pub fn grants(&self) -> [&'static Grant; 2] {
        if self.reads_table() { [&grants::EVERY_ROUTE, self.writes] } else { [&Grant::NONE; 2] }
    }

    /// What the caller's role must grant in the team that the resource belongs to.
    pub const fn permission(&self) -> Option<Permission> {
        let Work::Authorized { handler, .. } = &self.work else { return None };
        match handler {
            Handler::Caller(_) => None,
            Handler::Teams(permission, _)
            | Handler::Team(permission, _)
            | Handler::Site(permission, _)
            | Handler::Check(permission, _)
            | Handler::Issue(permission, _) => Some(*permission),
        }
    }

    /// Whether a request may say something in its body; any other's is not read.
    pub fn takes_body(&self) -> bool {
        matches!(self.method, "PATCH" | "POST")
    }

    /// The throttle that the route is under.
    pub(crate) fn throttle(&self, per_token: u32) -> Throttle {
        match self.scope() {
            Some(Scope::ChecksRun) => Throttle::CheckRuns(per_token),
            _ => Throttle::PerToken(per_token),
        }
    }
}

impl Handler {
    /// Loads what the path names, authorizes the caller, and handles the request.
    pub(crate) async fn call(&self, context: Context<'_>) -> Result<Response, ApiError> {
        let (store, caller) = (&context.app.store, context.caller);
        match self {
            Self::Caller(handle) | Self::Teams(_, handle) => handle(context).await,
            Self::Team(permission, handle) => {
                let id = context.id("team", TeamId::parse)?;
                handle(context, caller.team(store, id, *permission).await?).await
            }
            Self::Site(permission, handle) => {
                let id = context.id("site", SiteId::parse)?;
                handle(context, caller.site(store, id, *permission).await?).await
            }
            Self::Check(permission, handle) => {
                let id = context.id("check", CheckId::parse)?;
                handle(context, caller.check(store, id, *permission).await?).await
            }
            Self::Issue(permission, handle) => {
                let id = context.id("issue", IssueId::parse)?;
                handle(context, caller.issue(store, id, *permission).await?).await
            }
        }
    }
}

impl Context<'_> {
    /// A path parameter as a UUID in its hyphenated form.
    fn id<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, ApiError> {
        let parameters = self.head.path_parameters();
        parameters.first(name).and_then(parse).ok_or(ApiError::NotFound)
    }

    /// The query parameters.
    pub(crate) fn query(&self) -> Query {
        Query::parse(self.head.uri.query())
    }
}
