//! The service's pages for browsers, each of them rendered here whole, and nothing from elsewhere. All work
//! without the one script, which makes times local and pages fresh.
//!
//! [`PAGES`] is the table of pages. Three Lambda functions serve them: one what is shown, one what forms
//! do, and one what those do that write users and tokens. One machine's process serves all of them beside the API's routes.

mod assets;
mod audit_log;
mod channels;
mod chart;
mod checks;
mod cross_origin;
mod events;
mod form;
mod grants;
mod issues;
mod layout;
mod members;
mod oidc;
mod plan;
mod reports;
mod session;
mod settings;
mod sign_in;
mod sites;
mod tokens;

use std::collections::HashMap;

use futures::future::BoxFuture;
use lambda_http::Body;
use lambda_http::http::Method;
use lambda_http::http::request::Parts;
use tracing::{Instrument as _, error, error_span};
use uuid::Uuid;
use vedette_actions::AccountError;
use vedette_domain::ErrorChain;
use vedette_domain::account::Permission;
use vedette_domain::alert::link;
use vedette_domain::id::{TeamId, UserId};
use vedette_http::access::hold_check_runs;
use vedette_http::body;
use vedette_http::error::ApiError;
use vedette_http::path::parameters;
use vedette_http::request_id::RequestId;
use vedette_http::response::{Response, compress};
use vedette_runtime::App;
use vedette_store::{Grant, TeamWithSettings, budget, retry_on_conflict};

use self::session::SignedIn;

pub use self::oidc::{Provider, ProviderConfig};
pub use grants::{ACCOUNTS_GRANT, READ_GRANT, WRITE_GRANT};

