//! Who is signed in: the cookie of a session, and the caller that it stands for.

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
use vedette_store::TeamWithSettings;

/// A browser binds a cookie to host and path by this prefix, and it needs TLS.
const SECURE: &str = "__Host-";
/// By which somebody is signed in.
const SESSION: &str = "vedette";
/// By which an answer of the OpenID provider is known to be for this browser.
const ATTEMPT: &str = "vedette-sign-in";

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Who is signed in, and by which session.
#[derive(Debug)]
pub struct SignedIn {
    pub(crate) caller: Caller,
    pub(crate) session: Session,
    /// The team whose page is shown, read while the request was counted.
    pub(crate) team: Option<TeamWithSettings>,
}

/// Whether browsers reach this service by https: as it is configured, or as the request came.
pub(crate) fn is_secure(app: &App, headers: &HeaderMap) -> bool {
    match &app.service.base_url {
        Some(url) => url.starts_with("https:"),
        None => headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme == "https"),
    }
}

fn cookie_of<'h>(app: &App, headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let prefix = if is_secure(app, headers) { SECURE } else { "" };
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(sent, _)| sent.trim().strip_prefix(prefix) == Some(name))?;
    Some(value.trim())
}

/// Who is signed in, if anybody is. The user and their teams are read at each request, so that who was
/// removed sees nothing any more. `shows` says which of their teams the page shows.
pub(crate) async fn signed_in(
    app: &App,
    head: &Parts,
    shows: impl FnOnce(&Caller) -> Option<TeamId>,
) -> Result<Option<SignedIn>, ApiError> {
    let cookie = cookie_of(app, &head.headers, SESSION).and_then(SessionCookie::parse);
    let Some(cookie) = cookie else { return Ok(None) };
    let (store, now) = (&app.store, app.clock.now());
    let hash = cookie.secret.hash();
    let (session, account) =
        futures::try_join!(store.session(cookie.user, &hash), store.account(cookie.user),)?;
    let session = session.filter(|session| session.lasts(now));
    let account = account.filter(|account| account.user.email_verified_at.is_some());
    let Some((session, account)) = session.zip(account) else { return Ok(None) };
    let caller = Caller { user: account.user, memberships: account.memberships, now };
    let shown = shows(&caller);
    let (team, ()) = futures::try_join!(
        async {
            match shown {
                Some(team) => Ok(store.team(team, now).await?),
                None => Ok(None),
            }
        },
        hold_requests(store, &session, app.service.throttle, now),
    )?;
    Ok(Some(SignedIn { caller, session, team }))
}

/// The cookie by which a browser is signed in.
pub(crate) fn keep(
    app: &App,
    head: &Parts,
    cookie: &SessionCookie,
) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, SESSION, &cookie.reveal(), SESSION_LIFETIME.as_secs())
}

/// The cookie by which a browser forgets that it was.
pub(crate) fn forget(app: &App, head: &Parts) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, SESSION, "", 0)
}

/// The sign-in at the OpenID provider that the browser has begun.
pub(crate) fn attempt(app: &App, head: &Parts) -> Option<SignInAttempt> {
    cookie_of(app, &head.headers, ATTEMPT).and_then(SignInAttempt::parse)
}

/// The cookie by which a browser keeps such a sign-in. It comes along from the provider's page, as links do.
pub(crate) fn keep_attempt(
    app: &App,
    head: &Parts,
    attempt: &SignInAttempt,
) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, ATTEMPT, &attempt.reveal(), ATTEMPT_LIFETIME.as_secs())
}

/// The cookie by which a browser forgets it.
pub(crate) fn forget_attempt(app: &App, head: &Parts) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, ATTEMPT, "", 0)
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
    let cookie =
        format!("{prefix}{name}={value}; Max-Age={age}; Path=/; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(cookie).map_err(ApiError::internal)
}

/// Where browsers reach the pages, without a slash at the end: as it is configured, or as the request came.
pub(crate) fn address(app: &App, head: &Parts) -> String {
    if let (Some(_), Some(base)) = (&app.service.base_url, app.service.pages_base()) {
        return base.to_owned();
    }
    let scheme = if is_secure(app, &head.headers) { "https" } else { "http" };
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    format!("{scheme}://{host}")
}
