//! What jobs ping: `/ping/{key}` and `/ping/{ping key}/{slug}`, each with what happened at the end. Paths, methods,
//! answers and their status codes are those of Healthchecks, so that a job needs no other change than the host:
//! <https://healthchecks.io/docs/http_api/>.
//!
//! Who knows a key may ping; there is no other authentication. On AWS, one function serves all of it.

use jiff::SignedDuration;
use lambda_http::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER,
};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderName, HeaderValue, StatusCode};
use lambda_http::{Body, Response as HttpResponse};
use tracing::error;
use uuid::Uuid;
use vedette_actions::{ActionError, HeartbeatError, create_heartbeat_by_ping};
use vedette_domain::heartbeats::heartbeat::is_slug;
use vedette_domain::heartbeats::ping::{BODY_MAX, Ping, PingKind};
use vedette_domain::heartbeats::team_key::TeamPingKey;
use vedette_domain::id::{HeartbeatId, PingKey};
use vedette_domain::rate_limit::retry_after;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::source::source;
use vedette_ops::ErrorChain;
use vedette_runs::{PingOutcome, Pinged, record_ping};
use vedette_runtime::App;
use vedette_store::StoreError;

/// The beginning of the path of every ping.
pub const BELOW_PING: &str = "/ping/";
/// The name of the function that serves pings on AWS.
pub const PING_FUNCTION: &str = "pings";

/// How many pings to unknown addresses a source may send in a minute before it is asked to wait.
const UNKNOWN_MAX: u32 = 60;
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

const PING_BODY_LIMIT: HeaderName = HeaderName::from_static("ping-body-limit");

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A heartbeat, by its own key.
    Key(PingKey),
    /// A heartbeat, by the key of its team and its slug.
    Slug(TeamPingKey, String),
}

/// The answer to a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Saved,
    Created,
    NotFound,
    InvalidUrl,
    InvalidUuid,
    TooOften { wait: SignedDuration },
    Unavailable,
}

impl Answer {
    const fn parts(self) -> (StatusCode, &'static str) {
        match self {
            Self::Saved => (StatusCode::OK, "OK"),
            Self::Created => (StatusCode::CREATED, "Created"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not found"),
            Self::InvalidUrl => (StatusCode::BAD_REQUEST, "invalid url format"),
            Self::InvalidUuid => (StatusCode::BAD_REQUEST, "invalid uuid format"),
            Self::TooOften { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate limited"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "try again later"),
        }
    }

    fn into_response(self) -> Response {
        let (status, text) = self.parts();
        let mut response = HttpResponse::new(Body::from(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(PING_BODY_LIMIT, HeaderValue::from(BODY_MAX));
        match self {
            Self::TooOften { wait } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(retry_after(wait)));
            }
            Self::Unavailable => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
            }
            _ => {}
        }
        response
    }
}

impl From<PingOutcome> for Answer {
    fn from(outcome: PingOutcome) -> Self {
        match outcome {
            PingOutcome::Saved => Self::Saved,
            PingOutcome::Unknown => Self::NotFound,
            PingOutcome::TooOften(wait) => Self::TooOften { wait },
        }
    }
}

/// Answers a ping. `body` is the end of its body, at least as much of it as is kept.
pub async fn answer_ping(app: &App, head: &Parts, body: &[u8]) -> Response {
    let answer = match parse(head) {
        Ok(request) => match receive(app, request, body).await {
            Ok(Answer::NotFound) => refuse_unknown(app, head).await,
            Ok(answer) => answer,
            Err(error) => {
                error!(error = %ErrorChain(&error), "could not save a ping; its sender was told to try again");
                Answer::Unavailable
            }
        },
        Err(answer) => answer,
    };
    answer.into_response()
}

/// A ping as its path and its query say.
#[derive(Debug, PartialEq, Eq)]
struct PingRequest {
    target: Target,
    kind: PingKind,
    run: Option<Uuid>,
    /// Whether the heartbeat is created if the team has none with this slug.
    creates: bool,
}

fn parse(head: &Parts) -> Result<PingRequest, Answer> {
    let path = head.uri.path().strip_prefix(BELOW_PING).ok_or(Answer::NotFound)?;
    let parts: Vec<&str> = path.split('/').collect();
    let (target, kind) = match parts[..] {
        [key] | [key, ""] if key.len() == UUID_LENGTH => (own(key)?, ""),
        [key, kind] if key.len() == UUID_LENGTH && PingKey::parse(key).is_some() => {
            (own(key)?, kind)
        }
        [key, slug] => (of_team(key, slug)?, ""),
        [key, slug, kind] if !kind.is_empty() => (of_team(key, slug)?, kind),
        _ => return Err(Answer::NotFound),
    };
    let is_number = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_digit());
    let kind = PingKind::parse(kind).map_err(|_| match is_number {
        true => Answer::InvalidUrl,
        false => Answer::NotFound,
    })?;
    let query = Query::parse(head.uri.query());
    let run = match query.search("rid") {
        Some(text) if text.len() == UUID_LENGTH => Some(Uuid::try_parse(text)),
        None if !query.has("rid") => None,
        _ => return Err(Answer::InvalidUuid),
    };
    let run = run.transpose().map_err(|_| Answer::InvalidUuid)?;
    Ok(PingRequest { target, kind, run, creates: query.search("create") == Some("1") })
}

