//! The request that sends a message to a chat or a program, and what its answer means.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::secret::{AccessToken, SecretUrl};
use crate::alerts::handle::Handle;
use crate::alerts::send_outcome::SendOutcome;
use crate::text::disrupts_line;

/// The longest delay that a receiver can ask for.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// How many characters of an answer are kept.
const EXCERPT: usize = 200;

/// From this many bytes on, a part of a URL counts as secret. Shorter parts are words such as `api`, which a response
/// may contain for other reasons.
const SECRET_LENGTH: usize = 8;

/// One request. Not `Debug`: the URL and the headers may be secret.
#[derive(Clone)]
pub struct ChannelRequest {
    /// Whether its method is PUT. Otherwise, it is POST.
    pub is_put: bool,
    /// The URL.
    pub url: Url,
    /// Headers, with names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Texts that must not appear in quoted answers, in addition to the parts of the URL.
    pub(super) secrets: Vec<String>,
    /// What an error status means.
    failure: fn(u16) -> Failure,
    /// The whole body of an answer that confirms delivery. If it is `None`, the status confirms it.
    confirmation: Option<&'static str>,
    /// Where in a JSON answer to success its handle is. An answer without it is not that of the service.
    handle: Option<&'static str>,
    /// Parts of an answer to a refused message that mean that the channel leads nowhere.
    for_good: &'static [&'static str],
}

/// A channel's stored URL is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the URL is not valid")]
pub struct InvalidUrl;

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Only this attempt.
    Attempt,
    /// This message, at every attempt.
    Message,
    /// All messages.
    Channel,
}

impl Failure {
    /// What an error status of a service means. Discord, for example, bans clients that keep requesting something that
    /// does not exist.
    pub(super) const fn of_service(status: u16) -> Self {
        match status {
            408 | 425 | 429 => Self::Attempt,
            401 | 403 | 404 | 410 => Self::Channel,
            400..500 => Self::Message,
            _ => Self::Attempt,
        }
    }

    /// What an error status of a server that people host themselves means. While it is down, another one may respond in
    /// its place, so a 404 is tried again.
    pub(super) const fn of_own_server(status: u16) -> Self {
        match status {
            404 => Self::Attempt,
            _ => Self::of_service(status),
        }
    }
}

/// The receiver's answer.
#[derive(Debug, Clone, Copy)]
pub struct ChannelAnswer<'a> {
    /// The status.
    pub status: u16,
    /// How long its `Retry-After` header asks us to wait.
    pub retry_after: Option<Duration>,
    /// The beginning of the body.
    pub body: &'a [u8],
}

impl ChannelRequest {
    /// Posts a JSON body to a URL.
    pub(super) fn json(
        url: &SecretUrl,
        body: Vec<u8>,
        failure: fn(u16) -> Failure,
    ) -> Result<Self, InvalidUrl> {
        let url = Url::parse(url.reveal()).map_err(|_| InvalidUrl)?;
        Ok(Self::json_to(url, body, failure))
    }

