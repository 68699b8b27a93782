//! Why a command has failed, and its exit code.

use std::error::Error;
use std::io;
use std::path::Path;

use vedette_actions::{ActionError, Fault};
use vedette_ops::ErrorChain;
use vedette_store::{MayConflict, StoreError};

use crate::output::printable;

/// The reason why a command failed: one sentence for people, and an exit code for programs.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be met: not found, in conflict, or not allowed in this state.
    #[error("{0}")]
    Refused(String),
    /// The records that the decision depends on kept changing.
    #[error("somebody else changed this at the same time; try again")]
    Conflict,
    /// The command or its configuration is invalid.
    #[error("{0}")]
    Usage(String),
    /// The table does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// The table cannot be opened. The text says which one.
    #[error("{0}")]
    NotOpened(String),
    /// A service runs on a read-only data folder, where no command can reach it.
    #[error("{0}")]
    OutOfReach(String),
    /// The service on this machine runs, but does not answer in time.
    #[error("{0}")]
    Silent(String),
    /// A dry run has found so many changes.
    #[error("changes to apply: {0}")]
    Changes(usize),
    /// The command in a maintenance window has failed.
    #[error("the command ended with {0}")]
    Command(u8),
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// A refusal. The reason may contain names and the response of a receiver.
    pub(crate) fn refused(why: impl AsRef<str>) -> Self {
        Self::Refused(printable(why.as_ref()))
    }

    /// A refusal for this reason.
    pub(crate) fn because(error: impl Error) -> Self {
        Self::refused(ErrorChain(&error).to_string())
    }

    /// A file that the command line names cannot be read.
    pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self::Usage(format!("{} cannot be read: {error}", file.display()))
    }

    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) | Self::Conflict | Self::Output(_) => 1,
            Self::Usage(_) => 2,
            Self::Command(code) => *code,
            Self::Unreachable(_) | Self::NotOpened(_) | Self::OutOfReach(_) => 3,
            Self::Silent(_) | Self::Changes(_) => 4,
        }
    }
}

impl MayConflict for Failure {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }
}

impl<R: Error + 'static> From<ActionError<R>> for Failure {
    fn from(error: ActionError<R>) -> Self {
        match error {
            ActionError::Refused(refusal) => Self::because(refusal),
            ActionError::Failed(fault) => fault.into(),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Entropy(error) => Self::because(error),
            Fault::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { .. } => {
                tracing::debug!(%error, "conflict");
                Self::Conflict
            }
            StoreError::Unavailable(why) => {
                tracing::debug!(?why, "the table does not answer");
                Self::Unreachable(ErrorChain(&*why).to_string())
            }
            StoreError::Corrupt(_) => Self::because(error),
        }
    }
}