/// All pages. GET shows one and changes nothing, since mail scanners follow links; POST acts. Only the answer
/// of an OpenID provider comes by GET and signs in, but in no browser that has not asked for it.
pub const PAGES: &[Page] = &[
    page("GET", link::CONFIRM, For::Linked, |visit| Box::pin(channels::ask_to_confirm(visit))),
    page("POST", link::CONFIRM, For::Linked, |visit| Box::pin(channels::confirm(visit))),
    page("GET", link::UNSUBSCRIBE, For::Linked, |visit| {
        Box::pin(channels::ask_to_unsubscribe(visit))
    }),
    page("POST", link::UNSUBSCRIBE, For::Linked, |visit| Box::pin(channels::unsubscribe(visit))),
    page("GET", "/assets/{asset}", For::Linked, |visit| Box::pin(assets::show(visit))),
    page("GET", link::SIGN_IN, For::Anybody, |visit| Box::pin(sign_in::explain(visit))),
    account_form(link::SIGN_IN, For::Anybody, |visit| Box::pin(sign_in::mail(visit))),
    page("GET", link::SIGN_IN_LINK, For::Anybody, |visit| Box::pin(sign_in::ask(visit))),
    account_form(link::SIGN_IN_LINK, For::Anybody, |visit| Box::pin(sign_in::confirm(visit))),
    provider_page(link::SIGN_IN_WITH_PROVIDER, |visit| Box::pin(oidc::begin(visit))),
    provider_page(link::PROVIDER_ANSWER, |visit| Box::pin(oidc::answer(visit))),
    page("POST", "/sign-out", For::Member, |visit| Box::pin(sign_in::out(visit))),
    page("GET", "/sessions", For::Member, |visit| Box::pin(sign_in::sessions(visit))),
    page("POST", "/sessions/{session}/end", For::Member, |visit| Box::pin(sign_in::end(visit))),
    page("GET", "/", For::Member, |visit| Box::pin(sites::list::home(visit))),
    page("GET", "/teams/{team}", For::Member, |visit| Box::pin(sites::list::team(visit))),
    page("GET", "/teams/{team}/events", For::Member, |visit| Box::pin(events::show(visit))),
    page("GET", "/teams/{team}/sites/new", For::Member, |visit| Box::pin(sites::new::ask(visit))),
    page("POST", "/teams/{team}/sites", For::Member, |visit| Box::pin(sites::new::add(visit))),
    page("GET", "/teams/{team}/settings", For::Member, |visit| {
        Box::pin(settings::show::show(visit))
    }),
    page("POST", "/teams/{team}/settings/{section}", For::Member, |visit| {
        Box::pin(settings::update::update(visit))
    }),
    page("GET", "/teams/{team}/channels", For::Member, |visit| {
        Box::pin(channels::list::list(visit))
    }),
    page("POST", "/teams/{team}/channels", For::Member, |visit| {
        Box::pin(channels::add::add(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/test", For::Member, |visit| {
        Box::pin(channels::change::test(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/enable", For::Member, |visit| {
        Box::pin(channels::change::enable(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/disable", For::Member, |visit| {
        Box::pin(channels::change::disable(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/resend", For::Member, |visit| {
        Box::pin(channels::change::resend(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/remove", For::Member, |visit| {
        Box::pin(channels::change::remove(visit))
    }),
    page("GET", "/teams/{team}/members", For::Member, |visit| Box::pin(members::list::list(visit))),
    account_form("/teams/{team}/members", For::Member, |visit| Box::pin(members::add::add(visit))),
    account_form("/teams/{team}/members/{user}/role", For::Member, |visit| {
        Box::pin(members::change::role(visit))
    }),
    account_form("/teams/{team}/members/{user}/remove", For::Member, |visit| {
        Box::pin(members::change::remove(visit))
    }),
    account_form("/teams/{team}/invitations/{invitation}/mail", For::Member, |visit| {
        Box::pin(members::change::mail(visit))
    }),
    account_form("/teams/{team}/invitations/{invitation}/withdraw", For::Member, |visit| {
        Box::pin(members::change::withdraw(visit))
    }),
    page("GET", link::INVITATION, For::Anybody, |visit| Box::pin(members::join::ask(visit))),
    account_form(link::INVITATION, For::Anybody, |visit| Box::pin(members::join::accept(visit))),
    page("GET", "/teams/{team}/audit-log", For::Member, |visit| Box::pin(audit_log::show(visit))),
    page("GET", "/teams/{team}/plan", For::Member, |visit| Box::pin(plan::show(visit))),
    page("GET", "/tokens", For::Member, |visit| Box::pin(tokens::list(visit))),
    account_form("/tokens", For::Member, |visit| Box::pin(tokens::create(visit))),
    account_form("/tokens/{token}/revoke", For::Member, |visit| Box::pin(tokens::revoke(visit))),
    page("GET", "/sites/{site}", For::Member, |visit| Box::pin(sites::show::show(visit))),
    page("GET", "/sites/{site}/checks", For::Member, |visit| Box::pin(checks::list::show(visit))),
    page("GET", "/checks/{check}", For::Member, |visit| Box::pin(checks::show::show(visit))),
    check_run("/sites/{site}/checks", |visit| Box::pin(sites::show::run(visit))),
    page("GET", "/sites/{site}/report", For::Member, |visit| Box::pin(reports::show(visit))),
    page("GET", "/sites/{site}/report.csv", For::Member, |visit| Box::pin(reports::csv(visit))),
    page("GET", "/sites/{site}/edit", For::Member, |visit| Box::pin(sites::edit::ask(visit))),
    page("POST", "/sites/{site}/edit", For::Member, |visit| Box::pin(sites::edit::save(visit))),
    page("POST", "/sites/{site}/pause", For::Member, |visit| Box::pin(sites::edit::pause(visit))),
    page("POST", "/sites/{site}/resume", For::Member, |visit| Box::pin(sites::edit::resume(visit))),
    page("GET", "/sites/{site}/delete", For::Member, |visit| Box::pin(sites::delete::ask(visit))),
    page("POST", "/sites/{site}/delete", For::Member, |visit| {
        Box::pin(sites::delete::delete(visit))
    }),
    page("GET", link::ISSUE, For::Anybody, |visit| Box::pin(issues::show(visit))),
    page("POST", "/issues/{issue}/acknowledge", For::Member, |visit| {
        Box::pin(issues::acknowledge(visit))
    }),
    page("POST", "/issues/{issue}/resolve", For::Member, |visit| Box::pin(issues::resolve(visit))),
    page("POST", "/issues/{issue}/snooze", For::Member, |visit| Box::pin(issues::snooze(visit))),
    page("POST", "/issues/{issue}/note", For::Member, |visit| Box::pin(issues::note(visit))),
];

/// A page, or what its form does.
#[derive(Debug)]
pub struct Page {
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    audience: For,
    /// Whether it writes users, members or tokens, lets somebody in, or asks the OpenID provider.
    writes_accounts: bool,
    /// Whether it counts among the runs of checks, which a user may order so many of in a minute.
    runs_checks: bool,
    handler: Handler,
}

/// Whom a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    /// Who has the link, be it a mail program. Nobody is signed in, and the body is not looked at.
    Linked,
    /// Whoever has a browser, signed in or not.
    Anybody,
    /// Who is signed in.
    Member,
}

type Handler = for<'a> fn(Visit<'a>) -> BoxFuture<'a, Result<Response, ApiError>>;

const fn page(method: &'static str, path: &'static str, audience: For, handler: Handler) -> Page {
    Page { method, path, audience, writes_accounts: false, runs_checks: false, handler }
}

/// What a form does that writes users, members or tokens: one function alone may.
const fn account_form(path: &'static str, audience: For, handler: Handler) -> Page {
    Page { writes_accounts: true, ..page("POST", path, audience, handler) }
}

/// What a form does that orders checks.
const fn check_run(path: &'static str, handler: Handler) -> Page {
    Page { runs_checks: true, ..page("POST", path, For::Member, handler) }
}

/// What asks the OpenID provider. That knows who has an address, which is written with the user; and no other
/// function knows the secret by which the provider knows this service.
const fn provider_page(path: &'static str, handler: Handler) -> Page {
    Page { writes_accounts: true, ..page("GET", path, For::Anybody, handler) }
}

impl Page {
    /// The `Handler` of the Lambda function that serves the page.
    pub fn function(&self) -> &'static str {
        match self.method {
            _ if self.writes_accounts => ACCOUNTS,
            "GET" => READ,
            _ => WRITE,
        }
    }

    /// What serving it may do with the table.
    pub fn grant(&self) -> &'static Grant {
        match self.method {
            _ if self.writes_accounts => &ACCOUNTS_GRANT,
            "GET" => &READ_GRANT,
            _ => &WRITE_GRANT,
        }
    }
}

/// The `Handler` of the Lambda function that shows pages.
pub const READ: &str = "pages.read";
/// The `Handler` of the Lambda function that does what forms ask for.
pub const WRITE: &str = "pages.write";
/// The `Handler` of the Lambda function that does what forms ask for that write users, members or
/// tokens, and asks the OpenID provider.
pub const ACCOUNTS: &str = "pages.accounts";

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
struct Visit<'a> {
    app: &'a App,
    /// The OpenID provider, if there is one and this function asks it.
    provider: Option<&'a Provider>,
    head: &'a Parts,
    /// The values in the path.
    values: &'a HashMap<String, String>,
    signed_in: Option<&'a SignedIn>,
    /// The form's fields, as they were sent.
    body: &'a [u8],
}

impl<'a> Visit<'a> {
    fn value(&self, name: &str) -> &'a str {
        self.values.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The team that the path names.
    fn team_id(&self) -> Result<TeamId, ApiError> {
        TeamId::parse(self.value("team")).ok_or(ApiError::NotFound)
    }

    /// The team that the path names, for who may do this with it.
    async fn team(&self, permission: Permission) -> Result<TeamWithSettings, ApiError> {
        self.member()?.caller.team(&self.app.store, self.team_id()?, permission).await
    }

    /// Who is signed in.
    fn member(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in.ok_or(ApiError::Unauthenticated("Nobody is signed in."))
    }
}

/// The page that a request is for, by its method and path; none where it is for no page.
pub fn find(head: &Parts) -> Option<&'static Page> {
    let path = head.uri.path();
    let mut pages = PAGES.iter().filter(|page| page.method == head.method.as_str());
    pages.find(|page| parameters(page.path, path).is_some())
}

/// All who are not signed in, as one user: what they send at a time is limited together.
const STRANGERS: UserId = UserId(Uuid::nil());

/// Serves a page. `body` reads what a form sent, for a user.
pub async fn serve<F>(
    app: &App,
    provider: Option<&Provider>,
    page: &Page,
    head: &Parts,
    body: impl FnOnce(UserId) -> F + Send,
) -> Response
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let id = RequestId::of(&head.extensions);
    let span = error_span!("page", path = page.path, request_id = id.as_ref().map(display));
    let response = answer(app, provider, page, head, body).instrument(span).await;
    let mut response = compress(response, &head.headers);
    if let Some(id) = id {
        id.add_to_fault(&mut response);
    }
    response
}

async fn answer<F>(
    app: &App,
    provider: Option<&Provider>,
    page: &Page,
    head: &Parts,
    body: impl FnOnce(UserId) -> F + Send,
) -> Response
where
    F: Future<Output = Result<Body, ApiError>> + Send,
{
    let values = parameters(page.path, head.uri.path()).unwrap_or_default();
    let visit = Visit { app, provider, head, values: &values, signed_in: None, body: &[] };
    let signed_in = match admit(app, page, head).await {
        Ok(signed_in) => signed_in,
        Err(error) => return refuse(None, &error),
    };
    let visit = Visit { signed_in: signed_in.as_ref(), ..visit };
    let sent = match head.method == Method::POST && page.audience != For::Linked {
        true => body(signed_in.as_ref().map_or(STRANGERS, |known| known.caller.user.id)).await,
        false => Ok(Body::Empty),
    };
    let served = async {
        let sent = sent?;
        let body = body::decode(&head.headers, &sent)?;
        let visit = Visit { body: &body, ..visit };
        retry_on_conflict(budget::WRITE, || (page.handler)(visit)).await
    };
    served.await.unwrap_or_else(|error| refuse(Some(visit), &error))
}

/// Who is signed in, for a page that asks; refuses forms of other sites, and strangers.
async fn admit(app: &App, page: &Page, head: &Parts) -> Result<Option<SignedIn>, ApiError> {
    if page.audience == For::Linked {
        return Ok(None);
    }
    if head.method == Method::POST {
        cross_origin::check(&head.headers, app.service.base_url.as_deref())?;
    }
    let signed_in = session::signed_in(app, head).await?;
    if page.audience == For::Member && signed_in.is_none() {
        return Err(ApiError::Unauthenticated("Nobody is signed in."));
    }
    if let Some(SignedIn { caller, .. }) = &signed_in
        && page.runs_checks
    {
        hold_check_runs(&app.store, caller.user.id, caller.now).await?;
    }
    Ok(signed_in)
}

fn refuse(visit: Option<Visit<'_>>, refusal: &ApiError) -> Response {
    if refusal.is_fault() {
        error!(error = %ErrorChain(refusal), "a page could not be served");
    }
    if matches!(refusal, ApiError::Unauthenticated(_))
        && let Ok(response) = layout::see(link::SIGN_IN)
    {
        return response;
    }
    layout::refusal(visit, refusal)
}

/// A fault behind something that was to be done with users, members or tokens.
fn account_error(error: AccountError) -> ApiError {
    match error {
        AccountError::Store(error) => error.into(),
        other => ApiError::internal(other),
    }
}

/// What is said where there is no page.
pub fn not_found() -> Response {
    layout::refusal(None, &ApiError::NotFound)
}

#[cfg(test)]
mod tests {
    use lambda_http::http::{Method, Request, Uri};

    use super::*;

    fn head(method: &str, path: &str) -> Parts {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::from_bytes(method.as_bytes()).expect("a method");
        head.uri = Uri::builder().path_and_query(path).build().expect("a path");
        head
    }

    #[test]
    fn a_page_is_found_by_its_method_and_path_alone() {
        for page in PAGES {
            if page.path == "/" {
                continue;
            }
            let path = page.path.replace(['{', '}'], "");
            let found = find(&head(page.method, &format!("{path}?key=x"))).expect("a page");
            assert_eq!((found.method, found.path), (page.method, page.path));
            for (method, path) in [(page.method, format!("{path}/")), ("PUT", path)] {
                assert!(find(&head(method, &path)).is_none(), "{method} {path}");
            }
        }
        for path in ["/index.html", "/channels/a/b", "/issues/", "/api/v1/issues/a"] {
            assert!(find(&head("GET", path)).is_none(), "{path}");
        }
    }
}
