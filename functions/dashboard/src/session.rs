//! Who is signed in: the cookie of a session, and the caller that it stands for.

use lambda_http::http::header::{COOKIE, HeaderName};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderMap, HeaderValue};
use vedette_domain::session::{SESSION_LIFETIME, Session, SessionCookie};
use vedette_http::access::{Caller, hold_requests};
use vedette_http::error::ApiError;
use vedette_runtime::App;

/// A browser's cookie is bound to host and path by this prefix, and needs TLS.
const SECURE_COOKIE: &str = "__Host-vedette";
/// Where there is no TLS.
const PLAIN_COOKIE: &str = "vedette";

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Who is signed in, and by which session.
#[derive(Debug)]
pub(crate) struct SignedIn {
    pub(crate) caller: Caller,
    pub(crate) session: Session,
}

/// Whether browsers reach this service by https: as it is configured, or as the request came.
fn is_secure(app: &App, headers: &HeaderMap) -> bool {
    match &app.service.base_url {
        Some(url) => url.starts_with("https:"),
        None => headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme == "https"),
    }
}

fn cookie_of(app: &App, headers: &HeaderMap) -> Option<SessionCookie> {
    let wanted = if is_secure(app, headers) { SECURE_COOKIE } else { PLAIN_COOKIE };
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == wanted)?;
    SessionCookie::parse(value.trim())
}

/// Who is signed in, if anybody is. The user and their teams are read at each request, so that who was
/// removed sees nothing any more.
pub(crate) async fn signed_in(app: &App, head: &Parts) -> Result<Option<SignedIn>, ApiError> {
    let Some(cookie) = cookie_of(app, &head.headers) else { return Ok(None) };
    let (store, now) = (&app.store, app.clock.now());
    let hash = cookie.secret.hash();
    let (session, account) =
        futures::try_join!(store.session(cookie.user, &hash), store.account(cookie.user),)?;
    let session = session.filter(|session| session.lasts(now));
    let account = account.filter(|account| account.user.email_verified_at.is_some());
    let Some((session, account)) = session.zip(account) else { return Ok(None) };
    hold_requests(store, &session.hash.0, app.service.throttle, now).await?;
    let caller = Caller { user: account.user, memberships: account.memberships, now };
    Ok(Some(SignedIn { caller, session }))
}

/// The cookie by which a browser is signed in.
pub(crate) fn keep(
    app: &App,
    head: &Parts,
    cookie: &SessionCookie,
) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, &cookie.reveal(), SESSION_LIFETIME.as_secs())
}

/// The cookie by which a browser forgets that it was.
pub(crate) fn forget(app: &App, head: &Parts) -> Result<HeaderValue, ApiError> {
    set_cookie(app, head, "", 0)
}

fn set_cookie(app: &App, head: &Parts, value: &str, age: i64) -> Result<HeaderValue, ApiError> {
    let (name, secure) = match is_secure(app, &head.headers) {
        true => (SECURE_COOKIE, "; Secure"),
        false => (PLAIN_COOKIE, ""),
    };
    let cookie = format!("{name}={value}; Max-Age={age}; Path=/; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(cookie).map_err(ApiError::internal)
}
