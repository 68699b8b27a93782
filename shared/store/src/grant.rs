//! What a process may do with the table: the actions of DynamoDB, each with its partitions.
//!
//! Each process declares its grant next to its code. `template.yaml` grants that and no more. Tests compare both the
//! template and the process with it.

use crate::keys::Prefix;

/// An action of DynamoDB, named as in IAM. A transaction needs the actions of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Reads an item.
    GetItem,
    /// Reads items.
    BatchGetItem,
    /// Reads a part of a partition, or of the work index.
    Query,
    /// Writes a whole item.
    PutItem,
    /// Changes attributes of an item.
    UpdateItem,
    /// Deletes an item.
    DeleteItem,
    /// Deletes items without a condition.
    BatchWriteItem,
    /// Makes writes depend on an item without changing it.
    ConditionCheckItem,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::GetItem,
        Self::BatchGetItem,
        Self::Query,
        Self::PutItem,
        Self::UpdateItem,
        Self::DeleteItem,
        Self::BatchWriteItem,
        Self::ConditionCheckItem,
    ];

    /// Its name, without the service.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GetItem => "GetItem",
            Self::BatchGetItem => "BatchGetItem",
            Self::Query => "Query",
            Self::PutItem => "PutItem",
            Self::UpdateItem => "UpdateItem",
            Self::DeleteItem => "DeleteItem",
            Self::BatchWriteItem => "BatchWriteItem",
            Self::ConditionCheckItem => "ConditionCheckItem",
        }
    }

    /// The action with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// What a process may do with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grant {
    /// Partitions from which it reads single items.
    pub get: &'static [Prefix],
    /// Partitions from which it reads many items at once.
    pub batch_get: &'static [Prefix],
    /// Partitions that it reads ranges of; [`Prefix::Work`] stands for the work index.
    pub query: &'static [Prefix],
    /// Partitions into which it puts items.
    pub put: &'static [Prefix],
    /// Partitions in which it changes items.
    pub update: &'static [Prefix],
    /// Partitions in which it deletes items.
    pub delete: &'static [Prefix],
    /// Partitions in which it deletes many items at once.
    pub batch_delete: &'static [Prefix],
    /// Partitions whose items its writes depend on.
    pub check: &'static [Prefix],
}

impl Grant {
    /// Nothing.
    pub const NONE: Self = Self {
        get: &[],
        batch_get: &[],
        query: &[],
        put: &[],
        update: &[],
        delete: &[],
        batch_delete: &[],
        check: &[],
    };

    /// The partitions on which an action is allowed.
    pub const fn prefixes(&self, action: Action) -> &'static [Prefix] {
        match action {
            Action::GetItem => self.get,
            Action::BatchGetItem => self.batch_get,
            Action::Query => self.query,
            Action::PutItem => self.put,
            Action::UpdateItem => self.update,
            Action::DeleteItem => self.delete,
            Action::BatchWriteItem => self.batch_delete,
            Action::ConditionCheckItem => self.check,
        }
    }
}