/// The length of a UUID with hyphens.
const UUID_LENGTH: usize = 36;

fn own(key: &str) -> Result<Target, Answer> {
    PingKey::parse(key).map(Target::Key).ok_or(Answer::NotFound)
}

fn of_team(key: &str, slug: &str) -> Result<Target, Answer> {
    let key = TeamPingKey::parse(key).ok_or(Answer::NotFound)?;
    match slug {
        "" => Err(Answer::NotFound),
        _ if is_slug(slug) => Ok(Target::Slug(key, slug.to_owned())),
        _ => Err(Answer::InvalidUrl),
    }
}

async fn receive(app: &App, request: PingRequest, body: &[u8]) -> Result<Answer, StoreError> {
    let PingRequest { target, kind, run, creates } = request;
    let body = body[body.len().saturating_sub(BODY_MAX)..].to_vec();
    let ping = Ping { kind, run, body, at: app.clock.now() };
    match target {
        Target::Key(key) => Ok(record_ping(app, Pinged::Key(key), &ping).await?.into()),
        Target::Slug(key, slug) => {
            let found = find(app, &key, &slug, creates).await?;
            let Some((heartbeat, is_new)) = found else { return Ok(Answer::NotFound) };
            match record_ping(app, Pinged::Heartbeat(heartbeat), &ping).await? {
                PingOutcome::Saved if is_new => Ok(Answer::Created),
                outcome => Ok(outcome.into()),
            }
        }
    }
}

/// The heartbeat with a slug, which may be created, and whether it was.
async fn find(
    app: &App,
    key: &TeamPingKey,
    slug: &str,
    creates: bool,
) -> Result<Option<(HeartbeatId, bool)>, StoreError> {
    let Some(team) = app.store.team_by_ping_key(key).await? else { return Ok(None) };
    if let Some(heartbeat) = app.store.heartbeat_by_slug(team, slug).await? {
        return Ok(Some((heartbeat, false)));
    }
    if !creates {
        return Ok(None);
    }
    let team = app.store.team_alone(team).await?;
    let Some(team) = team.filter(|team| team.plan_active) else { return Ok(None) };
    match create_heartbeat_by_ping(app, &team, slug).await {
        Ok(stored) => Ok(Some((stored.heartbeat.id, true))),
        // Another ping has created it a moment ago, or the team may have no more.
        Err(ActionError::Refused(_)) => {
            let found = app.store.heartbeat_by_slug(team.id, slug).await?;
            Ok(found.map(|heartbeat| (heartbeat, false)))
        }
        Err(error) => Err(fault(error)),
    }
}

