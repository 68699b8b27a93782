//! The dashboard as a surface of the service: who asks for a page, and how refusals are shown.

use std::collections::HashMap;

use lambda_http::http::Method;
use lambda_http::http::request::Parts;
use tracing::{Span, error, error_span};
use vedette_domain::ErrorChain;
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_domain::source::Source;
use vedette_http::access::{Caller, hold_check_runs};
use vedette_http::error::ApiError;
use vedette_http::isolation::isolate;
use vedette_http::path::parameters;
use vedette_http::request_id::RequestId;
use vedette_http::response::{Response, compress};
use vedette_http::source::source;
use vedette_routing::{Authenticated, Request, Surface};
use vedette_runtime::App;
use vedette_store::{Grant, TeamWithSettings};

use crate::grants::{ACCOUNTS_GRANT, READ_GRANT, WRITE_GRANT};
use crate::session::SignedIn;
use crate::sites::directories::Directories;
use crate::{Provider, cross_origin, layout, session};

/// A page, or what its form does.
pub type Page = vedette_routing::Route<Dashboard>;

/// What a page works on.
pub(crate) type Endpoint = vedette_routing::Endpoint<Dashboard>;

/// Whom a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Who has the link, be it a mail program. Nobody is signed in, and the body is not looked at.
    Linked,
    /// Whoever has a browser, signed in or not.
    Anybody,
    /// Who is signed in.
    Member,
    /// Who is signed in, as often in a minute as a user may order checks.
    CheckRunner,
}

/// The Lambda functions that serve pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Shows pages.
    Read,
    /// Does what forms ask for.
    Write,
    /// Does what forms ask for that write users, members or tokens, and asks the OpenID provider. That knows who has
    /// an address, which is written with the user; and no other function knows the secret by which the provider
    /// knows this service.
    Accounts,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Accounts];

    /// The `Handler` of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "pages.read",
            Self::Write => "pages.write",
            Self::Accounts => "pages.accounts",
        }
    }

    /// What it may do with the table.
    pub const fn grant(self) -> &'static Grant {
        match self {
            Self::Read => &READ_GRANT,
            Self::Write => &WRITE_GRANT,
            Self::Accounts => &ACCOUNTS_GRANT,
        }
    }
}

/// What the pages of a process have beside the service itself.
#[derive(Debug, Default)]
pub struct Dashboard {
    /// The OpenID provider, if there is one and this process asks it.
    pub(crate) provider: Option<Provider>,
    pub(crate) directories: Directories,
}

impl Dashboard {
    /// The pages, where people may sign in at this provider.
    pub fn new(provider: Option<Provider>) -> Self {
        Self { provider, ..Self::default() }
    }
}

impl Surface for Dashboard {
    type Audience = Audience;
    type Function = Function;
    /// Who is signed in, if anybody is.
    type Client = Option<SignedIn>;
    type Context<'a> = RequestContext<'a>;

    fn values(page: &Page, head: &Parts) -> HashMap<String, String> {
        parameters(page.path, head.uri.path()).unwrap_or_default()
    }

    fn span(page: &Page, request: Request<'_>) -> Span {
        let id = RequestId::of(&request.head.extensions);
        error_span!("page", path = page.path, request_id = id.map(display))
    }

    fn takes_body(page: &Page) -> bool {
        page.method == Method::POST && page.audience != Audience::Linked
    }

    async fn authenticate(
        &self,
        page: &Page,
        request: Request<'_>,
    ) -> Authenticated<Option<SignedIn>> {
        Authenticated { client: admit(page, request).await, rate: None }
    }

    fn caller(client: &Option<SignedIn>) -> Option<&Caller> {
        client.as_ref().map(|signed_in| &signed_in.caller)
    }

    fn team(client: &Option<SignedIn>) -> Option<&TeamWithSettings> {
        client.as_ref()?.team.as_ref()
    }

