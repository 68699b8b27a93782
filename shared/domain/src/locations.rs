//! Locations: the places from which targets are reached.
//!
//! The deployment itself is [`HOME`]. Before `status:down` opens, a *remote check* is requested once from each other
//! location: on AWS an *outpost*, a function in another region; on one machine an *agent*, a process elsewhere that
//! only makes outgoing requests.
//!
//! 1. A [`Question`] says what to check; an [`Answer`] says what the location saw. Neither names a site or a team.
//! 2. A [`Vote`] says what an answer, or its absence, means compared with what home saw.
//! 3. [`issues::confirmation`](crate::issues::confirmation) decides with the [`Votes`] of a run.

mod agent;
mod no_vote;
mod question;
mod votes;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use agent::{
    ANSWERS_PATH, Agent, AskedQuestion, POLL_TIME, QUESTIONS_AT_ONCE, QUESTIONS_PATH, Questions,
    SILENT_AFTER, VERSION_HEADER,
};
pub use no_vote::NoVote;
pub use question::{
    ANSWER_BYTES_MAX, Answer, AnswerError, PROTOCOL_VERSION, Question, RemoteStatus,
};
pub use votes::{Confirmation, HomeStatus, LocationVote, Vote, Votes};

/// The name of the location that all rows and figures come from: the deployment itself.
pub const HOME: &str = "home";

/// How long another location may take to answer. A run may take that much longer than its probe and its commit.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// How many questions may wait for an answer in a process. Beyond that no other location is asked, so none votes: when
/// a thousand sites fail at once, questions must not hold up the checkers.
pub const QUESTIONS_MAX: usize = 64;

/// How many other locations a deployment may have.
pub const REMOTE_LOCATIONS_MAX: usize = 8;

/// The name of a location: a region such as `eu-west-1`, or an operator's name for an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Location(String);

/// Why a text is not a valid name of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// It has an invalid length, or invalid characters.
    #[error("must be 1 to 32 lower-case letters, digits and hyphens, and begin with a letter")]
    Malformed,
    /// It is the name of the deployment itself.
    #[error("must not be `home`, which is the deployment itself")]
    Home,
}

impl Location {
    /// The most characters of a name.
    pub const LENGTH_MAX: usize = 32;

    /// The location with this name.
    ///
    /// # Errors
    ///
    /// When the text is not a valid name of another location.
    pub fn parse(name: &str) -> Result<Self, LocationError> {
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if !begins || name.len() > Self::LENGTH_MAX || !name.bytes().all(is_plain) {
            return Err(LocationError::Malformed);
        }
        if name == HOME {
            return Err(LocationError::Home);
        }
        Ok(Self(name.to_owned()))
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Location {
    type Err = LocationError;

    fn from_str(name: &str) -> Result<Self, LocationError> {
        Self::parse(name)
    }
}

impl TryFrom<String> for Location {
    type Error = LocationError;

    fn try_from(name: String) -> Result<Self, LocationError> {
        Self::parse(&name)
    }
}

impl From<Location> for String {
    fn from(Location(name): Location) -> Self {
        name
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_regions_and_their_like() {
        for name in ["eu-west-1", "frankfurt", "a", "us-gov-east-1", &"a".repeat(32)] {
            assert_eq!(
                Location::parse(name).map(|location| location.to_string()),
                Ok(name.to_owned())
            );
        }
        for name in ["", "EU", "1a", "-a", "a b", "a/b", "a\n", "ü", "a_b", &"a".repeat(33)] {
            assert_eq!(Location::parse(name), Err(LocationError::Malformed), "{name}");
        }
        assert_eq!(Location::parse(HOME), Err(LocationError::Home));
        assert!(serde_json::from_str::<Location>("\"home\"").is_err());
    }
}