fn fault(error: HeartbeatError) -> StoreError {
    match error {
        ActionError::Failed(vedette_actions::Fault::Store(error)) => error,
        other => StoreError::Corrupt(other.to_string().into()),
    }
}

/// Refuses a ping to an unknown address, and counts those of its source.
async fn refuse_unknown(app: &App, head: &Parts) -> Answer {
    let source = source(head, &app.service.trusted_proxies);
    let subject = format!("ping#{source}");
    let counted = app.store.count(&subject, MINUTE, app.clock.now()).await;
    match counted {
        Ok(count) if count > UNKNOWN_MAX => Answer::TooOften { wait: MINUTE },
        // It is better to answer too many than to fail because they cannot be counted.
        _ => Answer::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::http::Request;

    use super::*;

    const KEY: &str = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";
    const TEAM: &str = "fqOOd6-F4MMNuCEnzTU01w";

    fn parsed(path: &str) -> Result<(String, PingKind, Option<Uuid>, bool), Answer> {
        let (head, ()) = Request::builder().uri(path).body(()).expect("a request").into_parts();
        let PingRequest { target, kind, run, creates } = parse(&head)?;
        let target = match target {
            Target::Key(key) => key.reveal(),
            Target::Slug(key, slug) => format!("{}/{slug}", key.reveal()),
        };
        Ok((target, kind, run, creates))
    }

    #[test]
    fn paths_are_those_of_healthchecks() {
        let slug = format!("{TEAM}/db-backup");
        let run = Uuid::try_parse("f7f4f5b4-cf3c-4a0a-9b2c-7dd5b9b0f1a2").expect("a UUID");
        for (path, target, kind) in [
            (KEY.to_owned(), KEY, PingKind::Success),
            (format!("{KEY}/"), KEY, PingKind::Success),
            (KEY.to_uppercase(), KEY, PingKind::Success),
            (format!("{KEY}/start"), KEY, PingKind::Start),
            (format!("{KEY}/fail"), KEY, PingKind::Failure),
            (format!("{KEY}/log"), KEY, PingKind::Log),
            (format!("{KEY}/0"), KEY, PingKind::Exit(0)),
            (format!("{KEY}/255"), KEY, PingKind::Exit(255)),
            (slug.clone(), &slug, PingKind::Success),
            (format!("{slug}/start"), &slug, PingKind::Start),
            (format!("{slug}/1"), &slug, PingKind::Exit(1)),
        ] {
            let found = parsed(&format!("/ping/{path}"));
            assert_eq!(found, Ok((target.to_owned(), kind, None, false)), "{path}");
        }
        let found =
            parsed(&format!("/ping/{slug}/start?rid={}&create=1", run.to_string().to_uppercase()));
        assert_eq!(found, Ok((slug.clone(), PingKind::Start, Some(run), true)));
        for (path, answer) in [
            (format!("{KEY}/256"), Answer::InvalidUrl),
            (format!("{slug}/256"), Answer::InvalidUrl),
            (format!("{TEAM}/DB-backup"), Answer::InvalidUrl),
            (format!("{KEY}?rid=1"), Answer::InvalidUuid),
            (format!("{KEY}?rid={}", run.simple()), Answer::InvalidUuid),
            (format!("{KEY}/stop"), Answer::NotFound),
            (format!("{KEY}/start/"), Answer::NotFound),
            (format!("{slug}/"), Answer::NotFound),
            (format!("{slug}/stop"), Answer::NotFound),
            ("nonsense".to_owned(), Answer::NotFound),
            (String::new(), Answer::NotFound),
        ] {
            assert_eq!(parsed(&format!("/ping/{path}")), Err(answer), "{path}");
        }
    }
}
