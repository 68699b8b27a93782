//! Pings, as Healthchecks reads them: <https://healthchecks.io/docs/http_api/>.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::rate_limit::RateLimit;

/// How much of the body of a ping is kept, in bytes: its end, where a job says why it failed.
pub const BODY_MAX: usize = 10_000;
/// The most characters of the keywords of one kind, with their commas.
pub const KEYWORDS_MAX: usize = 200;

/// How often a heartbeat may be pinged: a job that runs every minute sends at most three pings a run.
pub const PING_LIMIT: RateLimit = RateLimit { burst: 30, every: SignedDuration::from_secs(3) };

/// What a ping says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PingKind {
    /// A run has begun.
    Start,
    /// A run has ended without a problem.
    Success,
    /// A run has failed.
    Failure,
    /// A run has ended with this exit status.
    Exit(u8),
    /// Something to remember, which changes nothing.
    Log,
}

/// Why the end of a path is not a kind of ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid url format")]
pub struct UnknownKind;

impl PingKind {
    /// Parses what follows the key in a path.
    ///
    /// # Errors
    ///
    /// When it is none of these, or an exit status above 255.
    pub fn parse(text: &str) -> Result<Self, UnknownKind> {
        match text {
            "" => Ok(Self::Success),
            "start" => Ok(Self::Start),
            "fail" => Ok(Self::Failure),
            "log" => Ok(Self::Log),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map(Self::Exit).map_err(|_| UnknownKind)
            }
            _ => Err(UnknownKind),
        }
    }

    /// Whether a run has ended without a problem.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Success | Self::Exit(0))
    }

    /// The exit status that the job reported.
    pub const fn exit_status(self) -> Option<u8> {
        match self {
            Self::Exit(status) => Some(status),
            _ => None,
        }
    }
}

impl fmt::Display for PingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Success => f.write_str("success"),
            Self::Failure => f.write_str("fail"),
            Self::Log => f.write_str("log"),
            Self::Exit(status) => status.fmt(f),
        }
    }
}

/// A ping that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ping {
    /// What its path says.
    pub kind: PingKind,
    /// The id of the run, if the job has given it one.
    pub run: Option<Uuid>,
    /// The end of its body.
    pub body: Vec<u8>,
    /// When it arrived.
    pub at: Timestamp,
}

impl Ping {
    /// What the ping means to a heartbeat with these keywords. They are searched for only where the path alone says
    /// that a run has succeeded.
    pub fn kind_by(&self, keywords: &Keywords) -> PingKind {
        if self.kind != PingKind::Success || keywords.is_empty() {
            return self.kind;
        }
        let body = String::from_utf8_lossy(&self.body);
        let has = |words: &str| {
            words.split(',').map(str::trim).any(|word| !word.is_empty() && body.contains(word))
        };
        if has(&keywords.failure) {
            PingKind::Failure
        } else if has(&keywords.success) {
            PingKind::Success
        } else if has(&keywords.start) {
            PingKind::Start
        } else {
            PingKind::Log
        }
    }

    /// The body as text, without what is not text; `None` if it is empty.
    pub fn output(&self) -> Option<String> {
        let output = String::from_utf8_lossy(&self.body);
        (!output.is_empty()).then(|| output.into_owned())
    }
}

/// Words in the body of a ping that decide what it means: those of a failure first, then of a success, then of a start.
/// If there are any, a ping without one of them is only logged. Upper and lower case differ; commas separate words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Keywords {
    /// Of a run that has failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
    /// Of a run that has succeeded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub success: String,
    /// Of a run that has begun.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
}

impl Keywords {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.failure.is_empty() && self.success.is_empty() && self.start.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_says_what_happened() {
        for (text, kind) in [
            ("", Ok(PingKind::Success)),
            ("start", Ok(PingKind::Start)),
            ("fail", Ok(PingKind::Failure)),
            ("log", Ok(PingKind::Log)),
            ("0", Ok(PingKind::Exit(0))),
            ("255", Ok(PingKind::Exit(255))),
            ("007", Ok(PingKind::Exit(7))),
            ("256", Err(UnknownKind)),
            ("99999999999999999999", Err(UnknownKind)),
            ("-1", Err(UnknownKind)),
            ("+1", Err(UnknownKind)),
            ("Start", Err(UnknownKind)),
            ("success", Err(UnknownKind)),
        ] {
            assert_eq!(PingKind::parse(text), kind, "{text}");
        }
        assert_eq!(UnknownKind.to_string(), "invalid url format");
    }

    #[test]
    fn keywords_decide_what_a_ping_means() {
        let keywords = Keywords {
            failure: "ERROR, failed".to_owned(),
            success: "done".to_owned(),
            start: "begin,".to_owned(),
        };
        let kind = |kind, body: &str, keywords: &Keywords| {
            let (run, body, at) = (None, body.as_bytes().to_vec(), Timestamp::UNIX_EPOCH);
            Ping { kind, run, body, at }.kind_by(keywords)
        };
        for (sent, body, meant) in [
            (PingKind::Success, "done with ERROR", PingKind::Failure),
            (PingKind::Success, "backup failed", PingKind::Failure),
            (PingKind::Success, "begin: done", PingKind::Success),
            (PingKind::Success, "begin", PingKind::Start),
            (PingKind::Success, "Done", PingKind::Log),
            (PingKind::Success, "", PingKind::Log),
            (PingKind::Exit(1), "done", PingKind::Exit(1)),
            (PingKind::Start, "ERROR", PingKind::Start),
        ] {
            assert_eq!(kind(sent, body, &keywords), meant, "{sent}: {body}");
        }
        assert_eq!(kind(PingKind::Success, "ERROR", &Keywords::default()), PingKind::Success);
    }
}
