//! Authenticates the API's tokens, and limits requests per minute.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::header::AUTHORIZATION;
use lambda_http::http::{HeaderMap, HeaderValue};
use tokio::time::timeout;
use tracing::warn;
use vedette_domain::accounts::account::{Scope, Secret, Token};
use vedette_domain::accounts::session::Session;
use vedette_domain::id::{TeamId, UserId};
use vedette_ops::ErrorChain;
use vedette_store::{Requests, Store, StoreError};

use crate::error::ApiError;

pub use vedette_actions::access::{Caller, CheckAccess, IssueAccess, SiteAccess};

/// How many requests a minute are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throttle {
    /// Limited for each token, and to [`TOKENS_AT_ONCE`] times as many for each user.
    PerToken(u32),
    /// Limited like other requests, and also to ten of this kind for each user.
    CheckRuns(u32),
}

/// How long a request waits for its own bookkeeping: far longer than the table takes.
const NOTING_MAX: Duration = Duration::from_secs(1);

/// The window in which requests are counted.
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// How many tokens' worth of requests a user may make, with all tokens and sessions together.
pub const TOKENS_AT_ONCE: u32 = 4;

/// Check runs a minute for each user. This is a limit of the API.
pub const CHECK_RUNS_PER_MINUTE: u32 = 10;

/// The window in which a team's metrics can be read once. It is shorter than a minute, so that a scraper that reads
/// them every minute is never refused because one of its requests was slow to arrive.
pub const METRICS_WINDOW: SignedDuration = SignedDuration::from_secs(50);

/// The header with the number of requests that are allowed in a minute.
pub const LIMIT_HEADER: &str = "x-ratelimit-limit";
/// The header with the number of requests that are left in this minute.
pub const REMAINING_HEADER: &str = "x-ratelimit-remaining";

/// How many requests a client has made in this minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    limit: u32,
    used: u32,
}

impl Rate {
    /// Writes the headers for the client.
    pub fn write(self, headers: &mut HeaderMap) {
        headers.insert(LIMIT_HEADER, HeaderValue::from(self.limit));
        headers.insert(REMAINING_HEADER, HeaderValue::from(self.limit.saturating_sub(self.used)));
    }

    /// Refuses a request beyond the limit.
    fn hold(self, now: Timestamp) -> Result<(), ApiError> {
        if self.used <= self.limit {
            return Ok(());
        }
        Err(too_many(MINUTE, now))
    }
}

/// Refuses a request until the next window begins. Windows are counted from the epoch.
fn too_many(window: SignedDuration, now: Timestamp) -> ApiError {
    let window = window.as_secs();
    let rest = window - now.as_second().rem_euclid(window);
    ApiError::TooManyRequests { retry_after: u32::try_from(rest).unwrap_or(u32::MAX) }
}

/// A client that was authenticated.
#[derive(Debug)]
pub struct Authentication {
    /// The owner of the token.
    pub caller: Caller,
    /// The token.
    pub token: Token,
    /// How many requests of the minute are used.
    pub rate: Rate,
}

/// Authenticates the client, or refuses the request: with 401, with 429 for its token, with 403 for a scope, with 429
/// for its user. A refused request does not count toward the later limits. If the token is known, the answer also says
/// how many requests of the minute are used.
///
/// # Errors
///
/// The refusal, or a fault of the table.
pub async fn authenticate(
    store: &Store,
    headers: &HeaderMap,
    scope: Scope,
    throttle: Throttle,
    now: Timestamp,
) -> Result<Authentication, (ApiError, Option<Rate>)> {
    let unknown = |error: ApiError| (error, None);
    let token = identify(store, headers, now).await.map_err(unknown)?;
    let (account, requests, noted) = futures::join!(
        store.account(token.user),
        counted(store.count_request(token.user, &token.hash.0, now)),
        timeout(NOTING_MAX, store.note_use(&token, now)),
    );
    if !matches!(noted, Ok(Ok(()))) {
        warn!("could not record the use of a token");
    }
    let account = account
        .map_err(|error| unknown(error.into()))?
        .filter(|account| account.user.email_verified_at.is_some())
        .ok_or_else(|| unknown(ApiError::Unauthenticated("Your email address is not verified.")))?;
    let caller = Caller::new(account.user, account.memberships, now);

    let (Throttle::PerToken(limit) | Throttle::CheckRuns(limit)) = throttle;
    let all = hold_both(&requests, limit, now).map_err(|(error, rate)| (error, Some(rate)))?;
    let refuse = |error: ApiError| (error, Some(all));
    token.require(scope).map_err(|refusal| refuse(refusal.into()))?;
    let rate = match throttle {
        Throttle::PerToken(_) => all,
        Throttle::CheckRuns(_) => {
            let runs = check_runs(store, token.user, now).await;
            runs.hold(now).map_err(|error| (error, Some(runs)))?;
            runs
        }
    };
    Ok(Authentication { caller, token, rate })
}

