//! Configuration as code: a document describes the desired state of a team, and a [`ChangePlan`] says what has to
//! change for that.
//!
//! A document says everything about the objects that it has: a field that it omits has its default. So the objects after
//! a plan depend on the document alone, not on the documents before it.

mod current;
mod describe;
mod document;
mod effects;
mod export;
mod managed;
mod plan;
#[cfg(test)]
mod tests;

pub use current::Current;
pub use describe::{FieldChange, is_secret, may_be_secret};
pub use document::ObjectKind;
pub use effects::{ChannelSites, ChecksPerMonth, Effects};
pub use export::export;
pub use managed::{KEY_PATTERN, ManagedBy, NAME_PATTERN};
pub use plan::{Change, ChangeAction, ChangePlan, ChangeStep, Choices, Prune, plan, validate};
