//! Agents: the other locations of a service on one machine, and their protocol.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Location, Question};
use crate::accounts::account::TokenHash;

/// How long a request of an agent waits for a question. The next request is the agent's heartbeat.
pub const POLL_TIME: Duration = Duration::from_secs(25);

/// How long a known agent may be silent before the operator is notified.
pub const SILENT_AFTER: SignedDuration = SignedDuration::from_secs(90);

/// The most questions in one response.
pub const QUESTIONS_AT_ONCE: usize = 16;

/// The path at which an agent asks for questions, relative to the service's root.
pub const QUESTIONS_PATH: &str = "/agent/v1/questions";

/// The path to which an agent posts an answer: this and the id of its question.
pub const ANSWERS_PATH: &str = "/agent/v1/answers/";

/// The header with the agent's version of question and answer.
pub const VERSION_HEADER: &str = "vedette-agent";

/// The precision of the time when an agent was last seen.
const SEEN_RESOLUTION: SignedDuration = SignedDuration::from_mins(1);

/// A stored agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub location: Location,
    /// Its token's hash.
    pub hash: TokenHash,
    /// Increases with every write.
    pub rev: u64,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was last seen, to the minute. An agent that has never been seen is not asked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
}

impl Agent {
    /// A new agent.
    pub const fn new(location: Location, hash: TokenHash, now: Timestamp) -> Self {
        Self { location, hash, rev: 1, created_at: now, last_seen_at: None }
    }

    /// The agent with a new token; the old one no longer works.
    #[must_use]
    pub fn rotated(&self, hash: TokenHash) -> Self {
        Self { hash, rev: self.rev + 1, ..self.clone() }
    }

    /// The agent after it was seen, if that must be saved.
    pub fn seen(&self, now: Timestamp) -> Option<Self> {
        let is_known = |seen: Timestamp| now.duration_since(seen).abs() < SEEN_RESOLUTION;
        if self.last_seen_at.is_some_and(is_known) {
            return None;
        }
        Some(Self { rev: self.rev + 1, last_seen_at: Some(now), ..self.clone() })
    }
}

/// A question, and the id that its answer must have. Each id is used once, and only by the agent that received it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// The id.
    pub id: String,
    /// The question.
    pub question: Question,
}

/// The service's response to an agent that asks for questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Questions {
    /// At most [`QUESTIONS_AT_ONCE`]; empty if no question came within [`POLL_TIME`].
    pub questions: Vec<AskedQuestion>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_down_once_a_minute_that_an_agent_was_seen() {
        let at = |second| Timestamp::from_second(second).expect("a timestamp");
        let location = Location::parse("office").expect("a name");
        let agent = Agent::new(location, TokenHash("a".into()), at(0));
        let seen = agent.seen(at(10)).expect("never seen before");
        assert_eq!((seen.rev, seen.last_seen_at), (2, Some(at(10))));
        assert_eq!(seen.seen(at(69)), None);
        assert!(seen.seen(at(70)).is_some());
        assert!(seen.seen(at(-3_600)).is_some(), "the clock was set back");
        let rotated = seen.rotated(TokenHash("b".into()));
        assert_eq!((rotated.rev, rotated.last_seen_at), (3, Some(at(10))));
    }
}