    fn context<'a>(
        &'a self,
        Request { app, head, values }: Request<'a>,
        client: &'a Option<SignedIn>,
        body: &'a [u8],
    ) -> RequestContext<'a> {
        RequestContext { app, dashboard: self, head, values, signed_in: client.as_ref(), body }
    }

    fn refuse(
        &self,
        request: Request<'_>,
        client: Option<&Option<SignedIn>>,
        refusal: ApiError,
    ) -> Response {
        if refusal.is_fault() {
            error!(error = %ErrorChain(&refusal), "a page could not be served");
        }
        if matches!(refusal, ApiError::Unauthenticated(_))
            && let Ok(response) = layout::redirect(link::SIGN_IN)
        {
            return response;
        }
        let context = self.context(request, client.unwrap_or(&None), &[]);
        layout::refusal(Some(context), &refusal)
    }

    async fn present(
        &self,
        Request { app, head, .. }: Request<'_>,
        response: Response,
    ) -> Response {
        let mut response = compress(response, &head.headers);
        isolate(&mut response, session::is_secure(app, &head.headers));
        response
    }
}

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    pub(crate) app: &'a App,
    pub(crate) dashboard: &'a Dashboard,
    pub(crate) head: &'a Parts,
    /// The values in the path.
    pub(crate) values: &'a HashMap<String, String>,
    pub(crate) signed_in: Option<&'a SignedIn>,
    /// The form's fields, as they were sent.
    pub(crate) body: &'a [u8],
}

impl<'a> RequestContext<'a> {
    pub(crate) fn value(&self, name: &str) -> &'a str {
        self.values.get(name).map(String::as_str).unwrap_or_default()
    }

    /// A value in the path that is an id.
    pub(crate) fn id<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ApiError> {
        parse(self.value(name)).ok_or(ApiError::NotFound)
    }

    /// Where the request comes from.
    pub(crate) fn source(&self) -> Source {
        source(self.head, &self.app.service.trusted_proxies)
    }

    /// Who is signed in.
    pub(crate) fn member(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in.ok_or(ApiError::Unauthenticated("Nobody is signed in."))
    }
}

/// Who is signed in, for a page that asks; refuses forms of other sites, and strangers.
async fn admit(page: &Page, request: Request<'_>) -> Result<Option<SignedIn>, ApiError> {
    let Request { app, head, values } = request;
    if page.audience == Audience::Linked {
        return Ok(None);
    }
    if head.method == Method::POST {
        cross_origin::check(&head.headers, app.service.base_url.as_deref())?;
    }
    let shows = |caller: &Caller| shown_team(page, values, caller);
    let signed_in = session::signed_in(app, head, shows).await?;
    if page.audience != Audience::Anybody && signed_in.is_none() {
        return Err(ApiError::Unauthenticated("Nobody is signed in."));
    }
    if let Some(SignedIn { caller, .. }) = &signed_in
        && page.audience == Audience::CheckRunner
    {
        hold_check_runs(&app.store, caller.user.id, caller.now).await?;
    }
    Ok(signed_in)
}

/// The team that a page shows, if it is one of the caller's. A form reads its own, anew after each conflict.
fn shown_team(page: &Page, values: &HashMap<String, String>, caller: &Caller) -> Option<TeamId> {
    if page.method != Method::GET {
        return None;
    }
    if let (Endpoint::OnlyTeam(..), [only]) = (&page.endpoint, &caller.memberships[..]) {
        return Some(only.team);
    }
    let team = TeamId::parse(values.get("team")?)?;
    caller.role_in(team).is_ok().then_some(team)
}

/// What is said where there is no page.
pub fn not_found(app: &App, head: &Parts) -> Response {
    pageless(app, head, &ApiError::NotFound)
}

/// The page for a request to a host name that is not the service's.
pub fn misdirected(app: &App, head: &Parts) -> Response {
    pageless(app, head, &ApiError::Misdirected)
}

fn pageless(app: &App, head: &Parts, refusal: &ApiError) -> Response {
    let mut response = layout::refusal(None, refusal);
    isolate(&mut response, session::is_secure(app, &head.headers));
    response
}
