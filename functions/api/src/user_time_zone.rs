//! `/me/time-zone`.

pub(crate) mod get;
pub(crate) mod update;
