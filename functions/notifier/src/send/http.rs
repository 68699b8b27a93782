//! Requests to chats and programs: one POST or PUT each, through the SSRF guard.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::alerts::channel::{ChannelAnswer, ChannelRequest, InvalidUrl};
use vedette_probe::post::{Post, PostError, post};
use vedette_probe::ssrf_guard::SsrfGuard;

use super::SendOutcome;

/// For a whole request.
const DEADLINE: Duration = Duration::from_secs(15);

/// Sends a request to a channel of any kind that has a URL.
pub(super) async fn send(
    guard: &SsrfGuard,
    request: Result<ChannelRequest, InvalidUrl>,
    now: Timestamp,
) -> SendOutcome {
    let request = match request {
        Ok(request) => request,
        Err(error) => return SendOutcome::refused(error.to_string()),
    };
    let ChannelRequest { is_put, url, headers, body, .. } = &request;
    match post(guard, &Post { is_put: *is_put, url, headers, body, deadline: DEADLINE }).await {
        Ok(answer) => request.outcome(&ChannelAnswer {
            status: answer.status,
            retry_after: answer.header("retry-after").and_then(|value| delay(value, now)),
            body: &answer.body,
        }),
        Err(error @ PostError::Forbidden(_)) => SendOutcome::refused(error.to_string()),
        Err(error @ (PostError::InvalidHeader | PostError::NoAnswer(_))) => {
            SendOutcome::retry(error.to_string())
        }
    }
}

/// How long `Retry-After` asks to wait, in seconds or until a date.
fn delay(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let seconds = value.parse().map(Duration::from_secs);
    seconds.ok().or_else(|| {
        let date = Timestamp::try_from(httpdate::parse_http_date(value).ok()?).ok()?;
        Duration::try_from(date.duration_since(now)).ok()
    })
}
