//! The dashboard as a surface of the service: how clients are authenticated, and how refusals are shown.

use lambda_http::http::Method;
use lambda_http::http::header::ACCEPT;
use lambda_http::http::request::Parts;
use tracing::{Span, error, error_span};
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_http::access::{Caller, hold_check_runs};
use vedette_http::error::ApiError;
use vedette_http::isolation::isolate;
use vedette_http::path::PathParameters;
use vedette_http::request_id::RequestId;
use vedette_http::response::{Response, compress};
use vedette_ops::ErrorChain;
use vedette_routing::{Authenticated, Request, Surface};
use vedette_runtime::App;
use vedette_store::{Grant, TeamWithSettings};

use crate::grants::{ACCOUNTS_GRANT, READ_GRANT, WRITE_GRANT};
use crate::session::{ShownTeams, SignedIn};
use crate::{Dashboard, RequestContext, cross_origin, layout, session};

/// A page, or the action of its form.
pub type Page = vedette_routing::Route<Dashboard>;

/// What a page works on.
pub(crate) type Endpoint = vedette_routing::Endpoint<Dashboard>;

/// The audience of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Anybody who has the link, or their email program. No session is needed, and the body is not read.
    Linked,
    /// Anybody with a browser, signed in or not.
    Anybody,
    /// Signed-in users.
    Member,
    /// Signed-in users, on a page that reads all that is wrong with the team itself, also for the frame of the page.
    Overview,
    /// Signed-in users, as often per minute as a user may order checks.
    CheckRunner,
}

/// The Lambda functions that serve pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Shows pages.
    Read,
    /// Handles forms.
    Write,
    /// Handles forms that write users, members or tokens, and talks to the OpenID provider. The provider confirms who
    /// has an address, which is stored with the user. No other function knows the secret with which this service
    /// identifies itself to the provider.
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

impl Surface for Dashboard {
    type Audience = Audience;
    type Function = Function;
    /// The signed-in user, if there is one.
    type Client = Option<SignedIn>;
    type Context<'a> = RequestContext<'a>;

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
        Request { app, head, parameters }: Request<'a>,
        client: &'a Option<SignedIn>,
        body: &'a [u8],
    ) -> RequestContext<'a> {
        RequestContext { app, dashboard: self, head, parameters, signed_in: client.as_ref(), body }
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

/// The signed-in user, if the page needs one. Refuses forms from other sites, and strangers.
async fn admit(page: &Page, request: Request<'_>) -> Result<Option<SignedIn>, ApiError> {
    let Request { app, head, parameters } = request;
    if page.audience == Audience::Linked {
        return Ok(None);
    }
    if head.method == Method::POST {
        cross_origin::check(&head.headers, app.service.base_url.as_deref())?;
    }
    let shows = |caller: &Caller| shown_teams(page, parameters, caller);
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

/// The teams on a page, of those that are the caller's. A form reads its team itself, and again after each conflict; the
/// frame is for the page that refuses it. The function for accounts may not read what the frame shows.
///
/// The path of a page about a site does not name its team, so it may be any of the caller's. Most users have one.
fn shown_teams(page: &Page, parameters: &PathParameters, caller: &Caller) -> ShownTeams {
    if page.function == Function::Accounts {
        return ShownTeams::default();
    }
    let own = || caller.memberships.iter().map(|place| place.team);
    let team = match page.endpoint {
        Endpoint::OnlyTeam(..) => own().next().filter(|_| caller.memberships.len() == 1),
        _ => TeamId::parse(parameters.value("team")).filter(|team| caller.role_in(*team).is_ok()),
    };
    let framed = match page.endpoint {
        _ if page.audience == Audience::Overview => Vec::new(),
        Endpoint::Site(..)
        | Endpoint::Check(..)
        | Endpoint::Issue(..)
        | Endpoint::IssueIfSignedIn(..) => own().collect(),
        _ => team.into_iter().collect(),
    };
    ShownTeams { team: team.filter(|_| page.method == Method::GET), framed }
}

/// Whether a browser asks for a page that does not exist. Programs get the API's error instead.
pub fn is_for_people(head: &Parts) -> bool {
    let accepts = head.headers.get(ACCEPT).and_then(|accepts| accepts.to_str().ok());
    !head.uri.path().starts_with("/api/")
        && [Method::GET, Method::HEAD].contains(&head.method)
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// The answer if there is no such page.
pub fn not_found(app: &App, head: &Parts) -> Response {
    pageless(app, head, &ApiError::NotFound)
}

/// The answer to a request for a host name that is not the service's.
pub fn misdirected(app: &App, head: &Parts) -> Response {
    pageless(app, head, &ApiError::Misdirected)
}

fn pageless(app: &App, head: &Parts, refusal: &ApiError) -> Response {
    let mut response = layout::refusal(None, refusal);
    isolate(&mut response, session::is_secure(app, &head.headers));
    response
}
