//! Why another location does not vote.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::check::CheckError;

/// Why another location does not vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVote {
    /// No answer came in time.
    NoAnswer,
    /// Too many questions are waiting, or the location is too busy.
    Busy,
    /// The location has lost its own connection.
    Offline,
    /// The location is not allowed to reach the target.
    Forbidden,
    /// The target refuses the location, but not home.
    Refused,
    /// The answer is unreadable.
    Unreadable,
    /// The location could not check for another reason.
    Failed,
}

impl NoVote {
    /// The reason for the error of a check that could not run.
    pub(super) fn of(error: &CheckError) -> Self {
        match error.code.as_str() {
            "target_forbidden" => Self::Forbidden,
            "no_connectivity" | "no_route" | "resolver_unavailable" => Self::Offline,
            _ => Self::Failed,
        }
    }

    /// The stored value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::Busy => "busy",
            Self::Offline => "offline",
            Self::Forbidden => "forbidden",
            Self::Refused => "refused",
            Self::Unreadable => "unreadable",
            Self::Failed => "failed",
        }
    }

    /// The reason in words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoAnswer => "did not answer in time",
            Self::Busy => "had too many questions to answer",
            Self::Offline => "had no connection of its own",
            Self::Forbidden => "may not reach the site",
            Self::Refused => "was refused by the site",
            Self::Unreadable => "gave no readable answer",
            Self::Failed => "could not check the site",
        }
    }

    /// The reason with this stored value.
    pub(super) fn parse(value: &str) -> Option<Self> {
        serde_json::from_value(Value::from(value)).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_reason_is_stored_as_ever() {
        for (no_vote, value) in [
            (NoVote::NoAnswer, "no_answer"),
            (NoVote::Busy, "busy"),
            (NoVote::Offline, "offline"),
            (NoVote::Forbidden, "forbidden"),
            (NoVote::Refused, "refused"),
            (NoVote::Unreadable, "unreadable"),
            (NoVote::Failed, "failed"),
        ] {
            assert_eq!((no_vote.as_str(), NoVote::parse(value)), (value, Some(no_vote)));
            assert_eq!(serde_json::to_value(no_vote).expect("json"), json!(value));
        }
    }
}