    /// Posts a JSON body to a URL that has been read.
    pub(super) fn json_to(url: Url, body: Vec<u8>, failure: fn(u16) -> Failure) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self {
            is_put: false,
            url,
            headers,
            body,
            secrets: Vec::new(),
            failure,
            confirmation: None,
            handle: None,
            for_good: &[],
        }
    }

    /// The request, with the method PUT.
    pub(super) fn put(self) -> Self {
        Self { is_put: true, ..self }
    }

    /// The request, after which the channel fails for good if the answer to a refused message contains one of these
    /// texts.
    pub(super) fn failing_for_good(self, for_good: &'static [&'static str]) -> Self {
        Self { for_good, ..self }
    }

    /// The request, whose answer to success has a handle at a JSON pointer.
    pub(super) fn with_handle_at(self, pointer: &'static str) -> Self {
        Self { handle: Some(pointer), ..self }
    }

    /// The request, authorized by a token, if there is one.
    pub(super) fn authorized_by(self, token: Option<&AccessToken>) -> Self {
        let Some(token) = token.map(AccessToken::reveal) else {
            return self;
        };
        self.with_headers([("authorization", format!("Bearer {token}"))]).hiding([token.to_owned()])
    }

    /// The request, whose answer is not quoted if it contains one of these texts.
    pub(super) fn hiding(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.secrets.extend(secrets);
        self
    }

    /// The request, if only an answer with exactly this body confirms delivery.
    pub(super) fn confirmed_by(self, body: &'static str) -> Self {
        Self { confirmation: Some(body), ..self }
    }

    /// The request with additional headers.
    pub(super) fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        self.headers.splice(..0, headers);
        self
    }

    /// The outcome of the request.
    pub fn outcome(&self, answer: &ChannelAnswer<'_>) -> SendOutcome {
        let is_success = (200..300).contains(&answer.status);
        // Something other than the service may have answered, such as a proxy.
        let read: Value = serde_json::from_slice(answer.body).unwrap_or_default();
        let handle = self.handle.and_then(|pointer| read.pointer(pointer));
        let missing = match self.handle {
            Some(pointer) => Some(pointer).filter(|_| handle.is_none()),
            None => self.confirmation.filter(|body| answer.body.trim_ascii() != body.as_bytes()),
        };
        if is_success && missing.is_none() {
            return SendOutcome::Delivered { handle: handle.and_then(kept) };
        }
        let mut why = format!("HTTP {}", answer.status);
        if let Some(body) = missing.filter(|_| is_success) {
            why += &format!(" without \"{body}\"");
        }
        let text = String::from_utf8_lossy(answer.body);
        if let Some(said) = self.excerpt(&text) {
            why += &format!(": {said}");
        }
        let is_for_good = self.for_good.iter().any(|part| text.contains(part));
        match (self.failure)(answer.status) {
            Failure::Message if is_for_good => SendOutcome::Gone { why },
            Failure::Attempt => SendOutcome::Retry { after: delay(answer.retry_after, &read), why },
            Failure::Message => SendOutcome::Refused { why },
            Failure::Channel => SendOutcome::Gone { why },
        }
    }

    /// The beginning of an answer, on one line; `None` if it contains something secret, or is a page for browsers.
    fn excerpt(&self, text: &str) -> Option<String> {
        let secrets = self.url.path_segments().into_iter().flatten().chain(self.url.query());
        let secrets = secrets.chain(self.secrets.iter().map(String::as_str));
        let mut secrets = secrets.filter(|secret| secret.len() >= SECRET_LENGTH);
        // JSON may write a slash or a quotation mark with a backslash.
        let unescaped = |text: &str| text.replace('\\', "");
        let plain = unescaped(text);
        let tells = |secret: &str| text.contains(secret) || plain.contains(&unescaped(secret));
        if text.trim_start().starts_with('<') || secrets.any(tells) {
            return None;
        }
        let words = text.split(|c: char| c.is_whitespace() || disrupts_line(c));
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let shown: String = words.join(" ").chars().take(EXCERPT).collect();
        Some(shown).filter(|shown| !shown.is_empty())
    }
}

/// What is kept of a handle: a text or a number.
fn kept(handle: &Value) -> Option<Handle> {
    match handle {
        Value::String(text) => Handle::new(text.as_str()),
        Value::Number(number) => Handle::new(number.to_string()),
        _ => None,
    }
}

/// How long the receiver asks us to wait, in the header or, as Discord and Telegram do, in the body. If it asks in
/// several places, the longest time counts.
fn delay(retry_after: Option<Duration>, body: &Value) -> Option<Duration> {
    let asked = [&body["retry_after"], &body["parameters"]["retry_after"]]
        .map(|seconds| Duration::try_from_secs_f64(seconds.as_f64()?).ok());
    asked.into_iter().fold(retry_after, Option::max).map(|delay| delay.min(LONGEST_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_unless_it_tells_the_address() {
        let url = SecretUrl::new("https://hooks.test/services/T0123456/B0123456/x?sig=abcdefgh");
        let request =
            ChannelRequest::json(&url, Vec::new(), |_| Failure::Attempt).expect("a request");
        for (body, kept) in [
            ("invalid_payload", Some("invalid_payload")),
            (" no\r\nsuch\u{1b}hook\t", Some("no such hook")),
            ("no such services", None),
            ("", None),
            ("<html>", None),
            ("no hook at /T0123456", None),
            ("wrong sig=abcdefgh", None),
            ("no \\/T0123\\456", None),
        ] {
            assert_eq!(request.excerpt(body).as_deref(), kept, "{body}");
        }
        let long = "é".repeat(1_000);
        assert_eq!(request.excerpt(&long), Some("é".repeat(EXCERPT)));
    }

    #[test]
    fn an_answer_without_the_handle_is_not_that_of_the_service() {
        let url = SecretUrl::new("https://chat.test/x");
        let request = ChannelRequest::json(&url, Vec::new(), Failure::of_service);
        let request = request.expect("a request").with_handle_at("/id");
        let request = request.failing_for_good(&["no such chat"]);
        let why = |why: &str| why.to_owned();
        for (status, body, expected) in [
            (200, r#"{"id":7}"#, SendOutcome::Delivered { handle: Handle::new("7") }),
            (
                200,
                "ok",
                SendOutcome::Retry { after: None, why: why("HTTP 200 without \"/id\": ok") },
            ),
            (400, "no such chat", SendOutcome::Gone { why: why("HTTP 400: no such chat") }),
            (400, "too long", SendOutcome::Refused { why: why("HTTP 400: too long") }),
        ] {
            let answer = ChannelAnswer { status, retry_after: None, body: body.as_bytes() };
            assert_eq!(request.outcome(&answer), expected, "{body}");
        }
    }
}
