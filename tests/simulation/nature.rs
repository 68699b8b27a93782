//! Other locations, and how they behave.

use std::time::Duration;

use vedette_domain::locations::{NoVote, QUESTION_TIMEOUT};

/// How another location behaves for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    Honest,
    /// Says the contrary of what it sees.
    Liar,
    AlwaysUp,
    AlwaysDown,
    /// Never answers: it is dead, or was killed between question and answer.
    Dead,
    /// Answers just in time.
    Slow,
    /// Answers when nothing waits for it any more.
    Late,
    /// Was revoked while it was asked.
    Revoked,
    /// Has lost its own connection.
    Offline,
    /// Is refused by the target because of its location.
    Refused,
    /// Sends something that is not an answer.
    Babbling,
}

impl Nature {
    pub(crate) const ALL: [Self; 11] = [
        Self::Honest,
        Self::Liar,
        Self::AlwaysUp,
        Self::AlwaysDown,
        Self::Dead,
        Self::Slow,
        Self::Late,
        Self::Revoked,
        Self::Offline,
        Self::Refused,
        Self::Babbling,
    ];

    /// What it answers about a site that it sees answer with this code, and after how long.
    pub(crate) fn answer(self, sees: u16) -> (Result<u16, NoVote>, Duration) {
        let seconds = Duration::from_secs;
        match self {
            Self::Honest => (Ok(sees), seconds(1)),
            Self::Liar => (Ok(if sees == 200 { 503 } else { 200 }), Duration::ZERO),
            Self::AlwaysUp => (Ok(200), Duration::ZERO),
            Self::AlwaysDown => (Ok(503), Duration::ZERO),
            Self::Dead => (Ok(sees), Duration::MAX),
            Self::Slow => (Ok(sees), QUESTION_TIMEOUT - seconds(1)),
            Self::Late => (Ok(sees), QUESTION_TIMEOUT + seconds(1)),
            Self::Revoked => (Err(NoVote::NoAnswer), seconds(1)),
            Self::Offline => (Err(NoVote::Offline), seconds(1)),
            Self::Refused => (Ok(403), seconds(1)),
            Self::Babbling => (Err(NoVote::Unreadable), seconds(1)),
        }
    }
}
