//! What another location is asked, and what it may answer.
//!
//! An agent's token can be stolen, and an outpost runs in another region of the account, so an answer is treated like
//! data from a stranger: only a code, an error and a time are kept, each within bounds.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use super::NoVote;
use crate::checks::browser_job::JobHeader;
use crate::checks::check::{CheckError, StatusResult};
use crate::expectations::CheckMethod;
use crate::text::disrupts_line;

/// The version of question and answer. A location with another version refuses to answer.
pub const PROTOCOL_VERSION: u32 = 1;

/// The longest answer, in bytes.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024;

/// How many characters of an error are kept.
const ERROR_MAX: usize = 120;

/// The longest time that another location can report, in milliseconds.
const RESPONSE_TIME_MAX: f64 = 60_000.0;

/// What another location is to check. The question names no site and no team, and contains no settings. The header,
/// whose value is a secret, is sent to the URL's host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The [`PROTOCOL_VERSION`] of the sender.
    pub version: u32,
    /// The monitored URL.
    pub url: Url,
    /// The method of the request. A location of an earlier version ignores it, and asks with GET.
    #[serde(default, skip_serializing_if = "CheckMethod::is_get")]
    pub method: CheckMethod,
    /// The site's request header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<JobHeader>,
    /// How long the location may take, in milliseconds.
    pub deadline_ms: u64,
}

impl Question {
    /// A question about a URL, with the site's request header.
    pub fn new(url: Url, header: Option<(&str, &str)>, deadline: Duration) -> Self {
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let (version, header) = (PROTOCOL_VERSION, header.map(JobHeader::from));
        Self { version, url, method: CheckMethod::default(), header, deadline_ms }
    }

    /// The question with the method of the site's status checks.
    #[must_use]
    pub fn asked_with(self, method: CheckMethod) -> Self {
        Self { method, ..self }
    }

    /// How long the location may take, at most as long as the caller waits for it.
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms).min(super::QUESTION_TIMEOUT)
    }
}

/// What another location answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What the location saw.
    #[serde(rename = "saw")]
    Checked(RemoteStatus),
    /// Why the location cannot say anything.
    #[serde(rename = "silent")]
    NotChecked(NoVote),
}

/// What another location saw of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteStatus {
    /// HTTP status of the final answer; 0 if no answer came.
    pub code: u16,
    /// Why no answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the check took, in milliseconds.
    pub response_time: f64,
}

/// Why an answer is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The answer is too long.
    #[error("it is longer than an answer can be")]
    TooLong,
    /// The answer is not JSON, or does not have the shape of an answer.
    #[error("it is unreadable")]
    Unreadable,
    /// The answer has a code or a time that no target can have.
    #[error("its figures are impossible")]
    Implausible,
}

impl Answer {
    /// The answer for a status check that ran at the location.
    pub fn of(checked: Result<StatusResult, CheckError>) -> Self {
        match checked {
            Ok(StatusResult { code, error, response_time, .. }) => Self::Checked(RemoteStatus {
                code,
                error: error.as_deref().map(clipped),
                response_time,
            }),
            Err(error) => Self::NotChecked(NoVote::of(&error)),
        }
    }

    /// Reads what another location sent.
    ///
    /// # Errors
    ///
    /// When no valid location could have sent this answer.
    pub fn parse(sent: &[u8]) -> Result<Self, AnswerError> {
        if sent.len() > ANSWER_BYTES_MAX {
            return Err(AnswerError::TooLong);
        }
        match serde_json::from_slice(sent).map_err(|_| AnswerError::Unreadable)? {
            Self::Checked(RemoteStatus { code, error, response_time }) => {
                let is_status = code == 0 || (100..1_000).contains(&code);
                if !is_status || !(0.0..=RESPONSE_TIME_MAX).contains(&response_time) {
                    return Err(AnswerError::Implausible);
                }
                let error = error.as_deref().map(clipped).filter(|error| !error.is_empty());
                Ok(Self::Checked(RemoteStatus { code, error, response_time }))
            }
            other @ Self::NotChecked(_) => Ok(other),
        }
    }
}

