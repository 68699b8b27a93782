//! Serving a page: who asks is found, the page's handler answers, and what it refuses is said in a page.

use std::collections::HashMap;

use lambda_http::Body;
use lambda_http::http::Method;
use lambda_http::http::request::Parts;
use tracing::{Instrument as _, error, error_span};
use vedette_domain::ErrorChain;
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_domain::source::Source;
use vedette_http::access::{Caller, hold_check_runs, require};
use vedette_http::body::{self, Sender};
use vedette_http::error::ApiError;
use vedette_http::isolation::isolate;
use vedette_http::path::parameters;
use vedette_http::request_id::RequestId;
use vedette_http::response::{Response, compress};
use vedette_http::source::source;
use vedette_runtime::App;
use vedette_store::{TeamWithSettings, budget, retry_on_conflict};

use crate::session::SignedIn;
use crate::sites::directories::Directories;
use crate::{Audience, Page, Provider, cross_origin, layout, session};

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

    /// Serves a page. `body` reads what a form sent, as far as its sender may send.
    pub async fn serve<F>(
        &self,
        app: &App,
        page: &Page,
        head: &Parts,
        body: impl FnOnce(Sender) -> F + Send,
    ) -> Response
    where
        F: Future<Output = Result<Body, ApiError>> + Send,
    {
        let id = RequestId::of(&head.extensions);
        let span = error_span!("page", path = page.path, request_id = id.as_ref().map(display));
        let response = self.answer(app, page, head, body).instrument(span).await;
        let mut response = compress(response, &head.headers);
        isolate(&mut response, session::is_secure(app, &head.headers));
        if let Some(id) = id {
            id.add_to_fault(&mut response);
        }
        response
    }

    async fn answer<F>(
        &self,
        app: &App,
        page: &Page,
        head: &Parts,
        body: impl FnOnce(Sender) -> F + Send,
    ) -> Response
    where
        F: Future<Output = Result<Body, ApiError>> + Send,
    {
        let values = parameters(page.path, head.uri.path()).unwrap_or_default();
        let context = RequestContext {
            app,
            dashboard: self,
            head,
            values: &values,
            signed_in: None,
            body: &[],
        };
        let signed_in = match admit(app, page, head, &values).await {
            Ok(signed_in) => signed_in,
            Err(error) => return refuse(context, &error),
        };
        let context = RequestContext { signed_in: signed_in.as_ref(), ..context };
        let sender =
            signed_in.as_ref().map_or(Sender::Stranger, |known| Sender::User(known.caller.user.id));
        let sent = match head.method == Method::POST && page.audience != Audience::Linked {
            true => body(sender).await,
            false => Ok(Body::Empty),
        };
        let served = async {
            let sent = sent?;
            let body = body::decode(&head.headers, &sent, sender)?;
            let context = RequestContext { body: &body, ..context };
            retry_on_conflict(budget::WRITE, || (page.handler)(context)).await
        };
        served.await.unwrap_or_else(|error| refuse(context, &error))
    }
}

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestContext<'a> {
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

    /// Where the request comes from.
    pub(crate) fn source(&self) -> Source {
        source(self.head, &self.app.service.trusted_proxies)
    }

    /// The team that the path names.
    pub(crate) fn team_id(&self) -> Result<TeamId, ApiError> {
        TeamId::parse(self.value("team")).ok_or(ApiError::NotFound)
    }

    /// The team that the page is about, for who may do this with it.
    pub(crate) async fn team(&self, permission: Permission) -> Result<TeamWithSettings, ApiError> {
        let SignedIn { caller, team, .. } = self.member()?;
        let Some(team) = team else {
            return Ok(caller.team(&self.app.store, self.team_id()?, permission).await?);
        };
        require(team, caller.role_in(team.id())?, permission)?;
        Ok(team.clone())
    }

    /// Who is signed in.
    pub(crate) fn member(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in.ok_or(ApiError::Unauthenticated("Nobody is signed in."))
    }
}

/// Who is signed in, for a page that asks; refuses forms of other sites, and strangers.
async fn admit(
    app: &App,
    page: &Page,
    head: &Parts,
    values: &HashMap<String, String>,
) -> Result<Option<SignedIn>, ApiError> {
    if page.audience == Audience::Linked {
        return Ok(None);
    }
    if head.method == Method::POST {
        cross_origin::check(&head.headers, app.service.base_url.as_deref())?;
    }
    let shows = |caller: &Caller| shown_team(page, values, caller);
    let signed_in = session::signed_in(app, head, shows).await?;
    if page.audience == Audience::Member && signed_in.is_none() {
        return Err(ApiError::Unauthenticated("Nobody is signed in."));
    }
    if let Some(SignedIn { caller, .. }) = &signed_in
        && page.runs_checks
    {
        hold_check_runs(&app.store, caller.user.id, caller.now).await?;
    }
    Ok(signed_in)
}

/// The team that a page shows, if it is one of the caller's. A form reads its own, anew after each conflict.
fn shown_team(page: &Page, values: &HashMap<String, String>, caller: &Caller) -> Option<TeamId> {
    if page.method != Method::GET.as_str() {
        return None;
    }
    if let ("/", [only]) = (page.path, &caller.memberships[..]) {
        return Some(only.team);
    }
    let team = TeamId::parse(values.get("team")?)?;
    caller.role_in(team).is_ok().then_some(team)
}

fn refuse(context: RequestContext<'_>, refusal: &ApiError) -> Response {
    if refusal.is_fault() {
        error!(error = %ErrorChain(refusal), "a page could not be served");
    }
    if matches!(refusal, ApiError::Unauthenticated(_))
        && let Ok(response) = layout::redirect(link::SIGN_IN)
    {
        return response;
    }
    layout::refusal(Some(context), refusal)
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
