//! Why a heartbeat is not saved.

use crate::validation::ValidationError;

/// Why a heartbeat is not saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeartbeatRefusal {
    /// The plan allows no more.
    #[error("The team's plan allows no more heartbeats.")]
    TooMany,
    /// Another heartbeat of the team has the slug.
    #[error("The slug is taken by another heartbeat of the team.")]
    SlugTaken,
    /// The chosen ping address is taken.
    #[error("The ping_uuid is taken.")]
    KeyTaken,
    /// Another team has the ping key.
    #[error("The ping_key is taken.")]
    TeamKeyTaken,
    /// What was entered contradicts itself.
    #[error("{}", .0.message())]
    Invalid(ValidationError),
}

impl From<ValidationError> for HeartbeatRefusal {
    fn from(error: ValidationError) -> Self {
        Self::Invalid(error)
    }
}
