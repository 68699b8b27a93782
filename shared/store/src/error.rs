//! What can go wrong with the table.

use std::error::Error;

/// An error of any type that caused another.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// A store operation that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A condition failed, or another transaction wrote the same item. Nothing was written. Read again and decide
    /// again.
    #[error("the table changed in the meantime: {}", describe(.failed))]
    Conflict {
        /// The places in the transaction whose condition failed; empty if another transaction was in progress.
        failed: Vec<usize>,
    },
    /// DynamoDB did not answer, or answered with an error. The write may have happened.
    #[error("DynamoDB failed")]
    Unavailable(#[source] Cause),
    /// An item is not what this version writes.
    #[error("an item cannot be read")]
    Corrupt(#[source] Cause),
}

fn describe(failed: &[usize]) -> String {
    if failed.is_empty() {
        "another transaction was in progress".to_owned()
    } else {
        format!("conditions {failed:?} failed")
    }
}

impl StoreError {
    /// What was read is out of date, or parts of it were read at different moments.
    pub const STALE: Self = Self::Conflict { failed: Vec::new() };

    pub(crate) fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable(cause.into())
    }

    pub(crate) fn corrupt(cause: impl Into<Cause>) -> Self {
        Self::Corrupt(cause.into())
    }

    /// Whether to read again and decide again.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether the condition at this place of the transaction failed.
    pub fn has_failed(&self, place: usize) -> bool {
        matches!(self, Self::Conflict { failed } if failed.contains(&place))
    }
}

/// Whether a write was made. Use it where a conflict means that another write has already done the work.
///
/// # Errors
///
/// Every error except a conflict.
pub fn unless_conflict(written: Result<(), StoreError>) -> Result<bool, StoreError> {
    match written {
        Err(error) if error.is_conflict() => Ok(false),
        written => written.map(|()| true),
    }
}

impl From<serde_dynamo::Error> for StoreError {
    fn from(error: serde_dynamo::Error) -> Self {
        Self::corrupt(error)
    }
}

impl From<rmp_serde::encode::Error> for StoreError {
    fn from(error: rmp_serde::encode::Error) -> Self {
        Self::corrupt(error)
    }
}

impl From<rmp_serde::decode::Error> for StoreError {
    fn from(error: rmp_serde::decode::Error) -> Self {
        Self::corrupt(error)
    }
}

impl From<aws_sdk_dynamodb::error::BuildError> for StoreError {
    fn from(error: aws_sdk_dynamodb::error::BuildError) -> Self {
        Self::corrupt(error)
    }
}
