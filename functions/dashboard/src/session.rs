//! The signed-in user: the session cookie, and the caller that it identifies.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use lambda_http::http::header::{COOKIE, HOST, HeaderName};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderMap, HeaderValue};
use vedette_domain::accounts::session::{
    ATTEMPT_LIFETIME, SESSION_LIFETIME, Session, SessionCookie, SignInAttempt,
};
use vedette_domain::id::TeamId;
use vedette_http::access::{Caller, hold_requests};
use vedette_http::error::ApiError;
use vedette_runtime::App;
use vedette_store::{Attention, TeamWithSettings};

/// With this prefix, a browser binds a cookie to the host and the path, and requires TLS.
const SECURE: &str = "__Host-";
/// The session cookie.
const SESSION: &str = "vedette";
/// The cookie that proves that an answer of the OpenID provider is for this browser.
const ATTEMPT: &str = "vedette-sign-in";
/// The beginning of the name of the cookie with the selector of a team's list.
const SELECTOR: &str = "vedette-selector";

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The signed-in user, and their session.
#[derive(Debug)]
pub struct SignedIn {
    pub(crate) caller: Caller,
    pub(crate) session: Session,
    /// The team on the page, read while the request was counted.
    pub(crate) team: Option<TeamWithSettings>,
    /// What the frame of the page says about the teams that the page may belong to.
    pub(crate) attention: BTreeMap<TeamId, Attention>,
}

/// The teams that a page shows, as far as its path says so.
#[derive(Debug, Default)]
pub(crate) struct ShownTeams {
    /// The team that the page works on.
    pub(crate) team: Option<TeamId>,
    /// The teams that may be in the page's frame.
    pub(crate) framed: Vec<TeamId>,
}

/// Whether browsers reach this service over https, from the configuration or else from the request.
pub(crate) fn is_secure(app: &App, headers: &HeaderMap) -> bool {
    match &app.service.base_url {
        Some(url) => url.starts_with("https:"),
        None => headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme == "https"),
    }
}

/// The name of a cookie of this service, without the prefix. Browsers send a host's cookies to all of its ports, so a
/// service on one machine adds its id.
fn named(app: &App, name: &str) -> String {
    match &app.service.id {
        Some(id) => format!("{name}-{id}"),
        None => name.to_owned(),
    }
}

fn cookie_of<'h>(app: &App, headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let prefix = if is_secure(app, headers) { SECURE } else { "" };
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(sent, _)| sent.trim().strip_prefix(prefix) == Some(name))?;
    Some(value.trim())
}

/// The signed-in user, if there is one. The user and their teams are read for each request, so that a removed member
/// sees nothing any more. `shows` says which of their teams the page shows.
pub(crate) async fn signed_in(
    app: &App,
    head: &Parts,
    shows: impl FnOnce(&Caller) -> ShownTeams,
) -> Result<Option<SignedIn>, ApiError> {
    // Earlier versions used the name without an id.
    let cookie = cookie_of(app, &head.headers, &named(app, SESSION))
        .or_else(|| cookie_of(app, &head.headers, SESSION))
        .and_then(SessionCookie::parse);
    let Some(cookie) = cookie else { return Ok(None) };
    let (store, now) = (&app.store, app.clock.now());
    let hash = cookie.secret.hash();
    let (session, account) =
        futures::try_join!(store.session(cookie.user, &hash), store.account(cookie.user),)?;
    let session = session.filter(|session| session.lasts(now));
    let account = account.filter(|account| account.user.email_verified_at.is_some());
    let Some((session, account)) = session.zip(account) else { return Ok(None) };
    let caller = Caller::new(account.user, account.memberships, now);
    let shown = shows(&caller);
    let attention =
        shown.framed.into_iter().map(async |team| Ok((team, store.attention(team).await?)));
    let (team, attention, ()) = futures::try_join!(
        async {
            match shown.team {
                Some(team) => Ok(store.team(team, now).await?),
                None => Ok(None),
            }
        },
        try_join_all(attention),
        hold_requests(store, &session, app.service.throttle, now),
    )?;
    Ok(Some(SignedIn { caller, session, team, attention: attention.into_iter().collect() }))
}

/// The cookie that keeps a browser signed in.
pub(crate) fn keep(
    app: &App,
    head: &Parts,
    cookie: &SessionCookie,
) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, SESSION, &cookie.reveal(), SESSION_LIFETIME.as_secs())
}

/// The cookie that signs a browser out.
pub(crate) fn forget(app: &App, head: &Parts) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, SESSION, "", 0)
}

/// The sign-in at the OpenID provider that the browser has begun.
pub(crate) fn attempt(app: &App, head: &Parts) -> Option<SignInAttempt> {
    cookie_of(app, &head.headers, &named(app, ATTEMPT)).and_then(SignInAttempt::parse)
}

/// The cookie that remembers such a sign-in. Browsers also send it when they follow the link back from the provider.
pub(crate) fn keep_attempt(
    app: &App,
    head: &Parts,
    attempt: &SignInAttempt,
) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, ATTEMPT, &attempt.reveal(), ATTEMPT_LIFETIME.as_secs())
}

/// The cookie that removes it.
pub(crate) fn forget_attempt(app: &App, head: &Parts) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, ATTEMPT, "", 0)
}

/// The selector of the list of a team's sites that the browser keeps, as it stands in the cookie.
pub(crate) fn kept_selector<'h>(app: &App, head: &'h Parts, team: TeamId) -> Option<&'h str> {
    let kept = cookie_of(app, &head.headers, &named(app, &format!("{SELECTOR}-{team}")));
    kept.filter(|selector| !selector.is_empty())
}

/// The cookie that keeps it for a month, or gives it up if it is empty.
pub(crate) fn keep_selector(
    app: &App,
    head: &Parts,
    team: TeamId,
    selector: &str,
) -> Result<HeaderValue, ApiError> {
    const MONTH: i64 = 30 * 24 * 60 * 60;
    let age = if selector.is_empty() { 0 } else { MONTH };
    set_cookie(app, head, &format!("{SELECTOR}-{team}"), selector, age)
}

fn set_cookie(
    app: &App,
    head: &Parts,
    name: &str,
    value: &str,
    age: i64,
) -> Result<HeaderValue, ApiError> {
    let (prefix, secure) = match is_secure(app, &head.headers) {
        true => (SECURE, "; Secure"),
        false => ("", ""),
    };
    let name = named(app, name);
    let cookie =
        format!("{prefix}{name}={value}; Max-Age={age}; Path=/; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(cookie).map_err(ApiError::internal)
}

/// The base URL of the dashboard without a trailing slash, from the configuration or else from the request.
pub(crate) fn address(app: &App, head: &Parts) -> String {
    if let (Some(_), Some(base)) = (&app.service.base_url, app.service.pages_base()) {
        return base.to_owned();
    }
    let scheme = if is_secure(app, &head.headers) { "https" } else { "http" };
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    format!("{scheme}://{host}")
}
