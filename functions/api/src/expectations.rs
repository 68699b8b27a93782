//! `/sites/{site}/expectations`.

pub(crate) mod get;
pub(crate) mod update;
