//! Messages to chats and programs: one POST each, and what the answers mean.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use url::Url;
use vedette_domain::alerts::channel::SecretUrl;
use vedette_probe::post::{Answer, Post, PostError, post};
use vedette_probe::ssrf_guard::SsrfGuard;

use super::SendOutcome;

/// For a whole request.
const DEADLINE: Duration = Duration::from_secs(15);

/// No receiver can put a message off for longer.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// Characters of an answer that are kept.
const EXCERPT: usize = 200;

/// Who receives a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    Slack,
    Discord,
    Teams,
    /// A program of the team's own.
    Program,
}

/// What did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// This attempt.
    Attempt,
    /// This message, at every attempt.
    Message,
    /// All messages.
    Channel,
}

impl Receiver {
    /// What a status other than success means.
    const fn failure(self, status: u16) -> Failure {
        match (self, status) {
            (Self::Program, 410) => Failure::Channel,
            // Whatever else a program says, its owner may mend it.
            (Self::Program, _) | (_, 408 | 425 | 429) => Failure::Attempt,
            (Self::Slack, 403 | 404 | 410) => Failure::Channel,
            // Discord bans an address that goes on asking for what is not there.
            (Self::Discord | Self::Teams, 401 | 403 | 404 | 410) => Failure::Channel,
            (_, 400..500) => Failure::Message,
            _ => Failure::Attempt,
        }
    }
}

/// Sends a JSON body with these headers.
pub(super) async fn send(
    guard: &SsrfGuard,
    receiver: Receiver,
    url: &SecretUrl,
    headers: &[(&'static str, String)],
    body: &[u8],
    now: Timestamp,
) -> SendOutcome {
    let Ok(mut address) = Url::parse(url.reveal()) else {
        return SendOutcome::refused("the URL is not valid");
    };
    if receiver == Receiver::Discord {
        // Without it, a message that Discord does not keep is answered as one that it does.
        address.query_pairs_mut().append_pair("wait", "true");
    }
    let headers = [headers, &[("content-type", "application/json".to_owned())]].concat();
    let request = Post { url: &address, headers: &headers, body, deadline: DEADLINE };
    match post(guard, &request).await {
        Ok(answer) => outcome(receiver, &address, &answer, now),
        Err(error @ PostError::Forbidden(_)) => SendOutcome::refused(error.to_string()),
        Err(error @ (PostError::InvalidHeader | PostError::NoAnswer(_))) => {
            SendOutcome::retry(error.to_string())
        }
    }
}

fn outcome(receiver: Receiver, url: &Url, answer: &Answer, now: Timestamp) -> SendOutcome {
    if (200..300).contains(&answer.status) {
        return SendOutcome::Delivered;
    }
    let why = match excerpt(url, &answer.body) {
        Some(said) => format!("HTTP {}: {said}", answer.status),
        None => format!("HTTP {}", answer.status),
    };
    match receiver.failure(answer.status) {
        Failure::Attempt => SendOutcome::Retry { after: delay(answer, now), why },
        Failure::Message => SendOutcome::Refused { why },
        Failure::Channel => SendOutcome::Gone { why },
    }
}

/// How long the receiver asks us to wait: by the header, in seconds or until a date, or as Discord
/// says it in the body; the longer one, where there are two.
fn delay(answer: &Answer, now: Timestamp) -> Option<Duration> {
    let header = answer.header("retry-after").map(str::trim).and_then(|value| {
        let seconds = value.parse().map(Duration::from_secs);
        seconds.ok().or_else(|| {
            let date = Timestamp::try_from(httpdate::parse_http_date(value).ok()?).ok()?;
            Duration::try_from(date.duration_since(now)).ok()
        })
    });
    let body = serde_json::from_slice::<Value>(&answer.body).ok();
    let body =
        body.and_then(|body| Duration::try_from_secs_f64(body["retry_after"].as_f64()?).ok());
    header.max(body).map(|delay| delay.min(LONGEST_DELAY))
}

/// The beginning of an answer, on one line; none where it holds a part of the URL that is secret, or
/// is a page for browsers.
fn excerpt(url: &Url, body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let secrets = url.path_segments().into_iter().flatten().chain(url.query());
    // Short segments are words such as `api`, which answers may well have.
    let mut secrets = secrets.filter(|secret| secret.len() >= 8);
    if text.trim_start().starts_with('<') || secrets.any(|secret| text.contains(secret)) {
        return None;
    }
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let shown: String = words.join(" ").chars().take(EXCERPT).collect();
    Some(shown).filter(|shown| !shown.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_to_try_again() {
        use Failure::{Attempt, Channel, Message};
        use Receiver::{Discord, Program, Slack, Teams};
        for (status, expected) in [
            (301, [Attempt, Attempt, Attempt, Attempt]),
            (400, [Message, Message, Message, Attempt]),
            (401, [Message, Channel, Channel, Attempt]),
            (403, [Channel, Channel, Channel, Attempt]),
            (404, [Channel, Channel, Channel, Attempt]),
            (408, [Attempt, Attempt, Attempt, Attempt]),
            (410, [Channel, Channel, Channel, Channel]),
            (413, [Message, Message, Message, Attempt]),
            (429, [Attempt, Attempt, Attempt, Attempt]),
            (500, [Attempt, Attempt, Attempt, Attempt]),
            (503, [Attempt, Attempt, Attempt, Attempt]),
        ] {
            let failures = [Slack, Discord, Teams, Program].map(|to| to.failure(status));
            assert_eq!(failures, expected, "{status}");
        }
    }

    #[test]
    fn an_answer_is_kept_unless_it_tells_the_address() {
        let url = Url::parse("https://hooks.test/services/T0123456/B0123456/x?sig=abcdefgh")
            .expect("a URL");
        for (body, kept) in [
            ("invalid_payload", Some("invalid_payload")),
            (" no\r\nsuch\u{1b}hook\t", Some("no such hook")),
            ("no such services", None),
            ("", None),
            ("<html>", None),
            ("no hook at /T0123456", None),
            ("wrong sig=abcdefgh", None),
        ] {
            assert_eq!(excerpt(&url, body.as_bytes()).as_deref(), kept, "{body}");
        }
        let long = "é".repeat(1_000);
        assert_eq!(excerpt(&url, long.as_bytes()), Some("é".repeat(EXCERPT)));
    }
}