/// Counts a request for check runs, through any surface.
async fn check_runs(store: &Store, user: UserId, now: Timestamp) -> Rate {
    let used = counted(store.count(&format!("{user}#checks"), MINUTE, now)).await;
    Rate { limit: CHECK_RUNS_PER_MINUTE, used }
}

/// Counts a request for check runs, and refuses it beyond the limit.
///
/// # Errors
///
/// 429.
pub async fn hold_check_runs(store: &Store, user: UserId, now: Timestamp) -> Result<(), ApiError> {
    check_runs(store, user, now).await.hold(now)
}

/// Counts a read of a team's metrics, and refuses all but the first of each [`METRICS_WINDOW`].
///
/// # Errors
///
/// 429.
pub async fn hold_metrics(store: &Store, team: TeamId, now: Timestamp) -> Result<(), ApiError> {
    let used = counted(store.count(&format!("{team}#metrics"), METRICS_WINDOW, now)).await;
    if used <= 1 { Ok(()) } else { Err(too_many(METRICS_WINDOW, now)) }
}

/// Counts a request in a user's session, and refuses it if the session or the user has made too many in this minute.
///
/// # Errors
///
/// 429.
pub async fn hold_requests(
    store: &Store,
    session: &Session,
    limit: u32,
    now: Timestamp,
) -> Result<(), ApiError> {
    let requests = counted(store.count_request(session.user, &session.hash.0, now)).await;
    hold_both(&requests, limit, now).map(drop).map_err(|(error, _)| error)
}

/// How many requests a token or a session has left, or a refusal if it or its user has made too many.
fn hold_both(requests: &Requests, limit: u32, now: Timestamp) -> Result<Rate, (ApiError, Rate)> {
    let own = Rate { limit, used: requests.own };
    own.hold(now).map_err(|error| (error, own))?;
    let of_user =
        Rate { limit: limit.saturating_mul(TOKENS_AT_ONCE), used: requests.of_user(limit) };
    of_user.hold(now).map_err(|error| (error, of_user))?;
    Ok(own)
}

/// The number of requests in this minute; 0 if they cannot be counted in time. It is better to serve a request too many
/// than to serve nobody while the table is throttled.
async fn counted<T: Default>(count: impl Future<Output = Result<T, StoreError>>) -> T {
    match timeout(NOTING_MAX, count).await {
        Ok(Ok(used)) => return used,
        Ok(Err(error)) => warn!(error = %ErrorChain(&error), "could not count a request"),
        Err(_) => warn!("could not count a request: the table does not answer"),
    }
    T::default()
}

async fn identify(store: &Store, headers: &HeaderMap, now: Timestamp) -> Result<Token, ApiError> {
    let unknown = || ApiError::Unauthenticated("The access token is missing or invalid.");
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, text) = header.and_then(|value| value.split_once(' ')).ok_or_else(unknown)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unknown());
    }
    let secret = Secret::parse(text.trim()).ok_or_else(unknown)?;
    let token = store.token(&secret.hash()).await?.ok_or_else(unknown)?;
    if token.expires_at <= now {
        return Err(ApiError::Unauthenticated("The access token has expired."));
    }
    Ok(token)
}