/// A text on one line, at most [`ERROR_MAX`] characters long. Alerts and pages show it.
fn clipped(text: &str) -> String {
    let plain = text.trim().chars().map(|char| if disrupts_line(char) { ' ' } else { char });
    let mut clipped: String = plain.take(ERROR_MAX).collect();
    if text.trim().chars().nth(ERROR_MAX).is_some() {
        clipped.pop();
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_contains_no_names_and_its_header_is_not_shown() {
        let url: Url = "https://example.com/health".parse().expect("a URL");
        let question =
            Question::new(url, Some(("Authorization", "Bearer s3cr3t")), Duration::from_secs(9));
        let sent = json!({
            "version": 1,
            "url": "https://example.com/health",
            "header": { "name": "Authorization", "value": "Bearer s3cr3t" },
            "deadline_ms": 9_000,
        });
        assert_eq!(serde_json::to_value(&question).expect("json"), sent);
        assert_eq!(serde_json::from_value::<Question>(sent).expect("a question"), question);
        assert!(!format!("{question:?}").contains("s3cr3t"));
        // A question names its method only if it is not GET, so that earlier versions can read the others.
        let head = question.clone().asked_with(CheckMethod::Head);
        let sent = serde_json::to_value(&head).expect("json");
        assert_eq!(sent["method"], "HEAD");
        assert_eq!(serde_json::from_value::<Question>(sent).expect("a question"), head);
        let long = Question { deadline_ms: u64::MAX, ..question };
        assert_eq!(long.deadline(), super::super::QUESTION_TIMEOUT);
    }

    #[test]
    fn an_answer_of_a_stranger_is_within_bounds_or_refused() {
        let parse = |sent: serde_json::Value| Answer::parse(sent.to_string().as_bytes());
        let saw = |code: i64, error: &str, ms: f64| {
            parse(json!({ "saw": { "code": code, "error": error, "response_time": ms } }))
        };
        let status = RemoteStatus { code: 503, error: None, response_time: 1.5 };
        assert_eq!(saw(503, " ", 1.5), Ok(Answer::Checked(status)));
        assert!(saw(0, "timed out", 10_000.0).is_ok());
        for (code, ms) in [(1, 1.0), (99, 1.0), (1_000, 1.0), (200, -1.0), (200, 1e300)] {
            assert_eq!(saw(code, "", ms), Err(AnswerError::Implausible), "{code} {ms}");
        }
        let Ok(Answer::Checked(RemoteStatus { error: Some(error), .. })) =
            saw(0, &format!("a\nb\u{1b}[31m\u{202e}c\u{2028}{}", "é".repeat(500)), 1.0)
        else {
            panic!("a status")
        };
        assert!(error.starts_with("a b [31m c ") && error.ends_with('…'), "{error}");
        assert_eq!(error.chars().count(), ERROR_MAX);
        assert_eq!(parse(json!({ "silent": "offline" })), Ok(Answer::NotChecked(NoVote::Offline)));
        for other in [
            json!(null),
            json!({}),
            json!({ "saw": { "code": -1, "response_time": 1.0 } }),
            json!({ "saw": { "code": 200 } }),
            json!({ "saw": { "code": 200, "response_time": null } }),
            json!({ "silent": "sulking" }),
            json!({ "silent": "offline", "saw": {} }),
        ] {
            assert_eq!(parse(other.clone()), Err(AnswerError::Unreadable), "{other}");
        }
        assert_eq!(Answer::parse(&[b' '; ANSWER_BYTES_MAX + 1]), Err(AnswerError::TooLong));
        assert_eq!(Answer::parse(b"\xff"), Err(AnswerError::Unreadable));
    }
}
